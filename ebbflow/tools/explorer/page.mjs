// The explorer's page: the plan, the lattice of the chosen collection, its rows, and the inputs to play with.
//
// Rule: what is shown is computed by the evaluator from the inputs as they are listed, never kept from before an edit.
import { Plan, Evaluation, Refusal, readValue, parseValue, showValue, typeText, compareOrder, keyOf, precedes } from "./evaluator.mjs";

const MOST_CELLS = 10_000; // of the grid that is computed
const MOST_WORK = 3_000_000; // cells times changes of the inputs: what a page computes while somebody waits
const MOST_ROUNDS = 60; // of one loop
const MOST_ROWS = 200; // of a table
const PATIENCE_HERE = 500; // rounds after which the page gives a loop up
const SVG = "http://www.w3.org/2000/svg";

const data = JSON.parse(document.getElementById("program").textContent);
const at = (id) => document.getElementById(id);
const plan = new Plan(data.plan);
const inputs = plan.nodes.flatMap((node, i) => (node.kind === "input" && node.rows === undefined ? [{ name: node.input, node: i }] : []));
const given = {}; // {input: [[row, time, diff], ...]}
for (const { name, node } of inputs) {
  given[name] = data.inputs[name].map(([row, time, diff]) => [row.map((v, c) => readValue(v, plan.schemas[node].types[c])), time, diff]);
}
const state = { node: data.chosen, cell: null, marked: null, row: null, x: 0, y: 1, fixed: [], input: inputs[0]?.name };
let evaluation;
let grid;
let drawnCells = new Map(); // of the lattice: by time, [time, its element]

function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function drawn(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const left = Object.entries(data.dropped).filter(([, count]) => count);
const standing = left.map(([name, count]) => `${count} changes of "${name}" were not recorded: what is shown leaves them out.`);

function say(text) {
  at("notice").textContent = [...standing, text].join(" ").trim();
}

// ---- the plan -------------------------------------------------------------------------------

function cut(text, width, letter) {
  const most = Math.floor((width - 14) / letter);
  return text.length > most ? `${text.slice(0, Math.max(most - 1, 1))}…` : text;
}

function drawPlan() {
  const { width, height, boxes, frames, lines } = data.picture;
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "listbox", "aria-label": "Collections of the plan" });
  const arrow = drawn("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
  arrow.append(drawn("path", { d: "M0,0 L8,4 L0,8 z", fill: "currentColor" }));
  svg.append(drawn("defs", {}, arrow));
  for (const [loop, [x, y, w, h]] of Object.entries(frames)) {
    svg.append(drawn("rect", { class: "frame", x, y, width: w, height: h, rx: 8 }));
    svg.append(drawn("text", { class: "detail", x: x + 8, y: y + 13 }, `loop ${loop}`));
  }
  for (const { points, back } of lines) {
    const d = points.map(([x, y], i) => `${i ? "L" : "M"}${x},${y}`).join(" ");
    svg.append(drawn("path", { class: back ? "flow back" : "flow", d, "marker-end": "url(#arrow)" }));
  }
  for (const [i, [x, y, w, h]] of Object.entries(boxes)) {
    const { kind, detail } = data.words[i];
    const node = drawn("g", { role: "option", tabindex: -1, "data-node": i, "aria-selected": "false", "aria-label": `${kind} ${detail}`.trim() });
    node.append(drawn("title", {}, `${kind} ${detail}`.trim()));
    node.append(drawn("rect", { class: "box", x, y, width: w, height: h, rx: 5 }));
    node.append(drawn("text", { x: x + 7, y: y + 15 }, cut(kind, w, 6.6)));
    if (detail) node.append(drawn("text", { class: "detail", x: x + 7, y: y + 29 }, cut(detail, w, 5.6)));
    node.addEventListener("click", () => choose(Number(i)));
    svg.append(node);
  }
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const order = Object.keys(boxes).map(Number);
    choose(order[(order.indexOf(state.node) + step + order.length) % order.length]);
    svg.querySelector(`[data-node="${state.node}"]`).focus();
  });
  at("plan").replaceChildren(svg);
}

