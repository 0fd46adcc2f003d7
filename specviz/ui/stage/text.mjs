// The text: the prompt, then each token marked by how it came. A click asks for the step that made it.
// Tokens are plain spans here: were they isolated, the words of a text from right to left would stand in reverse.

import { h, icon, setText } from "./dom.mjs";
import { fill } from "./layout.mjs";

export function makeText({ w, go, label }) {
  const prompt = h("span", { class: "prompt" });
  const caret = h("span", { class: "caret", "aria-hidden": "true" });
  const inner = h("div", { class: "inner", dir: "auto" }, prompt, caret);
  const scroller = h("section", { class: "scroller", "aria-label": w.text, tabindex: "0" }, inner);
  const legend = h("ul", { class: "legend", "aria-label": w.legend });
  for (const how of ["accepted", "resampled", "bonus"]) {
    legend.append(h("li", {}, icon(how), h("span", { class: `token is-${how}`, text: w[how] })));
  }
  const root = h("div", { class: "text" }, scroller, legend);
  let spans = []; // { node, round, step, outcome, at } in order
  let shown = 0; // that many spans are visible
  let fresh = []; // spans of the round that was emitted last

  inner.addEventListener("click", (event) => {
    const span = spans[event.target.closest("[data-i]")?.dataset.i];
    if (span) go({ round: span.round, step: span.step });
  });

  function grow(round) {
    round.spans.forEach(([text, step, outcome], j) => {
      const title = fill(w.made, { token: label(round, round.steps[step]), outcome: w[outcome], i: round.i + 1 });
      const node = h("span", { class: `token is-${outcome}`, text, title, "data-i": spans.length });
      node.hidden = true;
      inner.append(node); // behind the caret, which stands where the text ends so far
      spans.push({ node, round: round.i, step, outcome, place: j });
    });
  }

  return {
    root,
    scroller,
    reset(text) {
      for (const span of spans) span.node.remove();
      spans = [];
      fresh = [];
      shown = 0;
      setText(prompt, text);
    },
    extend(rounds) {
      rounds.forEach(grow);
    },
    update(view) {
      const until = view.step.k === "emit" ? view.at.round : view.at.round - 1;
      let n = shown;
      while (n < spans.length && spans[n].round <= until) spans[n++].node.hidden = false;
      while (n > 0 && spans[n - 1].round > until) spans[--n].node.hidden = true;
      const changed = n !== shown;
      shown = n;
      for (const span of fresh) span.node.classList.remove("fresh");
      fresh = spans.filter((span) => span.round === view.at.round && view.step.k === "emit");
      for (const span of fresh) span.node.classList.add("fresh");
      const last = n < spans.length ? spans[n].node : null;
      if (caret.nextSibling !== last) inner.insertBefore(caret, last);
      if (changed) scroller.scrollTop = 1e7; // to the end, without asking where that is
    },
    // The visible nodes of the round that was just emitted, with the step that made each.
    landed() {
      return fresh;
    },
  };
}
