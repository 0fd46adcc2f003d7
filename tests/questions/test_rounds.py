"""Rounds of the last run: the table and its filters, the text by β, and the same prompt decoded anew."""

import dataclasses
import json
import re
import time
from functools import cache
from io import BytesIO

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import specviz as sv
from specviz import examples, measure, theory, timeline
from specviz.figures.rounds import beta_figure, several_figure
from specviz.ui import pairs, runs, state
from specviz.ui.labs import anew
from specviz.ui.labs.heat import heat_html
from tests.test_pages import (
    HOSTILE,
    PATIENCE_S,
    SHOWN_TAGS,
    Reader,
    ended,
    hostile_pair,
    html,
    page,
    settings,
    slow_pair,
    stages,
)

TAGS = SHOWN_TAGS | {"h1", "h2", "bdi"}
PROSE = examples.load("prose")


def opened(**query):
    at = page("pages/rounds.py", **query)
    assert not at.exception
    assert not at.error
    return at


@cache
def first():
    """The page as it opens, only to be read."""
    return opened()


def told(at):
    return Reader(html(at)).text


def table(at):
    return at.dataframe[0].value


@pytest.fixture
def _hostile(monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda *_: hostile_pair())


def done(at, key):
    """Press the button of a job, wait for its end, and draw the page as the browser then does."""
    at.button(key=f"{key}_start").click().run()
    deadline = time.monotonic() + PATIENCE_S
    while at.session_state[key].running:
        assert time.monotonic() < deadline, "the job did not end"
        time.sleep(0.02)
    at.run()
    assert not at.exception
    return at


# The table


@pytest.mark.parametrize("name", examples.NAMES)
def test_the_table_holds_every_round_of_the_run(name):
    trace, frame = examples.load(name), table(opened(run=name))
    assert list(frame["round"]) == list(range(1, len(trace.rounds) + 1))
    assert list(frame["accepted"]) == [len(r.accepted) for r in trace.rounds]
    assert list(frame["tokens"]) == [len(r.emitted) for r in trace.rounds]
    np.testing.assert_allclose(frame["ms"], [1000 * r.round_s for r in trace.rounds])
    betas = [measure.alpha(dataclasses.replace(trace, rounds=(r,))).estimate for r in trace.rounds]
    np.testing.assert_allclose(frame["beta"], betas)  # NaN where nothing was judged


def test_the_answer_counts_what_the_table_holds():
    frame = table(first())
    won, lost = (frame["outcome"] == "✓ no rejection").sum(), (frame["outcome"] == "✕ rejected").sum()
    assert f"{won} of {len(frame)} rounds kept every draft that was judged, {lost} ended" in told(first())


@pytest.mark.parametrize("outcome", ["with no rejection", "with a rejection"])
def test_an_outcome_filters(outcome):
    frame = table(opened(outcome=outcome))
    assert 0 < len(frame) < len(PROSE.rounds)
    assert set(frame["outcome"]) == {"✓ no rejection" if "no" in outcome.split() else "✕ rejected"}


def test_accepted_lengths_and_entropy_filter():
    assert set(table(opened(accepted=["2", "3"]))["accepted"]) <= {2, 3}
    everything = table(first())
    frame = table(opened(entropy=["1.0", "1.5"]))
    assert len(frame) == ((everything["entropy"] >= 1.0) & (everything["entropy"] <= 1.5)).sum()
    assert 0 < len(frame) < len(everything)


def test_ends_the_other_way_round_are_the_same_filter():
    assert table(opened(accepted=["3", "1"])).equals(table(opened(accepted=["1", "3"])))


def test_filters_that_leave_nothing_say_so():
    at = opened(outcome="without any draft")
    assert f"0 of {len(PROSE.rounds)} rounds" in told(at)
    assert not at.dataframe


def test_a_row_opens_its_round_on_the_stage():
    at = page("app.py")
    at.switch_page("pages/rounds.py").run()
    at.selectbox(key=state.OUTCOME).set_value("accepted").run()
    wanted = int(table(at)["round"].iloc[1])
    at.session_state["rounds_table"] = {"selection": {"rows": [1], "columns": [], "cells": []}}
    at.run()
    assert not at.exception
    data = stages(at)[0]
    assert (data["link"], data["start"]) == ("prose", [wanted - 1, 0])
    at.switch_page("pages/rounds.py").run()  # and the way back stays on the page
    assert at.dataframe


