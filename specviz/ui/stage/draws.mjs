// Panels of a draw: from the draft's law, from the target's (the bonus), or from the residual.

import { h, setText } from "./dom.mjs";
import { fill } from "./layout.mjs";
import { makeLaw } from "./laws.mjs";
import { makeStrip } from "./strip.mjs";

export function makeDraw(context, kind) {
  const { w } = context;
  const law = makeLaw(context, [kind === "draft" ? "q" : "p"]);
  const strip = makeStrip(context, kind);
  const title = h("h3", { text: kind === "draft" ? w.law_q : w.law_p });
  return {
    root: h("div", { class: `panel two is-${kind}` }, h("div", { class: "column" }, title, law.root), strip.root),
    update({ step }) {
      law.update(step);
      strip.update(step, 2, w.draw);
    },
  };
}

export function makeResidual(context) {
  const { w } = context;
  const law = makeLaw(context, ["p", "q", "left"], { overlaid: true });
  const strip = makeStrip(context, "residual");
  const left = h("h3");
  const titles = h("div", { class: "titles" }, h("h3", { text: w.overlaid }), left);
  const keys = h(
    "p",
    { class: "keys note" },
    h("span", { class: "key is-p", text: w.p }),
    h("span", { class: "key is-q", text: w.q }),
    h("span", { class: "key is-excess", text: w.residual_key }),
  );
  return {
    root: h("div", { class: "panel two residual" }, h("div", { class: "column" }, titles, law.root, keys), strip.root),
    update({ step, round }) {
      const judged = round.steps.findLast((s) => s.k === "judge");
      law.update(step, { rejected: judged.rows[judged.d][0] });
      strip.update(step, 4, w.draw);
      setText(left, step.why ? fill(w.left_over, { rejected: step.rej }) : w.left_over_best);
    },
  };
}
