// Answers for tests/tools/test_provenance.py and test_story.py: is what the explorer calls the causes of a row enough to
// make it, and does its story tell all that happens, in an order in which it can happen?
//
// For some rows of a program, the inputs are cut down to what provenance found, and every fact on the way is looked for in
// what the program means then.  Facts behind the end of a loop are left out: a loop's row is followed from the round since
// which it is there, and the rounds after that may rest on more.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const place = process.argv[2];
const { Plan, Evaluation, readValue, keyOf, product } = await import(pathToFileURL(resolve(place, "evaluator.mjs")));
const { provenance, factId } = await import(pathToFileURL(resolve(place, "provenance.mjs")));
const { storyOf, frontierAfter } = await import(pathToFileURL(resolve(place, "story.mjs")));

function behindLoops(plan, facts) {
  const found = new Set();
  for (let grew = true; grew; ) {
    grew = false;
    for (const [id, { fact, because }] of facts) {
      if (found.has(id)) continue;
      const node = plan.nodes[fact.node];
      if ((node.kind === "linear" && node.action.do === "leave") || because.some((one) => found.has(factId(one)))) {
        found.add(id);
        grew = true;
      }
    }
  }
  return found;
}

/** The rows of the inputs behind one row of a node outside loops. */
function why(plan, given, { why: node, row, time }) {
  const values = row.map((v, c) => readValue(v, plan.schemas[node].types[c]));
  const evaluation = new Evaluation(plan, given);
  if (!evaluation.at(node, time).has(keyOf(values))) throw new Error("the row is not there");
  const { inputs } = provenance(evaluation, { node, row: values, key: keyOf(values), time, rounds: [] });
  const found = {};
  for (const fact of inputs) (found[plan.nodes[fact.node].input] ??= []).push(fact.row.map((v) => (typeof v === "bigint" ? Number(v) : v)));
  return found;
}

/** What a story tells wrongly, or leaves out. */
function storyOfProgram(plan, given) {
  const evaluation = new Evaluation(plan, given);
  const story = storyOf(plan, evaluation);
  const wrong = [];
  const width = plan.coordinates.length;
  const before = (s, t) => s.join() !== t.join() && s.every((c, d) => c <= t[d]);
  const inputTime = ({ time }) => time.slice(0, width);
  const told = story.events.filter(({ kind }) => kind !== "folded" && kind !== "merged");
  told.forEach((event, i) => {
    if (i && before(inputTime(event), inputTime(told[i - 1]))) wrong.push(`${event.kind} at ${event.time} comes too late`);
    const { node, kind, time } = event;
    if (kind !== "stepped" || plan.nodes[node].kind !== "reduce") return;
    const source = plan.nodes[node].source;
    const arrives = told.slice(0, i).some((one) => one.node === source && one.time.join() === time.join());
    if (!arrives && !story.owed[node].has(time.join())) wrong.push(`node ${node} changes at ${time}, and nothing said that it would`);
  });
  const touched = story.steps.reduce((count, step) => count + step.touched, 0);
  if (touched !== story.totals.reduce((count, n) => count + n, 0)) wrong.push("rows touched are not all changes");
  story.steps.forEach(({ time, over, touched: now }, n) => {
    const open = frontierAfter(story, n + 1);
    const passes = (t) => open.some((one) => one.every((c, d) => c <= t[d]));
    if (passes(time) || story.steps.slice(n + 1).some((later) => !passes(later.time))) wrong.push(`the frontier after ${time}`);
    if (n === 0 && over !== now) wrong.push("the first step is not starting over");
  });
  const whole = !story.left && !story.cut;
  story.events.forEach(({ kind, node, time, step, before: kept, after }) => {
    if (kind !== "merged" || !whole) return;
    const done = new Set(story.steps.slice(0, step + 1).map((one) => one.time.join()));
    const sums = new Map();
    for (const change of evaluation.changes(plan.nodes[node].kind === "reduce" ? plan.nodes[node].source : node)) {
      if (!done.has(inputTime(change).join())) continue;
      const key = `${keyOf(change.row)}@${change.time.map((c, d) => (d < width ? Math.max(c, time[d]) : c))}`;
      sums.set(key, (sums.get(key) ?? 0n) + change.diff);
    }
    const left = [...sums.values()].filter((sum) => sum !== 0n).length;
    if (left !== after || kept <= after) wrong.push(`node ${node} keeps ${left} changes at ${time}, not ${after} of ${kept}`);
  });
  const count = (kind) => story.events.filter((event) => event.kind === kind).length;
  return { wrong, whole, owed: count("owed"), looked: count("looked"), merged: count("merged"), events: story.events.length };
}

function answer(question) {
  const { plan: json, inputs, asked, most } = question;
  const plan = new Plan(json);
  const given = {};
  plan.nodes.forEach((node, i) => {
    if (node.kind !== "input") return;
    given[node.input] = (inputs[node.input] ?? []).map(([row, time, diff]) => [row.map((v, c) => readValue(v, plan.schemas[i].types[c])), time, diff]);
  });
  if (question.why !== undefined) return why(plan, given, question);
  if (question.story) return storyOfProgram(plan, given);
  const whole = new Evaluation(plan, given);
  const counts = { rows: 0, facts: 0, behind: 0, inputs: 0, wrong: [] };
  for (const { node, pick } of asked) {
    const axes = whole.axes(node);
    const times = product(axes);
    if (!times.length) continue;
    const time = times[pick % times.length];
    const isPositive = plan.reads(node).every((i) => [...whole.at(i, time).values()].every(([, weight]) => weight > 0n));
    if (!isPositive) continue;
    const rounds = whole.rounds(node, axes, 4).map((n) => pick % n);
    const rows = [...whole.at(node, time, rounds).values()];
    if (!rows.length) continue;
    const [row] = rows[pick % rows.length];
    const found = provenance(whole, { node, row, key: keyOf(row), time, rounds }, most);
    if (found.cut) continue;
    counts.rows += 1;
    counts.inputs += found.inputs.length;
    const kept = new Set(found.inputs.map((fact) => `${fact.node}|${fact.key}`));
    const less = {};
    plan.nodes.forEach((one, i) => { if (one.kind === "input") less[one.input] = given[one.input].filter(([there]) => kept.has(`${i}|${keyOf(there)}`)); });
    const cut = new Evaluation(plan, less);
    const behind = behindLoops(plan, found.facts);
    for (const [id, { fact, because }] of found.facts) {
      if (behind.has(id)) {
        counts.behind += 1;
        continue;
      }
      counts.facts += 1;
      const is = plan.nodes[fact.node].kind === "input";
      if (!is && !because.length) counts.wrong.push(`${id} has no cause`);
      if (!cut.at(fact.node, fact.time, fact.rounds).has(fact.key)) counts.wrong.push(`${id} does not follow`);
    }
  }
  return counts;
}

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    said = answer(JSON.parse(line));
  } catch (error) {
    said = { broke: String(error.stack) };
  }
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
