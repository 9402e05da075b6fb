// The explorer's page: the plan, the lattice of the chosen collection, its rows, the story, and the inputs to play with.
//
// Rule: what is shown is computed by the evaluator from the inputs as they are listed, never kept from before an edit.
import { Plan, Evaluation, Refusal, readValue, showValue, typeText, keyOf, precedes, product } from "./evaluator.mjs";
import { at, made } from "./elements.mjs";
import { frontierAfter, joinOf, meetOf, owedTimes, storyOf } from "./story.mjs";
import { Inputs } from "./inputs.mjs";
import { Lattice } from "./lattice.mjs";
import { PlanView, inMilliseconds } from "./plan_view.mjs";
import { inOrder, tableOf, told, whyTree } from "./records.mjs";
import { Telling, drawCounters } from "./telling.mjs";

const MOST_CELLS = 10_000; // of the grid that is computed
const MOST_WORK = 3_000_000; // cells times changes of the inputs: what a page computes while somebody waits
const MOST_ROUNDS = 60; // of one loop
const PATIENCE_HERE = 500; // rounds after which the page gives a loop up

const data = JSON.parse(at("program").textContent);
const plan = new Plan(data.plan);
const width = plan.coordinates.length;
const inputs = plan.nodes.flatMap((node, i) => (node.kind === "input" && node.rows === undefined ? [{ name: node.input, node: i }] : []));
const given = {}; // {input: [[row, time, diff], ...]}
const state = { node: data.chosen, cell: null, marked: null, pointed: null, row: null, why: null, x: 0, y: 1, folded: false, position: null, source: "here" };
let evaluation;
let story = null;
let when = new Map(); // of the story: where each node's changes at a time are told
let grid;

function readGiven(from) {
  for (const { name, node } of inputs) {
    given[name] = from[name].map(([row, time, diff]) => [row.map((v, c) => readValue(v, plan.schemas[node].types[c])), time, diff]);
  }
}

function say(text) {
  const left = Object.entries(data.dropped).filter(([, count]) => count);
  const standing = left.map(([name, count]) => `${count} changes of "${name}" were not recorded: what is shown leaves them out.`);
  if (data.lost) standing.push(`${data.lost} events of the engine were dropped.`);
  at("notice").textContent = [...standing, text].join(" ").trim();
}

// ---- computing ------------------------------------------------------------------------------

const dimensions = (i = state.node) => [...plan.coordinates, ...plan.nodes[i].inside.map((loop) => (data.plan.loops.length > 1 ? `round of loop ${loop}` : "round"))];
const inWords = (time, names = dimensions()) => names.map((name, d) => `${name} ${time[d]}`).join(", ");

/** The grid of times of the chosen collection, with the changes in each cell. */
function computed() {
  const used = [evaluation.axes(state.node), ...inputs.map(({ node }) => evaluation.axes(node))];
  const reached = Object.values(data.frontiers).flat(); // shown, so that the frontier is seen
  const axes = plan.coordinates.map((_, c) => [...new Set([...used.flatMap((each) => each[c]), ...reached.map((time) => time[c])])].sort((a, b) => a - b));
  for (const axis of axes) if (!axis.length) axis.push(0);
  const changes = Object.values(given).reduce((count, each) => count + each.length, 1);
  const most = Math.max(50, Math.min(MOST_CELLS, Math.floor(MOST_WORK / changes)));
  const { inside } = plan.nodes[state.node];
  let left = 0;
  while (axes.reduce((count, axis) => count * axis.length, 1) > (inside.length ? most / 4 : most)) {
    const longest = axes.reduce((one, other) => (other.length > one.length ? other : one));
    longest.splice(1, 1); // the first time stays, since all later ones build on it
    left += 1;
  }
  let cut = false;
  let rounds = evaluation.rounds(state.node, axes, MOST_ROUNDS);
  while (rounds.length && axes.concat(rounds.map((n) => Array(n))).reduce((count, axis) => count * axis.length, 1) > most && Math.max(...rounds) > 1) {
    const longest = Math.max(...rounds);
    rounds = rounds.map((count) => (count === longest ? Math.ceil(count / 2) : count));
    cut = true;
  }
  const cells = new Map(evaluation.cells(state.node, axes, rounds).map(([time, rows]) => [time.join(), rows]));
  const all = [...axes, ...rounds.map((count) => [...Array(count).keys()])];
  return { axes: all, cells, left, cut: cut || rounds.includes(MOST_ROUNDS), owed: owedHere(axes, rounds) };
}

