// Rows as tables, and why a row is there as a tree that opens.
//
// Rule: a table shows at most MOST_ROWS rows and says how many it leaves out.
import { compareOrder, keyOf, showValue } from "./evaluator.mjs";
import { changesBehind, factId, provenance, worthSaying } from "./provenance.mjs";
import { made } from "./elements.mjs";

const MOST_ROWS = 200;
const MOST_BRANCHES = 12; // of one fact in the tree
const OPEN_LEVELS = 4;

function inOrder(rows) {
  return [...rows.values()].sort(([x], [y]) => {
    for (let i = 0; i < x.length; i++) {
      const c = compareOrder(x[i], y[i]);
      if (c) return c;
    }
    return 0;
  });
}

const told = (row, schema) => row.map((value, c) => showValue(value, schema.types[c])).join(", ") || "()";

/** A table of rows with their weights; `actions` are [name, what a row's button says, is it pressed, what it does]. */
function tableOf(rows, schema, last, actions) {
  const listed = inOrder(rows);
  if (!listed.length) return [made("p", { class: "hint" }, "Nothing.")];
  const head = made("tr", {}, ...schema.names.map((name) => made("th", { scope: "col" }, name)), made("th", { scope: "col", class: "number" }, last), made("td", {}));
  const body = listed.slice(0, MOST_ROWS).map(([row, weight]) => {
    const cells = row.map((value, c) => made("td", { class: typeof value === "bigint" || typeof value === "number" ? "number" : null }, showValue(value, schema.types[c])));
    const sign = last === "diff" && weight > 0n ? "+" : "";
    const buttons = actions.map(([name, says, isPressed, act]) => made("button", { type: "button", class: "small", "aria-pressed": String(isPressed(keyOf(row))), "aria-label": `${name} ${told(row, schema)}`, onclick: () => act(row, weight) }, says));
    const colour = last === "diff" ? (weight > 0n ? "come" : "go") : "";
    return made("tr", {}, ...cells, made("td", { class: `number ${colour}` }, `${sign}${String(weight).replace("-", "−")}`), made("td", { class: "actions" }, ...buttons));
  });
  const found = [made("table", {}, made("thead", {}, head), made("tbody", {}, ...body))];
  if (listed.length > MOST_ROWS) found.push(made("p", { class: "hint" }, `${listed.length - MOST_ROWS} more rows are not shown.`));
  return found;
}

/** What a fact is, in words. */
function sayFact(plan, words, { node, row, time, rounds }) {
  const { kind, detail } = words[node];
  const name = plan.nodes[node].kind === "input" ? plan.nodes[node].input : /^"([^"]+)"/.exec(detail)?.[1] ?? kind;
  const when = rounds.length ? `, round ${rounds.join(", ")}` : "";
  return `${name} (${told(row, plan.schemas[node])})${plan.nodes[node].kind === "input" ? "" : ` at ${time.join(", ")}${when}`}`;
}

/** The facts behind a row: a tree, opened to some depth, and the changes of the inputs at its end. */
function whyTree(evaluation, words, start, gone = null) {
  const { plan } = evaluation;
  const { inputs, cut } = provenance(evaluation, start);
  const leaf = (fact) => {
    if (plan.nodes[fact.node].rows !== undefined) return ["a constant of the program"];
    const changes = changesBehind(evaluation, fact);
    const is = gone && !evaluation.at(fact.node, gone).has(fact.key);
    return [`${changes.map(([time, diff]) => `${diff > 0n ? "+" : "−"}${diff > 0n ? diff : -diff} at ${time.join(", ")}`).join("; ")}`, ...(is ? [made("strong", { class: "go" }, " and gone since")] : [])];
  };
  const above = new Set();
  const branch = (asked, depth) => {
    const { fact, because } = worthSaying(evaluation, asked);
    const says = sayFact(plan, words, fact);
    if (!because.length) return made("li", { class: "leaf" }, `${says}: `, ...leaf(fact));
    if (above.has(factId(fact))) return made("li", {}, `${says}, as above`);
    above.add(factId(fact));
    const list = made("ul", {});
    const filled = () => {
      if (list.childElementCount) return;
      list.append(...because.slice(0, MOST_BRANCHES).map((one) => branch(one, depth + 1)));
      if (because.length > MOST_BRANCHES) list.append(made("li", { class: "hint" }, `and ${because.length - MOST_BRANCHES} more`));
    };
    const details = made("details", { open: depth < OPEN_LEVELS, ontoggle: filled }, made("summary", {}, `${says} because of`), list);
    if (depth < OPEN_LEVELS) filled();
    return made("li", {}, details);
  };
  const tree = made("ul", { class: "tree" }, branch(start, 0));
  const said = cut ? "There are more causes than this page follows." : `${inputs.length} ${inputs.length === 1 ? "row" : "rows"} of the inputs in all.`;
  return { inputs, parts: [tree, made("p", { class: "hint" }, said)] };
}

export { inOrder, tableOf, told, whyTree };
