"""The pages, without a browser: each alone and after navigation, a run, a stop, bad values, hostile text."""

import json
import re
import subprocess
import sys
import threading
import time
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import specviz as sv
from specviz.models.toy import TableModel
from specviz.models.vocabulary import Vocabulary
from specviz.ui import pairs, rounds, runs, shell, state, views

ROOT = Path(__file__).parents[1]
PATIENCE_S = 120  # the first run imports torch

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "$x$",
    "__init__",
    ":red[x]",
    ":smile:",
    "\n\n",
    "שלום",
    "‮evil",
    "&amp;\"'",
    "[a](https://example.com)",
    "`{token}`",
    "x" * 2000,
)


SHOWN_TAGS = {"div", "span", "p", "b", "dl", "dt", "dd", "strong", "table", "thead", "tbody", "tr", "th", "td"}


class HostileVocabulary(Vocabulary):
    """One token for each hostile text."""

    def __init__(self):
        self.size, self.unknown = len(HOSTILE), ()

    def encode(self, text):
        return [0] if text else self.refuse()

    def refuse(self):
        raise sv.PromptError("the prompt is empty: __type__ :smile: $a$ <b>something</b>")

    def label(self, token):
        return HOSTILE[token]

    def to_bytes(self, token):
        return HOSTILE[token].encode()


def hostile_pair():
    """A toy pair that says hostile things at random."""
    table = np.random.default_rng(1).dirichlet(np.ones(len(HOSTILE)), size=(2, len(HOSTILE)))
    models = [TableModel(lambda tokens, t=t: t[tokens[-1]], len(HOSTILE)) for t in table]
    return sv.Pair(target=models[0], draft=models[1], tokenizer=HostileVocabulary())


@pytest.fixture
def _hostile(monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda _draft: hostile_pair())


def page(name):
    return AppTest.from_file(str(ROOT / name), default_timeout=PATIENCE_S).run()


def html(at):
    """What the app draws itself, its style sheet left out."""
    bodies = [element.proto.body for element in at.get("html")]
    return "".join(body for body in bodies if not body.startswith("<style>"))


