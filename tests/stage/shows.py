"""What the stage's tests need: runs to show, and a Chromium to show them in.

Without a Chromium the tests that need one are skipped, unless SPECVIZ_REQUIRE_BROWSER=1 is set: then they fail.
"""

import dataclasses
import os
import re

import numpy as np
import pytest

import specviz as sv
from specviz import replay, timeline
from specviz.models.toy import TableModel

HOSTILE = (
    "<img src=x onerror=document.title='hacked'>",
    "</script><script>document.title='hacked'</script>",
    "<!--<script>",
    "\n\n\u2028\u2029",
    "שלום עולם",
    "\u202eevil\u2066",
    "W" * 2000,
    "'\"`${1}&amp;",
    "",
    "👩\u200d👩\u200d👧",
    "\x00\x1b[31m",
)
CLIPPED = """() => {
  const stage = document.querySelector('.stage').getBoundingClientRect();
  const wrong = [];
  for (const node of document.querySelectorAll('.stage *')) {
    if (!node.textContent || node.closest('.inner, .spoken, .flights, .cards, .arrive, .scrub, option, [hidden]')) {
      continue;
    }
    const box = node.getBoundingClientRect();
    const frame = (node.closest('.panels') ?? document.querySelector('.stage')).getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const aside = Math.max(frame.left - box.left, box.right - frame.right);
    const above = Math.max(frame.top - box.top, box.bottom - frame.bottom);
    if (Math.max(aside, above) > 1)
      wrong.push(`${node.className || node.tagName} ${node.textContent.slice(0, 30)}`);
  }
  for (const node of document.querySelectorAll('.stage :is(.told, .formula, .caption)')) {
    const cut = node.scrollHeight - node.clientHeight;
    if (cut > 1) wrong.push(`${cut} px of ${node.className} cut: ${node.textContent}`);
  }
  if (stage.bottom > innerHeight + 1 || stage.right > innerWidth + 1) wrong.push('the stage itself');
  return wrong;
}"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll('.stage *')].filter((n) => !n.closest('[hidden], .spoken')
  && [...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim()))
  .map((n) => parseFloat(getComputedStyle(n).fontSize) * (n.tagName === 'SUB' ? 2 : 1)))"""


def missing(what):
    if os.environ.get("SPECVIZ_REQUIRE_BROWSER") == "1":
        pytest.fail(f"SPECVIZ_REQUIRE_BROWSER=1 is set and there is no {what} on the PATH")
    pytest.skip(f"there is no {what} on the PATH")


def short_run(pair):
    return sv.speculate(pair, "It is a truth universally acknowledged", draft_length=4, max_new_tokens=48, seed=1)


def long_run(pair):
    return sv.speculate(pair, "It is a truth universally acknowledged", draft_length=4, max_new_tokens=620, seed=5)


def law(n, seed):
    table = np.random.default_rng(seed).dirichlet(np.full(n, 0.6), size=n)
    return TableModel(lambda tokens: table[tokens[-1]], n)


def toy_trace(texts):
    """A toy run whose tokens say these things."""
    n = len(texts)
    trace = sv.speculate(sv.Pair(target=law(n, 1), draft=law(n, 2)), [0], draft_length=3, max_new_tokens=60, seed=3)

    def renamed(record):
        if dataclasses.is_dataclass(record):
            changes = {f.name: renamed(getattr(record, f.name)) for f in dataclasses.fields(record)}
            if "text" in changes and "token" in changes:
                changes["text"] = texts[record.token]
            if isinstance(record, sv.Round):
                changes["pieces"] = tuple(texts[token] for token in record.emitted)
            return dataclasses.replace(record, **changes)
        return tuple(map(renamed, record)) if isinstance(record, tuple) else record

    trace = renamed(trace)
    text = "".join(piece for round_ in trace.rounds for piece in round_.pieces)
    return dataclasses.replace(trace, prompt=texts[0] + texts[1], text=text)


def hostile_trace():
    return toy_trace(HOSTILE)


