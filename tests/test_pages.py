"""The pages, without a browser: each alone and after the others, runs, links, files, bad values, hostile text."""

import dataclasses
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
from specviz import drafters, examples
from specviz.models.toy import TableModel
from specviz.models.vocabulary import Vocabulary
from specviz.ui import hosting, pairs, rounds, runs, shell, show, state
from specviz.ui import player as player_module
from specviz.ui.settings import Settings

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


SHOWN_TAGS = {"div", "span", "p", "b", "dl", "dt", "dd", "strong", "table", "thead", "tbody", "tr", "th", "td", "i"}


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
    monkeypatch.setattr(pairs, "load", lambda *_: hostile_pair())


def page(name, **query):
    at = AppTest.from_file(str(ROOT / name), default_timeout=PATIENCE_S)
    for key, value in query.items():
        at.query_params[key] = value
    return at.run()


def run(at):
    """Press Run, wait for the end, and draw the page as the browser then does."""
    at.button(key="run_button").click().run()
    ended(at.session_state[state.PLAYER])
    return at.run()


def ended(player):
    deadline = time.monotonic() + PATIENCE_S
    while player.running:
        assert time.monotonic() < deadline, "the run did not end"
        time.sleep(0.02)
    return player


def stages(at):
    """What the pages hand to the stage: a component of which this test harness knows only the message."""
    return [json.loads(element.proto.json) for element in at.get("bidi_component")]


def shown_text(data):
    """The text that a stage was given: the prompt, and what each emitted token added."""
    payload = data["payload"]
    return payload["prompt"] + "".join(text for r in payload["rounds"] for text, *_ in r["spans"])


def html(at):
    """What the app draws itself, its style sheets left out."""
    bodies = [element.proto.body for element in at.get("html")]
    return "".join(re.sub(r"<style>.*?</style>(<h1.*?</h1>)?", "", body, flags=re.DOTALL) for body in bodies)


class Reader(HTMLParser):
    """The tags and the visible text of a piece of HTML."""

    def __init__(self, body):
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(body)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("href", "src", "srcdoc", "action")]

    def handle_data(self, data):
        self.text += data


