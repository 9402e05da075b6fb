// The changes of an input along its times, to be dragged: a chip for each change, in the column of its time.
//
// With two coordinates or more, the first goes across and the second upward; others stay as they are.  Arrow keys move the
// chip that has the focus by one.
//
// Rule: a chip that is moved is one change with another time: whoever draws the timeline computes the rest.
import { cut, drawn } from "./elements.mjs";

const MOST_SLOTS = 40;
const MOST_CHIPS = 120;
const CHIP = 22;

/** The values of one coordinate to which a chip can go. */
function slotsOf(values) {
  const last = Math.max(0, ...values);
  if (last + 3 <= MOST_SLOTS) return [...Array(last + 3).keys()];
  const known = [...new Set([0, ...values])].sort((a, b) => a - b);
  return [...known.slice(-MOST_SLOTS), last + 1];
}

class Timeline {
  /** `on.move(change, time, isLast)`: somebody wants the change at that time. */
  constructor(place, on) {
    Object.assign(this, { place, on, drag: null });
    document.addEventListener("pointermove", (event) => this.dragged(event));
    document.addEventListener("pointerup", (event) => this.dropped(event));
    document.addEventListener("pointercancel", () => { this.drag = null; });
  }

  /** changes: [row, time, diff]; `told` says a row in words. */
  draw(changes, coordinates, told) {
    this.changes = changes.slice(-MOST_CHIPS);
    this.coordinates = coordinates;
    const flat = coordinates.length === 1;
    this.slots = coordinates.slice(0, 2).map((_, c) => slotsOf(this.changes.map(([, time]) => time[c])));
    const texts = this.changes.map(([row, , diff]) => `${diff > 0 ? "+" : "−"}${Math.abs(diff) === 1 ? "" : Math.abs(diff)} ${told(row)}`);
    const labels = this.slots[0].map((value) => String(value).length * 7.5 + 4); // beside each other they stay apart
    this.wide = Math.max(44, ...labels, Math.min(150, Math.max(0, ...texts.map((text) => text.length * 6.6 + 16))));
    const stacks = new Map();
    const spots = this.changes.map(([, time]) => {
      const key = time.slice(0, 2).join();
      stacks.set(key, (stacks.get(key) ?? 0) + 1);
      return stacks.get(key) - 1;
    });
    const deepest = Math.max(1, ...stacks.values());
    this.tall = deepest * CHIP + 6;
    this.left = flat ? 6 : Math.max(56, ...this.slots[1].map((value) => String(value).length * 7.5 + 14));
    const rows = flat ? 1 : this.slots[1].length;
    const [w, h] = [this.left + this.slots[0].length * (this.wide + 6) + 8, rows * this.tall + 40];
    this.high = rows * this.tall;
    const svg = drawn("svg", { width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: "group", "aria-label": `Changes along ${coordinates.slice(0, 2).join(" and ")}: drag them, or move them with the arrow keys` });
    this.slots[0].forEach((value, x) => {
      svg.append(drawn("rect", { class: "slot", x: this.left + x * (this.wide + 6), y: 2, width: this.wide + 6, height: this.high }));
      svg.append(drawn("text", { class: "axis", x: this.left + (x + 0.5) * (this.wide + 6), y: this.high + 18, "text-anchor": "middle" }, String(value)));
    });
    if (!flat) this.slots[1].forEach((value, y) => {
      svg.append(drawn("path", { class: "slot", d: `M${this.left},${this.high - y * this.tall + 2}H${w - 8}` }));
      svg.append(drawn("text", { class: "axis", x: this.left - 8, y: this.high - (y + 0.5) * this.tall + 6, "text-anchor": "end" }, String(value)));
    });
    svg.append(drawn("text", { class: "axis name", x: this.left + 2, y: this.high + 34 }, coordinates.slice(0, 2).map((name, c) => `${name} ${c ? "↑" : "→"}`).join("   ")));
    this.changes.forEach(([, time, diff], i) => {
      const chip = drawn("g", { class: `chip ${diff > 0 ? "come" : "go"}`, role: "slider", tabindex: 0, "data-chip": i, "aria-label": texts[i], "aria-valuenow": time[0], "aria-valuemin": 0, "aria-valuetext": coordinates.map((name, c) => `${name} ${time[c]}`).join(", ") });
      const [x, y] = this.spot(time, spots[i]);
      chip.append(drawn("title", {}, `${texts[i]} at ${time.join(", ")}`), drawn("rect", { x, y, width: this.wide, height: CHIP - 4, rx: 9 }));
      chip.append(drawn("text", { x: x + 8, y: y + 13 }, cut(texts[i], this.wide, 6.4)));
      chip.addEventListener("pointerdown", (event) => this.taken(event, this.changes[i]));
      chip.addEventListener("keydown", (event) => this.pushed(event, this.changes[i]));
      svg.append(chip);
    });
    const focused = this.place.contains(document.activeElement) ? document.activeElement.dataset.chip : undefined;
    this.place.replaceChildren(svg);
    if (this.pushedOne) this.focus(this.pushedOne);
    else if (focused !== undefined) this.place.querySelector(`[data-chip="${focused}"]`)?.focus({ preventScroll: true });
    this.pushedOne = null;
    if (this.drag) this.lift();
  }

  spot(time, depth) {
    const x = Math.max(0, this.slots[0].indexOf(time[0]));
    const y = this.slots.length === 1 ? 0 : Math.max(0, this.slots[1].indexOf(time[1]));
    return [this.left + x * (this.wide + 6) + 3, this.high - y * this.tall - (depth + 1) * CHIP + 2];
  }

  chipOf(change) {
    return this.place.querySelector(`[data-chip="${this.changes.indexOf(change)}"]`);
  }

  focus(change) {
    this.chipOf(change)?.focus({ preventScroll: true });
  }

  taken(event, change) {
    if (event.button !== 0) return;
    event.preventDefault();
    this.focus(change);
    this.drag = { change, began: [event.clientX, event.clientY], from: change[1], pointer: event.pointerId };
    this.lift();
  }

  lift() {
    this.chipOf(this.drag.change)?.classList.add("lifted");
  }

  timeAt(event) {
    const box = this.place.querySelector("svg").getBoundingClientRect();
    const inside = (i, list) => list[Math.min(Math.max(i, 0), list.length - 1)];
    const time = [...this.drag.change[1]];
    time[0] = inside(Math.floor((event.clientX - box.left - this.left) / (this.wide + 6)), this.slots[0]);
    if (this.slots.length > 1) time[1] = inside(Math.floor((this.high + 2 - (event.clientY - box.top)) / this.tall), this.slots[1]);
    return time;
  }

  dragged(event) {
    if (!this.drag || event.pointerId !== this.drag.pointer) return;
    event.preventDefault();
    const time = this.timeAt(event);
    if (time.join() !== this.drag.change[1].join()) this.on.move(this.drag.change, time, false);
  }

  dropped(event) {
    if (!this.drag || event.pointerId !== this.drag.pointer) return;
    const { change } = this.drag;
    const time = this.timeAt(event);
    this.drag = null;
    this.chipOf(change)?.classList.remove("lifted");
    this.on.move(change, time, true);
  }

  pushed(event, change) {
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step || (step[1] && this.slots.length === 1)) return;
    event.preventDefault();
    const time = change[1].map((c, d) => Math.max(0, c + (step[d] ?? 0)));
    this.pushedOne = change;
    this.on.move(change, time, true);
  }
}

export { Timeline };
