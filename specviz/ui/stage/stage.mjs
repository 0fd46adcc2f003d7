// The stage: holds the run and the position, and tells every part what to show.

import { makeCards } from "./cards.mjs";
import { Clock } from "./clock.mjs";
import { makeControls } from "./controls.mjs";
import { button, h, lowered, setText } from "./dom.mjs";
import { makeDraw, makeResidual } from "./draws.mjs";
import { fly } from "./flight.mjs";
import { makeHead } from "./head.mjs";
import { makeHelp } from "./help.mjs";
import { makeJudge } from "./judge.mjs";
import { listen, listenToTouch } from "./keys.mjs";
import { fit, unpacked } from "./layout.mjs";
import { Motion } from "./motion.mjs";
import { makeEmit, makeVerify } from "./passes.mjs";
import { isDark, savePicture } from "./picture.mjs";
import { addressOf, beat, clampTo, isLast, move, offsets, same, stepOfNode } from "./position.mjs";
import { makeBlank, makeNotes, turnFullScreen } from "./talk.mjs";
import { makeText } from "./text.mjs";

const REST = 180; // milliseconds at one place before it is reported
const SPOTS = ["head", "text", "cards", "told", "panels", "controls"];

const labelOf = (round, step) => (step.n === undefined ? round.final[0] : round.nodes[step.n][0]);

export class Stage {
  // report(at): told where the viewer rests. data: see `specviz.ui.stage`.
  constructor(parent, data, report) {
    this.report = report;
    this.around = parent.host ?? parent; // a component's parent is a shadow root
    this.page = Boolean(data.page);
    this.rounds = [];
    this.starts = [0];
    this.at = { round: 0, step: 0 };
    this.run = null;
    this.live = false;
    this.startSeen = null;
    this.build(data);
    parent.append(this.root);
    const wake = () => this.blank.wake();
    this.stopKeys = listen(this.root, { act: (action, to) => this.act(action, to), talk: () => this.talk, wake });
    listenToTouch(this.root, (action) => this.act(action));
    this.sizes = new ResizeObserver(() => this.fit());
    this.sizes.observe(this.root);
    this.take(data);
  }

  build(data) {
    const w = (this.w = data.payload.words);
    const still = window.matchMedia("(prefers-reduced-motion: reduce)");
    const motion = (this.motion = new Motion(() => still.matches));
    const context = { w, motion, label: labelOf, go: (at) => this.go(at), act: (...wish) => this.act(...wish) };
    context.goStep = (step) => this.go({ round: this.at.round, step });
    context.goNode = (node) => context.goStep(stepOfNode(this.rounds[this.at.round], node));
    context.goFinal = () => context.goStep(this.rounds[this.at.round].steps.findIndex((s) => s.k === "residual" || s.k === "bonus"));
    context.setSpeed = (speed) => (this.clock.speed = motion.speed = speed);
    this.help = makeHelp({ w });
    const save = button("picture", w.picture, (event) => this.save(event.shiftKey ? "svg" : "png"));
    const more = [save, button("help", w.help, () => this.help.toggle())];
    if (this.page) more.unshift(button("theme", w.theme, () => this.turn()));
    this.head = makeHead(context);
    this.text = makeText(context);
    this.notes = makeNotes(context);
    this.text.root.append(this.notes.root);
    this.blank = makeBlank(context);
    this.cards = makeCards(context);
    this.controls = makeControls({ ...context, more });
    this.panels = {
      draft: makeDraw(context, "draft"),
      verify: makeVerify(context),
      judge: makeJudge(context),
      residual: makeResidual(context),
      bonus: makeDraw(context, "bonus"),
      emit: makeEmit(context),
    };
    this.title = h("h2");
    this.formula = h("p", { class: "formula" });
    this.caption = h("p", { class: "caption" });
    this.spoken = h("p", { class: "spoken", role: "status", "aria-live": "polite" });
    this.flights = h("div", { class: "flights", "aria-hidden": "true" });
    const told = h("div", { class: "told" }, h("div", { class: "line1" }, this.title, this.formula), this.caption);
    const stack = (this.stack = h("div", { class: "panels" }, ...Object.values(this.panels).map((panel) => panel.root)));
    this.waiting = h("p", { class: "waiting", text: w.empty });
    this.root = h("section", { class: "stage", "aria-label": w.stage, tabindex: "-1" });
    this.root.append(this.head.root, this.text.root, this.cards.root, told, stack, this.waiting, this.controls.root);
    this.root.append(this.spoken, this.flights, this.help.root, this.blank.root);
    this.clock = new Clock({
      beat: () => beat(this.rounds[this.at.round], this.at.step),
      over: () => this.over(),
      shown: (part) => this.controls.beat(part),
      frame: (run) => window.requestAnimationFrame(run),
      cancel: (request) => window.cancelAnimationFrame(request),
    });
  }