PAGES = ["app.py", *sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py"))]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_opens_alone(name):
    at = page(name)
    assert not at.exception
    assert not at.error
    assert stages(at) or name not in ("app.py", "pages/home.py", "pages/talk.py", "pages/watch.py")


def test_every_page_opens_after_the_others():
    at = page("app.py")
    for name in (*PAGES[1:], *reversed(PAGES[1:])):
        at.switch_page(name).run()
        assert not at.exception


@pytest.mark.parametrize("name", [name for name in PAGES if name != "pages/watch.py"])
def test_a_page_needs_no_torch_until_a_run_is_asked_for(name):
    """In a process of its own, since others here have loaded torch."""
    code = (
        "import sys; from streamlit.testing.v1 import AppTest\n"
        f"at = AppTest.from_file({name!r}, default_timeout=60).run()\n"
        "assert not at.exception, at.exception\n"
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=PATIENCE_S)


# A run


def test_a_run_decodes_with_the_bundled_pair_and_shows_every_part():
    at = page("pages/watch.py")
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(24)
    run(at)
    assert not at.exception
    trace = at.session_state[state.PLAYER].trace
    assert trace == sv.Trace.from_json(StringIO(trace.to_json()))
    assert (trace.stop_reason, len(trace.tokens)) == ("length", 24)
    assert trace.draft == "bundled/draft"
    assert shown_text(stages(at)[0]) == trace.prompt + trace.text
    shown = Reader(html(at))
    assert "24 of 24 tokens" in shown.text
    assert "Tokens per target pass" in shown.text
    assert "min(1, p/q)" in shown.text
    assert [b.proto.label for b in at.get("download_button")] == [
        "Table (CSV)",
        "Whole record (JSON)",
        "Animated page (HTML)",
    ]
    assert len(at.get("plotly_chart")) == 4
    again = sv.speculate(
        sv.load_pair(), trace.prompt, draft_length=4, max_new_tokens=24, sampling=sv.Sampling(temperature=0.6), seed=0
    )
    assert again.text == trace.text


def test_the_race_is_run_with_the_target_alone_on_the_same_prompt():
    at = page("pages/watch.py")
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(12)
    run(at)
    shown = runs.find(at.session_state[state.SHOWN])
    assert (shown.alone.draft, len(shown.alone.tokens), shown.alone.prompt) == (None, 12, shown.trace.prompt)
    assert shown.alone.sampling == shown.trace.sampling
    assert "The formula" in Reader(html(at)).text
    assert at.button(key="race_button")


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
    trace = run(at).session_state[state.PLAYER].trace
    assert (trace.draft_length, trace.seed, trace.max_new_tokens) == (3, 7, 9)
    assert trace.sampling == sv.Sampling(temperature=0.5, top_k=4, top_p=0.9, min_p=0.01)


def test_the_draft_that_was_chosen_is_the_one_that_is_loaded(monkeypatch):
    asked = []
    monkeypatch.setattr(pairs, "load", lambda choice, *_: asked.append(choice) or hostile_pair())
    at = page("pages/watch.py")
    asked.clear()
    at.selectbox(key=state.DRAFT).set_value("bundled/draft-weak").run()
    run(at)
    assert set(asked) == {pairs.Choice(draft="bundled/draft-weak")}


@pytest.mark.parametrize("draft", drafters.NAMES)
def test_a_run_without_a_second_model_shares_the_target_that_is_loaded(draft):
    at = page("pages/watch.py")
    at.selectbox(key=state.DRAFT).set_value(draft)
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(12)
    trace = run(at).session_state[state.PLAYER].trace
    assert not at.exception
    assert (trace.draft, len(trace.tokens)) == (drafters.named(draft).name, 12)
    assert pairs.load(pairs.Choice(draft=draft)).target is pairs.load(pairs.Choice()).target


@pytest.mark.usefixtures("_hostile")
def test_settings_and_the_run_survive_a_change_of_page():
    at = page("app.py")
    at.switch_page("pages/watch.py").run()
    at.number_input(key=state.DRAFT_LENGTH).set_value(7)
    at.number_input(key=state.TOP_P).set_value(0.5)
    at.text_area(key=state.PROMPT).set_value("Call me").run()
    trace = run(at).session_state[state.PLAYER].trace
    at.switch_page("pages/home.py").run()
    at.switch_page("pages/talk.py").run()
    assert shown_text(stages(at)[0]) == trace.prompt + trace.text
    at.switch_page("pages/watch.py").run()
    assert at.number_input(key=state.DRAFT_LENGTH).value == 7
    assert at.number_input(key=state.TOP_P).value == 0.5
    assert at.text_area(key=state.PROMPT).value == "Call me"
    assert shown_text(stages(at)[0]) == trace.prompt + trace.text


def slow_pair(seconds=0.02):
    pair = hostile_pair()
    law = pair.target.law

    def slow(tokens):
        time.sleep(seconds)
        return law(tokens)

    pair.target.law = slow
    return pair


def test_stop_stops_and_keeps_what_was_decoded(monkeypatch):
    pair = slow_pair()
    monkeypatch.setattr(pairs, "load", lambda *_: pair)
    at = page("pages/watch.py")
    assert at.button(key="stop_button").disabled
    at.button(key="run_button").click().run()
    assert not at.button(key="stop_button").disabled
    player = at.session_state[state.PLAYER]
    at.button(key="stop_button").click().run()
    ended(player)
    at.run()
    trace = player.trace
    assert trace.rounds
    assert len(trace.tokens) < trace.max_new_tokens
    assert trace.stop_reason == "cancelled"
    assert runs.find(player.id).alone is None
    assert Reader(html(at)).text.count("stopped") == 1
    assert at.button(key="stop_button").disabled
    assert shown_text(stages(at)[0]) == trace.prompt + trace.text


def test_widgets_do_not_disturb_a_run_and_every_round_arrives(monkeypatch):
    pair = slow_pair()
    monkeypatch.setattr(pairs, "load", lambda *_: pair)
    at = page("pages/watch.py")
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(40)
    at.button(key="run_button").click().run()
    at.number_input(key=state.TEMPERATURE).set_value(0.1).run()
    player = ended(at.session_state[state.PLAYER])
    undisturbed = sv.speculate(
        hostile_pair(), player.trace.prompt, max_new_tokens=40, sampling=sv.Sampling(0.6), seed=0
    )
    assert (player.trace.tokens, player.trace.stop_reason) == (undisturbed.tokens, "length")
    assert shown_text(stages(at.run())[0]) == undisturbed.prompt + undisturbed.text


def test_a_growing_run_is_sent_less_and_less_often(monkeypatch):
    """Each time all of its rounds are sent, so a long run must not send them once a second."""
    now = [0.0]
    monkeypatch.setattr(player_module.time, "monotonic", lambda: now[0])
    player = runs.Player(settings())
    trace = sv.speculate(hostile_pair(), "x", max_new_tokens=20, seed=0)
    player._phase, sent = "decoding", []
    for i in range(1, 60):
        player._trace, now[0] = dataclasses.replace(trace, total_s=float(i)), float(i)
        sent.append(player.shown().trace.total_s)
    assert sent[:2] == [1.0, 2.0]
    assert 5 <= len(set(sent)) <= 9
    player._phase = "racing"
    assert player.shown().trace.total_s == 59.0  # the end is shown at once


def settings(**changes):
    asked = {
        "prompt": "x",
        "models": pairs.Choice(),
        "draft_length": 3,
        "sampling": {"temperature": 1.0},
        "seed": 1,
        "max_new_tokens": 60,
    }
    return Settings(**(asked | changes))


def test_a_run_that_nobody_looks_at_stops(monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda *_: slow_pair())
    monkeypatch.setattr(player_module, "_LEFT_S", 0.2)
    player = runs.play(settings(max_new_tokens=4096))
    for _ in range(5):
        time.sleep(0.1)
        player.shown()
    assert player.running
    ended(player)
    assert player.trace.stop_reason == "cancelled"


@pytest.mark.usefixtures("_hostile")
def test_twenty_visitors_get_each_their_own_run():
    players = [runs.play(settings(seed=seed)) for seed in range(20)]
    for seed, player in enumerate(players):
        alone = sv.speculate(hostile_pair(), "x", draft_length=3, max_new_tokens=60, seed=seed)
        assert ended(player).trace.tokens == alone.tokens
    assert len({player.id for player in players}) == 20
    assert all(re.fullmatch("[0-9a-f]{16}", player.id) for player in players)  # Streamlit's keys may not hold "__"


@pytest.mark.usefixtures("_hostile")
def test_the_server_forgets_the_oldest_runs(monkeypatch):
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, kept=3))
    first = ended(runs.play(settings()))
    for _ in range(2):
        ended(runs.play(settings()))
    assert runs.find(first.id).trace is not None  # looked at, so it is not the oldest any more
    ended(runs.play(settings()))
    assert runs.find(first.id) is not None
    assert len(runs._kept) == 3


