// Laws as rows of bars: a token a row, and one for all others together.

import { h, percent, pool, setClass, setText } from "./dom.mjs";
import { longest, valueOf } from "./layout.mjs";

const GROWING = 4; // the first bars grow, and the others stand: each movement costs

// columns: which numbers a row has, by name: "q", "p" or "left", in the order of the payload's rows.
export function makeLaw({ w, motion }, columns, { overlaid = false, still = false } = {}) {
  const body = h("ul", { class: `law ${overlaid ? "overlaid" : "single"} has-${columns.length}` });
  const head = h("li", { class: "row names", "aria-hidden": "true" }, h("span"), h("span"));
  for (const name of columns.slice(0, overlaid ? 2 : 1)) head.append(h("span", { class: "number", text: name }));
  if (columns.includes("left")) head.append(h("span", { class: "lift" }), h("span", { class: "number", text: "" }));
  if (overlaid) body.append(head);
  const rows = pool(body, () => {
    const name = h("bdi", { class: "word" });
    const fills = Object.fromEntries(columns.map((c) => [c, h("i", { class: `fill is-${c}` })]));
    const excess = h("i", { class: "fill is-excess" });
    const track = h("span", { class: "track" }, ...columns.filter((c) => c !== "left").map((c) => fills[c]));
    const numbers = columns.map(() => h("span", { class: "number" }));
    const root = h("li", { class: "row" }, name, track, ...numbers.slice(0, overlaid ? 2 : 1));
    if (columns.includes("left")) {
      track.append(excess);
      root.append(h("span", { class: "track lift" }, fills.left), numbers[2]);
    }
    return { root, name, fills, excess, numbers };
  });

  function set(row, numbers, scale, leftScale, i) {
    columns.forEach((column, c) => {
      const value = valueOf(numbers[c]);
      setText(row.numbers[c], numbers[c]);
      const part = value / (column === "left" ? leftScale : scale);
      row.fills[column].style.width = percent(Math.min(1, part));
      row.fills[column].hidden = value === 0;
      row.fills[column].classList.toggle("cut", part > 1.001);
      if (i < GROWING && !still) motion.grow(row.fills[column], column === "left" ? 900 + 60 * i : 60 * i);
    });
    if (!columns.includes("left")) return;
    const [p, q] = [valueOf(numbers[0]), valueOf(numbers[1])];
    row.excess.hidden = p <= q;
    row.excess.style.left = percent(Math.min(1, q / scale));
    row.excess.style.width = percent(Math.min(1, p / scale) - Math.min(1, q / scale));
    if (i < GROWING) motion.fade(row.excess, 500 + 60 * i);
  }

  return {
    root: body,
    update(step, { rejected = null } = {}) {
      const places = columns.map((_, c) => c + 2);
      const shared = places.filter((_, c) => columns[c] !== "left");
      const scale = longest(step.rows, shared);
      const leftScale = columns.includes("left") ? longest(step.rows, [4]) : 1;
      const n = step.rows.length + (step.tail ? 1 : 0);
      rows(n).forEach((row, i) => {
        const told = step.rows[i];
        setText(row.name, told ? told[1] : overlaid ? w.others : w.rest);
        row.root.title = told ? told[1] : w.rest;
        const drawn = i === step.d ? " drawn" : "";
        setClass(row.root, `row${told ? "" : " rest"}${drawn}${told && told[0] === rejected ? " struck" : ""}`);
        set(row, told ? told.slice(2) : step.tail, scale, leftScale, i);
      });
    },
  };
}
