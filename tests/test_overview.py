"""A whole run at a glance: its rounds as lines, its tokens with their β, and what stands out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import specviz as sv
from specviz import examples, measure, timeline
from specviz.models.toy import TableModel
from specviz.timeline import Place

TRACES = {name: examples.load(name) for name in examples.NAMES} | {"alone": examples.alone("prose")}


@pytest.mark.parametrize("name", TRACES)
def test_the_places_are_the_text_token_by_token(name):
    trace = TRACES[name]
    places = timeline.places(trace)
    assert "".join(place.text for place in places) == trace.text
    assert tuple(place.token for place in places) == trace.tokens


@pytest.mark.parametrize("name", TRACES)
def test_the_betas_of_the_places_are_those_whose_mean_is_alpha(name):
    """Every judged place gives one token, the accepted draft or what replaces it: none is missed or counted twice."""
    trace = TRACES[name]
    betas = [place.beta for place in timeline.places(trace) if place.beta is not None]
    rate = measure.alpha(trace)
    assert len(betas) == rate.n
    assert math.isnan(rate.estimate) if not betas else np.mean(betas) == pytest.approx(rate.estimate, abs=1e-12)


@pytest.mark.parametrize("name", TRACES)
def test_a_bonus_has_no_beta_and_everything_else_has(name):
    for place in timeline.places(TRACES[name]):
        assert (place.beta is None) == (place.outcome == "bonus")


@pytest.mark.parametrize("name", TRACES)
def test_the_lines_add_up_to_the_run(name):
    trace = TRACES[name]
    lines = timeline.lines(trace)
    assert [line.round for line in lines] == list(range(len(trace.rounds)))
    assert sum(line.drafted for line in lines) == trace.n_drafted
    assert sum(line.accepted for line in lines) == trace.n_accepted
    assert sum(line.emitted for line in lines) == len(trace.tokens)
    rejections = trace.n_judged - trace.n_accepted
    assert sum(line.outcome == "rejected" for line in lines) == rejections
    assert all((line.outcome == "undrafted") == (line.drafted == 0) for line in lines)


def pair(p, q):
    tables = [np.asarray(law, dtype=float) for law in (p, q)]
    models = [TableModel(lambda _tokens, law=law: law, len(p)) for law in tables]
    return sv.Pair(target=models[0], draft=models[1], tokenizer=None)


def test_the_entropy_of_a_law_recorded_whole_is_exact():
    """Four tokens: a record keeps them all, so nothing is left over."""
    p = [0.4, 0.3, 0.2, 0.1]
    trace = sv.speculate(pair(p, [0.1, 0.2, 0.3, 0.4]), [0], draft_length=3, max_new_tokens=40, seed=0)
    exact = -sum(x * math.log(x) for x in p)
    for line in timeline.lines(trace):
        assert line.entropy == pytest.approx(exact, abs=1e-12)


def test_the_entropy_of_a_law_recorded_in_part_is_a_lower_bound():
    p = np.full(200, 1 / 200)
    trace = sv.speculate(pair(p, p), [0], draft_length=2, max_new_tokens=12, seed=0)
    for line in timeline.lines(trace):
        assert 0 < line.entropy < math.log(200)


def test_a_greedy_run_has_no_entropy():
    trace = TRACES["greedy"]
    assert {line.entropy for line in timeline.lines(trace)} == {0.0}


def judged(trace):
    return [t.accepted for r in trace.rounds for t in r.trials]


@pytest.mark.parametrize("name", TRACES)
def test_the_longest_streak_is_the_longest_stretch_of_accepted_judgements(name):
    verdicts = "".join("+" if accepted else "-" for accepted in judged(TRACES[name]))
    streak = timeline.longest_streak(TRACES[name])
    longest = max(map(len, verdicts.split("-")))
    assert (streak.accepted if streak else 0) == longest
    if streak:
        assert streak.accepted <= sum(
            len(r.accepted) for r in TRACES[name].rounds[streak.first_round : streak.last_round + 1]
        )


@pytest.mark.parametrize("name", TRACES)
def test_no_rejection_costs_more_than_the_costliest(name):
    trace = TRACES[name]
    worst = timeline.costliest_rejection(trace)
    costs = [
        (len(r.nodes) - len(r.trials), r.nodes[t.node].draft_prob - t.target_prob)
        for r in trace.rounds
        for t in r.trials
        if not t.accepted
    ]
    if worst is None:
        assert not costs
    else:
        assert (worst.behind, worst.draft_prob - worst.target_prob) == max(costs)


def test_without_drafts_nothing_stands_out():
    assert timeline.longest_streak(TRACES["alone"]) is None
    assert timeline.costliest_rejection(TRACES["alone"]) is None
    assert timeline.stretches(timeline.places(TRACES["alone"]), 6) is None


@given(st.lists(st.none() | st.floats(0, 1), max_size=40), st.integers(1, 8))
def test_no_stretch_lies_outside_the_lowest_and_the_highest(betas, length):
    places = [Place(0, 0, "x", "bonus" if beta is None else "accepted", beta) for beta in betas]
    known = [beta for beta in betas if beta is not None]
    found = timeline.stretches(places, length)
    if len(known) <= length:
        assert found is None
        return
    means = [np.mean(known[i : i + length]) for i in range(len(known) - length + 1)]
    assert found[0].beta == pytest.approx(min(means), abs=1e-12)
    assert found[1].beta == pytest.approx(max(means), abs=1e-12)
    for stretch in found:
        inside = [b for b in betas[stretch.first : stretch.last + 1] if b is not None]
        assert len(inside) == length