def test_what_a_session_shows_stays_when_the_server_forgets_it_and_running_runs_go_last(monkeypatch):
    pair = slow_pair()
    monkeypatch.setattr(pairs, "load", lambda *_: pair)
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, kept=2))
    golden = ROOT / "tests" / "golden" / "trace_v1.json"
    at = page("pages/watch.py")
    at.get("file_uploader")[0].upload("run.json", golden.read_bytes(), "application/json").run()
    before = stages(at)[0]["payload"]
    player = runs.play(settings(max_new_tokens=400))
    for _ in range(4):
        with golden.open("rb") as file:
            runs.open_file(file)
    assert player.running
    assert player.id in runs._kept
    player.stop()
    assert stages(at.run())[0]["payload"] == before
    assert not at.error


# Bad values


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        (state.TOP_P, 0.0, "top_p must lie in (0, 1], or be None for no limit, got 0.0"),
        (state.PROMPT, "word " * 3000, "tokens and the target's context holds 1024. Shorten it."),
    ],
)
def test_a_bad_value_gives_one_sentence_and_what_was_shown_stays(key, value, sentence):
    at = page("pages/watch.py")
    before = shown_text(stages(at)[0])
    (at.text_area if key == state.PROMPT else at.number_input)(key=key).set_value(value)
    run(at)
    assert not at.exception
    assert len(at.error) == 1
    assert sentence in at.error[0].value.replace("\\", "")
    assert at.button(key="stop_button").disabled
    assert shown_text(stages(at)[0]) == before


