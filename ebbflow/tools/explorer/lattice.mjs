// The lattice of one collection as a picture: a cell for each time, what changes in it, and how far the work has come.
//
// The picture is SVG in layers.  What moves with the pointer (the past of a time, join and meet) is one rectangle each, so
// that pointing at one of ten thousand cells changes a handful of elements.
//
// Rule: a picture shows a scene and keeps nothing; what is chosen or marked is the page's to know.
import { drawn } from "./elements.mjs";

const ROOMY = { wide: 84, tall: 46, letter: 13, rows: 13 }; // at most so wide, with the first rows below their number
const FEW = 12; // columns and rows up to which cells are roomy, where there is room for them
const [LETTER, MARGIN] = [6.2, 10]; // of the rows in a cell
const LARGE = { wide: 58, tall: 34, letter: 13 };
const SMALL = { wide: 42, tall: 22, letter: 10 };
const MANY = 24; // columns or rows from which on cells are small

class Lattice {
  /** `on` has choose(time), point(time or null), mark(time). */
  constructor(place, on) {
    Object.assign(this, { place, on, scene: null, kept: () => {} });
    place.addEventListener("scroll", () => this.kept());
  }

  /**
   * A scene: names (of the two axes), across and upward (groups of values: [first, last] places, `shown`), timeOf(x, y),
   * cell(x, y) -> {come, go}, done(x, y), reached(x, y), owed(x, y), changed(x, y), label(x, y); x and y count groups.
   */
  draw(scene) {
    this.scene = scene;
    const { across, upward } = scene;
    const many = across.length > MANY || upward.length > MANY;
    const longest = Math.max(...upward.map(({ shown }) => shown.length), scene.names[1].length + 2, 2);
    this.left = longest * 7.2 + 14;
    const roomy = this.roomyFor(scene);
    this.size = roomy ?? (many ? SMALL : LARGE);
    const { wide, tall } = this.size;
    this.width = across.length * wide;
    this.height = upward.length * tall;
    const [w, h] = [this.left + this.width + 8, this.height + 46];
    const svg = drawn("svg", { width: w, height: h, viewBox: `0 0 ${w} ${h}`, role: "grid", tabindex: 0, "aria-labelledby": "lattice-title", "aria-rowcount": upward.length, "aria-colcount": across.length, class: many ? "small" : "" });
    this.past = drawn("rect", { class: "past" });
    this.bounds = drawn("g", {});
    this.texts = new Map();
    svg.append(
      drawn("path", { class: "all", d: this.rectangle(0, 0, across.length, upward.length) }),
      drawn("path", { class: "done", d: this.areaOf(scene.done) }),
      this.past,
      drawn("path", { class: "flash", d: this.areaOf(scene.changed) }),
      drawn("path", { class: "lines", d: this.lines() }),
      ...this.rings(),
      ...this.cells(),
      drawn("path", { class: "frontier", d: this.staircase() }),
      this.bounds,
      ...this.labels([w, h]),
    );
    svg.addEventListener("pointermove", (event) => this.pointed(event));
    svg.addEventListener("pointerleave", () => this.pointed(null));
    svg.addEventListener("click", (event) => this.clicked(event));
    svg.addEventListener("keydown", (event) => this.moved(event));
    this.svg = svg;
    this.at = null;
    const focused = this.place.contains(document.activeElement);
    this.place.replaceChildren(svg);
    this.kept();
    if (focused) svg.focus({ preventScroll: true });
  }

  /** Cells wide enough for the rows that come and go in them, within bounds; null where there is no room. */
  roomyFor({ across, upward, rows }) {
    if (Math.max(across.length, upward.length) > FEW) return null;
    const letters = across.flatMap((_, x) => upward.map((__, y) => rows(x, y).reduce((sum, [told]) => sum + told.length + 2, -2)));
    const wide = Math.min(ROOMY.wide, Math.max(LARGE.wide, Math.ceil(Math.max(...letters) * LETTER + MARGIN)));
    return this.left + across.length * wide + 8 <= this.place.clientWidth ? { ...ROOMY, wide } : null;
  }

  // x and y count cells, y from below
  corner(x, y) {
    return [this.left + x * this.size.wide, this.height - y * this.size.tall + 4];
  }

  rectangle(x, y, w, h) {
    const [px, py] = this.corner(x, y + h);
    return `M${px},${py}h${w * this.size.wide}v${h * this.size.tall}h${-w * this.size.wide}z`;
  }

  /** All cells for which something holds, as one path; neighbours in a column are one rectangle. */
  areaOf(holds) {
    const { across, upward } = this.scene;
    let d = "";
    across.forEach((_, x) => {
      for (let y = 0; y < upward.length; y++) {
        if (!holds(x, y)) continue;
        const start = y;
        while (y + 1 < upward.length && holds(x, y + 1)) y++;
        d += this.rectangle(x, start, 1, y + 1 - start);
      }
    });
    return d;
  }

