"""The stage: what is sent to it, the page that holds it, its code, and what a browser makes of it.

The pure parts of its code run in node, the page runs in a Chromium. Without them these are skipped, unless
SPECVIZ_REQUIRE_BROWSER=1 is set: then they fail.
"""

import dataclasses
import gzip
import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import specviz as sv
from specviz import replay, timeline
from specviz.figures.style import PALETTES
from specviz.models.toy import TableModel

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "specviz" / "ui" / "stage"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
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


def missing(what):
    if os.environ.get("SPECVIZ_REQUIRE_BROWSER") == "1":
        pytest.fail(f"SPECVIZ_REQUIRE_BROWSER=1 is set and there is no {what} on the PATH")
    pytest.skip(f"there is no {what} on the PATH")


def law(n, seed):
    table = np.random.default_rng(seed).dirichlet(np.full(n, 0.6), size=n)
    return TableModel(lambda tokens: table[tokens[-1]], n)


def hostile_trace():
    """A toy run whose tokens say hostile things."""
    n = len(HOSTILE)
    trace = sv.speculate(sv.Pair(target=law(n, 1), draft=law(n, 2)), [0], draft_length=3, max_new_tokens=60, seed=3)

    def renamed(record):
        if dataclasses.is_dataclass(record):
            changes = {f.name: renamed(getattr(record, f.name)) for f in dataclasses.fields(record)}
            if "text" in changes and "token" in changes:
                changes["text"] = HOSTILE[record.token]
            if isinstance(record, sv.Round):
                changes["pieces"] = tuple(HOSTILE[token] for token in record.emitted)
            return dataclasses.replace(record, **changes)
        return tuple(map(renamed, record)) if isinstance(record, tuple) else record

    trace = renamed(trace)
    text = "".join(piece for round_ in trace.rounds for piece in round_.pieces)
    return dataclasses.replace(trace, prompt=HOSTILE[0] + HOSTILE[1], text=text)


def first_rounds(trace, n):
    """The run as it stood after n rounds."""
    rounds = trace.rounds[:n]
    return dataclasses.replace(trace, rounds=rounds, text="".join(p for r in rounds for p in r.pieces))


@pytest.fixture(scope="module")
def trace(pair):
    return sv.speculate(pair, "It is a truth universally acknowledged", draft_length=4, max_new_tokens=48, seed=1)


@pytest.fixture(scope="module")
def long_trace(pair):
    return sv.speculate(pair, "It is a truth universally acknowledged", draft_length=4, max_new_tokens=480, seed=5)


def wire(trace):
    return json.dumps(replay.payload(trace), ensure_ascii=False, separators=(",", ":")).encode()


# What is sent


def test_the_payload_says_what_the_timeline_says(trace):
    rounds = replay.payload(trace)["rounds"]
    told = [(s["k"], s["t"], s["c"], s["f"]) for r in rounds for s in r["steps"]]
    assert told == [(s.kind, s.title, s.caption, s.formula.text) for s in timeline.steps(trace)]
    assert "".join(text for r in rounds for text, *_ in r["spans"]) == trace.text
    for step in timeline.steps(trace):
        passes, tokens, _, _, judged = rounds[step.round]["steps"][step.index]["y"]
        assert (passes, tokens) == (str(step.tally.rounds), str(step.tally.tokens))
        assert judged == f"{step.tally.accepted} of {step.tally.judged}"


def test_two_hundred_rounds_cost_less_than_200_kilobytes_compressed(long_trace):
    rounds = first_rounds(long_trace, 200)
    assert len(rounds.rounds) == 200
    assert len(gzip.compress(wire(rounds))) < 200_000


def test_a_page_of_thirty_rounds_is_smaller_than_300_kilobytes(long_trace):
    assert len(first_rounds(long_trace, 30).to_html().encode()) < 300_000


def test_rounds_that_were_sent_do_not_change_when_more_come(trace):
    whole = replay.payload(trace)
    for n in range(len(trace.rounds)):
        part = replay.payload(first_rounds(trace, n))
        assert part["rounds"] == whole["rounds"][:n]
        assert replay.payload(trace, n)["rounds"] == whole["rounds"][n:]
        assert part["run"] == whole["run"] or n == 0