function owedHere(axes, rounds) {
  const node = plan.nodes[state.node];
  return node.kind === "reduce" ? owedTimes(plan, state.node, evaluation.changes(node.source, { axes, rounds })) : new Map();
}

/** The names of all the inputs that a node is computed from. */
function inputsOf(i) {
  const named = (j) => (plan.nodes[j].rows !== undefined ? [] : plan.nodes[j].kind === "input" ? [plan.nodes[j].input] : plan.reads(plan.nodes[j].source).flatMap(named));
  return [...new Set(plan.reads(i).flatMap(named))];
}

/** The frontier of the chosen collection: as recorded, or as far as the story has come. */
function frontierNow() {
  if (state.position === null || state.source === "engine" || !story) return inputsOf(state.node).flatMap((name) => data.frontiers[name]);
  return frontierAfter(story, story.events.slice(0, state.position).filter(({ kind }) => kind === "frontier").length);
}

function restart() {
  evaluation = new Evaluation(plan, given, { patience: PATIENCE_HERE });
  story = null;
}

function choose(node) {
  Object.assign(state, { node, cell: null, marked: null, pointed: null, row: null, why: null, x: 0, y: 1 });
  show();
}

function show(before = null) {
  planView.setChosen(state.node);
  const { kind, detail, place, notes } = data.words[state.node];
  const columns = plan.schemas[state.node].names.map((name, c) => `${name} ${typeText(plan.schemas[state.node].types[c])}`).join(", ");
  at("about").textContent = [`${kind} ${detail}${place ? ` (${place})` : ""}. Columns: ${columns || "none"}.`, ...notes, ...timeSpent()].join("\n");
  try {
    grid = computed();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    grid = null;
    for (const part of ["lattice", "changes", "collection", "axes"]) at(part).replaceChildren();
    say(`${error.kind}: ${error.message}`);
    editor.draw(state.cell);
    return;
  }
  const keys = before ? new Set([...before.cells.keys(), ...grid.cells.keys()]) : [];
  const changed = new Set([...keys].filter((key) => !sameCell(before.cells.get(key), grid.cells.get(key))));
  say(before ? `${changed.size} ${changed.size === 1 ? "cell" : "cells"} of this collection changed.` : "");
  settleAxes(before === null);
  drawAxes();
  drawLattice(changed);
  if (before === null) lattice.reveal();
  drawRecords();
  editor.draw(state.cell);
  if (!story) later(drawStory);
}

/** What the engine spent at the chosen node, where a session was recorded. */
function timeSpent() {
  const all = Object.values(data.spent).reduce((sum, each) => sum + each, 0);
  const here = data.spent[state.node];
  if (here === undefined) return all ? ["time spent: none of its own; it is done in one with a node before it"] : [];
  return [`time spent: ${inMilliseconds(here)} of ${inMilliseconds(all)} in all, with the expressions and joins that read it`];
}