function choose(node) {
  state.node = node;
  Object.assign(state, { cell: null, marked: null, row: null });
  Object.assign(state, { x: 0, y: 1, fixed: [] });
  show();
}

// ---- computing ------------------------------------------------------------------------------

const dimensions = () => [...plan.coordinates, ...plan.nodes[state.node].inside.map((loop) => (data.plan.loops.length > 1 ? `round of loop ${loop}` : "round"))];

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
  return { axes: [...axes, ...rounds.map((count) => [...Array(count).keys()])], cells, left, cut: cut || rounds.includes(MOST_ROUNDS), frontiers: frontiersOf(state.node) };
}

/** The frontiers of all the inputs that a node is computed from. */
function frontiersOf(i) {
  const named = (at) => (plan.nodes[at].rows !== undefined ? [] : plan.nodes[at].kind === "input" ? [plan.nodes[at].input] : plan.reads(plan.nodes[at].source).flatMap(named));
  return [...new Set(plan.reads(i).flatMap(named))].flatMap((name) => data.frontiers[name]);
}

/** Whether no change can come any more at a time, as far as the recorded session had come. */
function isComplete(time) {
  return !grid.frontiers.some((frontier) => frontier.every((c, k) => c <= time[k]));
}

function restart() {
  evaluation = new Evaluation(plan, given, { patience: PATIENCE_HERE });
}

function show(before = null) {
  for (const node of document.querySelectorAll("#plan g[data-node]")) {
    const chosen = Number(node.dataset.node) === state.node;
    node.setAttribute("aria-selected", String(chosen));
    node.setAttribute("tabindex", chosen ? 0 : -1);
  }
  const { kind, detail, place } = data.words[state.node];
  at("about").textContent = `${kind} ${detail}${place ? ` (${place})` : ""}. Columns: ${plan.schemas[state.node].names.map((name, c) => `${name} ${typeText(plan.schemas[state.node].types[c])}`).join(", ")}.`;
  try {
    grid = computed();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    grid = null;
    at("lattice").replaceChildren();
    at("changes").replaceChildren();
    at("collection").replaceChildren();
    say(`${error.kind}: ${error.message}`);
    drawEdit();
    return;
  }
  const changed = before ? new Set([...new Set([...before.cells.keys(), ...grid.cells.keys()])].filter((key) => !sameCell(before.cells.get(key), grid.cells.get(key)))) : new Set();
  say(before ? `${changed.size} ${changed.size === 1 ? "cell" : "cells"} of this collection changed.` : "");
  const size = grid.axes.length;
  if (size === 1) Object.assign(state, { x: 0, y: null });
  else if (state.y === null || state.y >= size) state.y = size - 1 === plan.coordinates.length ? size - 1 : 1;
  if (before === null && size > plan.coordinates.length && state.cell === null) Object.assign(state, { x: 0, y: plan.coordinates.length });
  if (state.cell === null || !grid.cells.has(state.cell.join())) {
    const last = grid.axes.map((axis) => axis[axis.length - 1]);
    const changing = [...grid.cells].filter(([, rows]) => rows.size).map(([key]) => key.split(",").map(Number));
    state.cell = changing.length ? last.map((_, d) => Math.max(...changing.map((time) => time[d]))) : last;
  }
  drawAxes();
  drawLattice(changed);
  drawRecords();
  drawEdit();
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
      names.forEach((name, d) => select.append(made("option", { value: d, ...(d === state[axis] ? { selected: "" } : {}) }, name)));
      parts.push(made("label", {}, axis === "x" ? "across" : "upward", select));
    }
    names.forEach((name, d) => {
      if (d === state.x || d === state.y) return;
      const axis = grid.axes[d];
      const slider = made("input", { type: "range", min: 0, max: axis.length - 1, value: axis.indexOf(state.cell[d]), "data-fixed": d });
      slider.addEventListener("input", () => {
        state.cell = state.cell.map((c, k) => (k === d ? axis[Number(slider.value)] : c));
        slider.nextSibling.textContent = String(state.cell[d]);
        drawLattice(new Set());
        drawRecords();
      });
      parts.push(made("label", {}, name, slider, made("output", {}, String(state.cell[d]))));
    });
  }
  at("axes").replaceChildren(...parts);
}