def test_another_run_of_the_same_settings_is_another_run(trace):
    again = dataclasses.replace(trace, rounds=(dataclasses.replace(trace.rounds[0], round_s=9.9), *trace.rounds[1:]))
    assert replay.payload(again)["run"] != replay.payload(trace)["run"]


def test_greedy_and_plain_runs_and_empty_ones_have_payloads(pair):
    greedy = sv.speculate(pair, "It is", max_new_tokens=12, sampling=sv.Sampling(0), seed=0)
    assert {s["u"] for r in replay.payload(greedy)["rounds"] for s in r["steps"] if "u" in s} == {None}
    plain = sv.autoregress(pair, "It is", max_new_tokens=3, seed=0)
    assert [[s["k"] for s in r["steps"]] for r in replay.payload(plain)["rounds"]] == [["verify", "bonus", "emit"]] * 3
    assert all(len(r["steps"][0]["cache"]) == 1 for r in replay.payload(plain)["rounds"])
    assert replay.payload(first_rounds(plain, 0))["rounds"] == []


def test_the_uniform_falls_on_the_drawn_tokens_stretch(trace):
    """The tail's share before the token is a guess within what the record allows: u is always inside the stretch."""
    worst = 0.0
    for round_ in trace.rounds:
        for i in range(len(round_.nodes)):
            law = timeline.draft_law(round_, i)
            step = replay.payload(trace)["rounds"][round_.index]["steps"][i]
            shown = {row[0] for row in step["rows"]}
            before = step["b"] + sum(c.draft_prob for c in law.rows if c.token < law.token and c.token in shown)
            own = round_.nodes[i].draft_prob
            worst = max(worst, before - law.uniform, law.uniform - before - own)
    assert worst < 1e-4  # b is sent with four decimals


def test_rows_hold_the_whole_law_and_the_tokens_that_matter(trace):
    for told, round_ in zip(replay.payload(trace)["rounds"], trace.rounds, strict=True):
        for step in told["steps"]:
            if "rows" in step:
                assert len(step["rows"]) <= 7
                assert step["rows"][step["d"]][1]
            if step["k"] == "residual":
                rejected = round_.nodes[round_.trials[-1].node].token
                assert rejected in [row[0] for row in step["rows"]]


def test_payload_numbers_are_plain_json(trace):
    assert json.loads(wire(trace)) == replay.payload(trace)
    assert json.loads(wire(hostile_trace()))["prompt"].startswith("<img")


# The page


def test_the_page_is_whole_and_forbids_the_network(trace, tmp_path):
    path = tmp_path / "run.html"
    assert trace.to_html(path) is None
    page = path.read_text(encoding="utf-8")
    assert page == trace.to_html()
    assert re.findall(r"""(?:src|href)\s*=\s*["']""", page.split('id="trace">')[0]) == []
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy
    assert "unsafe" not in policy


def test_no_text_of_a_token_leaves_its_script_element():
    page = hostile_trace().to_html()
    data = re.search(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)[1]
    assert not set("<>&\u2028\u2029") & set(data)
    assert json.loads(data)["payload"]["prompt"] == HOSTILE[0] + HOSTILE[1]
    assert page.count("<script") == 2
    assert "<title>Speculative decoding: &lt;img" in page


def test_half_a_surrogate_pair_does_not_break_the_page(trace, tmp_path):
    dataclasses.replace(trace, prompt="\ud83d").to_html(tmp_path / "half.html")


def test_a_notebook_shows_the_page_in_a_frame_that_may_do_nothing_else(trace):
    frame = trace._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    inner = unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert inner == trace.to_html()


# The code


def test_the_stage_has_the_colours_of_the_figures():
    sheet = replay.style()
    for name in (
        "draft",
        "target",
        "accepted",
        "rejected",
        "resampled",
        "background",
        "surface",
        "text",
        "muted",
        "line",
    ):
        pair = ", ".join(getattr(PALETTES[theme], name) for theme in ("light", "dark"))
        assert f"--{name}: light-dark({pair});" in sheet


