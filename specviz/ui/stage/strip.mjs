// The cumulative law as a strip from 0 to 1, the uniform that falls on it, and the token that this picks.

import { h, icon, percent, pool, setClass, setText } from "./dom.mjs";
import { aside, hang, legible, stretches, valueOf } from "./layout.mjs";

export function makeStrip({ w, motion }, kind) {
  const line = h("div", { class: "line" });
  const parts = pool(line, () => {
    const name = h("bdi");
    const root = h("span", { class: "part" }, name);
    return { root, name };
  });
  const flag = h("span", { class: "flag" });
  const marker = h("div", { class: "marker" }, flag, h("i"));
  const heading = h("h3");
  const note = h("p", { class: "note" });
  const word = h("bdi", { class: "word" });
  const mark = icon(kind === "residual" ? "resampled" : kind === "bonus" ? "bonus" : "drafted");
  const chip = h("span", { class: `chip is-${kind}` }, mark, word);
  const picked = h("p", { class: "picked" }, chip);
  const ends = h("div", { class: "ends", "aria-hidden": "true" }, h("span", { text: "0" }), h("span", { text: "1" }));
  return {
    root: h("div", { class: `draw is-${kind}` }, heading, h("div", { class: "strip" }, marker, line, ends), picked, note),
    update(step, column, title) {
      const rest = step.tail ? valueOf(step.tail[column - 2]) : 0;
      const found = legible(stretches(step.rows, rest, column, step.b, step.d));
      parts(found.length).forEach((part, i) => {
        const { label, from, width, drawn, at } = found[i];
        part.root.style.flexGrow = String(Math.max(width, 0.0005) * 1000);
        setText(part.name, label ?? (width > 0.14 ? w.others : width > 0.03 ? "⋯" : ""));
        part.name.style.left = step.u === null ? "" : percent(aside(valueOf(step.u), from, from + width));
        part.root.title = label ?? w.rest;
        setClass(part.root, `part${drawn ? " drawn" : ""}${at < 0 ? " rest" : ""}`);
      });
      setText(heading, step.g ? w.draw_best : title);
      marker.hidden = step.u === null;
      chip.style.marginLeft = percent(valueOf(step.u ?? "0.5"));
      chip.style.translate = "-50%"; // not transform, which moves
      if (step.u !== null) {
        const at = valueOf(step.u);
        setText(flag, `u = ${step.u}`);
        marker.style.left = percent(at);
        flag.style.transform = `translateX(${-100 * hang(at)}%)`;
        chip.style.translate = percent(-hang(at));
        motion.fall(marker, 500);
      }
      setText(word, step.rows[step.d][1]);
      setText(note, step.why ?? (step.g ? w.strip_greedy : w.strip_note));
      setClass(note, step.why ? "sum" : "note");
      if (step.why) motion.fade(note, 1900);
      motion.pop(chip, 1150);
    },
  };
}
