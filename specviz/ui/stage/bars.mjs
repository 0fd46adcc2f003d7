// The laws of a calculator as bars to drag: each bar is a slider for pointer and keys. Not part of the stage.

import { h, percent, pool, setText } from "./dom.mjs";

const STEPS = 100; // over the whole track
const LEAP = 10; // steps of a page key
const REST_MS = 350; // the keys have come to rest: only then the page is drawn anew

const KEYS = {
  ArrowRight: 1,
  ArrowUp: 1,
  ArrowLeft: -1,
  ArrowDown: -1,
  PageUp: LEAP,
  PageDown: -LEAP,
  Home: -Infinity,
  End: Infinity,
};

// What a key makes of a value in [0, top], or null if the key is not for sliders. The result lies on the grid.
export function moved(value, key, top) {
  if (!Object.hasOwn(KEYS, key)) return null;
  const step = value * (STEPS / top);
  const next = KEYS[key] > 0 ? Math.floor(step + 1e-9) + KEYS[key] : Math.ceil(step - 1e-9) + KEYS[key];
  return onGrid(next / STEPS, top);
}

// The value at this part of the track.
export function onGrid(part, top) {
  return Number(((Math.round(Math.max(0, Math.min(1, part)) * STEPS) * top) / STEPS).toPrecision(12));
}

export function shown(value) {
  return value >= 1e6 || (value > 0 && value < 1e-3) ? value.toExponential(0) : String(Number(value.toPrecision(3)));
}

function makeBars(parent) {
  let data = null;
  let held = null; // the bar that a pointer holds
  let resting = null; // the timer of the keys
  let waiting = null; // what came from the page meanwhile
  let send = () => {};
  const head = h("div", { class: "head", "aria-hidden": "true" });
  const list = h("div", { class: "list", role: "group" });
  parent.append(h("div", { class: "bars" }, head, list));
  const rows = pool(list, (row) => {
    const name = h("bdi");
    const root = h("div", { class: "row" }, h("span", { class: "name" }, name));
    const bars = ["p", "q"].map((law) => makeBar(law, row));
    for (const bar of bars) root.append(bar.letter, bar.track, bar.number);
    return { root, name, bars };
  });

  function makeBar(law, row) {
    const fill = h("i", { class: `fill is-${law}` });
    const track = h("div", { class: "track", role: "slider", tabindex: "0", "aria-orientation": "horizontal" }, fill);
    const bar = { letter: h("i", { class: "letter", text: law }), track, fill, number: h("span", { class: "number" }) };
    const valueAt = (event) => {
      const { left, width } = track.getBoundingClientRect();
      return onGrid((event.clientX - left) / width, data.top);
    };
    const to = (value) => {
      data[law][row] = value;
      draw(bar, law, row);
    };
    track.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      held = { bar, before: data[law][row] };
      track.setPointerCapture(event.pointerId);
      track.focus({ preventScroll: true });
      to(valueAt(event));
    });
    track.addEventListener("pointermove", (event) => held?.bar === bar && to(valueAt(event)));
    track.addEventListener("pointerup", () => {
      if (held?.bar !== bar) return;
      const { before } = held;
      held = null;
      if (data[law][row] === before) settle();
      else commit();
    });
    track.addEventListener("pointercancel", () => {
      if (held?.bar !== bar) return;
      to(held.before);
      held = null;
      settle();
    });
    track.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const value = moved(data[law][row], event.key, data.top);
      if (value === null) return;
      event.preventDefault();
      event.stopPropagation();
      if (value === data[law][row]) return;
      to(value);
      clearTimeout(resting);
      resting = setTimeout(commit, REST_MS);
    });
    track.addEventListener("blur", () => resting !== null && commit());
    return bar;
  }

  function draw(bar, law, row) {
    const value = data[law][row];
    const told = data.told[law].replace("{token}", data.names[row]);
    bar.fill.style.width = percent(Math.min(1, Math.max(0, value) / data.top));
    setText(bar.number, shown(value));
    bar.track.setAttribute("aria-label", told);
    bar.track.setAttribute("aria-valuemin", "0");
    bar.track.setAttribute("aria-valuemax", String(data.top));
    bar.track.setAttribute("aria-valuenow", String(value));
    bar.track.setAttribute("aria-valuetext", shown(value));
  }

  function commit() {
    clearTimeout(resting);
    resting = waiting = null; // it was older than this
    send({ p: data.p, q: data.q, at: Date.now() });
  }

  // What came while a bar was moving, if it moved nowhere.
  function settle() {
    const late = waiting;
    waiting = null;
    if (late) update(late);
  }

  function update(next) {
    if (held || resting !== null) {
      waiting = next;
      return;
    }
    data = { ...next, p: [...next.p], q: [...next.q] };
    list.setAttribute("aria-label", data.told.all);
    head.replaceChildren(h("b", { class: "is-p", text: data.told.target }), h("b", { class: "is-q", text: data.told.draft }));
    rows(data.names.length).forEach((row, i) => {
      setText(row.name, data.names[i]);
      row.name.parentElement.title = data.names[i];
      draw(row.bars[0], "p", i);
      draw(row.bars[1], "q", i);
    });
  }

  return {
    update(next, sender) {
      send = sender;
      update(next);
    },
  };
}

const shelf = new WeakMap();

export function streamlitBars({ data, parentElement, setStateValue }) {
  if (!shelf.has(parentElement)) shelf.set(parentElement, makeBars(parentElement));
  shelf.get(parentElement).update(data, (weights) => setStateValue("weights", weights));
}
