// What a talk needs: a black sheet over everything, notes for who speaks, and the full screen.

import { h, setText } from "./dom.mjs";

// In the browser's top layer, so that nothing of a page around the stage shines through.
export function makeBlank({ w }) {
  const root = h("dialog", { class: "blank", "aria-label": w.blank });
  root.addEventListener("click", () => root.close());
  return {
    root,
    show: () => root.showModal(),
    // Ends it, and says whether there was anything to end.
    wake() {
      const { open } = root;
      root.close();
      return open;
    },
  };
}

export function makeNotes({ w }) {
  const told = h("p");
  const root = h("aside", { class: "notes", "aria-label": w.notes }, told);
  root.hidden = true;
  return {
    root,
    update({ step }) {
      setText(told, w[`note_${step.k}${step.k === "judge" ? (step.ok ? "_yes" : "_no") : ""}`]);
    },
  };
}

export function turnFullScreen(document) {
  const done = document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen();
  done?.catch(() => {}); // a frame that may not
}
