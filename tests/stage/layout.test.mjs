// Sizes, stretches and cells.
import assert from "node:assert/strict";
import test from "node:test";

import { lowered } from "../../specviz/ui/stage/dom.mjs";
import { aside, cells, fill, fit, hang, legible, longest, stretches, unpacked, valueOf } from "../../specviz/ui/stage/layout.mjs";

test("text is at least 24 pixels on a projector of 1920 x 1080, and shrinks with the window", () => {
  assert.ok(fit(1920, 1080, true).size * 0.9 >= 24);
  for (const [w, h] of [[1280, 720], [1024, 768]]) {
    const { size, narrow } = fit(w, h, true);
    assert.ok(!narrow);
    assert.ok(size * 71 <= w + 1 && size * 39.5 <= h + 1);
  }
  assert.ok(fit(390, 844, false).narrow);
});

test("shown numbers come back as numbers", () => {
  assert.equal(valueOf("0.412"), 0.412);
  assert.equal(valueOf("1"), 1);
  assert.equal(valueOf("<0.001"), 0.0005);
  assert.equal(valueOf("3.07×10⁻⁷"), 3.07e-7);
  assert.equal(valueOf("1.2×10⁶"), 1.2e6);
  assert.equal(valueOf("9.99×10⁻³⁰⁸"), 9.99e-308);
  assert.equal(valueOf("∞"), Infinity);
  assert.equal(valueOf("–"), 0);
  assert.equal(valueOf(null), 0);
});

test("the strip holds the whole law in the order of ids, the rest at its ends", () => {
  const rows = [
    [7, "b", "0.500"],
    [3, "a", "0.200"],
    [9, "c", "0"],
  ];
  const strip = stretches(rows, 0.3, 2, 0.1, 0);
  assert.deepEqual(strip.map((s) => [s.label, Math.round(s.from * 100), Math.round(s.width * 100), s.drawn]), [
    [null, 0, 10, false],
    ["a", 10, 20, false],
    ["b", 30, 50, true],
    [null, 80, 20, false],
  ]);
  assert.ok(Math.abs(strip.reduce((sum, s) => sum + s.width, 0) - 1) < 1e-12);
});

test("a stretch too narrow for its label joins the others beside it, and the drawn one goes without it", () => {
  const part = (label, width, drawn = false) => ({ at: label === null ? -1 : 0, label, width, drawn });
  const parts = [part(null, 0.02), part("wide", 0.5), part("thin", 0.03), part("x", 0.02), part(null, 0.2), part("drawn", 0.03, true), part("y", 0.2)];
  const told = legible(parts).map((p) => [p.label, Math.round(p.width * 100), p.at]);
  assert.deepEqual(told, [[null, 2, -1], ["wide", 50, 0], [null, 25, -1], ["", 3, 0], ["y", 20, 0]]);
  assert.equal(parts[0].width, 0.02); // what was given is not changed
});

test("a law of one token fills the strip", () => {
  assert.deepEqual(stretches([[1, "x", "1"]], 0, 2, 0, 0), [{ at: 0, label: "x", from: 0, width: 1, drawn: true }]);
});

test("bars are scaled by the longest, and an empty law does not divide by 0", () => {
  assert.equal(longest([[1, "x", "0.25", "0.5"]], [2, 3]), 0.5);
  assert.equal(longest([[1, "x", "0", "0"]], [2, 3]), 1);
});

test("a long cache is cut, never longer than its room, and adds up", () => {
  for (const work of [[0, 18, 0], [16, 5, 2], [400, 5, 3], [3, 90, 0], [90, 90, 7]]) {
    const c = cells(work, 26);
    assert.equal(c.kept + c.hidden, work[0]);
    assert.equal(c.fed + c.hiddenFed, work[1]);
    assert.ok(c.kept + Math.max(c.fed, c.dropped) <= 26, JSON.stringify(c));
    assert.ok(Object.values(c).every((n) => n >= 0));
  }
});

test("a label hangs in the middle of its point, and inside at both ends", () => {
  assert.equal(hang(0.5), 0.5);
  assert.equal(hang(0), 0);
  assert.equal(hang(1), 1);
});

test("templates are filled in once, and what is not known stays", () => {
  assert.equal(fill("{a} of {b}, {c}", { a: "{b}", b: 2 }), "{b} of 2, {c}");
});

test("digits after x, p and q are set low, others stay", () => {
  globalThis.document = { createElement: (tag) => ({ tag, set textContent(t) { this.text = t; }, append() {} }) };
  const told = lowered("x12 ~ q3 with u = 0.5: max(0, p1)");
  assert.deepEqual(told.map((part) => part.text ?? part), ["x", "12", " ~ q", "3", " with u = 0.5: max(0, p", "1", ")"]);
  delete globalThis.document;
});

test("a name moves to the middle of the wider side of a marker that would cross it", () => {
  assert.equal(aside(0.2, 0.3, 1), 0);
  assert.equal(aside(0.75, 0.5, 1), 0.25); // as wide on both sides: to the right
  assert.equal(aside(0.875, 0.5, 1), -0.125);
});

test("sentences are put together from texts and gaps", () => {
  const round = { i: 0, steps: [{ k: "x", t: [0], c: [1, "“a”", "0.5"], f: [2, "1"] }] };
  const [step] = unpacked(round, ["Verify", "It is \0 with \0.", "\0"]).steps;
  assert.deepEqual(step, { k: "x", t: "Verify", c: "It is “a” with 0.5.", f: "1" });
});
