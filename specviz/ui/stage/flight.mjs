// The flight of the emitted tokens from their cards into the text.

import { h } from "./dom.mjs";

const APART = 110; // milliseconds between two tokens that take off
const LONG = 700;

// Takes off in the next frame, when all places are known anyway: asked for now, they would cost another layout.
// Returns what `cancelAnimationFrame` takes.
export function fly({ motion, root, layer, cards, text, view }) {
  if (!motion.on) return 0;
  const landed = text.landed();
  landed.forEach(({ node }, i) => {
    motion.run(node, [{ opacity: 0 }, { opacity: 0, offset: 0.9 }, { opacity: 1 }], { duration: LONG + 60, delay: i * APART });
  });
  return requestAnimationFrame(() => {
    const home = root.getBoundingClientRect();
    const frame = text.scroller.getBoundingClientRect();
    const flights = landed.map(({ node, step, outcome }, i) => {
      const word = cards.wordOf(view.round.steps[step].n);
      return { i, outcome, word, from: word.getBoundingClientRect(), to: node.getClientRects()[0] };
    });
    for (const { i, outcome, word, from, to } of flights) {
      if (!to || to.top < frame.top - 4 || to.bottom > frame.bottom + 4) continue;
      const ghost = h("bdi", { class: `ghost is-${outcome}`, text: word.textContent });
      ghost.style.left = `${from.left - home.left}px`;
      ghost.style.top = `${from.top - home.top}px`;
      layer.append(ghost);
      const way = `translate(${to.left - from.left}px, ${to.top - from.top}px)`;
      const frames = [{ opacity: 1, transform: "none" }, { opacity: 1, offset: 0.85 }, { opacity: 0, transform: way }];
      const flight = motion.run(ghost, frames, { duration: LONG, delay: i * APART, easing: "cubic-bezier(.5,0,.2,1)" });
      flight.onfinish = flight.oncancel = () => ghost.remove();
    }
  });
}
