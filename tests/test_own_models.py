"""Pairs of the reader's own: chosen and loaded on the page Models, used on Watch, freed when another one comes."""

import dataclasses
import gc
import shutil
import threading
import time
import weakref
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

import specviz as sv
from specviz import drafters
from specviz.models import machine
from specviz.models.load import load_pair
from specviz.models.machine import Memory
from specviz.models.presets import BUNDLED, PRESETS
from specviz.ui import hosting, loading, pairs, runs, state
from specviz.ui.pairs import Choice
from tests.test_pages import PATIENCE_S, ended, hostile_pair, html, page, run, settings

CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two folders that are a pair: the two bundled drafts, of which the larger one is the target."""
    place = tmp_path_factory.mktemp("models")
    names = []
    for name in ("draft", "draft-weak"):
        names.append(str(shutil.copytree(BUNDLED / name, place / name)))
        (place / name / "chat_template.jinja").write_text(CHAT, encoding="utf-8")
    return tuple(names)


@pytest.fixture
def own(folders):
    yield Choice(*folders)
    pairs._kept = None


def models_page(target, draft):
    at = page("app.py").switch_page("pages/models.py")
    for key, value in {"pair": "Models of my own", "target": target, "with": draft}.items():
        at.query_params[key] = value
    return at.run()


def loaded(at):
    """Press Load, wait for the end, and draw the page as the browser then does."""
    at.button(key="models_job_start").click().run()
    job = at.session_state[state.MODELS_JOB]
    deadline = time.monotonic() + PATIENCE_S
    while job.running:
        assert time.monotonic() < deadline, "the load did not end"
        time.sleep(0.02)
    return at.run()


def told(at):
    return html(at)


@pytest.mark.usefixtures("own")
def test_two_folders_are_loaded_and_decode_the_next_run(folders):
    at = loaded(models_page(*folders))
    assert not at.exception
    assert not at.error
    assert f"Your runs: target {folders[0]}, draft {folders[1]}." in told(at)
    at = at.switch_page("pages/watch.py").run()
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(12)
    trace = run(at).session_state[state.PLAYER].trace
    assert (trace.target, trace.draft, len(trace.tokens)) == (*folders, 12)


def test_a_way_to_draft_shares_the_target_that_is_there(own):
    whole = pairs.load(own)
    for way in drafters.NAMES:
        pair = pairs.load(replace(own, draft=way))
        assert pair.target is whole.target
        assert pair.draft.name == drafters.named(way).name
    assert pairs.load(own).draft is whole.draft


@pytest.mark.usefixtures("own")
def test_layers_that_are_skipped_are_checked_once_for_all_runs(folders):
    alone = Choice(folders[0], "skipped")
    assert pairs.load(alone).draft is pairs.load(alone).draft  # which holds the checked twin


def test_choosing_another_pair_frees_the_memory_of_the_one_before(own, folders):
    gone = weakref.ref(pairs.load(own).target.model.model.embed_tokens.weight)
    kept = pairs.load(Choice()).target
    pairs.load(Choice(folders[1], "lookup"))
    gc.collect()
    assert gone() is None
    assert pairs.load(Choice()).target is kept  # the bundled pair stays
    assert not pairs.is_loaded(own)


def test_a_run_that_still_goes_keeps_its_models_until_it_ends(own, folders):
    with sv.stream(pairs.load(own), "Call me", max_new_tokens=30, seed=0) as going:
        next(going)
        pairs.load(Choice(folders[1], "lookup"))
        trace = going.finish()
    assert len(trace.tokens) == 30


def test_a_run_is_raced_by_the_models_that_it_began_with(monkeypatch):
    asked = []
    monkeypatch.setattr(pairs, "load", lambda *_: asked.append(1) or hostile_pair())
    player = ended(runs.play(settings(max_new_tokens=8)))
    assert player.shown().alone is not None
    assert asked == [1]  # a second load would wait for another visitor's models, and then take their place


def test_a_chat_stays_one_when_another_pair_has_taken_the_place_of_its_models(own):
    pair = pairs.load(own)
    pairs._kept = None
    assert settings(models=own, chat=True).start(pair).trace.prompt == "<user>x<assistant>"


def test_progress_names_the_file_and_a_cancelled_load_leaves_nothing(own):
    steps = loading.steps(own)
    seen = []
    for share, value in steps:
        assert 0 <= share <= 1
        if value is not None and value.total:
            seen.append(loading.told(value))
            break
    steps.close()
    assert seen[0].startswith(f"{own.target}: model.safetensors, ")
    deadline = time.monotonic() + PATIENCE_S
    while any(thread.name == "load models" for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the load did not stop"
        time.sleep(0.02)
    assert not pairs.is_loaded(own)


def test_a_load_waits_for_the_one_before_it_and_can_be_cancelled_meanwhile(own):
    class UnwantedError(Exception):
        pass

    def watch(_progress):
        raise UnwantedError

    with pairs._loading, pytest.raises(UnwantedError):
        pairs.load(own, watch)
    assert pairs.load(own).target.name == own.target


@pytest.mark.parametrize(
    ("target", "draft", "sentence"),
    [
        ("/no/such/folder", "bundled/draft", "there is no folder '/no/such/folder'"),
        ("bundled/target", "/no/such/draft", "there is no folder '/no/such/draft'"),
        ("", "", "there is no folder ''"),
        ("*a*:red[b]<b>$x$", "x", "'*a*:red[b]<b>$x$' is neither a folder here nor a hub id"),
    ],
)
def test_models_that_cannot_be_loaded_are_said_so_and_the_pair_before_stays(target, draft, sentence):
    at = loaded(models_page(target, draft))
    assert sentence in at.error[0].value.replace("\\", "")
    assert "Your runs: target bundled/target, draft bundled/draft." in told(at)


@pytest.mark.usefixtures("own")
def test_a_model_with_a_template_is_chatted_with_and_the_system_prompt_arrives(folders):
    at = loaded(models_page(*folders)).switch_page("pages/watch.py").run()
    at.text_area(key=state.SYSTEM).set_value("Be brief.")
    at.text_area(key=state.PROMPT).set_value("Call me")
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(4)
    asked = run(at).session_state[state.PLAYER].trace.prompt
    assert asked == "<system>Be brief.<user>Call me<assistant>"
    at.toggle(key=state.CHAT).set_value(False)
    assert run(at).session_state[state.PLAYER].trace.prompt == "Call me"


def test_the_bundled_pair_has_no_template_and_no_toggle():
    at = page("pages/watch.py")
    assert not [toggle for toggle in at.toggle if toggle.key == state.CHAT]


def test_penalties_bad_words_and_a_least_length_reach_the_law_of_both_models():
    at = page("pages/watch.py")
    at.number_input(key=state.REPETITION_PENALTY).set_value(1.3)
    at.number_input(key=state.PRESENCE_PENALTY).set_value(-0.5)
    at.number_input(key=state.FREQUENCY_PENALTY).set_value(0.25)
    at.number_input(key=state.MIN_NEW_TOKENS).set_value(6)
    at.text_area(key=state.BAD_WORDS).set_value("the\n\n  and ")
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(10)
    trace = run(at).session_state[state.PLAYER].trace
    assert trace.sampling == sv.Sampling(
        0.6,
        repetition_penalty=1.3,
        presence_penalty=-0.5,
        frequency_penalty=0.25,
        min_new_tokens=6,
        bad_words=("the", "and"),
    )
    again = sv.speculate(
        pairs.load(Choice()), trace.prompt, max_new_tokens=10, sampling=trace.sampling, seed=trace.seed
    )
    assert again.tokens == trace.tokens


def test_an_example_brings_the_bundled_pair_back():
    at = AppTest.from_function(_choose_an_example).run()
    assert not at.exception
    assert (at.session_state[state.MODELS], at.session_state[state.DRAFT]) == (Choice(), "bundled/draft")


def _choose_an_example():
    from specviz.ui import controls, pairs, state

    state.begin()
    state.put(state.MODELS, pairs.Choice("elsewhere/large", "elsewhere/small"))
    state.put(state.DRAFT, "elsewhere/small")
    state.put(state.EXAMPLE, "prose")
    controls._example()


def test_the_page_lists_every_preset_with_what_it_needs():
    shown = told(page("pages/models.py"))
    for preset in PRESETS:
        assert preset.target in shown
        assert machine.size(preset.needs_bytes("float32")) in shown


def test_a_public_page_offers_only_what_is_allowed_whatever_the_link_says(monkeypatch, folders):
    limits = hosting.read({"SPECVIZ_HOSTED": "1"})
    monkeypatch.setattr(hosting, "LIMITS", limits)
    at = models_page(*folders)
    assert at.selectbox(key=state.MODELS_PAIR).options == ["Bundled pair"]
    assert not at.text_input
    assert "SmolLM2" not in told(at)
    with pytest.raises(sv.ConfigError, match="this server does not load"):
        pairs.load(Choice(*folders))
    assert ended(run(page("pages/watch.py")).session_state[state.PLAYER]).error is None


@pytest.mark.parametrize(
    ("n", "shown"),
    [(1_297_344, "1.3M"), (6_951_168, "6.95M"), (361_821_120, "362M"), (999_885_952, "1B"), (1_543_714_304, "1.54B")],
)
def test_numbers_of_parameters_read_as_people_say_them(n, shown):
    assert loading.count(n) == shown


def test_a_pair_that_does_not_fit_is_said_so_before_it_is_loaded(monkeypatch):
    preset = next(preset for preset in PRESETS if preset.name.startswith("Qwen3 32B"))
    needed = machine.size(preset.needs_bytes("float32"))
    for free, warned in ((10**9, True), (10**12, False)):
        monkeypatch.setattr(machine, "memory", lambda free=free: Memory("cpu", "a processor", free, 10**12))
        at = page("pages/models.py", pair=preset.name)
        assert (f"It needs {needed}, more than is free here." in told(at)) == warned


def test_a_public_page_says_nothing_of_its_folders_when_a_load_fails(monkeypatch, folders, caplog):
    limits = dataclasses.replace(hosting.read({"SPECVIZ_HOSTED": "1"}), pairs=frozenset({("owner/name", None)}))
    monkeypatch.setattr(hosting, "LIMITS", limits)
    secret = folders[0] + "/not/here"
    monkeypatch.setattr(sv, "load_pair", lambda *_, **__: load_pair(secret))
    with pytest.raises(sv.LoadError, match=r"^this server cannot load owner/name at the moment") as caught:
        pairs.load(Choice("owner/name", "lookup"))
    assert secret not in str(caught.value)
    assert secret in caplog.text  # for whoever runs it


@pytest.mark.parametrize(
    ("pace", "name"), [("early", "bundled/draft, stopping below 0.4"), ("adaptive", "bundled/draft, adaptive")]
)
def test_how_far_a_round_drafts_is_a_setting(pace, name):
    at = page("pages/watch.py")
    at.selectbox(key=state.PACE).set_value(pace)
    at.number_input(key=state.DRAFT_LENGTH).set_value(8)
    at.number_input(key=state.MAX_NEW_TOKENS).set_value(48)
    trace = run(at).session_state[state.PLAYER].trace
    assert trace.draft == name
    assert len({len(round_.nodes) for round_ in trace.rounds[:-1]}) > 1
    assert Choice().made(trace)