@pytest.mark.parametrize(
    "query",
    [
        {"accepted": "9" * 400},
        {"accepted": ["a", "b"], "outcome": "nonsense"},
        {"entropy": ["x", "1e999"], "accepted": ["-1", "99"]},
        {"outcome": "", "entropy": "-5"},
    ],
)
def test_nonsense_in_a_link_opens_the_page_with_every_round(query):
    assert len(table(opened(**query))) == len(PROSE.rounds)


def test_a_link_opens_its_run():
    at = opened(run="hopeless")
    assert len(table(at)) == len(examples.load("hopeless").rounds)
    assert at.query_params["run"] in ("hopeless", ["hopeless"])


def test_a_run_that_is_gone_is_said_so():
    at = page("pages/rounds.py", run="0123")
    assert "not on the server any more" in at.error[0].value
    assert len(table(at)) == len(PROSE.rounds)


# What stands out


def test_the_streak_the_costliest_rejection_and_alpha_are_those_of_the_run():
    at, streak, cost = first(), timeline.longest_streak(PROSE), timeline.costliest_rejection(PROSE)
    shown = told(at)
    assert f"Longest streak{streak.accepted} accepted in a row" in shown
    assert f"round {cost.round + 1}, place {cost.depth}" in shown
    assert f"{measure.alpha(PROSE).estimate:.3f}" in at.latex[0].value


# The text by β


def test_the_heat_map_is_the_prompt_and_the_text():
    shown = Reader(heat_html(PROSE.prompt, timeline.places(PROSE))).text
    assert shown == (PROSE.prompt + PROSE.text).replace("\n", "⏎\n")


def test_each_judged_token_has_a_bar_as_long_as_its_beta():
    places = timeline.places(PROSE)
    body = heat_html(PROSE.prompt, places)
    bars = [int(percent) for percent in re.findall(r"--beta:(\d+)%", body)]
    assert bars == [round(100 * p.beta) for p in places if p.beta is not None and p.text]
    shades = [int(percent) for percent in re.findall(r"--shade:(\d+)%", body)]
    assert np.corrcoef(bars, shades)[0, 1] < -0.99  # the less the laws share, the more shade


def test_the_figure_shows_every_beta_once():
    places = timeline.places(PROSE)
    figure = beta_figure(places)
    bars = sorted((x, y) for trace in figure.data if trace.type == "bar" for x, y in zip(trace.x, trace.y, strict=True))
    assert bars == [(i, p.beta) for i, p in enumerate(places, 1) if p.beta is not None]
    mean = next(trace for trace in figure.data if trace.type == "scatter")
    assert mean.y[0] == pytest.approx(np.mean([y for _x, y in bars][:6]))


# Runs of every kind


def opened_file(trace):
    return runs.open_file(BytesIO(trace.to_json().encode()))


def test_a_run_of_the_target_alone_is_shown_and_has_nothing_to_win():
    shown = opened_file(examples.alone("prose"))
    at = opened(run=shown.id)
    assert "no draft was judged" in told(at)
    assert set(table(at)["outcome"]) == {"– no draft"}
    assert not at.get("plotly_chart")


def test_a_run_of_one_round_is_shown():
    trace = sv.speculate(hostile_pair(), "x", draft_length=1, max_new_tokens=1, seed=0)
    at = opened(run=opened_file(trace).id)
    assert len(table(at)) == 1


def test_a_run_under_way_is_shown_as_far_as_it_is(monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda *_: slow_pair())
    player = runs.play(settings(max_new_tokens=400))
    player.wait(PATIENCE_S)
    at = opened(run=player.id)
    assert 1 <= len(table(at)) < 400
    player.stop()
    ended(player)
    at.run()
    assert len(table(at)) == len(player.trace.rounds)