/** Which coordinates are drawn, and which cell is chosen, where neither is known or fits any more. */
function settleAxes(isNew) {
  const size = grid.axes.length;
  if (size === 1) Object.assign(state, { x: 0, y: null });
  else if (state.y === null || state.y >= size) state.y = size - 1 === width ? size - 1 : 1;
  if (isNew && size > width && state.cell === null) Object.assign(state, { x: 0, y: width });
  if (state.cell === null || !grid.cells.has(state.cell.join())) {
    const last = grid.axes.map((axis) => axis[axis.length - 1]);
    const changing = [...grid.cells].filter(([, rows]) => rows.size).map(([key]) => key.split(",").map(Number));
    state.cell = changing.length ? last.map((_, d) => changing.reduce((most, time) => Math.max(most, time[d]), 0)) : last;
  }
  if (state.marked && !grid.cells.has(state.marked.join())) state.marked = null;
}

function sameCell(one = new Map(), other = new Map()) {
  return one.size === other.size && [...one].every(([key, [, weight]]) => other.get(key)?.[1] === weight);
}

// ---- the lattice ----------------------------------------------------------------------------

function drawAxes() {
  const names = dimensions();
  const parts = [];
  if (names.length > 2) {
    for (const axis of ["x", "y"]) {
      const select = made("select", { "data-axis": axis, onchange: (event) => chooseAxis(axis, Number(event.target.value)) });
      names.forEach((name, d) => select.append(made("option", { value: d, selected: d === state[axis] }, name)));
      parts.push(made("label", {}, axis === "x" ? "across" : "upward", select));
    }
    names.forEach((name, d) => {
      if (d === state.x || d === state.y) return;
      const axis = grid.axes[d];
      const slider = made("input", { type: "range", min: 0, max: axis.length - 1, value: axis.indexOf(state.cell[d]), "data-fixed": d });
      slider.addEventListener("input", () => {
        state.cell = state.cell.map((c, k) => (k === d ? axis[Number(slider.value)] : c));
        slider.nextSibling.textContent = String(state.cell[d]);
        drawLattice();
        drawRecords();
      });
      parts.push(made("label", {}, name, slider, made("output", {}, String(state.cell[d]))));
    });
  }
  const fold = made("input", { type: "checkbox", id: "fold", onchange: (event) => { state.folded = event.target.checked; drawLattice(); drawRecords(); } });
  fold.checked = state.folded;
  parts.push(made("label", { class: "line" }, fold, "draw as one what compaction makes one"));
  at("axes").replaceChildren(...parts);
}

function chooseAxis(axis, dimension) {
  const other = axis === "x" ? "y" : "x";
  if (state[other] === dimension) state[other] = state[axis];
  state[axis] = dimension;
  drawAxes();
  drawLattice();
}

/** The time up to which compaction may make all times one: the meet of the frontier. */
function compactedTo() {
  const frontier = frontierNow();
  return state.folded && frontier.length ? frontier.reduce(meetOf) : null;
}

/** The places of an axis that are drawn as one: [{first, last, shown}]. */
function groupsOf(d) {
  const axis = grid.axes[d];
  const since = d < width ? compactedTo()?.[d] : undefined;
  const together = since === undefined ? 0 : Math.max(0, axis.filter((value) => value <= since).length - 1);
  const alone = axis.slice(together + 1).map((value, i) => ({ first: together + 1 + i, last: together + 1 + i, shown: String(value) }));
  return [{ first: 0, last: together, shown: together ? `${axis[0]}–${axis[together]}` : String(axis[0]) }, ...alone];
}

const groupAt = (groups, d, value) => groups.findIndex(({ last }) => grid.axes[d][last] >= value);

/** The changes at a time, or at all the times that are drawn as one with it; of one row, where its history is asked for. */
function changesAt(time) {
  let rows = grid.cells.get(time.join()) ?? new Map();
  const since = compactedTo();
  if (since) {
    const values = time.map((c, d) => (d < width && c <= since[d] ? grid.axes[d].filter((value) => value <= since[d]) : [c]));
    const all = product(values);
    if (all.length > 1) {
      rows = new Map();
      for (const one of all) for (const [key, [row, weight]] of grid.cells.get(one.join()) ?? []) rows.set(key, [row, (rows.get(key)?.[1] ?? 0n) + weight]);
      for (const [key, [, weight]] of rows) if (weight === 0n) rows.delete(key);
    }
  }
  return rows;
}

