// Keys: which key asks for what, and who may hear it.

const ACTIONS = {
  " ": "toggle",
  ArrowRight: "next",
  PageDown: "next",
  ArrowLeft: "back",
  PageUp: "back",
  ArrowDown: "nextRound",
  ArrowUp: "previousRound",
  Home: "first",
  End: "last",
  x: "rejection",
  s: "picture",
  n: "notes",
  "?": "help",
};
const TALK = { f: "fullScreen", b: "blank", d: "theme" };
const TYPED = "input, select, textarea, [contenteditable]:not([contenteditable=false])";
const OWN_KEYS =
  "[role=slider], [role=listbox], [role=option], [role=combobox], [role=textbox], [role=menu], [role=menuitem], " +
  "[role=tab], [role=radio], [role=radiogroup], [role=grid], [role=tree], [role=spinbutton], iframe, video, audio";
const PATIENCE = 700; // milliseconds in which a second digit joins the first

// What a key asks for: { action, to }, or null. before: { digits, at } of the last digit. talk: with the keys of a talk.
export function asked(event, before = { digits: "", at: -Infinity }, talk = false) {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (/^[0-9]$/.test(event.key)) {
    const digits = (event.timeStamp - before.at < PATIENCE ? before.digits : "") + event.key;
    return Number(digits) > 0 ? { action: "round", to: Number(digits), digits } : null;
  }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (talk && Object.hasOwn(TALK, key)) return event.repeat ? null : { action: TALK[key] };
  if (!Object.hasOwn(ACTIONS, key)) return null;
  const action = ACTIONS[key];
  return action === "picture" ? { action, to: event.shiftKey ? "svg" : "png" } : { action };
}

// Whether a key pressed in this element is the element's own. ours: the stage, whose scrubber takes our keys.
export function taken(target, key, ours) {
  if (!target || !target.matches) return false;
  if (ours.contains(target) && target.matches("input[type=range]")) return false;
  if (target.matches(TYPED) || target.closest(OWN_KEYS)) return true;
  return key === " " && target.matches("button, a, summary, [role=button]") && target.matches(":focus-visible");
}

let current = null; // with several stages on a page, keys go to the one that was touched last

// Calls act(action, to). wake() ends a blank screen, which any key does, and says whether there was one.
// Returns a function that stops listening.
export function listen(root, { act, talk, wake }) {
  let before;
  let inView = true; // as told now and then: asking at each key would cost a layout
  const sight = new IntersectionObserver(
    (seen) => {
      const { intersectionRect, boundingClientRect } = seen.at(-1);
      inView = intersectionRect.height > Math.min(120, boundingClientRect.height / 3);
    },
    { threshold: Array.from({ length: 21 }, (_, i) => i / 20) },
  );
  sight.observe(root);
  const claim = () => (current = root);
  if (!current || !current.isConnected) claim();
  const hear = (event) => {
    if (!current || !current.isConnected) claim();
    if (current !== root || !inView || event.defaultPrevented) return;
    if (!event.repeat && wake()) {
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (taken(event.composedPath()[0], event.key, root)) return;
    if (talk() && (event.key === "r" || event.key === "c") && !event.ctrlKey && !event.metaKey) event.stopPropagation();
    const wish = asked(event, before, talk());
    if (!wish) return;
    before = { digits: wish.digits ?? "", at: event.timeStamp };
    event.preventDefault();
    event.stopPropagation();
    act(wish.action, wish.to);
  };
  window.addEventListener("keydown", hear, true);
  root.addEventListener("pointerdown", claim, true);
  root.addEventListener("focusin", claim, true);
  return () => {
    window.removeEventListener("keydown", hear, true);
    sight.disconnect();
    if (current === root) current = null;
  };
}

// Swipes: left is on, right is back. What scrolls sideways by itself keeps its touches.
export function listenToTouch(root, act) {
  let start = null;
  root.addEventListener(
    "touchstart",
    (event) => {
      const touch = event.touches[0];
      const owned = event.target.closest?.("input, select, button.button, [role=dialog]") || scrolls(event.target, root);
      start = event.touches.length === 1 && !owned ? { x: touch.clientX, y: touch.clientY } : null;
    },
    { passive: true },
  );
  root.addEventListener(
    "touchend",
    (event) => {
      if (!start) return;
      const touch = event.changedTouches[0];
      const x = touch.clientX - start.x;
      if (Math.abs(x) > 40 && Math.abs(x) > 2 * Math.abs(touch.clientY - start.y)) act(x < 0 ? "next" : "back");
      start = null;
    },
    { passive: true },
  );
}

function scrolls(node, root) {
  for (let at = node; at && at !== root; at = at.parentElement) if (at.scrollWidth > at.clientWidth + 8 && at.dataset?.scrolls) return true;
  return false;
}