function chooseAxis(axis, dimension) {
  const other = axis === "x" ? "y" : "x";
  if (state[other] === dimension) state[other] = state[axis];
  state[axis] = dimension;
  drawAxes();
  drawLattice(new Set());
}

function cellTime(x, y) {
  return state.cell.map((c, d) => (d === state.x ? x : d === state.y ? y : c));
}

/** The changes in a cell: of the row whose history is asked for, or of all. */
function changesAt(time) {
  const rows = grid.cells.get(time.join()) ?? new Map();
  return state.row === null ? rows : new Map([...rows].filter(([key]) => key === state.row));
}

function historyOf(key) {
  state.row = state.row === key ? null : key;
  drawLattice(new Set());
  drawRecords();
}

function summary(rows) {
  let [come, go] = [0n, 0n];
  for (const [, weight] of rows.values()) {
    if (weight > 0n) come += weight;
    else go -= weight;
  }
  return [come, go];
}

function drawLattice(changed) {
  const names = dimensions();
  const across = grid.axes[state.x];
  const upward = state.y === null ? [null] : [...grid.axes[state.y]].reverse();
  const table = made("table", { role: "grid", "aria-labelledby": "lattice-title" });
  const body = made("tbody");
  drawnCells = new Map();
  upward.forEach((y, row) => {
    const line = made("tr", {}, made("th", { scope: "row" }, y === null ? "" : `${names[state.y]} ${y}`));
    across.forEach((x, column) => {
      const time = cellTime(x, y);
      const rows = changesAt(time);
      const [come, go] = summary(rows);
      const classes = [];
      const done = isComplete(time);
      if (done) classes.push("done");
      if (done && column + 1 < across.length && !isComplete(cellTime(across[column + 1], y))) classes.push("edge-right");
      if (done && row > 0 && !isComplete(cellTime(x, upward[row - 1]))) classes.push("edge-up");
      if (precedes(time, state.cell)) classes.push("past");
      const chosen = time.join() === state.cell.join();
      if (chosen) classes.push("chosen");
      if (changed.has(time.join())) classes.push("flash");
      const label = `${names.map((name, d) => `${name} ${time[d]}`).join(", ")}: ${come} come, ${go} go`;
      const button = made("button", { type: "button", tabindex: chosen ? 0 : -1, "aria-label": label, "data-time": time.join(), onclick: (event) => (event.shiftKey ? markToo(time) : chooseCell(time)) });
      if (come) button.append(made("span", { class: "come" }, `+${come}`));
      if (come && go) button.append(" ");
      if (go) button.append(made("span", { class: "go" }, `−${go}`));
      const cell = made("td", { role: "gridcell", "aria-selected": String(chosen), class: classes.join(" ") }, button);
      cell.addEventListener("pointerenter", () => lightPast(time));
      drawnCells.set(time.join(), [time, cell]);
      line.append(cell);
    });
    body.append(line);
  });
  table.append(body, made("tfoot", {}, made("tr", {}, made("th", {}, names[state.x]), ...across.map((x) => made("th", { scope: "col" }, String(x))))));
  table.addEventListener("pointerleave", () => lightPast(state.cell));
  table.addEventListener("keydown", (event) => moveBy(event, across, upward));
  at("lattice").replaceChildren(table);
  const open = Object.values(data.frontiers).some((frontier) => frontier.length);
  const said = [...(state.row === null ? [] : ["Only the changes of one row are shown."]), open ? "Grey cells are complete: nothing changes there any more. The thick line is the frontier." : "The inputs are closed: every time is complete."];
  if (grid.left) said.push(`${grid.left} times are left out here: what changes at them is shown at the next one.`);
  if (grid.cut) said.push("Later rounds are not shown.");
  at("legend").textContent = said.join(" ");
  lightBounds(state.cell);
}

function lightPast(time) {
  for (const [there, cell] of drawnCells.values()) cell.classList.toggle("past", precedes(there, time));
  lightBounds(time);
}

