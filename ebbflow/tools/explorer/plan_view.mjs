// The plan as a picture to choose a collection from: boxes, frames around loops, and where the story is.
//
// Rule: positions come with the page; nothing is laid out here.
import { cut, drawn } from "./elements.mjs";

const short = (count) => (count < 1000 ? String(count || "") : count < 1e5 ? `${(count / 1000).toFixed(1)}k` : `${Math.round(count / 1000)}k`);

const inMilliseconds = (seconds) => `${(seconds * 1000).toPrecision(2).replace(/e\+?.*/, "")} ms`;

class PlanView {
  constructor(place, { picture, words }, choose) {
    Object.assign(this, { place, choose });
    const { width, height, boxes, frames, lines } = picture;
    const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "listbox", "aria-label": "Collections of the plan" });
    const arrow = drawn("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
    arrow.append(drawn("path", { d: "M0,0 L8,4 L0,8 z", class: "tip" }));
    svg.append(drawn("defs", {}, arrow));
    for (const [loop, [x, y, w, h]] of Object.entries(frames)) {
      svg.append(drawn("rect", { class: "frame", x, y, width: w, height: h, rx: 8 }));
      svg.append(drawn("text", { class: "detail", x: x + 8, y: y + 13 }, `loop ${loop}`));
    }
    for (const { points, back } of lines) {
      const d = points.map(([x, y], i) => `${i ? "L" : "M"}${x},${y}`).join(" ");
      svg.append(drawn("path", { class: back ? "flow back" : "flow", d, "marker-end": "url(#arrow)" }));
    }
    this.order = Object.keys(boxes).map(Number);
    this.nodes = new Map();
    for (const i of this.order) {
      const [x, y, w, h] = boxes[i];
      const { kind, detail, place: line, notes } = words[i];
      const told = [`${kind} ${detail}`.trim(), line, ...notes].filter(Boolean).join("\n");
      const node = drawn("g", { role: "option", tabindex: -1, "data-node": i, "aria-selected": "false", "aria-label": `${kind} ${detail}`.trim() });
      node.append(drawn("title", {}, told));
      node.append(drawn("rect", { class: "box", x, y, width: w, height: h, rx: 5 }));
      node.append(drawn("text", { x: x + 7, y: y + 15 }, cut(kind, w, 6.6)));
      if (detail) node.append(drawn("text", { class: "detail", x: x + 7, y: y + 29 }, cut(detail, w, 5.6)));
      if (line) node.append(drawn("text", { class: "detail", x: x + 7, y: y + (detail ? 42 : 29) }, cut(line, w, 5.6)));
      node.append(drawn("rect", { class: "spent", x: x + 5, y: y + h - 4, width: 0, height: 2 }));
      node.append(drawn("text", { class: "detail total", x: x + w - 5, y: y + 13, "text-anchor": "end" }));
      node.addEventListener("click", () => choose(i));
      this.nodes.set(i, node);
      svg.append(node);
    }
    svg.addEventListener("keydown", (event) => this.moved(event));
    this.svg = svg;
    place.replaceChildren(svg);
  }

  moved(event) {
    const { order } = this;
    const far = { Home: order[0], End: order[order.length - 1] }[event.key];
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (step === undefined && far === undefined) return;
    event.preventDefault();
    this.choose(far ?? order[(order.indexOf(this.chosen) + step + order.length) % order.length]);
    this.nodes.get(this.chosen).focus();
  }

  setChosen(i) {
    for (const [one, chosen] of [[this.chosen, false], [i, true]]) {
      const node = this.nodes.get(one);
      if (!node) continue;
      node.setAttribute("aria-selected", String(chosen));
      node.setAttribute("tabindex", chosen ? 0 : -1);
    }
    this.chosen = i;
    this.reveal(i);
  }

  /** Scroll the plan, and not the page, until the box is in sight. */
  reveal(i) {
    const box = this.nodes.get(i)?.querySelector(".box").getBBox();
    if (!box) return;
    const { place } = this;
    const into = (at, from, far, seen) => (at < from || at + far > from + seen ? Math.max(0, at - (seen - far) / 2) : from);
    place.scrollTop = into(box.y, place.scrollTop, box.height, place.clientHeight);
    place.scrollLeft = into(box.x, place.scrollLeft, box.width, place.clientWidth);
  }

  /** The node of which the story tells now. */
  setNow(i) {
    this.nodes.get(this.now)?.classList.remove("now");
    this.nodes.get(i)?.classList.add("now");
    this.now = i;
  }

  /** How many changes each node has in all, and what the engine spent at it: seconds, by node. */
  setTotals(totals, spent) {
    const most = Math.max(...Object.values(spent));
    for (const [i, node] of this.nodes) {
      const parts = [short(totals?.[i] ?? 0), spent[i] === undefined ? "" : inMilliseconds(spent[i])];
      node.querySelector(".total").textContent = parts.filter(Boolean).join(" · ");
      const box = node.querySelector(".box").getBBox();
      const bar = node.querySelector(".spent");
      bar.setAttribute("width", spent[i] === undefined ? 0 : Math.max(2, (box.width - 10) * (spent[i] / most)));
    }
  }
}

export { PlanView, inMilliseconds };