class Reader(HTMLParser):
    """The tags and the visible text of a piece of HTML."""

    def __init__(self, body):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(body)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert all(name in ("class", "title", "role", "aria-label", "tabindex", "dir", "scope") for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("name", ["app.py", "pages/home.py", "pages/watch.py"])
def test_every_page_opens_alone(name):
    at = page(name)
    assert not at.exception
    assert not at.error


def test_every_page_opens_after_the_others():
    at = page("app.py")
    for name in ("pages/watch.py", "pages/home.py", "pages/watch.py"):
        at.switch_page(name).run()
        assert not at.exception
    assert at.button(key="run_button")


def test_pages_and_app_are_thin():
    for path, most in [("app.py", 60), *[(f"pages/{p.name}", 80) for p in (ROOT / "pages").glob("*.py")]]:
        assert len((ROOT / path).read_text().splitlines()) <= most
    for path in (ROOT / "specviz" / "ui").glob("*.py"):
        assert len(path.read_text().splitlines()) < 300


def test_home_needs_no_torch_and_says_what_this_is():
    """In a process of its own, since others here have loaded torch."""
    code = (
        "import sys; from streamlit.testing.v1 import AppTest\n"
        "at = AppTest.from_file('app.py', default_timeout=60).run()\n"
        "assert not at.exception, at.exception\n"
        "assert at.title[0].value == 'Watch speculative decoding'\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=PATIENCE_S)


def test_a_run_decodes_with_the_bundled_pair_and_shows_every_part():
    at = page("pages/watch.py")
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(24)
    at.button(key="run_button").click().run()
    assert not at.exception
    trace = at.session_state[state.RUN].trace
    assert trace == sv.Trace.from_json(StringIO(trace.to_json()))
    assert (trace.stop_reason, len(trace.tokens)) == ("length", 24)
    assert trace.draft == "bundled/draft"
    shown = Reader(html(at))
    assert trace.prompt + trace.text in shown.text
    assert "accepted draft" in shown.text
    assert "Tokens per target pass" in shown.text
    assert "min(1, p/q)" in shown.text
    assert [b.proto.label for b in at.get("download_button")] == ["Download CSV", "Download JSON"]
    assert len(at.get("plotly_chart")) == 1
    again = sv.speculate(
        sv.load_pair(),
        trace.prompt,
        draft_length=4,
        max_new_tokens=24,
        sampling=sv.Sampling(temperature=0.6),
        seed=0,
    )
    assert again.text == trace.text


@pytest.mark.usefixtures("_hostile")
def test_settings_reach_the_engine():
    at = page("pages/watch.py")
    for key, value in {
        state.DRAFT_LENGTH: 3,
        state.TEMPERATURE: 0.5,
        state.TOP_K: 4,
        state.TOP_P: 0.9,
        state.MIN_P: 0.01,
        state.SEED: 7,
        state.MAX_NEW_TOKENS: 9,
    }.items():
        at.number_input(key=key).set_value(value)
    at.button(key="run_button").click().run()
    trace = at.session_state[state.RUN].trace
    assert (trace.draft_length, trace.seed, trace.max_new_tokens) == (3, 7, 9)
    assert trace.sampling == sv.Sampling(temperature=0.5, top_k=4, top_p=0.9, min_p=0.01)


def test_the_draft_that_was_chosen_is_the_one_that_is_loaded(monkeypatch):
    asked = []
    monkeypatch.setattr(pairs, "load", lambda draft: asked.append(draft) or hostile_pair())
    at = page("pages/watch.py")
    at.get("button_group")[1].set_value("bundled/draft-weak").run()
    at.button(key="run_button").click().run()
    assert asked[0] == "bundled/draft"
    assert set(asked[1:]) == {"bundled/draft-weak"}


@pytest.mark.usefixtures("_hostile")
def test_settings_survive_a_change_of_page():
    at = page("app.py")
    at.switch_page("pages/watch.py").run()
    at.number_input(key=state.DRAFT_LENGTH).set_value(7)
    at.number_input(key=state.TOP_P).set_value(0.5)
    at.text_area(key=state.PROMPT).set_value("Call me").run()
    at.switch_page("pages/home.py").run()
    at.switch_page("pages/watch.py").run()
    assert at.number_input(key=state.DRAFT_LENGTH).value == 7
    assert at.number_input(key=state.TOP_P).value == 0.5
    assert at.text_area(key=state.PROMPT).value == "Call me"


@pytest.mark.usefixtures("_hostile")
def test_a_run_survives_a_change_of_page():
    at = page("app.py")
    at.switch_page("pages/watch.py").run()
    at.button(key="run_button").click().run()
    text = at.session_state[state.RUN].trace.text
    at.switch_page("pages/home.py").run()
    at.switch_page("pages/watch.py").run()
    assert text in Reader(html(at)).text


@pytest.mark.usefixtures("_hostile")
def test_an_example_fills_the_box_and_own_text_comes_back():
    at = page("pages/watch.py")
    example = at.get("button_group")[0]
    assert at.text_area(key=state.PROMPT).value == "It is a truth universally acknowledged"
    at.text_area(key=state.PROMPT).set_value("My own").run()
    assert at.session_state[state.EXAMPLE] == state.OWN
    example = at.get("button_group")[0].set_value(state.CODE).run().get("button_group")[0]
    assert at.text_area(key=state.PROMPT).value.startswith("def main")
    example.set_value(state.OWN).run()
    assert at.text_area(key=state.PROMPT).value == "My own"


def part_run(n_rounds):
    """A run with some of its rounds played."""
    run = sv.stream(hostile_pair(), "x", draft_length=3, max_new_tokens=60, seed=1)
    for _ in range(n_rounds):
        next(run)
    return run


@pytest.mark.usefixtures("_hostile")
def test_stop_stops_and_keeps_what_was_decoded(monkeypatch):
    at = page("pages/watch.py")
    run = part_run(4)
    at.session_state[state.RUN] = runs.Player(run)
    monkeypatch.setattr(runs, "play", lambda _show: None)  # as if Stop were pressed between two rounds
    at.run()
    assert at.get("progress")[0].proto.text.endswith("decoding")
    before = run.trace
    at.button(key="stop_button").click().run()
    after = at.session_state[state.RUN].trace
    assert after.rounds == before.rounds
    assert after.stop_reason == "cancelled"
    assert at.get("progress")[0].proto.text.endswith("stopped")
    assert at.button(key="stop_button").disabled
    assert before.text in Reader(html(at)).text
    with pytest.raises(StopIteration):
        next(run)


@pytest.mark.usefixtures("_hostile")
def test_a_rerun_during_a_run_loses_no_round():
    at = page("pages/watch.py")
    run = part_run(4)
    at.session_state[state.RUN] = runs.Player(run)
    before = run.trace.rounds
    at.number_input(key=state.TEMPERATURE).set_value(0.1).run()
    after = at.session_state[state.RUN].trace
    undisturbed = sv.speculate(hostile_pair(), "x", draft_length=3, max_new_tokens=60, seed=1)
    assert after.rounds[:4] == before
    assert (after.tokens, after.text, after.stop_reason) == (undisturbed.tokens, undisturbed.text, "length")


def test_a_thread_that_lost_its_turn_stops_playing():
    player = runs.Player(part_run(1))
    first, second = player.play(), player.play()
    next(first)
    next(second)
    assert list(first) == []
    assert [len(trace.rounds) for trace in second][:2] == [4, 5]
    assert not player.running


def test_stop_may_come_in_the_middle_of_a_round():
    """Streamlit runs the callback of Stop in a thread of its own, while the page's thread is inside a round."""
    player = runs.Player(part_run(0))
    inside, others = threading.Event(), []
    law = hostile_pair().target.law

    def slow(tokens):
        inside.set()
        time.sleep(0.01)
        return law(tokens)

    player._run._pair.target.law = slow
    thread = threading.Thread(target=lambda: others.extend(player.play()))
    thread.start()
    inside.wait(10)
    player.stop()
    thread.join(10)
    assert player.trace.stop_reason == "cancelled"
    assert len(player.trace.rounds) == len(others)


@pytest.mark.usefixtures("_hostile")
def test_rounds_can_be_chosen_by_slider_and_by_buttons():
    at = page("pages/watch.py")
    at.button(key="run_button").click().run()
    trace = at.session_state[state.RUN].trace
    assert at.button(key="previous_button").disabled
    at.button(key="next_button").click().run()
    assert at.slider(key=state.ROUND).value == 2
    at.slider(key=state.ROUND).set_value(len(trace.rounds)).run()
    assert at.button(key="next_button").disabled
    for place in range(len(trace.rounds[-1].nodes) + 1):
        at.session_state[state.PLACE] = place
        assert not at.run().exception


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        (state.TOP_P, 0.0, "top_p must lie in (0, 1], or be None for no limit, got 0.0"),
        (state.PROMPT, "word " * 3000, "tokens and the target's context holds 1024. Shorten it."),
    ],
)
def test_a_bad_value_gives_one_sentence(key, value, sentence):
    at = page("pages/watch.py")
    (at.text_area if key == state.PROMPT else at.number_input)(key=key).set_value(value)
    at.button(key="run_button").click().run()
    assert not at.exception
    assert len(at.error) == 1
    assert sentence in at.error[0].value.replace("\\", "")
    assert at.button(key="stop_button").disabled
    assert at.session_state[state.RUN] is None