  lines() {
    const { across, upward } = this.scene;
    const { wide, tall } = this.size;
    let d = "";
    for (let x = 0; x <= across.length; x++) d += `M${this.left + x * wide},4v${this.height}`;
    for (let y = 0; y <= upward.length; y++) d += `M${this.left},${y * tall + 4}h${this.width}`;
    return d;
  }

  /** The line between what is complete and what is not: to the right of it and above it changes may still come. */
  staircase() {
    const { across, upward, done } = this.scene;
    const heights = across.map((_, x) => {
      let y = 0;
      while (y < upward.length && done(x, y)) y++;
      return y;
    });
    let d = "";
    heights.forEach((y, x) => {
      const [px, py] = this.corner(x, y);
      const before = x === 0 ? y : heights[x - 1];
      if (before !== y) d += `${d ? "L" : "M"}${px},${this.corner(x, before)[1]}L${px},${py}`;
      if (y > 0 && y < upward.length) d += `${d ? "L" : "M"}${px},${py}L${px + this.size.wide},${py}`;
    });
    return d;
  }

  rings() {
    const { across, upward, owed } = this.scene;
    const found = [];
    across.forEach((_, x) => upward.forEach((__, y) => {
      const state = owed(x, y);
      if (!state) return;
      const [px, py] = this.corner(x + 0.5, y + 0.5);
      const [wide, tall] = [this.size.wide - 6, this.size.tall - 6];
      found.push(drawn("rect", { class: `ring ${state}`, x: px - wide / 2, y: py - tall / 2, width: wide, height: tall, rx: Math.min(14, tall / 2) }));
    }));
    return found;
  }

  cells() {
    const { across, upward, cell, reached, label, timeOf } = this.scene;
    const { wide, letter, rows } = this.size;
    return upward.map((_, y) => {
      const row = drawn("g", { role: "row" });
      across.forEach((__, x) => {
        const { come, go } = cell(x, y);
        const [px, py] = this.corner(x + 0.5, y + 0.5);
        const text = drawn("text", { role: "gridcell", id: `cell-${x}-${y}`, x: px, y: py + letter * 0.36 - (rows ? 8 : 0), "data-time": timeOf(x, y).join(), "aria-label": label(x, y), "aria-selected": "false", class: reached(x, y) ? "" : "later" });
        const long = `+${come} −${go}`.length * letter * 0.6 > wide && come && go;
        if (long) text.append(drawn("tspan", {}, `±${come + go}`));
        else {
          if (come) text.append(drawn("tspan", { class: "come" }, `+${come}`));
          if (come && go) text.append(" ");
          if (go) text.append(drawn("tspan", { class: "go" }, `−${go}`));
        }
        this.texts.set(`${x},${y}`, text);
        row.append(text);
        if (rows) row.append(this.rowsOf(x, y, [px, py + rows]));
      });
      return row;
    });
  }

  /** Which rows come and go in a cell, as far as there is room; the table beside it has them all. */
  rowsOf(x, y, [px, py]) {
    const { rows, reached } = this.scene;
    const text = drawn("text", { class: reached(x, y) ? "which" : "which later", x: px, y: py, "aria-hidden": "true" });
    let room = Math.floor((this.size.wide - MARGIN) / LETTER);
    for (const [told, comes] of rows(x, y)) {
      const says = text.childElementCount ? `; ${told}` : told;
      const fits = says.length <= room;
      text.append(drawn("tspan", { class: comes ? "come" : "go" }, fits ? says : `${says.slice(0, Math.max(0, room - 1))}…`));
      if (!fits) break;
      room -= says.length;
    }
    return text;
  }