@pytest.mark.usefixtures("_hostile")
def test_an_error_is_gone_with_the_next_run():
    at = page("pages/watch.py")
    at.text_area(key=state.PROMPT).set_value("")
    run(at)
    assert len(at.error) == 1
    at.text_area(key=state.PROMPT).set_value("x")
    run(at)
    assert not at.error


@pytest.mark.parametrize("error", [sv.LogitsError("the target said NaN"), MemoryError("no room")])
def test_an_error_inside_a_run_keeps_its_rounds(monkeypatch, error):
    def breaks(tokens):
        if len(tokens) > 4:
            raise error
        return [0.5, 0.5]

    broken = sv.Pair(
        target=TableModel(breaks, 2), draft=TableModel(lambda _: [0.5, 0.5], 2), tokenizer=HalfVocabulary()
    )
    monkeypatch.setattr(pairs, "load", lambda *_: broken)
    at = page("pages/watch.py")
    at.number_input(key=state.DRAFT_LENGTH).set_value(1)
    run(at)
    expected = "the target said NaN" if isinstance(error, sv.LogitsError) else "The run broke off (MemoryError)."
    assert at.error[0].value.replace("\\", "").startswith(expected)
    assert at.session_state[state.PLAYER].trace.rounds
    assert stages(at)[0]["payload"]["rounds"]


class HalfVocabulary(HostileVocabulary):
    """Two tokens."""

    def __init__(self):
        self.size, self.unknown = 2, ()


def test_models_that_do_not_load_are_said_so(monkeypatch):
    def fails(*_):
        raise sv.LoadError("bundled/target lacks 3 of its weights")

    monkeypatch.setattr(pairs, "load", fails)
    at = run(page("pages/watch.py"))
    assert at.error[0].value.replace("\\", "") == "bundled/target lacks 3 of its weights"


# Links and files


def test_a_link_opens_an_example_at_its_round_and_step():
    for name in ("pages/watch.py", "pages/talk.py"):
        data = stages(page(name, run="code", round="3", step="2"))[0]
        assert data["start"] == [2, 1]
        assert data["link"] == "code"
        assert shown_text(data) == examples.load("code").prompt + examples.load("code").text


@pytest.mark.parametrize(("round_", "step", "start"), [("-3", "x", [0, 0]), ("999999999999", "2", [10**6 - 1, 1])])
def test_nonsense_in_a_link_is_no_error(round_, step, start):
    at = page("pages/watch.py", run="prose", round=round_, step=step)
    assert not at.exception
    assert stages(at)[0]["start"] == start


def test_a_link_to_a_run_that_is_gone_says_so_and_shows_an_example():
    for name in ("pages/watch.py", "pages/talk.py"):
        at = page(name, run="<b>gone</b>", round="2")
        assert "not on the server any more" in at.error[0].value
        assert stages(at)[0]["link"] == "prose"


@pytest.mark.usefixtures("_hostile")
def test_a_link_opens_the_run_of_another_session():
    player = ended(runs.play(settings()))
    data = stages(page("pages/talk.py", run=player.id, round="2", step="1"))[0]
    assert shown_text(data) == player.trace.prompt + player.trace.text
    assert data["start"] == [1, 0]


@pytest.mark.usefixtures("_hostile")
def test_an_address_that_the_stage_wrote_before_run_was_pressed_is_no_wish():
    at = page("pages/watch.py")
    at.query_params.update({"run": "prose", "round": "1", "step": "2"})  # by a key: only a fragment was drawn again
    run(at)
    assert stages(at)[0]["link"] == at.session_state[state.PLAYER].id


@pytest.mark.usefixtures("_hostile")
def test_a_run_that_ends_while_the_page_waits_for_its_first_round_is_shown(monkeypatch):
    at = page("pages/watch.py")
    shown, looks = player_module.Player.shown, []

    def late(self):
        """Nothing at the first look, although the run has ended when the page is drawn."""
        ended(self)
        looks.append(self)
        return None if len(looks) == 1 else shown(self)

    monkeypatch.setattr(player_module.Player, "shown", late)
    monkeypatch.setattr(player_module.Player, "wait", lambda *_: None)
    monkeypatch.setattr(show, "running", lambda: False)
    at.button(key="run_button").click().run()
    assert stages(at)[0]["link"] == at.session_state[state.PLAYER].id


