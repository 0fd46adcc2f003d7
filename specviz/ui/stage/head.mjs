// The head: which round, its phases as a rail, and the sums that move.

import { h, pool, setClass, setText } from "./dom.mjs";
import { fill } from "./layout.mjs";
import { phases } from "./position.mjs";

const DOTS = 4; // more steps of a kind than this are counted in figures
const TALLIES = ["passes", "per_pass", "alpha", "judged"];
const SHOWN = { passes: 0, per_pass: 2, alpha: 3, judged: 4 }; // places in a step's sums

export function makeHead({ w, motion, goStep }) {
  const where = h("div", { class: "where" }, h("b"), h("span"));
  const rail = h("ol", { class: "rail", "aria-label": w.phases });
  const tallies = h("dl", { class: "tallies" });
  const values = TALLIES.map((name) => {
    const value = h("dd");
    tallies.append(h("div", { class: `tally tally-${name}` }, h("dt", { text: w[name] }), value));
    return value;
  });
  const stops = pool(rail, () => {
    const name = h("span");
    const dots = h("span", { class: "dots", "aria-hidden": "true" });
    const go = h("button", { type: "button" }, name, dots);
    const stop = { root: h("li", {}, go), go, name, dots, first: 0 };
    go.addEventListener("click", () => goStep(stop.first));
    go.addEventListener("mousedown", (event) => event.preventDefault());
    return stop;
  });
  return {
    root: h("header", { class: "head" }, where, rail, tallies),
    update(view) {
      setText(where.firstChild, fill(w.round_of, { i: view.at.round + 1, n: view.n }));
      setText(where.lastChild, fill(w.step_of, { i: view.at.step + 1, n: view.round.steps.length }));
      const found = phases(view.round);
      stops(found.length).forEach((stop, i) => {
        const { kind, steps } = found[i];
        const here = steps.includes(view.at.step);
        stop.first = steps[0];
        setText(stop.name, w[`phase_${kind}`]);
        setClass(stop.go, `phase is-${kind}${here ? " here" : ""}${steps.at(-1) < view.at.step ? " done" : ""}`);
        if (here) stop.go.setAttribute("aria-current", "step");
        else stop.go.removeAttribute("aria-current");
        const reached = steps.filter((at) => at <= view.at.step).length;
        const count = steps.length > DOTS ? 0 : steps.length;
        if (!count) setText(stop.dots, `${reached}/${steps.length}`);
        else if (stop.dots.childElementCount !== count) stop.dots.replaceChildren(...Array.from({ length: count }, () => h("i")));
        stop.dots.hidden = count === 1;
        [...stop.dots.children].forEach((dot, j) => setClass(dot, steps[j] <= view.at.step ? "on" : ""));
      });
      TALLIES.forEach((name, i) => {
        const shown = view.step.y[SHOWN[name]];
        if (values[i].textContent === shown) return;
        setText(values[i], shown);
        motion.run(values[i], [{ transform: "scale(1.35)" }, { transform: "none" }], { duration: 500 });
      });
    },
  };
}
