// Time: it counts frames while playing and says when a step is over. No timers, so a hidden page stands still.

export class Clock {
  // beat() -> milliseconds of the step at speed 1; over() is called when they have passed; shown(part) each frame.
  constructor({ beat, over, shown, frame, cancel }) {
    Object.assign(this, { beat, over, shown, frame, cancel });
    this.speed = 1;
    this.playing = false;
    this.spent = 0;
    this.request = 0;
    this.before = null;
  }

  play() {
    if (this.playing) return;
    this.playing = true;
    this.before = null;
    this.request = this.frame((now) => this.tick(now));
  }

  pause() {
    this.playing = false;
    this.cancel(this.request);
  }

  restart() {
    this.spent = 0;
    this.shown(0);
  }

  tick(now) {
    if (!this.playing) return;
    const passed = this.before === null ? 0 : Math.min(now - this.before, 250); // a sleep is not play
    this.before = now;
    this.spent += passed * this.speed;
    const whole = this.beat();
    this.shown(Math.min(1, this.spent / whole));
    if (this.spent >= whole) this.over();
    if (this.playing) this.request = this.frame((later) => this.tick(later));
  }
}
