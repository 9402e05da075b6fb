// The inputs' changes, to be edited: a form for new ones, a timeline to drag them on, a table to write other values into.
//
// Rule: an edit that does not read as its type changes nothing and says what was expected.
import { parseValue, Refusal, showValue, typeText, keyOf } from "./evaluator.mjs";
import { at, made } from "./elements.mjs";
import { Timeline } from "./timeline.mjs";
import { told } from "./records.mjs";

const MOST_LISTED = 100;
const [LEAST_LETTERS, MOST_LETTERS] = [6, 26]; // that a field of the table has room for
const SLOW = 60; // milliseconds of computing from which on a drag computes at its end only

class Inputs {
  /** edited(edit): do it, and compute all anew. */
  constructor({ plan, inputs, given, edited, say }) {
    Object.assign(this, { plan, inputs, given, edited, say, chosen: inputs[0]?.name, causes: new Set(), took: 0 });
    this.timeline = new Timeline(at("timeline"), { move: (change, time, isLast) => this.moved(change, time, isLast) });
    at("edit").addEventListener("submit", (event) => this.submitted(event));
  }

  get node() {
    return this.inputs.find(({ name }) => name === this.chosen).node;
  }

  get schema() {
    return this.plan.schemas[this.node];
  }

  draw(cell) {
    if (!this.inputs.length || at("part-inputs").hidden) return;
    this.cell = cell;
    this.drawForm(cell);
    this.drawChanges();
  }

  drawForm(cell) {
    const { plan, schema } = this;
    const form = at("edit");
    const kept = form.dataset.input === this.chosen ? [...form.querySelectorAll("input")].map((field) => field.value) : [];
    const select = made("select", { name: "input", onchange: (event) => { this.chosen = event.target.value; this.draw(this.cell); at("edit").querySelector("select").focus(); } });
    for (const { name } of this.inputs) select.append(made("option", { value: name, selected: name === this.chosen }, name));
    const fields = schema.names.map((name, c) => made("label", {}, `${name} (${typeText(schema.types[c])})`, made("input", { "data-column": c, required: schema.types[c].name !== "string" })));
    const times = plan.coordinates.map((name, c) => made("label", {}, `at ${name}`, made("input", { "data-coordinate": c, inputmode: "numeric", size: Math.max(10, String(cell?.[c] ?? 0).length), required: true, value: cell?.[c] ?? 0 })));
    const press = (diff) => () => { form.dataset.diff = diff; };
    form.dataset.input = this.chosen;
    form.replaceChildren(made("label", {}, "input", select), ...fields, ...times, made("button", { type: "submit", onclick: press("1") }, "Insert"), made("button", { type: "submit", onclick: press("-1") }, "Delete"));
    [...form.querySelectorAll("input")].forEach((field, i) => { if (kept[i] !== undefined && field.dataset.column !== undefined) field.value = kept[i]; });
  }

  drawChanges() {
    const { plan, schema } = this;
    const changes = this.given[this.chosen];
    this.timeline.draw(changes, plan.coordinates, (row) => told(row, schema));
    const listed = changes.slice(-MOST_LISTED);
    const head = made("tr", {}, ...[...schema.names, ...plan.coordinates, "diff"].map((name) => made("th", { scope: "col" }, name)), made("td", {}));
    const sizeOf = (texts) => Math.min(MOST_LETTERS, Math.max(LEAST_LETTERS, ...texts.map((text) => String(text).length)));
    const wide = schema.types.map((type, c) => sizeOf(listed.map(([row]) => showValue(row[c], type))));
    const long = plan.coordinates.map((_, c) => sizeOf(listed.map(([, time]) => time[c])));
    const rows = listed.map((change) => {
      const [row, time, diff] = change;
      const says = `${told(row, schema)} at ${time.join(", ")}`;
      const field = (name, value, size, write) => made("td", {}, made("input", { value, size, "aria-label": `${name} of ${says}`, onchange: (event) => this.written(event, change, write) }));
      const values = row.map((value, c) => field(schema.names[c], showValue(value, schema.types[c]), wide[c], (text) => { change[0] = row.map((v, k) => (k === c ? parseValue(text, schema.types[c]) : v)); }));
      const times = time.map((value, c) => field(plan.coordinates[c], value, long[c], (text) => { change[1] = time.map((v, k) => (k === c ? wholeNumber(text, 0) : v)); }));
      const weight = field("diff", diff, LEAST_LETTERS, (text) => { change[2] = wholeNumber(text, -Number.MAX_SAFE_INTEGER); });
      const remove = made("button", { type: "button", class: "small remove", onclick: () => this.edited(() => changes.splice(changes.indexOf(change), 1)), "aria-label": `Take back ${says}` }, "Take back");
      return made("tr", { "data-key": `${this.node}|${keyOf(row)}` }, ...values, ...times, weight, made("td", { class: "actions" }, remove));
    });
    const hidden = changes.length - rows.length;
    at("given").replaceChildren(made("table", {}, made("thead", {}, head), made("tbody", {}, ...rows)), ...(hidden ? [made("p", { class: "hint" }, `${hidden} earlier changes are not listed.`)] : []));
    this.setCauses(this.causes);
  }

  /** Show which rows of the inputs the chosen row rests on: keys are "node|row". */
  setCauses(causes) {
    this.causes = causes;
    for (const row of at("given").querySelectorAll("tr[data-key]")) row.classList.toggle("cause", causes.has(row.dataset.key));
    for (const chip of at("timeline").querySelectorAll("[data-chip]")) {
      const change = this.timeline.changes[Number(chip.dataset.chip)];
      chip.classList.toggle("cause", causes.has(`${this.node}|${keyOf(change[0])}`));
    }
  }

  refusing(act) {
    try {
      act();
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.say(`${error.kind}: ${error.message}`);
      return false;
    }
  }

  written(event, change, write) {
    const field = event.target;
    const before = [...change];
    const asked = field.getAttribute("aria-label");
    if (!this.refusing(() => write(field.value))) {
      field.setAttribute("aria-invalid", "true");
      return;
    }
    const after = [...change];
    change.splice(0, 3, ...before);
    this.edited(() => change.splice(0, 3, ...after));
    const names = [...at("given").querySelectorAll("input")].map((one) => one.getAttribute("aria-label"));
    at("given").querySelectorAll("input")[names.indexOf(asked)]?.focus();
  }

  moved(change, time, isLast) {
    if (!isLast && this.took > SLOW) return;
    if (change[1].join() === time.join()) return;
    const began = performance.now();
    this.edited(() => { change[1] = time; });
    this.took = performance.now() - began;
  }

  submitted(event) {
    event.preventDefault();
    const form = at("edit");
    const { types } = this.schema;
    this.refusing(() => {
      const row = [...form.querySelectorAll("[data-column]")].map((field, c) => parseValue(field.value, types[c]));
      const time = [...form.querySelectorAll("[data-coordinate]")].map((field) => wholeNumber(field.value, 0));
      this.edited(() => this.given[this.chosen].push([row, time, Number(form.dataset.diff ?? 1)]));
    });
  }
}

function wholeNumber(text, least) {
  const found = Number(String(text).replace("−", "-"));
  if (text === "" || !Number.isSafeInteger(found) || found < least || (least < 0 && found === 0)) throw new Refusal("TypeMismatch", `"${text}" is no whole number${least < 0 ? " other than 0" : " from 0 on"}.`);
  return found;
}

export { Inputs };