  // New data for the same stage: another run begins at its start, the same run grows and nothing else moves.
  take(data) {
    const { payload } = data;
    const before = this.rounds.length ? this.at : null;
    this.talk = Boolean(data.talk);
    this.live = Boolean(data.live);
    const other = data.link !== this.link;
    this.link = data.link;
    this.root.classList.toggle("talk", this.talk);
    for (const name of SPOTS) this.root.classList.toggle(`spot-${name}`, data.spot === name);
    this.root.classList.toggle("spot", Boolean(data.spot));
    if (data.above !== undefined) this.root.style.setProperty("--above", `${data.above}px`);
    const fresh = other || payload.run !== this.run || payload.rounds.length < this.rounds.length;
    if (fresh) {
      this.run = payload.run;
      this.rounds = [];
      this.at = { round: 0, step: 0 };
      this.text.reset(payload.prompt);
    }
    const added = payload.rounds.slice(this.rounds.length).map((round) => unpacked(round, payload.texts));
    this.rounds.push(...added);
    this.starts = offsets(this.rounds);
    this.text.extend(added);
    this.controls.extend(this.rounds, this.starts);
    const start = data.start ? `${data.start}` : null;
    if (start !== this.startSeen || fresh) {
      if (data.start) this.at = { round: data.start[0], step: data.start[1] };
      if (data.start && !fresh && this.clock.playing) this.pause(); // who is shown a place looks at it
      this.startSeen = start;
    }
    this.at = clampTo(this.rounds, this.at);
    this.fit();
    // What stands is not drawn again, so that a run that grows neither cuts a movement nor sets the clock back.
    if (fresh || !before || !same(before, this.at)) this.show(false);
    else if (added.length) this.grow();
    if (fresh && data.autoplay && this.rounds.length) this.play();
    if (other && before && !data.autoplay) this.rest(); // the address names the run that is shown now
  }

  // More rounds behind the one that is shown: only their number and the reach of the controls change.
  grow() {
    const view = { at: this.at, round: this.rounds[this.at.round], n: this.rounds.length };
    view.step = view.round.steps[this.at.step];
    for (const part of [this.head, this.controls]) part.update(view);
  }

  show(moving) {
    this.root.classList.toggle("empty", !this.rounds.length);
    if (!this.rounds.length) return;
    const { at, motion } = this;
    const round = this.rounds[at.round];
    const step = round.steps[at.step];
    const kinds = round.steps.slice(0, at.step + 1).map((s) => s.k);
    const drawn = kinds.includes("residual") || kinds.includes("bonus");
    const view = { at, round, step, n: this.rounds.length, verified: kinds.includes("verify"), drawn, greedy: round.steps.some((s) => s.g) };
    motion.begin(moving);
    this.root.dataset.kind = step.k;
    for (const [kind, panel] of Object.entries(this.panels)) panel.root.hidden = kind !== step.k;
    setText(this.title, step.t);
    this.formula.replaceChildren(...lowered(step.f));
    setText(this.caption, step.c);
    setText(this.spoken, `${step.t}. ${step.c}`);
    for (const part of [this.head, this.text, this.notes, this.cards, this.panels[step.k], this.controls]) part.update(view);
    cancelAnimationFrame(this.flight);
    this.flights.replaceChildren();
    if (step.k === "emit") this.flight = fly({ motion, root: this.root, layer: this.flights, cards: this.cards, text: this.text, view });
    this.clock.restart();
  }

  // By a wish of the viewer: a step on moves, everything else is a cut; all but playing rests.
  act(action, to) {
    this.root.classList.remove("spot");
    switch (action) {
      case "toggle":
        return this.clock.playing ? this.pause() : this.play();
      case "help":
        return this.help.toggle();
      case "picture":
        return this.save(to);
      case "theme":
        return this.turn();
      case "notes":
        return this.note(this.notes.root.hidden);
      case "fullScreen":
        return turnFullScreen(this.root.ownerDocument);
      case "blank":
        this.pause();
        return this.blank.show();
    }
    const before = this.at;
    const after = move(this.rounds, before, action, to);
    if (!same(before, after)) this.go(after, action === "next");
    return undefined;
  }

  go(at, moving = false) {
    this.at = clampTo(this.rounds, at);
    this.show(moving || this.clock.playing);
    this.rest();
  }

  play() {
    if (!this.rounds.length) return;
    if (isLast(this.rounds, this.at) && !this.live) this.at = { round: 0, step: 0 };
    this.clock.play();
    this.controls.playing(true);
    this.show(true);
    this.rest();
  }

  pause() {
    this.clock.pause();
    this.controls.playing(false);
    this.rest();
  }

  over() {
    const after = move(this.rounds, this.at, "next");
    if (!same(after, this.at)) {
      this.at = after;
      this.show(true);
      this.rest();
    } else if (!this.live) this.pause(); // a run under way waits here for its next round
  }

  rest() {
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      if (this.link) history.replaceState(history.state, "", addressOf(location.href, this.link, this.at));
      if (this.clock.playing && this.at.round === this.told) return; // a page follows from round to round while it plays
      this.told = this.at.round;
      this.report?.({ ...this.at, link: this.link });
    }, REST);
  }

  fit() {
    const box = this.root.getBoundingClientRect();
    if (!box.width) return;
    const { narrow, size } = fit(box.width, box.height, this.talk);
    this.root.classList.toggle("narrow", narrow);
    this.root.style.fontSize = `${size}px`;
    const inside = this.stack.clientHeight - 0.8 * size; // less its padding; the panels spread over it
    this.root.style.setProperty("--room", narrow ? "15em" : `${inside}px`);
    this.text.scroller.scrollTop = 1e7;
    this.cards.wide(box.width / size);
  }

  save(kind) {
    savePicture(this.root, `specviz-${this.at.round + 1}-${this.at.step + 1}`, kind);
  }

  note(on) {
    this.notes.root.hidden = !on;
    this.root.classList.toggle("noted", on);
    this.fit();
  }

  turn() {
    const theme = isDark(this.root) ? "light" : "dark";
    this.root.dataset.theme = theme;
    if (this.page) this.root.ownerDocument.documentElement.dataset.theme = theme;
    else this.around.style.background = getComputedStyle(this.root).backgroundColor; // no frame of another colour
  }

  destroy() {
    this.clock.pause();
    clearTimeout(this.resting);
    this.stopKeys();
    this.sizes.disconnect();
    this.root.remove();
  }
}