def test_no_file_of_the_stage_is_longer_than_300_lines():
    for path in STAGE.iterdir():
        if path.is_file():
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 300, path


def test_the_joined_script_has_every_module_once_and_no_name_twice():
    script = replay.script()
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:const|let|function|class) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names))
    for path in STAGE.glob("*.mjs"):
        first = re.search(r"^export (?:async )?(?:const|function|class) (\w+)", path.read_text(), re.MULTILINE)
        assert first[1] in names, path


def test_the_code_never_makes_markup_of_text():
    for path in STAGE.glob("*.mjs"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", path.read_text()), path


def test_every_word_that_the_code_asks_for_is_there_and_none_is_idle():
    code = "".join(path.read_text(encoding="utf-8") for path in STAGE.glob("*.mjs"))
    asked = set(re.findall(r"\bw\.(\w+)", code))
    words = set(replay.payload(sv.Trace.from_json(ROOT / "tests/golden/trace_v1.json"))["words"])
    assert asked <= words
    for word in words - asked:  # by a computed name: w[`phase_${kind}`], w[outcome], w["from_best"]
        assert re.search(rf'"{word}"|\b{word}:|"{word.removeprefix("phase_")}"', code), word


def test_pure_parts_in_node():
    node = shutil.which("node") or missing("node")
    tests = sorted(map(str, (ROOT / "tests" / "stage").glob("*.test.mjs")))
    done = subprocess.run([node, "--test", *tests], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:]


def test_the_component_mounts_and_reports_where_the_viewer_rests():
    from streamlit.testing.v1 import AppTest

    def app():
        import streamlit as st

        import specviz as sv
        from specviz.ui.stage import stage

        trace = sv.Trace.from_json("tests/golden/trace_v1.json")
        at = stage(trace, key="stage", start=(1, 0), on_step=lambda: None)
        st.text(f"at {at}")

    at = AppTest.from_function(app, default_timeout=60).run()
    assert not at.exception
    assert at.text[0].value == "at None"


# In a browser


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path or missing("chromium"), args=FLAGS)
        yield browser
        browser.close()


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
        self.page.goto(path.as_uri())
        self.page.locator(".where b").wait_for()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def jump(self, flat):
        move = "i => { const s = document.querySelector('.scrub input'); s.value = i; "
        self.page.evaluate(move + "s.dispatchEvent(new Event('input')); }", flat)

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


@pytest.fixture(scope="module")
def path(trace, tmp_path_factory):
    path = tmp_path_factory.mktemp("stage") / "run.html"
    trace.to_html(path)
    return path


def starts(trace):
    return {(s.round, s.index): i for i, s in enumerate(timeline.steps(trace))}


@pytest.mark.browser
def test_keys_step_through_the_run(browser, path, trace):
    with Show(browser, path) as show:
        assert show.where == (1, 1)
        show.press("ArrowRight", "PageDown", "ArrowLeft")
        assert show.where == (1, 2)
        show.press("ArrowDown")
        assert show.where == (2, 1)
        show.press("ArrowUp")
        assert show.where == (1, 1)
        show.press("End")
        assert show.where == (len(trace.rounds), len(timeline.steps(trace.rounds[-1])))
        show.press("Home", "x")
        rejected = next(s for s in timeline.steps(trace) if s.kind == "judge" and "rejected" in s.cards)
        assert show.where == (rejected.round + 1, rejected.index + 1)
        assert show.spoken == f"{rejected.title}. {rejected.caption}"
        show.press("1", "2")
        assert show.where == (12, 1)
        show.page.locator(".go-next").click()
        show.press(" ")
        assert (show.where, show.label) == ((12, 2), "Pause")
        show.press(" ")
        assert show.label == "Play"


@pytest.mark.browser
def test_keys_are_left_alone_in_inputs_and_with_modifiers(browser, path):
    with Show(browser, path) as show:
        show.page.evaluate("document.body.prepend(document.createElement('textarea'))")
        show.page.locator("textarea").focus()
        show.press("ArrowRight", " ", "3", "?")
        assert show.where == (1, 1)
        assert show.page.locator("textarea").input_value() == " 3?"
        show.page.locator("textarea").blur()
        show.press("Control+ArrowRight", "Alt+ArrowRight")
        assert show.where == (1, 1)
        show.page.locator(".scrub input").focus()
        show.press("PageDown")
        assert show.where == (1, 2)