  /** The values of both axes, on paper of their own: they stay in sight when the rest is scrolled. */
  labels([w, h]) {
    const { across, upward, names } = this.scene;
    const { wide, tall } = this.size;
    const every = Math.max(1, Math.ceil((Math.max(...across.map(({ shown }) => shown.length)) * 7.5 + 6) / wide));
    const below = drawn("g", {}, drawn("rect", { class: "paper", x: 0, y: this.height + 5, width: w, height: h - this.height }));
    across.forEach(({ shown }, x) => {
      if (x % every === 0) below.append(drawn("text", { class: "axis", x: this.left + (x + 0.5) * wide, y: this.height + 20, "text-anchor": "middle" }, shown));
    });
    const beside = drawn("g", {}, drawn("rect", { class: "paper", x: 0, y: 0, width: this.left - 1, height: h }));
    const each = Math.max(1, Math.ceil(14 / tall));
    upward.forEach(({ shown }, y) => {
      if (y % each === 0 && names[1] !== "") beside.append(drawn("text", { class: "axis", x: this.left - 8, y: this.height - (y + 0.5) * tall + 8, "text-anchor": "end" }, shown));
    });
    const corner = drawn("g", {}, drawn("rect", { class: "paper", x: 0, y: this.height + 5, width: this.left - 1, height: h - this.height }));
    if (names[1]) corner.append(drawn("text", { class: "axis name", x: this.left - 8, y: this.height + 20, "text-anchor": "end" }, `${names[1]} ↑`));
    corner.append(drawn("text", { class: "axis name", x: this.left + 2, y: this.height + 40 }, `${names[0]} →`));
    this.kept = () => {
      const [x, y] = [this.place.scrollLeft, Math.min(0, this.place.scrollTop + this.place.clientHeight - h)];
      beside.setAttribute("transform", `translate(${x},0)`);
      below.setAttribute("transform", `translate(0,${y})`);
      corner.setAttribute("transform", `translate(${x},${y})`);
    };
    return [beside, below, corner];
  }

  /** What is chosen, marked, and what follows from it: all of them [x, y] or null. */
  light({ chosen, past, marked, join, meet }) {
    const { upward } = this.scene;
    const [x, y] = past ?? chosen;
    const [px, py] = this.corner(0, y + 1);
    for (const [name, value] of Object.entries({ x: px, y: py, width: (x + 1) * this.size.wide, height: (y + 1) * this.size.tall })) this.past.setAttribute(name, value);
    const boxes = [];
    for (const [kind, cell] of Object.entries({ join, meet, marked, chosen })) {
      if (!cell || cell[0] < 0 || cell[1] < 0 || cell[1] >= upward.length) continue;
      const inset = { join: 5, meet: 5, marked: 2, chosen: 2 }[kind];
      const [cx, cy] = this.corner(cell[0], cell[1] + 1);
      boxes.push(drawn("rect", { class: `bound ${kind}`, x: cx + inset, y: cy + inset, width: this.size.wide - 2 * inset, height: this.size.tall - 2 * inset, rx: 2 }));
    }
    this.bounds.replaceChildren(...boxes);
    const text = this.texts.get(chosen.join());
    if (this.at !== text) {
      this.at?.setAttribute("aria-selected", "false");
      text?.setAttribute("aria-selected", "true");
      if (text) this.svg.setAttribute("aria-activedescendant", text.id);
      this.at = text;
    }
    this.chosen = chosen;
  }

  /** Scroll the chosen cell into the part that is seen, without moving the page. */
  reveal() {
    const [x, y] = this.corner(this.chosen[0], this.chosen[1] + 1);
    const { place, size } = this;
    const [right, bottom] = [place.clientWidth - size.wide - 8, place.clientHeight - size.tall - 46];
    place.scrollLeft = Math.max(Math.min(place.scrollLeft, x - this.left), x - right);
    place.scrollTop = Math.max(Math.min(place.scrollTop, y - 4), y - bottom);
  }

  /** Where the middle of a cell is on the screen. */
  spot(time) {
    const text = [...this.texts].find(([, one]) => one.dataset.time === time.join());
    const [x, y] = text[0].split(",").map(Number);
    const box = this.svg.getBoundingClientRect();
    const [px, py] = this.corner(x + 0.5, y + 0.5);
    return [box.left + px, box.top + py];
  }

  cellAt(event) {
    const box = this.svg.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left - this.left) / this.size.wide);
    const y = Math.floor((this.height + 4 - (event.clientY - box.top)) / this.size.tall);
    const { across, upward } = this.scene;
    return x < 0 || y < 0 || x >= across.length || y >= upward.length ? null : [x, y];
  }

  pointed(event) {
    const cell = event && this.cellAt(event);
    if (cell?.join() === this.seen?.join()) return;
    this.seen = cell;
    this.on.point(cell && this.scene.timeOf(...cell));
  }

  clicked(event) {
    const cell = this.cellAt(event);
    if (!cell) return;
    const time = this.scene.timeOf(...cell);
    if (event.shiftKey) this.on.mark(time);
    else this.on.choose(time);
  }

  moved(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { across, upward } = this.scene;
    const [x, y] = this.chosen;
    const far = { Home: [-across.length, 0], End: [across.length, 0], PageUp: [0, upward.length], PageDown: [0, -upward.length] };
    const step = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], ...far }[event.key];
    if (event.key === "m") this.on.mark(this.scene.timeOf(x, y));
    if (event.key === "Enter") this.on.enter();
    if (!step) return;
    event.preventDefault();
    const bounded = (i, list) => Math.min(Math.max(i, 0), list.length - 1);
    this.on.choose(this.scene.timeOf(bounded(x + step[0], across), bounded(y + step[1], upward)));
  }
}

export { Lattice };
