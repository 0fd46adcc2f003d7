// The keys and the words, over the stage. `?` opens and closes it, Escape closes it, and the focus comes back.

import { button, h } from "./dom.mjs";

export function makeHelp({ w }) {
  const list = h("dl");
  const rows = [
    [w.key_space, w.key_play],
    ["← →", w.key_steps],
    ["↑ ↓", w.key_rounds],
    [w.key_home, w.key_ends],
    ["1 2 3 …", w.key_digits],
    ["X", w.key_rejection],
    ["S", w.key_picture],
    ["F", w.key_full_screen, "in-talk"],
    ["B", w.key_blank, "in-talk"],
    ["D", w.key_theme, "in-talk"],
    ["N", w.key_notes],
    ["?", w.key_help],
  ];
  for (const [keys, told, where] of rows) {
    list.append(h("div", { class: where }, h("dt", {}, h("kbd", { text: keys })), h("dd", { text: told })));
  }
  const terms = h("dl");
  for (const [term, told] of [
    [w.term_law, w.means_law],
    [w.term_u, w.means_u],
    [w.term_r, w.means_r],
    [w.term_alpha, w.means_alpha],
    [w.term_residual, w.means_residual],
    [w.term_bonus, w.means_bonus],
  ]) {
    terms.append(h("div", {}, h("dt", { text: term }), h("dd", { text: told })));
  }
  const close = button("rejected", w.close, () => toggle(false));
  const box = h("div", { class: "sheet", role: "dialog", "aria-label": w.help, "aria-modal": "true" });
  const columns = h("div", { class: "columns" });
  columns.append(h("section", {}, h("h2", { text: w.help }), list), h("section", {}, h("h2", { text: w.terms }), terms));
  box.append(close, columns, h("p", { text: w.hint }));
  const root = h("div", { class: "help" }, box);
  root.hidden = true;
  let before = null;

  function toggle(on = root.hidden) {
    if (on === !root.hidden) return;
    root.hidden = !on;
    if (on) {
      before = root.getRootNode().activeElement;
      close.focus();
    } else before?.focus?.();
  }

  root.addEventListener("click", (event) => event.target === root && toggle(false));
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") toggle(false);
    if (event.key === "Tab") event.preventDefault(); // its only button has the focus
  });
  return { root, toggle };
}
