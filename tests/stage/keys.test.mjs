// Which key asks for what, and whose it is.
import assert from "node:assert/strict";
import test from "node:test";

import { asked, taken } from "../../specviz/ui/stage/keys.mjs";

const press = (key, more = {}) => ({ key, timeStamp: 0, ...more });

test("keys and clickers ask for steps, rounds and ends", () => {
  for (const [key, action] of [
    [" ", "toggle"],
    ["ArrowRight", "next"],
    ["PageDown", "next"],
    ["ArrowLeft", "back"],
    ["PageUp", "back"],
    ["ArrowDown", "nextRound"],
    ["ArrowUp", "previousRound"],
    ["Home", "first"],
    ["End", "last"],
    ["x", "rejection"],
    ["n", "notes"],
    ["?", "help"],
  ]) {
    assert.equal(asked(press(key)).action, action);
  }
});

test("the keys of a talk are asked for in a talk only, and once while they are held", () => {
  for (const [key, action] of Object.entries({ f: "fullScreen", B: "blank", d: "theme" })) {
    assert.equal(asked(press(key)), null);
    assert.equal(asked(press(key), undefined, true).action, action);
    assert.equal(asked(press(key, { repeat: true }), undefined, true), null);
    assert.equal(asked(press(key, { ctrlKey: true }), undefined, true), null);
  }
});

test("a picture is a PNG, and with Shift an SVG", () => {
  assert.deepEqual(asked(press("s")), { action: "picture", to: "png" });
  assert.deepEqual(asked(press("S")), { action: "picture", to: "png" }); // caps lock
  assert.deepEqual(asked(press("S", { shiftKey: true })), { action: "picture", to: "svg" });
});

test("modified and other keys are somebody else's", () => {
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) assert.equal(asked(press("ArrowRight", more)), null);
  for (const key of ["a", "Enter", "Tab", "F5", "toString", "constructor"]) assert.equal(asked(press(key)), null);
});

test("digits go to a round, and two in quick succession to one number", () => {
  assert.deepEqual(asked(press("3")), { action: "round", to: 3, digits: "3" });
  assert.equal(asked(press("2", { timeStamp: 500 }), { digits: "1", at: 0 }).to, 12);
  assert.equal(asked(press("2", { timeStamp: 900 }), { digits: "1", at: 0 }).to, 2);
  assert.equal(asked(press("0")), null);
});

function element(selectors, inside = false) {
  const matches = (list) => list.split(", ").some((one) => selectors.includes(one));
  return { matches, closest: (list) => (matches(list) ? {} : null), inside };
}
const ours = { contains: (node) => node.inside };

test("inputs keep their keys, our scrubber does not, and a button that has the keyboard keeps Space", () => {
  assert.ok(taken(element(["input"]), "ArrowLeft", ours));
  assert.ok(taken(element(["select"], true), "ArrowLeft", ours));
  assert.ok(taken(element(["[role=slider]"]), "ArrowLeft", ours));
  assert.ok(!taken(element(["input", "input[type=range]"], true), "PageDown", ours));
  assert.ok(taken(element(["input", "input[type=range]"]), "PageDown", ours));
  assert.ok(taken(element(["button", ":focus-visible"]), " ", ours));
  assert.ok(!taken(element(["button"]), " ", ours));
  assert.ok(!taken(element(["button", ":focus-visible"]), "ArrowLeft", ours));
  assert.ok(!taken(null, " ", ours));
});
