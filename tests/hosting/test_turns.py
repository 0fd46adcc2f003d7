"""Who comes first is let in first, everyone gets a turn, and nobody gets more than the limits allow."""

import dataclasses
import statistics
import threading
import time
from itertools import pairwise

import pytest
from streamlit.testing.v1 import AppTest

import specviz as sv
from specviz.models.presets import PRESETS
from specviz.ui import hosting, jobs, pairs, runs, show, state, turns, working
from specviz.ui import player as player_module
from tests.test_pages import ended, hostile_pair, settings, slow_pair

PATIENCE_S = 60


def order_of_rounds(line, runners=4, rounds=30):
    """Which runner had each round. Its round makes the others wait; between two of its rounds it does nothing else."""
    seen, ready = [], threading.Barrier(runners)

    def work(name):
        ready.wait()
        for _ in range(rounds):
            with line():
                seen.append(name)
                time.sleep(0.002)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(runners)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def usual_wait(seen):
    """Rounds from one of a runner to its next, in the middle of all."""
    places = [[i for i, other in enumerate(seen) if other == name] for name in set(seen)]
    return statistics.median(b - a for at in places for a, b in pairwise(at))


def test_each_of_four_runs_gets_every_fourth_round():
    assert usual_wait(order_of_rounds(turns.Line().turn)) == 4


def test_an_unfair_line_is_told_apart():
    """The control: whoever lets go is let in again, as a plain lock may do."""
    assert usual_wait([name for name in range(4) for _ in range(30)]) == 1


def test_places_are_numbered_in_the_order_of_coming():
    line = turns.Line(2)
    places = [line.join() for _ in range(5)]
    assert [place.number for place in places] == [0, 0, 1, 2, 3]
    assert [place.wait(0) for place in places] == [True, True, False, False, False]
    places[3].leave()  # out of the middle
    places[0].leave()
    places[0].leave()
    assert [places[i].number for i in (1, 2, 4)] == [0, 0, 1]
    assert places[2].wait(0)
    assert line.waiting == 1


def test_a_turn_is_given_back_when_the_work_breaks():
    line = turns.Line()
    with pytest.raises(ZeroDivisionError), line.turn():
        raise ZeroDivisionError
    assert line.join().wait(0)


@pytest.fixture
def _one_at_a_time(monkeypatch):
    monkeypatch.setattr(player_module, "line", turns.Line(1))
    monkeypatch.setattr(pairs, "load", lambda *_: slow_pair(0.02))


@pytest.mark.usefixtures("_one_at_a_time")
def test_runs_wait_in_line_and_leave_it_when_they_are_stopped():
    first, second, third = (runs.play(settings(max_new_tokens=400)) for _ in range(3))
    first.wait(PATIENCE_S)
    assert [one.number for one in (first, second, third)] == [0, 1, 2]
    second.stop()
    ended(second)
    assert second.trace is None
    assert third.number == 1
    first.stop()
    third.wait(PATIENCE_S)
    assert third.number == 0
    third.stop()
    ended(third)


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_run_too_many_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, waiting=1))
    playing = [runs.play(settings(max_new_tokens=400)) for _ in range(3)]
    assert playing[2].error == "the line of runs is full (1 wait). Try again in a minute."
    for one in playing:
        one.stop()
        ended(one)


@pytest.mark.usefixtures("_one_at_a_time")
def test_a_run_that_is_stopped_gives_its_place_away_before_it_ends():
    first, second, third = (runs.play(settings(max_new_tokens=400)) for _ in range(3))
    first.wait(PATIENCE_S)
    second.stop()
    assert third.number == 1  # at once: whoever presses Run often does not fill the line
    for one in (third, first):
        one.stop()
    for one in (first, second, third):
        ended(one)


class CutOffError(BaseException):
    """What Streamlit raises inside of a callback when the next press has come."""


@pytest.mark.parametrize("at", [state.ERROR, state.COMING, state.PLAYER])
def test_a_press_that_is_cut_off_leaves_no_run_that_nobody_can_stop(monkeypatch, at):
    def put(key, _value):
        if key == at:
            raise CutOffError

    begun = []
    monkeypatch.setattr(show, "stop", lambda: None)
    monkeypatch.setattr(state, "put", put)
    monkeypatch.setattr(working, "when_left", lambda *_: None)
    monkeypatch.setattr(working, "start", lambda name, *_: begun.append(name))
    with pytest.raises(CutOffError):
        show.play(settings())
    assert begun == []


@pytest.mark.usefixtures("_one_at_a_time")
def test_refused_runs_push_no_run_of_others_out(monkeypatch):
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, kept=3))
    good = ended(runs.play(settings(max_new_tokens=4)))
    for _ in range(9):
        assert ended(runs.play(settings(max_new_tokens=10**6))).error
    assert runs.find(good.id) is not None


def test_interleaved_runs_of_one_seed_equal_the_run_alone(monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda *_: slow_pair(0.001))
    playing = [runs.play(settings(seed=5)) for _ in range(2)]
    alone = sv.speculate(hostile_pair(), "x", draft_length=3, max_new_tokens=60, seed=5)
    assert [ended(one).trace.tokens for one in playing] == [alone.tokens] * 2