def test_a_second_run_that_fails_before_the_first_has_a_round_says_so(monkeypatch):
    loaded = threading.Event()

    def slow(*_):
        loaded.wait(PATIENCE_S)
        raise sv.LoadError("no such weights")

    monkeypatch.setattr(pairs, "load", slow)
    at = page("pages/watch.py")
    at.button(key="run_button").click().run()
    assert "Your run is next" in Reader(html(at)).text
    assert stages(at)[0]["link"] == "prose"
    at.button(key="run_button").click().run()
    loaded.set()
    ended(at.session_state[state.PLAYER])
    for _ in range(2):
        at.run()
        assert at.error[0].value == "no such weights"
        assert stages(at)[0]["link"] == "prose"
        assert at.button(key="stop_button").disabled


@pytest.mark.usefixtures("_hostile")
def test_the_address_that_the_stage_keeps_is_no_new_wish():
    at = page("pages/watch.py", run="code", round="3", step="2")
    run(at)
    mine = at.session_state[state.PLAYER].id
    assert stages(at)[0]["link"] == mine  # though the address still names the example
    at.query_params.update({"run": mine, "round": "4", "step": "1"})
    at.run()
    assert stages(at)[0]["start"] is None
    at.query_params["run"] = "greedy"
    at.run()
    assert stages(at)[0]["link"] == "greedy"


def test_the_views_follow_where_the_stage_rests():
    at = page("pages/watch.py")
    tables = [Reader(rounds.table_html(round_)).text for round_ in examples.load("prose").rounds]
    assert tables[0] in Reader(html(at)).text
    at.session_state["watch_stage"] = {"position": {"round": 2, "step": 0, "link": "prose"}}
    assert tables[2] in Reader(html(at.run())).text
    at.session_state["watch_stage"] = {"position": {"round": 1, "step": 0, "link": "another run"}}
    assert tables[0] in Reader(html(at.run())).text


def test_an_example_brings_its_settings():
    at = page("pages/watch.py")
    for name in examples.NAMES:
        at.menu_button(key=state.EXAMPLE).click(name).run()
        recorded = examples.load(name)
        assert stages(at)[0]["link"] == name
        assert at.text_area(key=state.PROMPT).value == recorded.prompt
        assert at.number_input(key=state.DRAFT_LENGTH).value == recorded.draft_length
        assert at.number_input(key=state.TEMPERATURE).value == recorded.sampling.temperature
        assert at.number_input(key=state.SEED).value == recorded.seed


def test_a_saved_trace_is_shown_again_without_a_model():
    """In a process of its own in which torch cannot be imported."""
    code = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from pathlib import Path; from streamlit.testing.v1 import AppTest; import specviz as sv\n"
        "golden = Path('tests/golden/trace_v1.json')\n"
        "at = AppTest.from_file('pages/watch.py', default_timeout=60).run()\n"
        "at.get('file_uploader')[0].upload('run.json', golden.read_bytes(), 'application/json').run()\n"
        "assert not at.exception and not at.error, (at.exception, at.error)\n"
        "assert sv.Trace.from_json(golden).prompt in at.get('bidi_component')[0].proto.json"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=PATIENCE_S)


@pytest.mark.usefixtures("_hostile")
def test_a_file_that_is_opened_during_a_run_stops_the_run(monkeypatch):
    pair = slow_pair()
    monkeypatch.setattr(pairs, "load", lambda *_: pair)
    at = page("pages/watch.py")
    at.button(key="run_button").click().run()
    golden = ROOT / "tests" / "golden" / "trace_v1.json"
    at.get("file_uploader")[0].upload("run.json", golden.read_bytes(), "application/json").run()
    ended(at.session_state[state.PLAYER])
    assert stages(at.run())[0]["payload"]["prompt"] == sv.Trace.from_json(golden).prompt
    assert at.button(key="stop_button").disabled


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"\x00\xff", "is not JSON"),
        (b"{}", "it has no schema_version"),
        (b"[1, 2", "it has no schema_version"),
    ],
)
def test_a_file_that_is_no_trace_gets_one_sentence(content, sentence):
    at = page("pages/watch.py")
    before = shown_text(stages(at)[0])
    at.get("file_uploader")[0].upload("run.json", content, "application/json").run()
    assert not at.exception
    assert len(at.error) == 1
    assert sentence in at.error[0].value.replace("\\", "")
    assert shown_text(stages(at)[0]) == before


