// Panels of a whole round: the target's one pass and the caches, and what the round added to the text.

import { h, icon, percent, pool, setClass, setText } from "./dom.mjs";
import { cells, fill, valueOf } from "./layout.mjs";

const ROOM = 26; // cells in a cache's row

function makeCache({ w, motion }, kind, name) {
  const numbers = h("span", { class: "numbers" });
  const top = h("div", { class: "cells" });
  const low = h("div", { class: "cells low" });
  const upper = pool(top, () => ({ root: h("i", { class: "cell" }) }));
  const lower = pool(low, () => ({ root: h("i", { class: "cell" }) }));
  const root = h("div", { class: `cache is-${kind}` }, h("b", { text: name }), h("div", { class: "rows" }, top, low), numbers);
  return {
    root,
    update(work) {
      const { hidden, kept, fed, hiddenFed, dropped } = cells(work, ROOM);
      const cut = [hidden ? "gap" : "gap blank", ...Array(kept).fill("kept")];
      const above = [...cut, ...Array(fed).fill("fed"), ...(hiddenFed ? ["gap"] : [])];
      const below = [...cut.map((kind) => (kind === "kept" ? "blank" : "gap blank")), ...Array(dropped).fill("dropped")];
      upper(above.length).forEach((cell, i) => {
        setClass(cell.root, `cell is-${above[i]}`);
        setText(cell.root, above[i] === "gap" ? `⋯ ${i === 0 ? hidden : hiddenFed}` : "");
        if (above[i] === "fed") motion.appear(cell.root, 700 + 50 * (i - cut.length));
      });
      for (const row of [top, low]) row.classList.toggle("whole", !hidden);
      low.hidden = dropped === 0;
      lower(below.length).forEach((cell, i) => {
        setClass(cell.root, `cell is-${below[i]}`);
        setText(cell.root, "");
        const from = { opacity: 1, transform: "translateY(-1.3em)" };
        if (below[i] === "dropped") motion.run(cell.root, [from, { transform: "none" }], { delay: 150, duration: 500 });
      });
      setText(numbers, fill(w.cache_numbers, { kept: work[0], fed: work[1], dropped: work[2] }));
    },
  };
}

function makeTime(kind) {
  const name = h("span", { class: "name" });
  const bar = h("i", { class: `fill is-${kind}` });
  const number = h("b", { class: "number" });
  return { root: h("div", { class: "bar" }, name, h("span", { class: "track" }, bar), number), name, bar, number };
}

export function makeVerify({ w, motion }) {
  const [drafting, pass] = [makeTime("q"), makeTime("p")];
  const caches = { draft: makeCache({ w, motion }, "draft", w.cache_draft), target: makeCache({ w, motion }, "target", w.cache_target) };
  const keys = h("p", { class: "keys note" }, ...["kept", "fed", "dropped"].map((k) => h("span", { class: `key is-${k}`, text: w[k] })));
  const arrive = h("div", { class: "arrive", "data-scrolls": "1" });
  const places = pool(arrive, () => {
    const [name, word, number] = [h("span"), h("bdi", { class: "word" }), h("b", { class: "number" })];
    return { root: h("div", { class: "arrival" }, name, word, number), name, word, number };
  });
  return {
    root: h(
      "div",
      { class: "panel two verify" },
      h("div", { class: "column" }, h("h3", { text: w.arrive }), arrive, h("h3", { text: w.cost }), drafting.root, pass.root),
      h("div", { class: "column wide" }, h("h3", { text: w.caches }), caches.target.root, caches.draft.root, keys),
    ),
    update({ step, round }) {
      const n = round.nodes.length;
      places(n + 1).forEach((place, i) => {
        setText(place.name, fill(w.place, { i: i + 1 }));
        setText(place.word, i < n ? round.nodes[i][0] : w.next_place);
        setText(place.number, i < n ? round.nodes[i][2] : "p");
        place.root.classList.toggle("spare", i === n);
      });
      motion.appear(arrive, 800);
      const times = step.ms.map(valueOf);
      const scale = Math.max(...times) || 1;
      [drafting, pass].forEach((bar, i) => {
        setText(bar.number, fill(w.ms, { ms: step.ms[i] }));
        bar.bar.style.width = percent(times[i] / scale);
        motion.grow(bar.bar, 200 + 300 * i);
      });
      setText(drafting.name, fill(w.cost_draft, { n }));
      setText(pass.name, w.cost_verify);
      drafting.root.hidden = n === 0;
      caches.draft.root.hidden = n === 0;
      caches.target.update(step.cache.at(-1));
      if (n) caches.draft.update(step.cache[0]);
    },
  };
}

export function makeEmit({ w, motion, label }) {
  const added = h("ul", { class: "added" });
  const chips = pool(added, () => {
    const word = h("bdi", { class: "word" });
    const state = h("span", { class: "state" });
    const chip = h("span", { class: "chip" });
    return { root: h("li", {}, chip, state), chip, word, state };
  });
  const lanes = ["alone", "together"].map((name) => {
    const row = h("span", { class: "ticks" });
    return { row, count: h("b", { class: "number" }), name, ticks: pool(row, () => ({ root: h("i", { class: "tick" }) })) };
  });
  const cache = makeCache({ w, motion }, "target", w.cache_target);
  const after = h("h3");
  const compare = lanes.map((lane) => h("div", { class: "lane" }, h("span", { class: "name", text: w[lane.name] }), lane.row, lane.count));
  return {
    root: h(
      "div",
      { class: "panel two emit" },
      h("div", { class: "column wide" }, h("h3", { text: w.added }), added),
      h("div", { class: "column" }, h("h3", { text: w.compare }), ...compare, after, cache.root),
    ),
    update({ step, round }) {
      chips(round.spans.length).forEach((chip, i) => {
        const [, at, outcome] = round.spans[i];
        setText(chip.word, label(round, round.steps[at]));
        setText(chip.state, w[outcome]);
        setClass(chip.chip, `chip is-${outcome}`);
        chip.chip.replaceChildren(icon(outcome), chip.word);
        motion.appear(chip.root, 120 * i);
      });
      setText(after, fill(step.cache[2] ? w.after : w.after_all, { kept: step.cache[0], dropped: step.cache[2] }));
      after.hidden = cache.root.hidden = round.nodes.length === 0;
      cache.update(step.cache);
      [step.e, 1].forEach((n, i) => {
        lanes[i].ticks(Math.min(n, 40)).forEach((tick, j) => motion.fade(tick.root, 300 + 150 * j));
        setText(lanes[i].count, fill(w.times, { n }));
      });
    },
  };
}