@pytest.mark.browser
def test_help_opens_and_closes_and_the_focus_comes_back(browser, path):
    with Show(browser, path) as show:
        show.page.locator(".go-next").focus()
        show.press("?")
        assert show.page.get_by_role("dialog").is_visible()
        assert show.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Close"
        show.press("Escape")
        assert not show.page.get_by_role("dialog").is_visible()
        assert show.page.evaluate("document.activeElement.classList.contains('go-next')")


@pytest.mark.browser
def test_every_step_is_spoken_and_shown(browser, path, trace):
    with Show(browser, path, motion="reduce") as show:
        for i, step in enumerate(timeline.steps(trace)):
            if i:
                show.press("ArrowRight")
            assert show.spoken == f"{step.title}. {step.caption}"
            assert show.page.locator(".formula").text_content() == step.formula.text
            assert show.page.locator(".panels > :not([hidden])").count() == 1


@pytest.mark.browser
def test_the_text_grows_with_the_emitted_tokens_and_a_click_finds_their_step(browser, path, trace):
    with Show(browser, path) as show:
        for n in (0, 1, 3, len(trace.rounds)):
            last = (n - 1, len(timeline.steps(trace.rounds[n - 1])) - 1) if n else (0, 0)
            show.jump(starts(trace)[last])
            shown = show.page.locator(".inner").inner_text()
            assert shown == trace.prompt + "".join(p for r in trace.rounds[:n] for p in r.pieces)
        span = timeline.spans(trace)[2]
        show.page.locator(".inner bdi").nth(2).click()
        assert show.where == (span.round + 1, span.step + 1)
        show.page.locator(".card").first.click()
        assert show.page.locator(".told h2").text_content().startswith("Judge 1 of")


@pytest.mark.browser
def test_playing_moves_on_by_itself_and_stops_at_the_end(browser, path, trace):
    with Show(browser, path) as show:
        show.jump(len(timeline.steps(trace)) - 2)
        show.page.get_by_label("Speed").select_option("4")
        show.press(" ")
        show.page.locator(".go-play[aria-label=Play]").wait_for()
        assert show.where == (len(trace.rounds), len(timeline.steps(trace.rounds[-1])))
        show.press(" ")
        assert (show.where, show.label) == ((1, 1), "Pause")


@pytest.mark.browser
@pytest.mark.parametrize(("motion", "moves"), [("no-preference", True), ("reduce", False)])
def test_reduced_motion_turns_movement_into_cuts(browser, path, trace, motion, moves):
    with Show(browser, path, motion=motion) as show:
        show.jump(starts(trace)[(1, 0)] - 2)
        show.press("ArrowRight")  # the emitted tokens fly
        assert bool(show.page.evaluate("document.getAnimations().length")) == moves
        assert bool(show.page.locator(".ghost").count()) == moves