/** The same, of the one row whose history is asked for, if one is. */
const changesShown = (time) => [...changesAt(time)].filter(([key]) => state.row === null || key === state.row);

function tallied(time) {
  let [come, go] = [0n, 0n];
  for (const [, [, weight]] of changesShown(time)) {
    if (weight > 0n) come += weight;
    else go -= weight;
  }
  return { come: Number(come), go: Number(go) };
}

/** How many rows come and go, in words. */
function movement(come, go) {
  const rows = (count) => (count === 1 ? "1 row" : `${count} rows`);
  if (!come && !go) return "nothing changes";
  if (!go) return `${rows(come)} ${come === 1 ? "comes" : "come"}`;
  const goes = go === 1 ? "goes" : "go";
  return come ? `${rows(come)} ${come === 1 ? "comes" : "come"}, ${go} ${goes}` : `${rows(go)} ${goes}`;
}

function drawLattice(changed = new Set()) {
  const names = dimensions();
  const frontier = frontierNow();
  const isOne = state.y === null;
  const across = groupsOf(state.x);
  const upward = isOne ? [{ first: 0, last: 0, shown: "" }] : groupsOf(state.y);
  const timeOf = (x, y) => state.cell.map((c, d) => (d === state.x ? grid.axes[d][across[x].last] : d === state.y ? grid.axes[d][upward[y].last] : c));
  const done = (x, y) => {
    const time = timeOf(x, y);
    return !frontier.some((one) => one.every((c, k) => c <= time[k]));
  };
  const isTold = state.position !== null && state.source === "here";
  lattice.draw({
    names: [names[state.x], isOne ? "" : names[state.y]],
    across,
    upward,
    timeOf,
    done,
    cell: (x, y) => tallied(timeOf(x, y)),
    rows: (x, y) => inOrder(new Map(changesShown(timeOf(x, y)))).map(([row, weight]) => [told(row, plan.schemas[state.node]), weight > 0n]),
    reached: (x, y) => !isTold || (when.get(`${state.node}|${timeOf(x, y)}`) ?? -1) < state.position,
    owed: (x, y) => (grid.owed.has(timeOf(x, y).join()) ? (done(x, y) ? "paid" : "open") : null),
    changed: (x, y) => changed.has(timeOf(x, y).join()),
    label: (x, y) => {
      const { come, go } = tallied(timeOf(x, y));
      const owes = grid.owed.has(timeOf(x, y).join()) ? (done(x, y) ? ", was owed" : ", owed") : "";
      return `${inWords(timeOf(x, y), names)}: ${movement(come, go)}${done(x, y) ? ", complete" : ""}${owes}`;
    },
  });
  const said = state.row === null ? [] : ["Only the changes of one row are shown."];
  said.push(frontier.length ? "Grey cells are complete: nothing changes there any more. The thick line is the frontier." : "The inputs are closed: every time is complete.");
  if (grid.owed.size) said.push("A ring is an owed time: nothing arrives there, and the reduction must look again. A thin ring was owed and is done.");
  if (grid.owed.cut) said.push("There are more owed times than this page finds.");
  if (state.folded && frontier.length) said.push(`Compaction: no reader at the frontier can tell the times up to ${compactedTo().join(", ")} apart, so their changes are kept as one.`);
  if (grid.left) said.push(`${grid.left} times are left out here: what changes at them is shown at the next one.`);
  if (grid.cut) said.push("Later rounds are not shown.");
  at("legend").textContent = said.join(" ");
  light();
}