def half_trace(pair):
    """A run that writes 😀 again and again in the bundled vocabulary, whose tokens hold a byte of it each.

    The target is sure of the next byte; the draft takes a wrong one half the time.
    """
    ids, size = pair.tokenizer.encode("😀"), pair.tokenizer.size

    def sure(share):
        table = np.zeros((size, size))
        table[:, ids[0]] = 1.0
        for i, token in enumerate(ids):
            table[token] = 0.0
            table[token, ids] = (1 - share) / len(ids)
            table[token, ids[(i + 1) % len(ids)]] += share
        return TableModel(lambda tokens: table[tokens[-1]], size)

    faces = sv.Pair(target=sure(1.0), draft=sure(0.5), tokenizer=pair.tokenizer)
    return sv.speculate(faces, "Smile: ", draft_length=4, max_new_tokens=6 * len(ids), seed=1)


def first_rounds(trace, n):
    """The run as it stood after n rounds."""
    rounds = trace.rounds[:n]
    return dataclasses.replace(trace, rounds=rounds, text="".join(p for r in rounds for p in r.pieces))


def kinds(trace):
    """One step of every kind."""
    found = {}
    for i, step in enumerate(timeline.steps(trace)):
        found[step.kind, "rejected" in step.cards] = i
    return sorted(found.values())


def starts(trace):
    return {(s.round, s.index): i for i, s in enumerate(timeline.steps(trace))}


class Show:
    """A page from disk in a window of its own, and everything that it asked for or complained of."""

    def __init__(self, browser, path, *, size=(1440, 900), theme="light", motion="no-preference", touch=False):
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=theme, reduced_motion=motion, has_touch=touch
        )
        self.page = self.context.new_page()
        self.asked, self.errors = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.open(path)

    def open(self, path):
        self.page.goto(path.as_uri())
        self.page.locator(".where b").wait_for()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def jump(self, flat):
        self.page.locator(".scrub input").evaluate(
            "(scrub, i) => { scrub.value = i; scrub.dispatchEvent(new Event('input')); }", flat
        )

    @property
    def where(self):
        """Round and step, both from 1."""
        told = re.findall(r"\d+", self.page.locator(".where").inner_text())
        return int(told[0]), int(told[2])

    @property
    def spoken(self):
        return self.page.locator("[aria-live=polite]").text_content()

    @property
    def label(self):
        return self.page.locator(".go-play").get_attribute("aria-label")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        asked = [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))]
        self.context.close()
        if kind is None:
            assert self.errors == []
            assert asked == []


class Mounted(Show):
    """The component without Streamlit: a blank page with its script and style, mounted by hand."""

    def __init__(self, browser, **window):
        super().__init__(browser, None, **window)

    def open(self, _path):
        self.page.set_content('<!doctype html><html lang="en"><div id="home"></div>')
        self.page.evaluate(
            """(style) => {
              window.root = home.attachShadow({ mode: "open" });
              root.append(Object.assign(document.createElement("style"), { textContent: style }));
            }""",
            replay.style(),
        )
        self.page.add_script_tag(content=replay.script())
        self.page.evaluate("window.reports = []; window.named = new Set();")

    def mount(self, trace, **data):
        """data: as `stage()` hands it over. Which words are asked for is noted."""
        told = {"payload": replay.payload(trace), "start": None, "above": 0} | data
        self.page.evaluate(
            """(data) => {
              data.payload.words = new Proxy(data.payload.words, { get: (all, name) => (named.add(name), all[name]) });
              window.again = (changes) => {
                Object.assign(data, changes);
                window.leave = mount(root, { ...data }, (at) => reports.push(at));
              };
              again({});
            }""",
            told,
        )

    def again(self, **changes):
        """The same run with other data, without the time that sending a run takes."""
        self.page.evaluate("(changes) => again(changes)", changes)

    @property
    def stages(self):
        return self.page.locator(".stage").count()

    @property
    def reports(self):
        return [(at["round"] + 1, at["step"] + 1) for at in self.page.evaluate("reports")]

    @property
    def beat(self):
        """How much of the step has passed."""
        return float(re.search(r"[\d.]+", self.page.locator(".beat .done").get_attribute("style"))[0])
