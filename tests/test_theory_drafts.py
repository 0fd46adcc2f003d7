"""Which draft: speed-up at the best K, solved for α and for c, and candidates ranked."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz import theory
from specviz.errors import ConfigError

RATES = st.floats(0.0, 1.0)
RATIOS = st.floats(0.05, 1000.0)


@given(RATES, RATIOS)
def test_the_best_speedup_is_the_greatest_over_all_lengths(alpha, c):
    each = theory.speedup(alpha, c, np.arange(1, 65))
    assert theory.best_speedup(alpha, c) == pytest.approx(each.max(), rel=1e-14)


@given(st.floats(0.001, 0.999), st.floats(1.001, 1000.0))
def test_the_alpha_that_a_speedup_takes_gives_that_speedup(alpha, c):
    """Worst of 20 000 random pairs: 7e-16 in α, 4e-16 of the speed-up."""
    aim = theory.best_speedup(alpha, c)
    found = theory.alpha_for_speedup(aim, c)
    assert found == pytest.approx(alpha, abs=1e-12)
    assert theory.best_speedup(found, c) == pytest.approx(aim, rel=1e-12)


@given(st.floats(0.05, 0.999), st.floats(1.5, 1000.0))
def test_the_cost_ratio_that_a_speedup_takes_gives_that_speedup(alpha, c):
    aim = theory.best_speedup(alpha, c)
    found = theory.cost_ratio_for_speedup(aim, alpha)
    assert found <= c * (1 + 1e-9)
    assert theory.best_speedup(alpha, found) == pytest.approx(aim, rel=1e-9)


@given(st.floats(0.2, 20.0), RATIOS)
def test_solving_for_alpha_and_for_c_are_inverse(speedup, c):
    alpha = theory.alpha_for_speedup(speedup, c)
    if 0 < alpha < 1:  # it is neither out of reach nor free
        assert theory.cost_ratio_for_speedup(speedup, alpha) == pytest.approx(c, rel=1e-7)


@given(RATIOS.filter(lambda c: c > 1))
def test_to_break_even_takes_one_over_c(c):
    assert theory.alpha_for_speedup(1.0, c) == pytest.approx(theory.break_even_alpha(c), abs=1e-12)
    assert theory.cost_ratio_for_speedup(1.0, 1 / c) == pytest.approx(c, rel=1e-9)


def test_a_speedup_out_of_reach_takes_no_alpha_and_no_cost_ratio():
    assert math.isnan(theory.alpha_for_speedup(11.0, 10.0))
    assert math.isnan(theory.alpha_for_speedup(1.0, 0.5))
    assert theory.cost_ratio_for_speedup(2.0, 0.0) == math.inf
    assert theory.cost_ratio_for_speedup(65.5, 1.0) == math.inf
    assert theory.cost_ratio_for_speedup(2.0, 0.5) == math.inf  # even for ever: E[N] < 1/(1 - α)


def test_a_speedup_below_what_no_acceptance_gives_takes_none():
    assert theory.alpha_for_speedup(0.9, 10.0) == 0.0  # c/(c + 1) = 0.909 at α = 0
    assert theory.alpha_for_speedup(1.0, math.inf) == 0.0


def test_both_broadcast_and_answer_numbers_for_numbers():
    speeds = np.array([[1.0], [2.0]])
    assert theory.alpha_for_speedup(speeds, [5.0, 10.0, 20.0]).shape == (2, 3)
    assert theory.cost_ratio_for_speedup(speeds, [0.5, 0.9]).shape == (2, 2)
    assert type(theory.alpha_for_speedup(1.5, 10)) is float
    assert type(theory.cost_ratio_for_speedup(1.5, 0.8)) is float


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: theory.alpha_for_speedup(0, 10), "speedup must be positive and finite"),
        (lambda: theory.alpha_for_speedup(math.nan, 10), "speedup must be positive and finite"),
        (lambda: theory.alpha_for_speedup(2, 0), "cost_ratio"),
        (lambda: theory.alpha_for_speedup(2, 10, limit=0), "limit must be a whole number"),
        (lambda: theory.cost_ratio_for_speedup(math.inf, 0.5), "speedup must be positive and finite"),
        (lambda: theory.cost_ratio_for_speedup(2, 1.5), "alpha must lie in [0, 1]"),
        (lambda: theory.cost_ratio_for_speedup(2, 0.5, limit=2.5), "limit must be a whole number"),
        (lambda: theory.rank_drafts([0.5], [10, 20, 30, 0]), "cost_ratio"),
        (lambda: theory.rank_drafts([0.5, 0.6], [10, 20, 30]), "the shapes do not broadcast"),
    ],
)
def test_what_is_out_of_range_is_said(call, told):
    with pytest.raises(ConfigError, match=told.replace("(", r"\(").replace("[", r"\[")):
        call()


# Candidates


def test_no_candidates_give_no_ranking():
    assert theory.rank_drafts([], []) == ()


@given(st.lists(st.tuples(RATES, RATIOS), min_size=1, max_size=6))
def test_the_fastest_comes_first_and_every_candidate_once(candidates):
    ranked = theory.rank_drafts(*zip(*candidates, strict=True))
    speeds = [s.speedup for s in ranked]
    assert speeds == sorted(speeds, reverse=True)
    assert sorted(s.index for s in ranked) == list(range(len(candidates)))
    for standing in ranked:
        assert (standing.alpha, standing.cost_ratio) == candidates[standing.index]


@given(st.lists(st.tuples(RATES, RATIOS), min_size=1, max_size=6))
def test_the_tie_is_where_the_choice_changes(candidates):
    """Just above its tie a candidate leads all others and the target alone; just below it does not."""
    ranked = theory.rank_drafts(*zip(*candidates, strict=True))
    for standing in ranked:
        bar = max([1.0, *(s.speedup for s in ranked if s is not standing)])
        tie = standing.tie_alpha
        if math.isnan(tie):
            assert theory.best_speedup(1.0, standing.cost_ratio) < bar
            continue
        assert theory.best_speedup(min(1.0, tie + 1e-9), standing.cost_ratio) >= bar * (1 - 1e-12)
        if tie > 1e-9:
            assert theory.best_speedup(tie - 1e-9, standing.cost_ratio) < bar * (1 + 1e-12)


def test_a_standing_says_what_a_longer_draft_would_give():
    (capped,) = theory.rank_drafts([0.99], [1000])
    assert (capped.draft_length, capped.peak_length) == (64, 259)
    assert capped.peak_speedup == theory.speedup(0.99, 1000, 259) > capped.speedup
    (short,) = theory.rank_drafts([0.8], [10])
    assert (short.peak_length, short.peak_speedup) == (short.draft_length, short.speedup)


def test_equals_stay_in_the_order_given():
    ranked = theory.rank_drafts([0.5, 0.8, 0.8], [10, 10, 10])
    assert [s.index for s in ranked] == [1, 2, 0]
    assert ranked[0].tie_alpha == pytest.approx(0.8, abs=1e-12)