/** The join and the meet of the marked cell and another. */
function lightBounds(time) {
  const bounds = state.marked ? { join: Math.max, meet: Math.min } : {};
  for (const kind of ["join", "meet"]) for (const cell of document.querySelectorAll(`#lattice td.${kind}`)) cell.classList.remove(kind);
  for (const cell of document.querySelectorAll("#lattice td.marked")) cell.classList.remove("marked");
  if (state.marked) drawnCells.get(state.marked.join())?.[1].classList.add("marked");
  const said = Object.entries(bounds).map(([kind, pick]) => {
    const found = time.map((c, d) => pick(c, state.marked[d]));
    drawnCells.get(found.join())?.[1].classList.add(kind);
    return `${kind} (${found.join(", ")})`;
  });
  at("bounds").textContent = state.marked ? `Marked (${state.marked.join(", ")}); with (${time.join(", ")}): ${said.join(", ")}. Press m again to take the mark away.` : "Press m, or click with Shift, to mark a cell: its join and meet with another are outlined.";
}

function markToo(time) {
  state.marked = state.marked?.join() === time.join() ? null : time;
  lightBounds(state.cell);
}

function moveBy(event, across, upward) {
  if (event.key === "m") markToo(state.cell);
  const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!step) return;
  event.preventDefault();
  const clamp = (i, list) => list[Math.min(Math.max(i, 0), list.length - 1)];
  const x = clamp(across.indexOf(state.cell[state.x]) + step[0], across);
  const y = state.y === null ? null : clamp(upward.indexOf(state.cell[state.y]) + step[1], upward);
  chooseCell(cellTime(x, y));
}

function chooseCell(time) {
  mark(state.cell, false);
  state.cell = time;
  mark(time, true);
  lightPast(time);
  drawRecords();
  drawnCells.get(time.join())[1].firstChild.focus();
}

function mark(time, chosen) {
  const [, cell] = drawnCells.get(time.join());
  cell.classList.toggle("chosen", chosen);
  cell.setAttribute("aria-selected", String(chosen));
  cell.firstChild.tabIndex = chosen ? 0 : -1;
}

// ---- rows -----------------------------------------------------------------------------------

function ordered(rows) {
  return [...rows.values()].sort(([x], [y]) => {
    for (let i = 0; i < x.length; i++) {
      const c = compareOrder(x[i], y[i]);
      if (c) return c;
    }
    return 0;
  });
}

function table(rows, schema, last) {
  const listed = ordered(rows);
  if (!listed.length) return [made("p", { class: "hint" }, "Nothing.")];
  const head = made("tr", {}, ...schema.names.map((name) => made("th", { scope: "col" }, name)), made("th", { scope: "col", class: "number" }, last), made("th", {}, ""));
  const body = listed.slice(0, MOST_ROWS).map(([row, weight]) => {
    const cells = row.map((value, c) => made("td", { class: typeof value === "bigint" || typeof value === "number" ? "number" : "" }, showValue(value, schema.types[c])));
    const sign = last === "diff" && weight > 0n ? "+" : "";
    const key = keyOf(row);
    const history = made("button", { type: "button", class: "remove", "aria-pressed": String(state.row === key), "aria-label": `History of ${row.map((v, c) => showValue(v, schema.types[c])).join(", ")}`, onclick: () => historyOf(key) }, state.row === key ? "all" : "history");
    return made("tr", {}, ...cells, made("td", { class: `number ${last === "diff" ? (weight > 0n ? "come" : "go") : ""}` }, `${sign}${weight}`), made("td", {}, history));
  });
  const found = [made("table", {}, made("thead", {}, head), made("tbody", {}, ...body))];
  if (listed.length > MOST_ROWS) found.push(made("p", { class: "hint" }, `${listed.length - MOST_ROWS} more rows are not shown.`));
  return found;
}

function drawRecords() {
  const names = dimensions();
  const schema = plan.schemas[state.node];
  const where = names.map((name, d) => `${name} ${state.cell[d]}`).join(", ");
  at("changes-title").textContent = `Changes at ${where}`;
  at("collection-title").textContent = `Collection at ${where}`;
  at("changes").replaceChildren(...table(grid.cells.get(state.cell.join()) ?? new Map(), schema, "diff"));
  const width = plan.coordinates.length;
  at("collection").replaceChildren(...table(evaluation.at(state.node, state.cell.slice(0, width), state.cell.slice(width)), schema, "count"));
}

