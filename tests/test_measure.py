"""Rates and times of traces, against counts made by hand."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import specviz as sv
from specviz.measure import Mean, Rate, Z, student_t
from tests.test_decoding import always, toy_pair


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_wilsons(counts):
    k, n = counts
    want = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert Rate(k, n).interval == pytest.approx((want.low, want.high), abs=1e-12)


def test_no_trials_is_no_number():
    assert math.isnan(Rate(0, 0).estimate)
    assert all(math.isnan(x) for x in Rate(0, 0).interval)
    assert math.isnan(sv.measure.alpha([]).estimate)


def test_positions_are_conditional_on_being_judged_or_on_being_drafted():
    trace = sv.speculate(toy_pair(), [0], draft_length=3, max_new_tokens=200, seed=1)
    trace = dataclasses.replace(trace, rounds=tuple(r for r in trace.rounds if len(r.nodes) == 3))
    positions = sv.measure.acceptance_by_position(trace)
    assert [p.depth for p in positions] == [1, 2, 3]
    for before, after in itertools.pairwise(positions):
        assert after.conditional.trials == before.conditional.successes  # judged only after an acceptance
    first = positions[0]
    assert first.conditional == first.unconditional
    assert sum(p.conditional.successes for p in positions) == trace.n_accepted
    assert sum(p.conditional.trials for p in positions) == trace.n_judged
    assert sum(p.unconditional.trials for p in positions) == trace.n_drafted


def test_the_two_acceptance_rates_are_under_their_names():
    trace = sv.speculate(toy_pair(), [0], draft_length=4, max_new_tokens=100, seed=2)
    assert sv.measure.acceptance(trace) == Rate(trace.n_accepted, trace.n_judged)
    assert sv.measure.accepted_of_drafted(trace) == Rate(trace.n_accepted, trace.n_drafted)


def test_alpha_is_the_mean_beta_and_agrees_with_acceptance():
    """1,000 judgements: the two estimates of one rate differ by less than 5 standard errors, 1 in a million."""
    traces = [sv.speculate(toy_pair(), [0], draft_length=4, max_new_tokens=200, seed=s) for s in range(12)]
    alpha, rate = sv.measure.alpha(traces), sv.measure.acceptance(traces)
    assert rate.trials > 1000
    assert abs(alpha.estimate - rate.estimate) < 5 * math.sqrt(0.25 / rate.trials)
    assert alpha.interval[0] < alpha.estimate < alpha.interval[1]
    assert alpha.standard_error < math.sqrt(0.25 / rate.trials)


def test_alpha_by_round_is_alpha_of_the_rounds_so_far():
    """Worst error measured: 3.4e-16 in the mean, 1.4e-17 in its standard error."""
    trace = sv.speculate(toy_pair(), [0], draft_length=4, max_new_tokens=200, seed=3)
    means = sv.measure.alpha_by_round(trace)
    assert len(means) == len(trace.rounds) > 50
    for i, mean in enumerate(means):
        want = sv.measure.alpha(dataclasses.replace(trace, rounds=trace.rounds[: i + 1]))
        assert mean.n == want.n
        assert mean.estimate == pytest.approx(want.estimate, abs=1e-14)
        assert mean.standard_error == pytest.approx(want.standard_error, abs=1e-14, nan_ok=True)
    assert means[0] != means[-1]


def test_alpha_by_round_of_equal_betas_has_no_interval_and_of_none_no_number():
    sure = sv.speculate(sv.Pair(always(1), always(1)), [0], draft_length=3, max_new_tokens=12, seed=0)
    assert [m.estimate for m in sv.measure.alpha_by_round(sure)] == [1.0, 1.0, 1.0]
    assert all(math.isnan(m.interval[0]) for m in sv.measure.alpha_by_round(sure))
    plain = sv.autoregress(toy_pair(), [0], max_new_tokens=3)
    assert [(m.n, math.isnan(m.estimate)) for m in sv.measure.alpha_by_round(plain)] == [(0, True)] * 3
    assert sv.measure.alpha_by_round(dataclasses.replace(sure, rounds=())) == ()


def test_tokens_per_round_and_their_lengths():
    trace = sv.speculate(sv.Pair(always(1), always(1)), [0], draft_length=3, max_new_tokens=10, seed=0)
    assert sv.measure.tokens_per_round(trace) == Mean(10 / 3, 3, pytest.approx(2 / 3), 1.0, math.inf)
    assert sv.measure.round_lengths(trace) == {4: 2}  # the last round drafted fewer


def test_intervals_stay_where_values_can_be_and_equal_values_have_none():
    low, high = Mean(0.97, 5, 0.05, 0.0, 1.0).interval
    assert (low, high) == (pytest.approx(0.97 - 2.776445 * 0.05, abs=1e-4), 1.0)  # t of 4 degrees of freedom
    assert all(math.isnan(x) for x in Mean(1.0, 2, 0.0, 0.0, 1.0).interval)


def test_the_quantile_is_students():
    """Worst relative error measured: 1.2e-3 at 3 degrees of freedom, 3.1e-4 at 4; 1 and 2 to rounding."""
    errors = {n: student_t(n) / stats.t.ppf(0.975, n) - 1 for n in (*range(1, 200), 10**4, 10**9)}
    assert max(abs(errors[n]) for n in (1, 2)) < 1e-12
    assert max(map(abs, errors.values())) < 1.3e-3
    assert max(abs(error) for n, error in errors.items() if n > 3) < 4e-4


@pytest.mark.parametrize("n", [2, 3, 4, 6, 12])
def test_an_interval_covers_the_mean_19_times_of_20(n):
    """20,000 samples of a normal law: the share covered is within 5 standard deviations of 0.95, 1 in a million each.

    The negative control is the same sample with the normal z, which covers 0.70 of them at n = 2 and 0.92 at n = 12.
    """
    samples = np.random.default_rng(n).normal(0.3, 2.0, size=(20_000, n))
    errors = samples.std(axis=1, ddof=1) / math.sqrt(n)
    intervals = [
        Mean(mean, n, error, -math.inf, math.inf).interval
        for mean, error in zip(samples.mean(axis=1).tolist(), errors.tolist(), strict=True)
    ]
    covered = sum(low <= 0.3 <= high for low, high in intervals) / len(intervals)
    by_z = np.mean(abs(samples.mean(axis=1) - 0.3) <= Z * errors)
    slack = 5 * math.sqrt(0.95 * 0.05 / len(intervals))
    assert abs(covered - 0.95) < slack
    assert abs(by_z - 0.95) > slack


def test_a_comparison_holds_the_speedup_and_what_theory_predicts():
    fast = with_times(sv.speculate(sv.Pair(always(1), always(1)), [0], draft_length=3, max_new_tokens=40), 0.1, 1.0)
    plain = with_times(sv.autoregress(sv.Pair(always(1), always(1)), [0], max_new_tokens=40), 0.0, 1.0)
    result = sv.measure.compare(fast, plain)
    assert result.cost_ratio == pytest.approx(10)
    assert result.predicted == pytest.approx(sv.theory.speedup(1.0, 10, 3))
    assert result.speedup == pytest.approx(result.predicted)
    assert result.best_draft_length == 64
    assert (result.draft_length, result.alpha, result.pass_ratio) == (3, 1.0, 1.0)


def test_a_comparison_holds_what_the_formula_leaves_out():
    """Four places in one pass take 1.6 times as long as one: the formula still predicts as if they did not."""
    fast = with_times(sv.speculate(sv.Pair(always(1), always(1)), [0], draft_length=3, max_new_tokens=40), 0.1, 1.6)
    plain = with_times(sv.autoregress(sv.Pair(always(1), always(1)), [0], max_new_tokens=40), 0.0, 1.0)
    result = sv.measure.compare(fast, plain)
    assert result.pass_ratio == pytest.approx(1.6)
    assert result.speedup == pytest.approx(plain.total_s / fast.total_s)  # equal numbers of tokens
    assert result.speedup == pytest.approx(4 / 1.9)
    assert result.predicted == pytest.approx(4 / 1.3)


def test_a_comparison_of_the_wrong_runs_gets_one_sentence():
    plain = sv.autoregress(toy_pair(), [0], max_new_tokens=3)
    with pytest.raises(sv.ConfigError, match="compare needs speculative runs of one draft length"):
        sv.measure.compare(plain, plain)


def test_the_first_difference_names_the_place_and_the_gap():
    greedy = sv.Sampling(temperature=0)
    one = sv.autoregress(toy_pair(), [0], max_new_tokens=6, sampling=greedy)
    rounds = list(one.rounds)
    rounds[4] = dataclasses.replace(rounds[4], final=dataclasses.replace(rounds[4].final, token=99))
    other = dataclasses.replace(one, rounds=tuple(rounds))
    difference = sv.measure.first_difference(one, other)
    assert (difference.position, difference.tokens) == (4, (one.tokens[4], 99))
    assert difference.target_gap == one.rounds[4].final.target_gap
    assert difference.target_gap > 0
    assert sv.measure.first_difference(one, one) is None
    shorter = dataclasses.replace(one, rounds=one.rounds[:2])
    assert sv.measure.first_difference(one, shorter).tokens == (one.tokens[2], None)


def with_times(trace: sv.Trace, draft_pass_s: float, verify_s: float) -> sv.Trace:
    """The trace with these times in every round."""
    rounds = tuple(
        dataclasses.replace(
            r,
            draft_s=draft_pass_s * len(r.nodes),
            verify_s=verify_s,
            round_s=draft_pass_s * len(r.nodes) + verify_s,
        )
        for r in trace.rounds
    )
    return dataclasses.replace(trace, rounds=rounds, total_s=sum(r.round_s for r in rounds))
