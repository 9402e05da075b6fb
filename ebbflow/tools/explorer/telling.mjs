// The story below the lattice: one event after the other, a slider to go through them, and what they cost.
//
// There are two stories.  The page's own follows from the collections, and changes with every edit; the engine's was
// recorded while a session ran, and stays as it was.
//
// Rule: a position is how many events have happened; the page shows lattice and frontier as they were then.
import { at, made } from "./elements.mjs";

const AROUND = 7; // events listed before and after the present one
const PACE = 700; // milliseconds between events when it plays

class Telling {
  /** `on.move(position)`: show it so; `on.go(event)`: go to the event's collection and time; say(event): a sentence. */
  constructor(on, say) {
    Object.assign(this, { on, say, events: [], position: 0, timer: null });
    at("scrub").addEventListener("input", () => this.go(Number(at("scrub").value)));
    at("story-back").addEventListener("click", () => this.go(this.position - 1));
    at("story-on").addEventListener("click", () => this.go(this.position + 1));
    at("story-play").addEventListener("click", () => this.play(this.timer === null));
    at("story-now").addEventListener("click", () => { this.play(false); this.on.move(null); });
  }

  set(events, position) {
    this.events = events;
    const slider = at("scrub");
    slider.max = events.length;
    slider.disabled = !events.length;
    this.show(position);
  }

  go(position) {
    const bounded = Math.min(Math.max(position, 0), this.events.length);
    this.show(bounded);
    this.on.move(bounded);
  }

  play(starts) {
    clearInterval(this.timer);
    this.timer = null;
    if (starts) {
      if (this.position >= this.events.length) this.go(0);
      this.timer = setInterval(() => (this.position < this.events.length ? this.go(this.position + 1) : this.play(false)), PACE);
    }
    at("story-play").textContent = this.timer === null ? "Play" : "Pause";
  }

  show(position) {
    this.position = position;
    const slider = at("scrub");
    slider.value = position;
    const last = this.events[position - 1];
    const says = last ? this.say(last) : "Nothing has happened yet.";
    slider.setAttribute("aria-valuetext", `${position} of ${this.events.length}: ${says}`);
    at("story-says").textContent = says;
    const first = Math.max(0, Math.min(position - AROUND, this.events.length - 2 * AROUND));
    const listed = this.events.slice(first, first + 2 * AROUND);
    at("story-list").replaceChildren(
      ...listed.map((event, i) => {
        const number = first + i + 1;
        const button = made("button", { type: "button", class: "event", onclick: () => { this.go(number); this.on.go(event); } }, made("span", { class: `kind ${event.kind}` }, event.kind), this.say(event));
        return made("li", { value: number, class: number === position ? "now" : number > position ? "later" : null, ...(number === position ? { "aria-current": "step" } : {}) }, button);
      }),
    );
    const now = at("story-list").querySelector(".now");
    if (now) at("story-list").scrollTop = now.offsetTop - at("story-list").clientHeight / 2;
  }
}

/** Two bars: what the changes touch, and what computing everything again at each of these times would. */
function drawCounters(place, pairs) {
  const most = Math.max(1, ...pairs.flatMap(([, touched, over]) => [touched, over]));
  place.replaceChildren(
    ...pairs.map(([name, touched, over]) => {
      const bar = (kind, count, says) => {
        const meter = made("meter", { min: 0, max: most, value: count, class: kind, "aria-label": `${name}, ${says}` });
        return made("div", { class: "bar" }, meter, made("span", {}, `${count} ${says}`));
      };
      return made("div", { class: "counter" }, made("h3", {}, name), bar("touched", touched, touched === 1 ? "row touched" : "rows touched"), bar("over", over, "starting over"));
    }),
  );
}

export { Telling, drawCounters };