// ---- the inputs -----------------------------------------------------------------------------

function drawEdit() {
  if (!inputs.length) return;
  const { node } = inputs.find(({ name }) => name === state.input);
  const schema = plan.schemas[node];
  const form = at("edit");
  const kept = form.dataset.input === state.input ? [...form.querySelectorAll("input")].map((field) => field.value) : [];
  const select = made("select", { name: "input", onchange: (event) => { state.input = event.target.value; drawEdit(); } });
  for (const { name } of inputs) select.append(made("option", { value: name, ...(name === state.input ? { selected: "" } : {}) }, name));
  const fields = schema.names.map((name, c) => made("label", {}, `${name} (${typeText(schema.types[c])})`, made("input", { "data-column": c, required: schema.types[c].name === "string" ? null : "" })));
  const times = plan.coordinates.map((name, c) => made("label", {}, `at ${name}`, made("input", { "data-coordinate": c, type: "number", min: 0, step: 1, required: "", value: state.cell?.[c] ?? 0 })));
  const press = (diff) => () => { form.dataset.diff = diff; };
  form.dataset.input = state.input;
  form.replaceChildren(made("label", {}, "input", select), ...fields, ...times, made("button", { type: "submit", value: "1", onclick: press("1") }, "Insert"), made("button", { type: "submit", value: "-1", onclick: press("-1") }, "Delete"));
  [...form.querySelectorAll("input")].forEach((field, i) => { if (kept[i] !== undefined && field.dataset.column !== undefined) field.value = kept[i]; });
  const changes = given[state.input];
  const head = made("tr", {}, ...schema.names.map((name) => made("th", { scope: "col" }, name)), ...plan.coordinates.map((name) => made("th", { scope: "col" }, name)), made("th", { scope: "col" }, "diff"), made("th", {}, ""));
  const rows = changes.slice(-MOST_ROWS).map((change) => {
    const [row, time, diff] = change;
    const remove = made("button", { type: "button", class: "remove", onclick: () => edited(() => changes.splice(changes.indexOf(change), 1)), "aria-label": `Take back ${row.map((v, c) => showValue(v, schema.types[c])).join(", ")} at ${time.join(", ")}` }, "Take back");
    return made("tr", {}, ...row.map((value, c) => made("td", {}, showValue(value, schema.types[c]))), ...time.map((c) => made("td", { class: "number" }, String(c))), made("td", { class: `number ${diff > 0 ? "come" : "go"}` }, `${diff > 0 ? "+" : ""}${diff}`), made("td", {}, remove));
  });
  const hidden = changes.length - rows.length;
  at("given").replaceChildren(made("table", {}, made("thead", {}, head), made("tbody", {}, ...rows)), ...(hidden ? [made("p", { class: "hint" }, `${hidden} earlier changes are not listed.`)] : []));
}

function edited(edit) {
  const before = grid;
  edit();
  restart();
  show(before);
}

function submitted(event) {
  event.preventDefault();
  const form = at("edit");
  const { node } = inputs.find(({ name }) => name === state.input);
  const { types } = plan.schemas[node];
  try {
    const row = [...form.querySelectorAll("[data-column]")].map((field, c) => parseValue(field.value, types[c]));
    const time = [...form.querySelectorAll("[data-coordinate]")].map((field) => Number(field.value));
    if (!time.every((c) => Number.isSafeInteger(c) && c >= 0)) throw new Refusal("TypeMismatch", "A time is made of whole numbers from 0 on.");
    edited(() => given[state.input].push([row, time, Number(form.dataset.diff ?? 1)]));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(`${error.kind}: ${error.message}`);
  }
}

// ---- all of it ------------------------------------------------------------------------------

restart();
drawPlan();
at("edit").addEventListener("submit", submitted);
show();
window.explorer = { state, data, given, keyOf, cells: () => grid, choose, chooseCell }; // for tests and the curious