def test_a_run_over_its_time_ends_with_its_rounds_and_a_sentence(monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda *_: slow_pair(0.02))
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, work_s=0.3))
    player = ended(runs.play(settings(max_new_tokens=400)))
    assert player.trace.rounds
    assert player.trace.stop_reason == "cancelled"
    assert "decodes 0 seconds for one run, and they are over. The rounds so far stay." in player.error


def test_a_run_whose_browser_left_stops_unless_another_looks(monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda *_: slow_pair(0.02))
    monkeypatch.setattr(player_module, "_GONE_S", 0.3)
    player = runs.play(settings(max_new_tokens=4096))
    player.wait(PATIENCE_S)
    player.left()
    assert runs.find(player.id) is not None  # somebody opened its link
    time.sleep(0.6)
    assert player.running
    player.left()
    time.sleep(0.1)
    ended(player)
    assert player.trace.stop_reason == "cancelled"


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"prompt": "x" * 4001}, "the prompt has 4,001 characters, and this server reads 4,000."),
        ({"draft_length": 17}, "the draft length K is 17, and this server goes up to 16."),
        ({"max_new_tokens": 257}, "257 new tokens are asked for; this server decodes 256."),
    ],
)
def test_a_public_server_refuses_what_is_too_much_before_it_loads_anything(monkeypatch, asked, told):
    def load(*_):
        raise AssertionError("loaded")

    monkeypatch.setattr(pairs, "load", load)
    monkeypatch.setattr(hosting, "LIMITS", hosting.read({"SPECVIZ_HOSTED": "1"}))
    player = ended(runs.play(settings(**asked)))
    assert player.error == told
    assert player.trace is None


def test_a_public_server_loads_only_what_is_allowed(monkeypatch, caplog):
    allowed = next(preset for preset in PRESETS if preset.target != "bundled/target")
    environ = {"SPECVIZ_HOSTED": "yes", "SPECVIZ_PAIRS": f" {allowed.name} ;"}
    monkeypatch.setattr(hosting, "LIMITS", hosting.read(environ))
    for draft in ("bundled/draft", "bundled/draft-weak", "lookup", "skipped", "uniform"):
        hosting.check_pair("bundled/target", draft)
    hosting.check_pair(allowed.target, allowed.draft)
    assert {preset.name for preset in hosting.presets()} == {PRESETS[0].name, allowed.name}
    for target, draft in (
        ("/etc", "lookup"),
        ("gpt2", "gpt2"),
        ("bundled/target", "../../x"),
        ("bundled/draft", "lookup"),
    ):
        with pytest.raises(sv.SpecvizError, match="this server does not load"):
            hosting.check_pair(target, draft)
    read = hosting.read({"SPECVIZ_HOSTED": "1", "SPECVIZ_PAIRS": f"nonsense; {allowed.name}"})
    # the site goes on without what is misspelt, and says so to whoever runs it
    assert read.pairs == hosting.read(environ).pairs
    assert "SPECVIZ_PAIRS holds 'nonsense'" in caplog.text


def test_ones_own_machine_allows_every_pair():
    for nothing in ({}, {"SPECVIZ_HOSTED": "0"}, {"SPECVIZ_HOSTED": " false "}):
        assert hosting.read(nothing).pairs is None


def test_jobs_wait_in_line_and_end_in_time(monkeypatch):
    monkeypatch.setattr(jobs, "line", turns.Line(1))
    go = threading.Event()

    def work():
        while True:
            go.wait(0.01)
            yield 0.5, "something"

    first, second = jobs.Job(work()), jobs.Job(work())
    first.start()
    end = time.monotonic() + PATIENCE_S
    while first.value is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    second.start()
    time.sleep(0.3)
    assert second.value is None
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, job_s=0.2))
    first.stop()
    while second.running:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert second.value == "something"
    assert second.error == "This server works 0 seconds on one experiment, and they are over."


PAGE = """
from specviz.ui import jobs, state
from tests.hosting import test_turns
state.begin()
jobs.button("one", "One", test_turns.endless)
jobs.button("two", "Two", test_turns.endless)
"""


def endless():
    while True:
        time.sleep(0.02)
        yield 0.5, None


@pytest.mark.parametrize(("hosted", "stopped"), [("1", True), ("0", False)])
def test_a_visitor_of_a_public_page_has_one_experiment(monkeypatch, hosted, stopped):
    monkeypatch.setattr(hosting, "LIMITS", hosting.read({"SPECVIZ_HOSTED": hosted}))
    at = AppTest.from_string(PAGE, default_timeout=PATIENCE_S).run()
    at.button(key="one_start").click().run()
    at.button(key="two_start").click().run()
    assert not at.exception
    one, two = at.session_state["one"], at.session_state["two"]
    assert (one.stopped, two.stopped) == (stopped, False)
    for job in (one, two):
        job.stop()


def test_loading_models_is_no_experiment_and_neither_waits_in_their_line_nor_has_their_time(monkeypatch):
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, job_s=0.0))

    def work():
        yield 0.5, None
        yield 1.0, "there"

    load = jobs.Job(work(), experiment=False)
    load._work()
    assert (load.value, load.error) == ("there", None)
    tried = jobs.Job(work())
    tried._work()
    assert tried.value is None
    assert tried.error
