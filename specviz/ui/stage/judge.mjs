// The judgement: p and q of the token as bars, the ratio, and r on a line whose shaded part accepts.

import { h, icon, percent, setClass, setIcon, setText } from "./dom.mjs";
import { aside, fill, hang, valueOf } from "./layout.mjs";
import { makeLaw } from "./laws.mjs";

function makeBar(kind, name) {
  const bar = h("i", { class: `fill is-${kind}` });
  const number = h("b", { class: "number" });
  const root = h("div", { class: "bar" }, h("span", { class: "name", text: name }), h("span", { class: "track" }, bar), number);
  return { root, bar, number };
}

export function makeJudge({ w, motion, label }) {
  const title = h("h3");
  const p = makeBar("p", w.p);
  const q = makeBar("q", w.q);
  const ratio = h("p", { class: "ratio" });
  const zone = h("span", { class: "part accept" }, h("span", { text: w.accept_zone }));
  const other = h("span", { class: "part reject" }, h("span", { text: w.reject_zone }));
  const flag = h("span", { class: "flag" });
  const marker = h("div", { class: "marker" }, flag, h("i"));
  const threshold = h("div", { class: "threshold" }, h("i"), h("span"));
  const verdict = h("p", { class: "verdict" }, icon("accepted"), h("span"));
  const ends = h("div", { class: "ends", "aria-hidden": "true" }, h("span", { text: "0" }), h("span", { text: "1" }));
  const line = h("div", { class: "strip" }, marker, h("div", { class: "line" }, zone, other), threshold, ends);
  const law = makeLaw({ w, motion }, ["p", "q"], { overlaid: true, still: true });
  const beta = h("p", { class: "note" });
  return {
    root: h(
      "div",
      { class: "panel three judge" },
      h("div", { class: "column" }, title, p.root, q.root, ratio),
      h("div", { class: "column wide" }, h("h3", { text: w.trial }), line, verdict),
      h("div", { class: "column aside" }, h("h3", { text: w.both_laws }), law.root, beta),
    ),
    update({ step, round }) {
      const [pv, qv, a, r] = [step.p, step.q, step.a, step.r].map(valueOf);
      const scale = Math.max(pv, qv) || 1;
      setText(title, fill(w.each_gives, { token: `\u2068${label(round, step)}\u2069` }));
      for (const [bar, shown, value] of [[p, step.p, pv], [q, step.q, qv]]) {
        setText(bar.number, shown);
        bar.bar.style.width = percent(value / scale);
        motion.grow(bar.bar, 0);
      }
      setText(ratio, fill(w.ratio, { x: step.x, a: step.a }));
      motion.fade(ratio, 400);
      zone.style.flexGrow = String(1000 * a);
      other.style.flexGrow = String(1000 * (1 - a));
      zone.hidden = a === 0;
      other.hidden = a === 1;
      for (const [part, from, to] of [[zone, 0, a], [other, a, 1]]) {
        part.firstChild.hidden = to - from < 0.12;
        part.firstChild.style.left = percent(aside(r, from, to));
      }
      threshold.style.left = percent(a);
      setText(threshold.lastChild, fill(w.threshold, { a: step.a }));
      threshold.lastChild.style.transform = `translateX(${-100 * hang(a)}%)`;
      marker.style.left = percent(r);
      setText(flag, `r = ${step.r}`);
      flag.style.transform = `translateX(${-100 * hang(r)}%)`;
      motion.fade(threshold, 400);
      motion.fall(marker, 650);
      setClass(verdict, `verdict is-${step.ok ? "accepted" : "rejected"}`);
      setIcon(verdict.firstChild, step.ok ? "accepted" : "rejected");
      setText(verdict.lastChild, fill(step.ok ? w.verdict_yes : w.verdict_no, { r: step.r, a: step.a }));
      motion.pop(verdict, 1300);
      law.update(step);
      setText(beta, fill(w.beta, { beta: step.beta }));
    },
  };
}