@pytest.mark.usefixtures("_hostile")
def test_hostile_tokens_are_text_everywhere():
    trace = sv.speculate(hostile_pair(), "x", draft_length=3, max_new_tokens=60, seed=1)
    trace = dataclasses.replace(trace, prompt="<script>alert(1)</script> $x$ :smile:")
    assert set(trace.tokens) == set(range(len(HOSTILE)))
    at = opened(run=opened_file(trace).id)
    done(at, "rounds_greedy")
    done(at, "rounds_several")
    assert not at.error
    assert Reader(html(at)).tags <= TAGS
    assert "<script>alert(1)</script> $x$ :smile:" in told(at)
    for element in at.main:
        assert element.type not in ("markdown", "caption", "exception")
    shown = json.dumps([list(t.customdata) for t in beta_figure(timeline.places(trace)).data])
    assert "<img" not in shown
    assert "$x" not in shown


# The same prompt anew


@pytest.mark.usefixtures("_hostile")
def test_greedy_with_the_draft_is_greedy_without_it_and_shown():
    at = done(opened(), "rounds_greedy")
    with_draft, alone, sampled = at.session_state["rounds_greedy"].value
    assert with_draft.tokens == alone.tokens
    assert (with_draft.sampling.greedy, alone.draft_length, sampled.sampling) == (True, 0, PROSE.sampling)
    assert f"token for token: all {len(alone.tokens)} are the same" in told(at)
    assert told(at).count(alone.text) >= 2


def test_greedy_runs_that_part_are_told_apart():
    """The negative control: two greedy runs that differ are not called the same."""
    at = AppTest.from_function(_parted).run()
    assert not at.exception
    assert "The greedy runs part at token 1" in told(at)


def _parted():
    from specviz import examples
    from specviz.ui.labs import replayed

    replayed._sameness(examples.load("greedy"), examples.alone("code"))


@pytest.mark.usefixtures("_hostile")
def test_several_k_show_measured_and_expected_tokens_per_pass():
    at = done(opened(), "rounds_several")
    traces = at.session_state["rounds_several"].value
    assert [trace.draft_length for trace in traces] == list(anew.LENGTHS)
    assert {trace.seed for trace in traces} == {PROSE.seed}
    body = next(e.proto.body for e in at.get("html") if 'aria-label="One prompt under several' in e.proto.body)
    rows = [[Reader(cell).text for cell in row.split("</td>")[:-1]] for row in body.split("<tr>") if "<td" in row]
    for row, trace in zip(rows, traces, strict=True):
        assert int(row[0]) == trace.draft_length
        assert float(row[3]) == pytest.approx(len(trace.tokens) / len(trace.rounds), abs=5e-3)
        assert float(row[4]) == pytest.approx(
            theory.expected_tokens(measure.alpha(trace).estimate, trace.draft_length), abs=5e-3
        )
    figure = several_figure(traces)
    expected, measured = figure.data
    assert list(measured.y) == [measure.tokens_per_round(t).estimate for t in traces]
    assert list(expected.x) == [str(k) for k in anew.LENGTHS]


def test_a_job_that_is_cancelled_keeps_what_it_has(monkeypatch):
    pair = slow_pair(0.03)
    monkeypatch.setattr(pairs, "load", lambda *_: pair)
    at = opened()
    at.button(key="rounds_several_start").click().run()
    job = at.session_state["rounds_several"]
    deadline = time.monotonic() + PATIENCE_S
    while not job.value:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    at.run()
    at.button(key="rounds_several_cancel").click().run()
    while job.running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    at.run()
    assert 1 <= len(job.value) < len(anew.LENGTHS)
    assert "Cancelled. What there was stays." in told(at)
    assert 'aria-label="One prompt under several' in html(at)


@pytest.mark.usefixtures("_hostile")
def test_a_prompt_that_cannot_be_read_gives_one_sentence():
    trace = dataclasses.replace(PROSE, prompt="")
    at = done(opened(run=opened_file(trace).id), "rounds_greedy")
    assert len(at.error) == 1
    assert "the prompt is empty" in at.error[0].value


def test_a_run_of_other_models_is_decoded_by_the_bundled_pair_and_said_so():
    trace = dataclasses.replace(PROSE, target="elsewhere/large", draft="elsewhere/small")
    assert "The models of this run are not here" in told(opened(run=opened_file(trace).id))
    assert "The models of this run are not here" not in told(first())
    assert anew.setting(trace, pairs.Choice()).models == pairs.Choice()
