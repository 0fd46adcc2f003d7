// Movement: transform and opacity only, by the browser's own animations. Where motion is reduced it is a cut.

const EASE = "cubic-bezier(.2,.7,.2,1)";

export class Motion {
  constructor(reduced) {
    this.reduced = reduced;
    this.on = false;
    this.speed = 1;
    this.running = [];
  }

  // Ends what is under way; `on` says whether the coming step moves.
  begin(on) {
    for (const animation of this.running) if (animation.playState !== "finished") animation.cancel();
    this.running = [];
    this.on = on && !this.reduced();
  }

  run(node, frames, { delay = 0, duration = 500, easing = EASE } = {}) {
    if (!this.on) return null;
    const animation = node.animate(frames, { delay, duration, easing, fill: "backwards" });
    animation.playbackRate = Math.max(1, this.speed);
    this.running.push(animation);
    return animation;
  }

  grow(node, delay = 0) {
    this.run(node, [{ transform: "scaleX(0)" }, { transform: "scaleX(1)" }], { delay, duration: 600 });
  }

  appear(node, delay = 0) {
    const from = { opacity: 0, transform: "translateY(.5em)" };
    this.run(node, [from, { opacity: 1, transform: "none" }], { delay, duration: 350 });
  }

  fade(node, delay = 0) {
    this.run(node, [{ opacity: 0 }, { opacity: 1 }], { delay, duration: 350 });
  }

  fall(node, delay = 0) {
    const from = { opacity: 0, transform: "translateY(-2.4em)" };
    this.run(node, [from, { opacity: 1, transform: "none" }], { delay, duration: 700, easing: "cubic-bezier(.5,0,.8,.6)" });
  }

  pop(node, delay = 0) {
    const frames = [{ opacity: 0, transform: "scale(.6)" }, { opacity: 1, transform: "scale(1.06)" }, { transform: "none" }];
    this.run(node, frames, { delay, duration: 420 });
  }
}