/** The past of the pointed or chosen cell, and join and meet with the marked one. */
function light() {
  const { across, upward } = lattice.scene;
  const placed = (time) => time && [groupAt(across, state.x, time[state.x]), state.y === null ? 0 : groupAt(upward, state.y, time[state.y])];
  const other = state.pointed ?? state.cell;
  const join = state.marked && joinOf(other, state.marked);
  const meet = state.marked && meetOf(other, state.marked);
  lattice.light({ chosen: placed(state.cell), past: placed(other), marked: placed(state.marked), join: placed(join), meet: placed(meet) });
  const { come, go } = tallied(other);
  const size = evaluation.at(state.node, other.slice(0, width), other.slice(width)).size;
  at("pointed").textContent = `${state.pointed ? "Pointed at" : "Chosen"}: ${inWords(other)}. ${movement(come, go).replace(/^n/, "N")}; the collection there has ${size} ${size === 1 ? "row" : "rows"}.`;
  at("bounds").textContent = state.marked
    ? `Marked (${state.marked.join(", ")}); with (${other.join(", ")}): join (${join.join(", ")}), meet (${meet.join(", ")}). Press m again to take the mark away.`
    : "Press m, or click with Shift, to mark a cell: its join (dashed) and its meet (dotted) with another are outlined.";
}

function chooseCell(time) {
  state.cell = time;
  state.why = null;
  light();
  lattice.reveal();
  drawRecords();
}

function mark(time) {
  state.marked = state.marked?.join() === time.join() ? null : time;
  light();
}

// ---- rows -----------------------------------------------------------------------------------

function drawRecords() {
  const schema = plan.schemas[state.node];
  const where = inWords(state.cell);
  at("changes-title").textContent = `Changes at ${where}`;
  at("collection-title").textContent = `Collection at ${where}`;
  const history = ["History of", "history", (key) => state.row === key, (row) => { state.row = state.row === keyOf(row) ? null : keyOf(row); drawLattice(); drawRecords(); }];
  const asked = (diff) => ["Why", "why", (key) => state.why?.key === key && state.why.diff === diff, (row, weight) => askWhy(row, diff && weight < 0n, diff)];
  at("changes").replaceChildren(...tableOf(changesAt(state.cell), schema, "diff", [history, asked(true)]));
  at("collection").replaceChildren(...tableOf(evaluation.at(state.node, state.cell.slice(0, width), state.cell.slice(width)), schema, "copies", [history, asked(false)]));
  for (const cell of document.querySelectorAll("#part-rows tr:first-child > td.actions")) cell.closest("table").style.setProperty("--actions", `${cell.offsetWidth}px`);
  drawWhy();
}

function askWhy(row, isGone, diff) {
  const key = keyOf(row);
  state.why = state.why?.key === key && state.why.diff === diff ? null : { key, row, isGone, diff };
  drawRecords();
  if (state.why) at("why-tree").focus();
}

/** The fact to explain: the row here, or, for one that went, at a time just before at which it still was. */
function factOfRow({ row, key, isGone }) {
  const fact = (time) => ({ node: state.node, row, key, time: time.slice(0, width), rounds: time.slice(width) });
  const holds = (time) => evaluation.at(state.node, time.slice(0, width), time.slice(width)).has(key);
  if (!isGone) return holds(state.cell) ? fact(state.cell) : null;
  for (const d of state.cell.keys()) {
    const place = grid.axes[d].indexOf(state.cell[d]);
    const before = state.cell.map((c, k) => (k === d ? grid.axes[d][place - 1] : c));
    if (place > 0 && holds(before)) return fact(before);
  }
  return null;
}

function drawWhy() {
  at("why").hidden = state.why === null;
  let causes = new Set();
  if (state.why !== null) {
    const schema = plan.schemas[state.node];
    const { row, isGone } = state.why;
    const fact = factOfRow(state.why);
    at("why-title").textContent = isGone ? `Why (${told(row, schema)}) went: why it was there before` : `Why (${told(row, schema)}) is here`;
    if (fact === null) at("why-tree").replaceChildren(made("p", { class: "hint" }, "It is not in the collection: other changes at earlier times take it away or put it there."));
    else {
      const { inputs: found, parts } = whyTree(evaluation, data.words, fact, isGone ? state.cell.slice(0, width) : null);
      at("why-tree").replaceChildren(...parts);
      causes = new Set(found.map((one) => `${one.node}|${one.key}`));
    }
  }
  editor.setCauses(causes);
}

