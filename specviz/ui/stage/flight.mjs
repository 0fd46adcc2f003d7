// The flight of the emitted tokens from their cards into the text.

import { h } from "./dom.mjs";

const APART = 110; // milliseconds between two tokens that take off
const LONG = 700;

export function fly({ motion, root, layer, cards, text, view }) {
  layer.replaceChildren();
  if (!motion.on) return;
  const home = root.getBoundingClientRect();
  const frame = text.scroller.getBoundingClientRect();
  const flights = text.landed().map((span) => {
    const step = view.round.steps[span.step];
    const word = cards.wordOf(step.n);
    return { span, word, from: word.getBoundingClientRect(), to: span.node.getClientRects()[0] };
  });
  flights.forEach(({ span, word, from, to }, i) => {
    motion.run(span.node, [{ opacity: 0 }, { opacity: 0, offset: 0.9 }, { opacity: 1 }], { duration: LONG + 60, delay: i * APART });
    if (!to || to.top < frame.top - 4 || to.bottom > frame.bottom + 4) return;
    const ghost = h("bdi", { class: `ghost is-${span.outcome}`, text: word.textContent });
    ghost.style.left = `${from.left - home.left}px`;
    ghost.style.top = `${from.top - home.top}px`;
    layer.append(ghost);
    const way = `translate(${to.left - from.left}px, ${to.top - from.top}px)`;
    const frames = [{ opacity: 1, transform: "none" }, { opacity: 1, offset: 0.85 }, { opacity: 0, transform: way }];
    const flight = motion.run(ghost, frames, { duration: LONG, delay: i * APART, easing: "cubic-bezier(.5,0,.2,1)" });
    flight.onfinish = flight.oncancel = () => ghost.remove();
  });
}
