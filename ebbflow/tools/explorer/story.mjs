// What happens, in order: the times of a program one after the other, and at each time what every node has to say.
//
// The story is computed from the collections, as the lattice is.  It tells what any engine must do: changes arrive,
// rounds begin, operators step, times are owed, the frontier moves, times before all that is open can be kept as one, and
// then the batches of an index are merged: changes that are told apart no more are added up.  An owed time is one at
// which a reduction has to look again although nothing arrives there: the join of times at which rows of one of its
// groups change.
//
// Rule: a time's events come after those of every time before it.
import { keyOf, precedes, product } from "./evaluator.mjs";

const MOST_EVENTS = 4_000;
const MOST_STORY_WORK = 60_000; // cells of all nodes together
const MOST_JOINS = 1_000_000; // that are looked for, of one node
const MOST_STORY_ROUNDS = 60;
const MOST_MERGED = 500_000; // changes that are looked at to tell what merging saves

const joinOf = (s, t) => s.map((c, d) => Math.max(c, t[d]));
const meetOf = (s, t) => s.map((c, d) => Math.min(c, t[d]));

/** From left to right: no time comes before one that precedes it. */
function compareTimes(s, t) {
  for (let d = 0; d < Math.min(s.length, t.length); d++) if (s[d] !== t[d]) return s[d] - t[d];
  return s.length - t.length;
}

/** Of times in that order, those that no other one precedes. */
function minimal(times) {
  const found = [];
  for (const time of times) if (!found.some((one) => precedes(one, time))) found.push(time);
  return found;
}

/** Of a reduction, the times at which it must look again and nothing arrives: {time: how many groups}.
 *  `cut` says that there were too many to find all. */
function owedTimes(plan, i, changesOfSource) {
  const node = plan.nodes[i];
  if (node.kind !== "reduce") return new Map();
  const { names } = plan.schemas[node.source];
  const at = node.reducer.by === "threshold" ? names.map((_, c) => c) : node.key.map((name) => names.indexOf(name));
  const byGroup = new Map();
  for (const { row, time } of changesOfSource) {
    const group = keyOf(at.map((c) => row[c]));
    if (!byGroup.has(group)) byGroup.set(group, new Map());
    byGroup.get(group).set(time.join(), time);
  }
  const found = new Map();
  let joins = 0;
  for (const times of byGroup.values()) {
    const all = new Map();
    for (const time of times.values()) {
      joins += all.size;
      if (joins > MOST_JOINS) return Object.assign(found, { cut: true });
      for (const joined of [time, ...[...all.values()].map((other) => joinOf(time, other))]) all.set(joined.join(), joined);
    }
    for (const [key, time] of all) if (!times.has(key)) found.set(key, [time, (found.get(key)?.[1] ?? 0) + 1]);
  }
  return found;
}

/** Where a node stands among those of its time: loops are blocks, and their rounds come one after the other. */
function placeInTime(plan) {
  const first = new Map();
  plan.nodes.forEach((node, i) => node.inside.forEach((loop) => { if (!first.has(loop)) first.set(loop, i); }));
  return (i, rounds) => [...plan.nodes[i].inside.flatMap((loop, d) => [first.get(loop), rounds[d]]), i];
}

function comeAndGo(rows) {
  let [come, go] = [0, 0];
  for (const { diff } of rows) {
    if (diff > 0n) come += 1;
    else go += 1;
  }
  return [come, go];
}

/** Every node's changes over one grid of times; the grid is made smaller until it can be computed while somebody waits. */
function everyNode(plan, evaluation, most) {
  const inputs = plan.nodes.flatMap((node, i) => (plan.isGiven(i) ? [i] : []));
  const axes = plan.coordinates.map((_, c) => [...new Set(inputs.flatMap((i) => evaluation.axes(i)[c]))].sort((a, b) => a - b));
  for (const axis of axes) if (!axis.length) axis.push(0);
  let left = 0;
  const cells = () => axes.reduce((count, axis) => count * axis.length, plan.nodes.length);
  for (; cells() > most; left++) axes.reduce((one, other) => (other.length > one.length ? other : one)).pop();
  const changes = plan.nodes.map((_, i) => {
    const rounds = evaluation.rounds(i, axes, MOST_STORY_ROUNDS);
    const size = axes.reduce((count, axis) => count * axis.length, 1);
    while (rounds.length && rounds.reduce((count, n) => count * n, size) > most / 4 && Math.max(...rounds) > 1) rounds[rounds.indexOf(Math.max(...rounds))] -= 1;
    return { rounds, found: evaluation.changes(i, { axes, rounds }) };
  });
  return { axes, changes, left };
}

/** What starting over at a time would touch: each collection once, and in loops what each round changes in it. */
function startingOver(plan, evaluation, changes, time) {
  const alone = time.map((c) => [c]);
  let rows = 0;
  plan.nodes.forEach((_, i) => {
    for (const [, found] of evaluation.cells(i, alone, changes[i].rounds)) rows += found.size;
  });
  return rows;
}