// ---- the story ------------------------------------------------------------------------------

let waiting = null;

function later(draw) {
  clearTimeout(waiting);
  waiting = setTimeout(draw, 0);
}

function sayEvent(event) {
  if (event.text !== undefined) return event.text;
  const { kind, node, time, loop, round, come, go, groups, before, after } = event;
  const named = node === undefined ? "" : `${data.words[node].kind} ${data.words[node].detail}`.trim();
  const spot = node === undefined || kind === "merged" ? inWords(time, plan.coordinates) : inWords(time, dimensions(node));
  const counts = [come ? `+${come}` : "", go ? `−${go}` : ""].filter(Boolean).join(" ");
  switch (kind) {
    case "arrived":
      return `${plan.nodes[node].input}: ${counts} at ${spot}`;
    case "round":
      return `round ${round} of loop ${loop} began at ${inWords(time, plan.coordinates)}`;
    case "owed":
      return `${named}: ${spot} is owed: the join of times at which ${groups === 1 ? "a group changes" : `${groups} groups change`}`;
    case "stepped":
      return `${named}: ${counts} at ${spot}`;
    case "looked":
      return `${named}: nothing changes at ${spot}`;
    case "frontier":
      return `the frontier moved past ${spot}`;
    case "folded":
      return `times up to ${spot} can be kept as one: no reader can tell them apart any more`;
    case "merged":
      return `${named}: batches of its index merged, ${before} changes are kept as ${after}`;
  }
  return kind;
}

function drawStory() {
  if (at("part-story").hidden) return;
  try {
    story ??= storyOf(plan, evaluation);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    story = { events: [], steps: [], totals: [], left: 0, cut: false };
  }
  when = new Map();
  story.events.forEach(({ kind, node, time }, i) => { if (kind === "arrived" || kind === "stepped") when.set(`${node}|${time}`, i); });
  planView.setTotals(story.totals, data.spent);
  at("story-which").hidden = !data.engine.length;
  at("story-source").value = state.source;
  const events = state.source === "engine" ? data.engine : story.events;
  telling.set(events, state.position ?? recordedPosition(events));
  tell();
}

/** Where the recorded session stands in the page's story. */
function recordedPosition(events) {
  if (state.source === "engine") return events.length;
  const frontier = Object.values(data.frontiers).flat();
  const open = story.steps.findIndex(({ time }) => frontier.some((one) => precedes(one, time)));
  return Math.min(open < 0 ? events.length : story.steps[open].begins, events.length);
}

function tell() {
  const event = telling.events[telling.position - 1];
  planView.setNow(event?.node);
  const said = [];
  if (state.source === "engine") {
    said.push("What the engine told while the session ran; edits in this page do not change it.");
    const touched = telling.events.slice(0, telling.position).reduce((count, { rows }) => count + (rows ?? 0), 0);
    const frontier = Object.values(data.frontiers).flat();
    const done = story.steps.filter(({ time }) => !frontier.some((one) => precedes(one, time)));
    const over = done.reduce((count, step) => count + step.over, 0);
    drawCounters(at("counters"), telling.position === telling.events.length ? [["The engine, in all", touched, over]] : []);
  } else {
    const past = story.steps.slice(0, event ? event.step + 1 : 0);
    const sum = (name) => past.reduce((count, step) => count + step[name], 0);
    const last = past[past.length - 1];
    const name = last ? `At ${inWords(last.time, plan.coordinates)}` : "";
    drawCounters(at("counters"), last ? [[name, last.touched, last.over], ["Up to here", sum("touched"), sum("over")]] : []);
    said.push("A row touched is a change of one collection. Starting over computes every collection at that time again, from its inputs.");
    if (story.left) said.push(`${story.left} later times are not told.`);
    if (story.cut) said.push("Not all events are told.");
  }
  at("story-note").textContent = said.join(" ");
}

