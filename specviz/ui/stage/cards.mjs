// The cards of a round: one for each drafted token, and one for the token that the target adds.

import { h, icon, percent, pool, setClass, setIcon, setText } from "./dom.mjs";
import { valueOf } from "./layout.mjs";

const MANY = 6; // from so many drafts on, cards have no room for bars beside their numbers
const MOST = 10.3; // em that a card takes at least
const STATES = { ".": "absent", d: "drafted", a: "accepted", r: "rejected", u: "unjudged" };

function makeMeter(kind, name) {
  const bar = h("i", { class: `fill is-${kind}` });
  const number = h("span", { class: "number" });
  const root = h("span", { class: "meter" }, h("span", { class: "name", text: name }), h("span", { class: "track" }, bar), number);
  return {
    root,
    bar,
    set(shown) {
      root.classList.toggle("empty", shown === null);
      setText(number, shown ?? "");
      bar.hidden = valueOf(shown) === 0;
      bar.style.width = percent(Math.min(1, valueOf(shown)));
    },
  };
}

function makeCard(w, press) {
  const mark = icon("drafted");
  const state = h("span", { class: "state" });
  const token = h("bdi", { class: "word" });
  const place = h("span", { class: "place" });
  const q = makeMeter("draft", w.q);
  const p = makeMeter("target", w.p);
  const note = h("span", { class: "note" });
  const body = h("button", { type: "button", class: "card" }, h("span", { class: "top" }, place, mark, state), token, q.root, p.root, note);
  body.addEventListener("click", press);
  body.addEventListener("mousedown", (event) => event.preventDefault());
  return { root: h("li", {}, body), body, mark, state, token, place, q, p, note };
}

export function makeCards({ w, motion, goNode, goFinal }) {
  const root = h("ol", { class: "cards", "aria-label": w.cards, "data-scrolls": "1" });
  const drafts = pool(root, (i) => makeCard(w, () => goNode(i)));
  const last = makeCard(w, () => goFinal());
  let before = "";
  let room = Infinity; // in em: asked for when the size changes, not at each step

  function draft(card, node, letter, i, view) {
    const state = STATES[letter];
    const [label, q, p] = node;
    const verified = view.verified;
    setText(card.place, String(i + 1));
    setText(card.token, state === "absent" ? "" : label);
    setText(card.state, w[state]);
    setIcon(card.mark, state === "absent" ? "waiting" : state);
    card.q.set(state === "absent" ? null : q);
    card.p.set(verified ? p : null);
    setText(card.note, "");
    const here = view.step.n === i;
    setClass(card.root, here ? "points" : "");
    setClass(card.body, `card is-${state}${here ? " here" : ""}`);
    card.body.disabled = state === "absent";
    const changed = before[i] !== undefined && before[i] !== letter;
    if (changed && letter === "d") motion.pop(card.body, 1150);
    else if (changed && "ar".includes(letter)) motion.pop(card.mark, 1350);
    if (view.step.k === "verify") motion.grow(card.p.bar, 900);
  }

  return {
    root,
    last,
    update(view) {
      const { nodes, final } = view.round;
      const letters = view.step.s;
      const shown = drafts(nodes.length);
      root.classList.toggle("many", nodes.length >= MANY);
      shown.forEach((card, i) => draft(card, nodes[i], letters[i], i, view));
      if (root.lastChild !== last.root) root.append(last.root);
      const drawn = view.drawn && final !== null;
      const state = drawn ? (final[1] === "bonus" ? "bonus" : "resampled") : "waiting";
      setText(last.place, "+1");
      setText(last.state, w[state]);
      setIcon(last.mark, state);
      setText(last.token, drawn ? final[0] : "");
      last.q.root.hidden = last.p.root.hidden = true;
      setText(last.note, drawn ? w[view.greedy ? "from_best" : state === "bonus" ? "from_target" : "from_left"] : "");
      const here = view.step.k === "residual" || view.step.k === "bonus";
      setClass(last.root, `last${here ? " points" : ""}`);
      setClass(last.body, `card is-${state}${here ? " here" : ""}`);
      last.body.disabled = !drawn;
      if (here) motion.pop(last.body, 1500);
      before = letters;
      const active = here ? last.root : shown[view.step.n]?.root;
      if (active && (nodes.length + 1) * MOST > room) {
        root.scrollLeft = active.offsetLeft - (root.clientWidth - active.offsetWidth) / 2;
      }
    },
    wide(ems) {
      room = ems;
    },
    // The word on the card that made a token, to start its flight from.
    wordOf(node) {
      return node === undefined ? last.token : (root.children[node]?.querySelector(".word") ?? last.token);
    },
  };
}
