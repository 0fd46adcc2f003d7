// The controls: buttons, the map of the run with its scrubber, the round picker, the speed.

import { button, h, icon, pool, setClass, setIcon, setText } from "./dom.mjs";
import { fill } from "./layout.mjs";
import { SPEEDS, flatten, unflatten } from "./position.mjs";

const SIGNED = 30; // up to so many rounds, each shows its sign on the map

export function makeControls({ w, act, go, setSpeed, more }) {
  const play = button("play", w.play, () => act("toggle"));
  play.classList.add("primary");
  const scrub = h("input", { type: "range", min: "0", step: "1", "aria-label": w.scrub });
  const map = h("div", { class: "map", "aria-hidden": "true" });
  const blocks = pool(map, () => ({ root: h("span") }));
  const round = h("select", { "aria-label": w.round });
  const of = h("span", { class: "of" });
  const speed = h("select", { "aria-label": w.speed }, ...SPEEDS.map((s) => h("option", { value: s, text: fill(w.times, { n: s }) })));
  const done = h("i", { class: "done" });
  const count = h("div", { class: "beat", "aria-hidden": "true" }, done);
  const rejection = button("rejected", w.rejection, () => act("rejection"));
  rejection.replaceChildren(h("span", { text: w.rejection_short }), icon("rejected"));
  rejection.classList.add("wide");
  let starts = [0];
  let rounds = 0;

  speed.value = "1";
  scrub.addEventListener("input", () => go(unflatten(starts, Number(scrub.value))));
  // The keys come back to the stage once a choice is made.
  round.addEventListener("change", () => (act("round", Number(round.value)), round.blur()));
  speed.addEventListener("change", () => (setSpeed(Number(speed.value)), speed.blur()));

  return {
    root: h(
      "div",
      { class: "controls", role: "group", "aria-label": w.controls },
      count,
      h(
        "div",
        { class: "buttons" },
        button("first", w.first, () => act("first")),
        button("back", w.back, () => act("back")),
        play,
        button("next", w.next, () => act("next")),
        rejection,
      ),
      h("label", { class: "picker" }, h("span", { text: w.round }), round, of),
      h("div", { class: "scrub" }, map, scrub),
      h("label", { class: "picker speed" }, h("span", { text: w.speed }), speed),
      h("div", { class: "buttons" }, ...more),
    ),
    extend(all, offsets) {
      starts = offsets;
      for (let i = rounds; i < all.length; i += 1) round.append(h("option", { value: i + 1, text: String(i + 1) }));
      while (round.options.length > all.length) round.options[round.options.length - 1].remove();
      rounds = all.length;
      scrub.max = String(Math.max(0, starts.at(-1) - 1));
      setText(of, `/ ${rounds}`);
      blocks(rounds).forEach((block, i) => {
        const last = all[i].final?.[1] ?? "accepted";
        block.root.style.flexGrow = String(all[i].steps.length);
        setClass(block.root, `is-${last}`);
        setText(block.root, rounds <= SIGNED ? { residual: "✕", bonus: "★", accepted: "✓" }[last] ?? "" : "");
      });
    },
    update(view) {
      const at = flatten(starts, view.at);
      if (Number(scrub.value) !== at) scrub.value = String(at);
      scrub.setAttribute("aria-valuetext", `${fill(w.round_of, { i: view.at.round + 1, n: view.n })}, ${view.step.t}`);
      if (round.value !== String(view.at.round + 1)) round.value = String(view.at.round + 1);
    },
    playing(on) {
      setIcon(play.firstChild, on ? "pause" : "play");
      for (const name of ["aria-label", "title"]) play.setAttribute(name, on ? w.pause : w.play);
    },
    beat(part) {
      done.style.transform = `scaleX(${part.toFixed(3)})`;
    },
  };
}
