"""The contract of the component: what Streamlit gives it, and what it gives back. Most of it without Streamlit."""

import types

import pytest

import specviz as sv
from specviz import replay, timeline
from specviz.replay.words import words
from tests.stage.shows import Mounted, first_rounds


def test_the_component_is_given_the_run_and_gives_back_where_the_viewer_rests(monkeypatch, trace):
    from specviz.ui import stage

    given = {}

    def component(**asked):
        given.update(asked)
        return types.SimpleNamespace(position={"round": 2.0, "step": 1.0})

    monkeypatch.setattr(stage, "_component", lambda: component)
    data = {
        "start": [1, 0],
        "autoplay": False,
        "live": True,
        "talk": True,
        "above": 7,
        "spot": "cards",
    }
    at = stage.stage(trace, key="k", **data)
    assert at == stage.Position(round=2, step=1)
    assert given["key"] == "k"
    assert given["data"] == data | {"link": None, "payload": replay.payload(trace)}
    with pytest.raises(sv.errors.ConfigError, match=r"spot must be one of .* got 'floor'"):
        stage.stage(trace, key="k", spot="floor")


def test_a_position_in_the_session_comes_back_if_it_is_this_run_s():
    """The component in a running app: what its browser side would have sent stands in the session's state."""
    from streamlit.testing.v1 import AppTest

    def app():
        import numpy as np
        import streamlit as st

        import specviz as sv
        from specviz.models.toy import TableModel
        from specviz.ui.stage import stage

        law = np.full(3, 1 / 3)
        pair = sv.Pair(target=TableModel(lambda _: law, 3), draft=TableModel(lambda _: law, 3))
        trace = sv.speculate(pair, [0], draft_length=2, max_new_tokens=9, seed=1)
        at = stage(trace, key="stage", link="b")
        st.text("nowhere yet" if at is None else f"round {at.round}, step {at.step}")

    at = AppTest.from_function(app, default_timeout=60).run()
    assert not at.exception
    assert at.text[0].value == "nowhere yet"
    at.session_state["stage"] = {"position": {"round": 1, "step": 3, "link": "a"}}
    assert at.run().text[0].value == "nowhere yet"
    at.session_state["stage"] = {"position": {"round": 1, "step": 3, "link": "b"}}
    at.run()
    assert not at.exception
    assert at.text[0].value == "round 1, step 3"


@pytest.mark.browser
def test_more_rounds_neither_move_nor_stop_what_plays(browser, trace):
    with Mounted(browser) as show:
        show.mount(first_rounds(trace, 3))
        show.page.evaluate("window.first = root.querySelector('.stage')")
        show.page.get_by_label("Speed").select_option("0.25")
        show.press("ArrowRight", " ")
        show.page.wait_for_timeout(600)
        before = show.beat
        assert before > 0
        show.mount(first_rounds(trace, 4))
        assert show.beat >= before
        assert show.page.evaluate("window.first.isConnected")
        assert (show.stages, show.where, show.label) == (1, (1, 2), "Pause")
        assert show.page.locator(".where b").inner_text() == "Round 1 of 4"
        show.press("End")
        assert show.where[0] == 4


@pytest.mark.browser
def test_where_the_viewer_rests_is_reported_and_while_it_plays_nothing_is(browser, trace):
    with Mounted(browser) as show:
        show.mount(trace)
        show.page.wait_for_timeout(400)
        assert show.reports == []  # not while mounting
        show.press("ArrowRight", "ArrowRight")
        show.page.wait_for_timeout(400)
        assert show.reports == [(1, 3)]  # not what was passed on the way
        show.page.get_by_label("Speed").select_option("4")
        show.press(" ")
        show.page.wait_for_function("/step [5-9]/.test(root.querySelector('.where span').textContent)")
        assert show.reports == [(1, 3)]
        show.press(" ")
        show.page.wait_for_timeout(400)
        assert show.reports == [(1, 3), show.where]


@pytest.mark.browser
def test_another_start_jumps_and_the_same_one_does_not(browser, trace):
    with Mounted(browser) as show:
        show.mount(trace, start=[1, 2])
        assert show.where == (2, 3)
        show.press("ArrowRight")
        show.mount(trace, start=[1, 2])
        assert show.where == (2, 4)
        show.mount(trace, start=[3, 1])
        assert (show.where, show.stages) == ((4, 2), 1)


@pytest.mark.browser
def test_another_run_begins_at_its_start(browser, trace, long_trace):
    with Mounted(browser) as show:
        show.mount(trace)
        show.press("ArrowDown", "ArrowRight")
        show.mount(first_rounds(long_trace, 5))
        assert show.where == (1, 1)
        assert show.page.locator(".inner").inner_text() == long_trace.prompt
        show.press("End")
        assert show.page.locator(".inner").inner_text() == first_rounds(long_trace, 5).prompt + "".join(
            piece for round_ in long_trace.rounds[:5] for piece in round_.pieces
        )


@pytest.mark.browser
def test_a_stage_that_was_taken_down_may_come_back_soon_and_is_gone_later(browser, trace):
    with Mounted(browser) as show:
        show.mount(trace)
        show.press("ArrowRight")
        show.page.evaluate("window.first = root.querySelector('.stage'); leave(); setTimeout(again, 100);")
        show.page.wait_for_timeout(700)
        assert show.page.evaluate("window.first.isConnected")
        assert (show.stages, show.where) == (1, (1, 2))
        show.page.evaluate("leave()")
        show.page.wait_for_timeout(600)
        assert show.stages == 0
        show.mount(trace)
        assert (show.stages, show.where) == (1, (1, 1))


@pytest.mark.browser
def test_a_spotlight_dims_the_other_parts_and_changes_nothing_else(browser, trace):
    opacity = "Object.fromEntries([...root.querySelectorAll('.stage > :is(.head, .text, .cards, .told, .panels, "
    opacity += ".controls)')].map((n) => [n.classList[0], getComputedStyle(n).opacity]))"
    with Mounted(browser, motion="reduce") as show:
        show.mount(trace)
        assert set(show.page.evaluate(opacity).values()) == {"1"}
        show.page.get_by_label("Speed").select_option("0.25")
        show.press("ArrowRight", " ")
        show.page.wait_for_timeout(300)
        before = show.beat
        for spot in ("head", "text", "cards", "told", "panels", "controls"):
            show.again(spot=spot)
            assert show.page.evaluate(opacity) == dict.fromkeys(show.page.evaluate(opacity), "0.35") | {spot: "1"}
            ring = show.page.evaluate(f"getComputedStyle(root.querySelector('.stage > .{spot}')).outline")
            assert ring == "rgb(34, 63, 130) solid 3px"
            assert show.page.locator(f".stage.spot-{spot}").count() == 1
        assert (show.where, show.label) == ((1, 2), "Pause")
        assert show.beat >= before
        show.again(spot=None)
        assert set(show.page.evaluate(opacity).values()) == {"1"}


@pytest.mark.browser
def test_no_word_is_idle(browser, pair, trace):
    """The words that the stage asks for at every step of runs of every kind are the words that there are."""
    greedy = sv.speculate(pair, "It is", max_new_tokens=24, sampling=sv.Sampling(0), seed=0)
    plain = sv.autoregress(pair, "It is", max_new_tokens=3, seed=0)
    asked = set()
    for run in (trace, greedy, plain):
        with Mounted(browser, motion="reduce") as show:
            show.mount(run, page=True, talk=True)
            for i in range(len(timeline.steps(run))):
                show.jump(i)
            show.press("Home", " ", " ")
            asked |= set(show.page.evaluate("[...named]"))
    assert asked == set(words())