function moveStory(position) {
  state.position = position;
  if (position === null) telling.show(recordedPosition(telling.events));
  tell();
  const event = telling.events[telling.position - 1];
  if (at("follow").checked && event?.node !== undefined) goTo(event);
  else if (grid) {
    drawLattice();
    drawRecords();
  }
}

function goTo({ node, time }) {
  if (node === undefined) return;
  const { position } = state;
  if (node !== state.node) choose(node);
  Object.assign(state, { position });
  if (grid?.cells.has(time.join())) {
    state.cell = time;
    drawLattice();
    lattice.reveal();
    drawRecords();
  }
}

// ---- editing, and a session that runs -------------------------------------------------------

function edited(edit) {
  const before = grid;
  edit();
  state.position = null;
  if (data.live) following(false);
  restart();
  show(before);
}

function following(follows) {
  if (!data.live) return;
  data.live.follows = follows;
  at("live").hidden = false;
  const button = made("button", { type: "button", class: "small", onclick: () => { data.live.version = -1; following(true); } }, "Follow again");
  const says = data.live.ended ? "The session has ended." : follows ? "Following the session." : "You changed the inputs: this page no longer follows the session.";
  at("live").replaceChildren(says, " ", ...(follows || data.live.ended ? [] : [button]));
}

async function poll() {
  if (!data.live.follows) return void setTimeout(poll, data.live.pause);
  try {
    const answer = await fetch(`state?since=${data.live.version}`, { headers: { Authorization: `Bearer ${data.live.token}` }, cache: "no-store" });
    if (answer.status === 200 && data.live.follows) {
      const news = await answer.json();
      Object.assign(data, { frontiers: news.frontiers, dropped: news.dropped, engine: news.engine, lost: news.lost, spent: news.spent });
      Object.assign(data.live, { version: news.version, ended: news.ended });
      readGiven(news.inputs);
      const before = grid;
      restart();
      show(before);
      following(true);
    }
  } catch {
    data.live.ended = true;
    following(false);
    return;
  }
  if (!data.live.ended) setTimeout(poll, data.live.pause);
}

// ---- all of it ------------------------------------------------------------------------------

function takeTheme() {
  if (/^#(light|dark)$/.test(location.hash)) document.documentElement.dataset.theme = location.hash.slice(1);
}

takeTheme();
window.addEventListener("hashchange", takeTheme);
if (document.body.className === "figure" && window.parent !== window) { // the text around it may give it the height it needs
  new ResizeObserver(() => window.parent.postMessage({ ebbflow: Math.ceil(document.body.getBoundingClientRect().height) }, "*")).observe(document.body);
}
for (const part of ["plan", "lattice", "rows", "story", "inputs"]) at(`part-${part}`).hidden = !data.parts.includes(part);
readGiven(data.inputs);
const planView = new PlanView(at("plan"), data, choose);
const lattice = new Lattice(at("lattice"), {
  choose: chooseCell,
  mark,
  enter: () => at("changes").focus(),
  point: (time) => {
    state.pointed = time;
    light();
  },
});
const telling = new Telling({ move: moveStory, go: goTo }, sayEvent);
const editor = new Inputs({ plan, inputs, given, edited, say });
at("story-source").addEventListener("change", () => {
  Object.assign(state, { source: at("story-source").value, position: null });
  drawStory();
  if (grid) drawLattice();
});
at("why-close").addEventListener("click", () => {
  state.why = null;
  drawRecords();
});
at("again").addEventListener("click", () => edited(() => readGiven(data.inputs)));
if (data.live) {
  state.source = "engine";
  data.live.follows = true;
  following(true);
  setTimeout(poll, data.live.pause);
}
restart();
show();
window.explorer = { state, data, given, keyOf, cells: () => grid, story: () => story, choose, chooseCell, lattice }; // for tests and the curious