@pytest.mark.browser
def test_a_swipe_turns_steps(browser, path):
    with Show(browser, path, size=(390, 844), touch=True) as show:
        swipe = """([from, to]) => { const at = (x) => [new Touch({ identifier: 1, target, clientX: x, clientY: 300 })];
            const target = document.querySelector('.told');
            for (const [name, x] of [['touchstart', from], ['touchend', to]]) target.dispatchEvent(new TouchEvent(name,
            { touches: name === 'touchstart' ? at(x) : [], changedTouches: at(x), bubbles: true })); }"""
        show.page.evaluate(swipe, [300, 100])
        assert show.where == (1, 2)
        show.page.evaluate(swipe, [100, 300])
        assert show.where == (1, 1)


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
  if (stage.bottom > innerHeight + 1 || stage.right > innerWidth + 1) wrong.push('the stage itself');
  return wrong;
}"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll('.stage *')].filter((n) => !n.closest('[hidden], .spoken')
  && [...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim()))
  .map((n) => parseFloat(getComputedStyle(n).fontSize) * (n.tagName === 'SUB' ? 2 : 1)))"""


def kinds(trace):
    """One step of every kind."""
    found = {}
    for i, step in enumerate(timeline.steps(trace)):
        found[step.kind, "rejected" in step.cards] = i
    return sorted(found.values())


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 840), (1280, 660)])
def test_everything_is_seen_at_once(browser, path, trace, size, theme):
    with Show(browser, path, size=size, theme=theme) as show:
        for i in kinds(trace):
            show.jump(i)
            assert show.page.evaluate(CLIPPED) == [], show.spoken


@pytest.mark.browser
@pytest.mark.parametrize("draft_length", [1, 12])
def test_short_and_long_drafts_fit_as_well(browser, pair, tmp_path, draft_length):
    trace = sv.speculate(pair, "def main(argv=None):\n    ", draft_length=draft_length, max_new_tokens=40, seed=0)
    trace.to_html(tmp_path / "run.html")
    with Show(browser, tmp_path / "run.html", size=(1280, 660)) as show:
        for i in kinds(trace):
            show.jump(i)
            assert show.page.evaluate(CLIPPED) == [], show.spoken


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1920, 1080), (1280, 720), (1024, 768)])
def test_for_a_projector_text_is_large_and_nothing_is_clipped(browser, trace, tmp_path, size):
    replay.to_html(trace, tmp_path / "talk.html", talk=True)
    with Show(browser, tmp_path / "talk.html", size=size) as show:
        for i in kinds(trace):
            show.jump(i)
            assert show.page.evaluate(CLIPPED) == [], show.spoken
            if size == (1920, 1080):
                assert show.page.evaluate(SMALLEST) >= 24


@pytest.mark.browser
def test_a_narrow_page_is_no_wider_than_its_window(browser, path, trace):
    with Show(browser, path, size=(390, 844)) as show:
        for i in kinds(trace):
            show.jump(i)
            assert show.page.evaluate("document.documentElement.scrollWidth") <= 390
            controls = show.page.locator(".controls").bounding_box()
            assert controls["y"] + controls["height"] <= 845


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_hostile_tokens_are_text_and_the_layout_stays(browser, tmp_path, size):
    trace = hostile_trace()
    trace.to_html(tmp_path / "hostile.html")
    with Show(browser, tmp_path / "hostile.html", size=size) as show:
        title = show.page.title()
        for i in range(len(timeline.steps(trace))):
            show.jump(i)
            if i % 5 == 0 and size[0] > 1000:
                assert show.page.evaluate(CLIPPED) == [], show.spoken
        assert show.page.title() == title
        assert show.page.locator(".stage :is(img, script, a)").count() == 0
        assert show.page.locator(".inner").text_content() == trace.prompt + trace.text
        assert show.page.evaluate("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.browser
def test_a_picture_of_the_step_is_saved(browser, path, tmp_path):
    with Show(browser, path) as show:
        show.press("ArrowRight")
        with show.page.expect_download() as download:
            show.page.locator(".go-picture").click()
        assert download.value.suggested_filename == "specviz-1-2.png"
        download.value.save_as(tmp_path / "step.png")
        head = (tmp_path / "step.png").read_bytes()[:24]
        assert head[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(head[16:20], "big") == 2880


@pytest.mark.browser
def test_the_theme_follows_the_reader_and_can_be_turned(browser, path):
    ink = "getComputedStyle(document.querySelector('.stage')).backgroundColor"
    with Show(browser, path, theme="dark") as show:
        assert show.page.evaluate(ink) == "rgb(18, 21, 27)"
        show.page.locator(".go-theme").click()
        assert show.page.evaluate(ink) == "rgb(255, 255, 255)"
        show.page.locator(".go-theme").click()
        assert show.page.evaluate(ink) == "rgb(18, 21, 27)"


@pytest.mark.browser
def test_no_serious_fault_for_readers_with_aids(browser, path, trace):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    for theme in ("light", "dark"):
        with Show(browser, path, theme=theme) as show:
            show.page.context.set_default_timeout(60_000)
            for i in kinds(trace):
                show.jump(i)
            found = axe.Axe().run(show.page).response["violations"]
            assert [f["id"] for f in found if f["impact"] in ("serious", "critical")] == []