/** What an index keeps: the changes of a collection, those that no later reader can tell apart as one. */
class Kept {
  constructor() {
    this.changes = new Map(); // {row and time: [row's key, time, diff]}
  }

  add({ row, time, diff }) {
    this.put(keyOf(row), time, diff);
  }

  put(row, time, diff) {
    const key = `${time}|${row}`;
    const sum = (this.changes.get(key)?.[2] ?? 0n) + diff;
    if (sum === 0n) this.changes.delete(key);
    else this.changes.set(key, [row, time, sum]);
  }

  /** Merge what times before these, in the inputs' coordinates, held apart; [how many before, after]. */
  merge(since) {
    const before = [...this.changes.values()];
    this.changes = new Map();
    for (const [row, time, diff] of before) this.put(row, time.map((c, d) => (d < since.length ? Math.max(c, since[d]) : c)), diff);
    return [before.length, this.changes.size];
  }
}

/** {events, steps, owed, totals, left}: what happens at every time at which anything does. */
function storyOf(plan, evaluation, most = MOST_STORY_WORK) {
  const { axes, changes, left } = everyNode(plan, evaluation, most);
  const width = plan.coordinates.length;
  const place = placeInTime(plan);
  const owed = plan.nodes.map((node, i) => owedTimes(plan, i, node.kind === "reduce" ? changes[node.source].found : []));
  const byTime = new Map();
  const at = (time) => {
    const key = time.slice(0, width).join();
    if (!byTime.has(key)) byTime.set(key, new Map());
    return byTime.get(key);
  };
  const visit = (i, time) => {
    const visits = at(time);
    const key = `${i}|${time.slice(width)}`;
    if (!visits.has(key)) visits.set(key, { node: i, time, rounds: time.slice(width), rows: [], owed: 0 });
    return visits.get(key);
  };
  changes.forEach(({ found }, i) => found.forEach((change) => visit(i, change.time).rows.push(change)));
  owed.forEach((times, i) => times.forEach(([time, groups]) => { visit(i, time).owed = groups; }));
  const events = [];
  const steps = [];
  const readers = plan.nodes.map((_, i) => plan.nodes.flatMap((node, r) => (node.kind === "reduce" && node.source === i ? [r] : [])));
  const indexes = new Map(plan.nodes.flatMap((node, i) => (node.kind === "arrange" || node.kind === "reduce" ? [[i, new Kept()]] : [])));
  let merged = 0;
  const mergeAt = (time) => {
    for (const [node, kept] of indexes) {
      merged += kept.changes.size;
      if (merged > MOST_MERGED) return;
      const [before, after] = kept.merge(time);
      if (after < before) events.push({ kind: "merged", step: steps.length, node, time, before, after });
    }
  };
  const times = product(axes).filter((time) => byTime.has(time.join())).sort(compareTimes);
  const since = [...times];
  for (let n = since.length - 2; n >= 0; n--) since[n] = meetOf(since[n], since[n + 1]); // of all times from there on
  for (const [n, time] of times.entries()) {
    const step = { time, begins: events.length, touched: 0, over: 0 };
    const sorted = [...byTime.get(time.join()).values()].sort((one, other) => compareTimes(place(one.node, one.rounds), place(other.node, other.rounds)));
    let rounds = "";
    for (const { node, time: whole, rounds: inside, rows, owed: groups } of sorted) {
      const { kind, inside: loops } = plan.nodes[node];
      const now = `${loops}@${inside}`;
      if (loops.length && now !== rounds) events.push({ kind: "round", step: steps.length, node, time: whole, loop: loops[loops.length - 1], round: inside[inside.length - 1] });
      if (loops.length) rounds = now;
      const [come, go] = comeAndGo(rows);
      if (kind === "arrange") rows.forEach((change) => indexes.get(node).add(change));
      for (const reader of readers[node]) rows.forEach((change) => indexes.get(reader).add(change));
      if (groups) events.push({ kind: "owed", step: steps.length, node, time: whole, groups });
      if (kind === "input") events.push({ kind: "arrived", step: steps.length, node, time: whole, come, go });
      else if (come || go) events.push({ kind: "stepped", step: steps.length, node, time: whole, come, go });
      else events.push({ kind: "looked", step: steps.length, node, time: whole });
      step.touched += come + go;
    }
    step.over = startingOver(plan, evaluation, changes, time);
    events.push({ kind: "frontier", step: steps.length, time });
    if (n + 1 < times.length && compareTimes(since[n], since[n + 1]) < 0) {
      events.push({ kind: "folded", step: steps.length, time: since[n + 1] });
      mergeAt(since[n + 1]);
    }
    steps.push(step);
  }
  const cut = events.length > MOST_EVENTS || merged > MOST_MERGED || owed.some((times) => times.cut);
  return { events: events.slice(0, MOST_EVENTS), steps, owed, totals: changes.map(({ found }) => found.length), left, cut };
}

/** Where the frontier stands when so many steps are done; [] is closed. */
function frontierAfter({ steps }, done) {
  return minimal(steps.slice(done).map(({ time }) => time));
}

export { storyOf, frontierAfter, joinOf, meetOf, owedTimes };