@pytest.mark.usefixtures("_hostile")
def test_a_download_holds_what_is_there_when_it_is_asked_for(monkeypatch):
    """The page is drawn now and then, so a file made of what it was drawn with would lack rounds."""
    files = {}
    monkeypatch.setattr(
        show.st, "download_button", lambda _label, data, file_name, **_: files.update({file_name.split(".")[-1]: data})
    )
    player = runs.play(settings())
    player.wait(PATIENCE_S)
    show.downloads(player.shown())
    trace = ended(player).trace
    assert files["csv"]() == trace.to_csv()
    assert files["json"]() == trace.to_json()
    assert files["html"]() == trace.to_html()
    frame = pd.read_csv(StringIO(files["csv"]()))
    assert len(frame) == sum(len(r.nodes) + (r.final is not None) for r in trace.rounds)


# Home


def test_the_tour_shows_one_part_after_another_and_ends():
    at = page("pages/home.py")
    assert stages(at)[0]["spot"] is None
    parts = [button.key.removeprefix("tour_") for button in at.button]
    assert len(parts) == 6
    assert parts == ["head", "cards", "told", "panels", "text", "controls"]
    for part in parts:
        at.button(key=f"tour_{part}").click().run()
        data = stages(at)[0]
        assert data["spot"] == part
        assert data["start"] is not None
    at.button(key="tour_end").click().run()
    assert stages(at)[0]["spot"] is None
    assert "tour_end" not in [button.key for button in at.button]


# Hostile text


@pytest.mark.usefixtures("_hostile")
def test_hostile_tokens_are_text_everywhere():
    at = page("pages/watch.py")
    prompt = "<script>alert(1)</script> $x$ :smile:"
    at.text_area(key=state.PROMPT).set_value(prompt)
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(60)
    run(at)
    assert not at.exception
    trace = at.session_state[state.PLAYER].trace
    assert set(trace.tokens) == set(range(len(HOSTILE)))
    for i in range(len(trace.rounds)):
        at.session_state[state.START] = (i, 0)
        at.run()
        assert Reader(html(at)).tags <= SHOWN_TAGS
        assert shown_text(stages(at)[0]) == prompt + trace.text
    for element in at.main:
        assert element.type not in ("markdown", "caption", "latex", "exception")


@pytest.mark.usefixtures("_hostile")
def test_hostile_text_in_an_error_is_not_markdown():
    at = page("pages/watch.py")
    at.text_area(key=state.PROMPT).set_value("")
    shown = run(at).error[0].value
    assert shown == r"the prompt is empty\: \_\_type\_\_ \:" + "\u200b" + r"smile\: \$a\$ \<b\>something\<\/b\>"


def test_plain_text_survives_markdown_on_one_line():
    assert shell.plain("a\nb") == "a b"
    assert re.sub(r"\\(.)", r"\1", shell.plain("*a* _b_ `c` [d](e) #f :red[x]")) == "*a* _b_ `c` [d](e) #f :red[x]"


def test_the_round_table_says_outcomes_in_words_and_marks():
    trace = sv.speculate(hostile_pair(), "x", draft_length=3, max_new_tokens=60, seed=1)
    bodies = [Reader(rounds.table_html(r)).text for r in trace.rounds]
    assert any("✕ rejected" in b and "↻ resampled" in b for b in bodies)
    assert any("✓ accepted" in b for b in bodies)
    alone = sv.autoregress(hostile_pair(), "x", max_new_tokens=1, seed=1)
    assert "★ next token" in Reader(rounds.table_html(alone.rounds[0])).text