@pytest.mark.usefixtures("_hostile")
def test_an_error_is_gone_with_the_next_run():
    at = page("pages/watch.py")
    at.text_area(key=state.PROMPT).set_value("")
    at.button(key="run_button").click().run()
    assert len(at.error) == 1
    at.text_area(key=state.PROMPT).set_value("x")
    at.button(key="run_button").click().run()
    assert not at.error


def test_an_error_inside_a_run_keeps_its_rounds(monkeypatch):
    def breaks(tokens):
        if len(tokens) > 4:
            raise sv.LogitsError("the target said NaN")
        return [0.5, 0.5]

    broken = sv.Pair(target=TableModel(breaks, 2), draft=TableModel(lambda _: [0.5, 0.5], 2))
    run = sv.stream(broken, [0], draft_length=1, max_new_tokens=60, seed=1)
    next(run)
    monkeypatch.setattr(pairs, "load", lambda _draft: broken)
    at = page("pages/watch.py")
    at.session_state[state.RUN] = runs.Player(run)
    at.run()
    assert at.error[0].value == "the target said NaN"
    assert at.session_state[state.RUN].trace.rounds


def test_models_that_do_not_load_are_said_so(monkeypatch):
    def fails(_draft):
        raise sv.LoadError("bundled/target lacks 3 of its weights")

    monkeypatch.setattr(pairs, "load", fails)
    at = page("pages/watch.py")
    assert at.error[0].value.replace("\\", "") == "bundled/target lacks 3 of its weights"


