// Why a row is in a collection: the rows of its sources that make it, followed back to the changes of inputs.
//
// A fact is a row of one node at one time, in these rounds of the loops around the node.  Its causes are facts of the
// node's sources.  A join's row has a pair of causes, a reduction's row the rows of its group, a loop's row the rows of
// the round before; an input's row ends the search.
//
// Rule: the causes of a fact are all that its node needs: the inputs found, alone, give a program without subtraction
// the same row at the same time and round.
import { keyOf, precedes } from "./evaluator.mjs";

const MOST_FACTS = 5_000; // that one answer follows

const factId = ({ node, rounds, time, key }) => `${node}|${rounds}|${time}|${key}`;

/** The facts that a fact follows from; none for a row of an input. */
function causes(evaluation, { node: i, row, time, rounds }) {
  const { plan } = evaluation;
  const node = plan.nodes[i];
  const fact = (j, [found], inside) => ({ node: j, row: found, key: keyOf(found), time, rounds: inside });
  const same = (j, inside = rounds) => {
    const found = evaluation.at(j, time, inside).get(keyOf(row));
    return found ? [fact(j, found, inside)] : [];
  };
  const chosen = (j, fits) => [...evaluation.at(j, time, rounds).values()].filter(fits).map((pair) => fact(j, pair, rounds));
  const last = rounds[rounds.length - 1];
  switch (node.kind) {
    case "input":
      return [];
    case "concat":
      return node.sources.flatMap((source) => same(source));
    case "feedback":
      return last === 0 ? same(node.start) : same(plan.next.get(i), [...rounds.slice(0, -1), last - 1]);
    case "join":
      return causesOfJoin(plan, node, row, chosen);
    case "reduce":
      return causesOfReduction(plan, node, row, chosen, same);
    case "linear":
      switch (node.action.do) {
        case "map":
          return chosen(node.source, (pair) => plan.does[i](new Map([[keyOf(pair[0]), pair]])).has(keyOf(row)));
        case "enter":
          return same(node.source, rounds.slice(0, -1));
        case "leave":
          return same(node.source, [...rounds, sinceRound(evaluation, i, row, time, rounds)]);
        case "delay":
          return evaluation
            .changes(node.source)
            .filter((change) => change.diff > 0n && keyOf(change.row) === keyOf(row) && precedes(plan.does[i](change.time), time))
            .map((change) => ({ node: node.source, row, key: keyOf(row), time: change.time, rounds: [] }));
      }
  }
  return same(node.source);
}

function causesOfJoin(plan, { left, right, columns }, row, chosen) {
  const schemas = [left, right].map((side) => plan.schemas[side]);
  const keys = [left, right].map((side, s) => plan.nodes[side].key.map((name) => schemas[s].names.indexOf(name)));
  const takes = [0, 1].map((side) => columns.flatMap(([, from, name], c) => (from === side ? [[c, schemas[side].names.indexOf(name)]] : [])));
  const equal = (one, other) => keyOf([one]) === keyOf([other]);
  const fitting = [left, right].map((side, s) => chosen(side, ([there]) => takes[s].every(([c, at]) => equal(row[c], there[at]))));
  const keyed = (fact, s) => keyOf(keys[s].map((at) => fact.row[at]));
  const met = fitting.map((facts, s) => new Set(facts.map((fact) => keyed(fact, s))));
  return fitting.flatMap((facts, s) => facts.filter((fact) => met[1 - s].has(keyed(fact, s)) && !keys[s].some((at) => fact.row[at] === null)));
}

function causesOfReduction(plan, { source, key, reducer }, row, chosen, same) {
  if (reducer.by === "threshold") return same(source);
  const { names } = plan.schemas[source];
  const at = key.map((name) => names.indexOf(name));
  const group = keyOf(row.slice(0, at.length));
  const inGroup = ([there]) => keyOf(at.map((c) => there[c])) === group;
  if (reducer.by === "top") {
    const rest = names.map((_, c) => c).filter((c) => !at.includes(c));
    return chosen(source, (pair) => inGroup(pair) && keyOf([...at, ...rest].map((c) => pair[0][c])) === keyOf(row));
  }
  if (reducer.by === "window") return chosen(source, inGroup); // a row's place rests on all rows beside it
  const extremes = reducer.aggregates.every(([op]) => op === "min" || op === "max");
  const wanted = reducer.aggregates.map(([, column], k) => [names.indexOf(column), keyOf([row[at.length + k]])]);
  const attains = ([there]) => wanted.some(([c, value]) => keyOf([there[c]]) === value);
  return chosen(source, (pair) => inGroup(pair) && (!extremes || attains(pair)));
}

/** The first round from which on a loop holds a row that it is left with. */
function sinceRound(evaluation, i, row, time, rounds) {
  const { plan } = evaluation;
  const { source, action } = plan.nodes[i];
  const moment = evaluation.moment(plan.reads(i), time);
  let round = moment.lastRound(action.loop, plan.left.get(i), plan.needs(source), rounds);
  const weight = (r) => evaluation.at(source, time, [...rounds, r]).get(keyOf(row))?.[1];
  for (const there = weight(round); round > 0 && weight(round - 1) === there; ) round -= 1;
  return round;
}

/** All facts behind one, by id; `inputs` are those of inputs, `cut` says that there were too many to follow. */
function provenance(evaluation, start, most = MOST_FACTS) {
  const facts = new Map();
  const todo = [start];
  const inputs = [];
  while (todo.length) {
    const fact = todo.shift();
    const id = factId(fact);
    if (facts.has(id)) continue;
    if (facts.size >= most) return { facts, inputs, cut: true };
    const because = causes(evaluation, fact);
    facts.set(id, { fact, because });
    if (evaluation.plan.nodes[fact.node].kind === "input") inputs.push(fact);
    todo.push(...because);
  }
  return { facts, inputs, cut: false };
}

/** The changes of an input that give a fact its row: [time, diff], earliest first. */
function changesBehind(evaluation, { node, key, time }) {
  return evaluation
    .history(node)
    .filter(([, then, , there]) => there === key && precedes(then, time))
    .map(([, then, diff]) => [then, diff]);
}

/** The next fact that says something: rows that only pass through are not shown one by one. */
function worthSaying(evaluation, fact) {
  const seen = new Set();
  for (let at = fact; ; ) {
    const node = evaluation.plan.nodes[at.node];
    const because = causes(evaluation, at);
    const speaks = ["input", "join", "feedback"].includes(node.kind) || (node.kind === "reduce" && node.reducer.by !== "threshold");
    if (speaks || because.length !== 1 || seen.has(factId(at))) return { fact: at, because };
    seen.add(factId(at));
    at = because[0];
  }
}

export { causes, provenance, changesBehind, worthSaying, factId };
