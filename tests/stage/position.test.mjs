// Where the viewer is, and what moves there.
import assert from "node:assert/strict";
import test from "node:test";

import { Clock } from "../../specviz/ui/stage/clock.mjs";
import { addressOf, beat, clampTo, flatten, isLast, move, offsets, phases, stepOfNode, unflatten } from "../../specviz/ui/stage/position.mjs";

const step = (k, more = {}) => ({ k, ...more });
const rejected = {
  steps: [step("draft", { n: 0 }), step("draft", { n: 1 }), step("verify"), step("judge", { n: 0, ok: 0 }), step("residual"), step("emit")],
};
const accepted = { steps: [step("draft", { n: 0 }), step("verify"), step("judge", { n: 0, ok: 1 }), step("bonus"), step("emit")] };
const rounds = [accepted, rejected, accepted, rejected];
const at = (round, step) => ({ round, step });

test("every position has one number, and back", () => {
  const starts = offsets(rounds);
  assert.deepEqual(starts, [0, 5, 11, 16, 22]);
  for (let flat = 0; flat < 22; flat += 1) assert.equal(flatten(starts, unflatten(starts, flat)), flat);
  assert.deepEqual(unflatten(starts, 5), at(1, 0));
});

test("steps cross rounds and stop at both ends", () => {
  assert.deepEqual(move(rounds, at(0, 4), "next"), at(1, 0));
  assert.deepEqual(move(rounds, at(1, 0), "back"), at(0, 4));
  assert.deepEqual(move(rounds, at(0, 0), "back"), at(0, 0));
  assert.deepEqual(move(rounds, at(3, 5), "next"), at(3, 5));
  assert.ok(isLast(rounds, at(3, 5)));
  assert.ok(!isLast(rounds, at(3, 4)));
});

test("rounds: the one before begins where this one does, unless we stand there", () => {
  assert.deepEqual(move(rounds, at(2, 3), "previousRound"), at(2, 0));
  assert.deepEqual(move(rounds, at(2, 0), "previousRound"), at(1, 0));
  assert.deepEqual(move(rounds, at(2, 3), "nextRound"), at(3, 0));
  assert.deepEqual(move(rounds, at(3, 0), "nextRound"), at(3, 5));
  assert.deepEqual(move(rounds, at(0, 0), "round", 3), at(2, 0));
  assert.deepEqual(move(rounds, at(0, 0), "round", 99), at(3, 0));
});

test("the next rejection lies after the step, and none leaves us where we are", () => {
  assert.deepEqual(move(rounds, at(0, 0), "rejection"), at(1, 3));
  assert.deepEqual(move(rounds, at(1, 3), "rejection"), at(3, 3));
  assert.deepEqual(move(rounds, at(3, 3), "rejection"), at(3, 3));
});

test("a position from outside is brought inside", () => {
  assert.deepEqual(clampTo(rounds, at(9, 9)), at(3, 5));
  assert.deepEqual(clampTo(rounds, at(-1, "x")), at(0, 0));
  assert.deepEqual(clampTo([], at(2, 2)), at(0, 0));
});

test("nothing moves in a run without rounds", () => {
  for (const action of ["next", "back", "last", "rejection", "round"]) assert.deepEqual(move([], at(0, 0), action, 1), at(0, 0));
});

test("a round is told in phases, and a card knows its judgement", () => {
  assert.deepEqual(phases(rejected).map((p) => [p.kind, p.steps]), [
    ["draft", [0, 1]],
    ["verify", [2]],
    ["judge", [3]],
    ["residual", [4]],
    ["emit", [5]],
  ]);
  assert.equal(stepOfNode(rejected, 0), 3);
  assert.equal(stepOfNode(rejected, 1), 1); // never judged: its draft
});

test("a second draft takes less time than the first", () => {
  assert.ok(beat(rejected, 1) < beat(rejected, 0));
});

test("the clock counts frames by speed, ends a step once, and stands still when paused", () => {
  const frames = [];
  let over = 0;
  const clock = new Clock({
    beat: () => 100,
    over: () => {
      over += 1;
      clock.restart();
    },
    shown: () => {},
    frame: (run) => frames.push(run),
    cancel: () => frames.splice(0),
  });
  const frame = (now) => frames.shift()(now);
  clock.play();
  clock.play(); // twice is once
  assert.equal(frames.length, 1);
  for (const now of [0, 50, 90]) frame(now);
  assert.equal(over, 0);
  frame(101);
  assert.equal(over, 1);
  clock.speed = 4;
  frame(127);
  assert.equal(over, 2);
  frame(60_000); // a sleeping tab is not play: at most one step
  assert.equal(over, 3);
  clock.pause();
  assert.equal(frames.length, 0);
});

test("the address keeps everything else and counts from 1", () => {
  const at = { round: 2, step: 4 };
  assert.equal(addressOf("http://host/base/watch?embed=true&round=9#x", "a_-8", at), "http://host/base/watch?embed=true&round=3&run=a_-8&step=5#x");
});