@pytest.mark.usefixtures("_hostile")
def test_hostile_tokens_are_text_everywhere():
    at = page("pages/watch.py")
    prompt = "<script>alert(1)</script> $x$ :smile:"
    at.text_area(key=state.PROMPT).set_value(prompt)
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(60)
    at.button(key="run_button").click().run()
    assert not at.exception
    trace = at.session_state[state.RUN].trace
    assert set(trace.tokens) == set(range(len(HOSTILE)))
    for i in range(len(trace.rounds)):
        at.session_state[state.ROUND] = i + 1
        at.run()
        shown = Reader(html(at))
        assert shown.tags <= SHOWN_TAGS
        assert prompt + trace.text in shown.text
    for element in at.main:
        assert element.type not in ("markdown", "caption", "latex", "exception")


@pytest.mark.usefixtures("_hostile")
def test_hostile_text_in_an_error_is_not_markdown():
    at = page("pages/watch.py")
    at.text_area(key=state.PROMPT).set_value("")
    at.button(key="run_button").click().run()
    shown = at.error[0].value
    assert shown == r"the prompt is empty\: \_\_type\_\_ \:" + "\u200b" + r"smile\: \$a\$ \<b\>something\<\/b\>"


def test_plain_text_survives_markdown_on_one_line():
    assert shell.plain("a\nb") == "a b"
    assert re.sub(r"\\(.)", r"\1", shell.plain("*a* _b_ `c` [d](e) #f :red[x]")) == "*a* _b_ `c` [d](e) #f :red[x]"


@pytest.mark.usefixtures("_hostile")
def test_files_hold_the_whole_trace():
    at = page("pages/watch.py")
    at.button(key="run_button").click().run()
    trace = at.session_state[state.RUN].trace
    frame = pd.read_csv(StringIO(trace.to_csv()))
    assert len(frame) == sum(len(r.nodes) + (r.final is not None) for r in trace.rounds)
    assert json.loads(trace.to_json())["schema_version"] == 1


def test_the_round_table_says_outcomes_in_words_and_marks():
    run = part_run(6)
    bodies = [Reader(rounds.table_html(r)).text for r in run.trace.rounds]
    assert any("✕ rejected" in b and "↻ resampled" in b for b in bodies)
    assert any("✓ accepted" in b for b in bodies)


def test_a_text_without_a_run_says_what_to_do():
    assert "Press Run" in Reader(views.text_html(None)).text
    assert "K + 1 places" in Reader(views.steps_html()).text


def test_a_download_during_a_run_holds_what_is_there_when_it_is_asked_for(monkeypatch):
    """The page is drawn once a second, so a file made of what it was drawn with would lack rounds."""
    files = []
    monkeypatch.setattr(views.st, "download_button", lambda _label, data, **_: files.append(data))
    player = runs.Player(part_run(1))
    views.downloads(player)
    list(player.play())
    assert files[0]() == player.trace.to_csv()
    assert files[1]() == player.trace.to_json()
