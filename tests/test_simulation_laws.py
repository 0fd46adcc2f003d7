"""Rounds in bulk are the decoder's, their frequencies are the exact laws, and the test sees every broken rule."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from specviz import exact, theory
from specviz.errors import ConfigError
from specviz.sampling import draw, verify
from specviz.simulation import fit, laws

P, Q = np.array([0.30, 0.35, 0.20, 0.10, 0.05]), np.array([0.50, 0.20, 0.15, 0.10, 0.05])  # the notes' five letters
BROKEN = [rule for rule in exact.RULES if rule != "exact"]
N_ROUNDS = 100_000

# Every statistical test here has a fixed seed, so it passes always or never. Bounds on frequencies are 4.5 standard
# errors: over some 7 rules x 5 tokens x 2 tallies a right simulation would miss one for fewer than 1 seed in 2000.
N_SIGMA = 4.5


def tally(rule="exact", p=P, q=Q, k=3, n=N_ROUNDS, seed=11, **options):
    *_, last = laws.tallies(p, q, k, n, seed=seed, rule=rule, **options)
    return last


# The same rounds as the decoder's


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_rule_plays_what_the_decoder_judges_token_for_token(seed):
    rng = np.random.default_rng(seed)
    k, size = int(rng.integers(1, 6)), int(rng.integers(1, 9))
    p, q = exact.random_laws(seed, size, 0.4)
    uniforms = rng.random((300, 2 * k + 1))
    uniforms[:40, k : 2 * k] = 0.0  # r can be exactly 0
    emitted = laws.play(p, q, uniforms)
    for row, tokens, length in zip(uniforms, *emitted, strict=True):
        drafts = [draw(q, u) for u in row[:k]]
        verdict = verify(np.tile(p, (k + 1, 1)), np.tile(q, (k, 1)), drafts, row[k : 2 * k], row[-1])
        assert tokens[:length].tolist() == [*drafts[: verdict.n_accepted], verdict.token]


def test_a_token_that_the_target_never_gives_is_never_accepted_at_r_zero():
    emitted = laws.play([0.5, 0.5, 0.0], [0.0, 0.0, 1.0], np.zeros((5, 3)))
    assert (emitted.tokens[:, 0] != 2).all()
    assert emitted.lengths.tolist() == [1] * 5


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8).filter(any), st.lists(st.floats(0, 1, exclude_max=True)))
def test_many_draws_are_so_many_single_draws(weights, uniforms):
    probs = np.array(weights) / sum(weights)
    assert laws._draws(probs, np.array(uniforms)).tolist() == [draw(probs, u) for u in uniforms]


# Frequencies against the exact laws


@pytest.mark.parametrize("rule", exact.RULES)
@pytest.mark.parametrize("seed", [None, 3])
def test_every_rule_is_simulated_as_it_is_enumerated(rule, seed):
    p, q = (P, Q) if seed is None else exact.random_laws(seed, 6)
    seen = tally(rule, p, q)
    for counts, law in (
        (seen.first_counts, exact.emitted_law(p, q, rule)),
        (seen.counts, exact.text_law(p, q, 3, rule)),
    ):
        n = counts.sum()
        # Tokens of one round depend on one another where a rule is broken: at most K + 1 of them, so sqrt(4) = 2.
        error = 2 * np.sqrt(law * (1 - law) / n)
        assert (np.abs(counts / n - law) <= N_SIGMA * error + 1e-15).all()
    error = max(seen.standard_error, 1e-12)
    assert abs(seen.mean_tokens - exact.round_counts(p, q, 3, rule).sum()) < N_SIGMA * error


def test_the_wrong_rules_law_lies_outside_these_bounds():
    # The control: with the same bound each rule's frequencies miss the law of every rule that differs from it.
    for rule in exact.RULES:
        seen = tally(rule).counts
        for other in set(exact.RULES) - {rule}:
            law = exact.text_law(P, Q, 3, other)
            error = 2 * np.sqrt(law * (1 - law) / seen.sum())
            assert (np.abs(seen / seen.sum() - law) > N_SIGMA * error).any(), (rule, other)


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 8))
def test_a_round_adds_what_the_formula_says(seed, size, k):
    p, q = exact.random_laws(seed, size)
    counts = exact.round_counts(p, q, k)
    assert counts.sum() == pytest.approx(theory.expected_tokens(theory.alpha(p, q), k), rel=1e-12)
    np.testing.assert_allclose(exact.text_law(p, q, k), p, atol=1e-14)


def test_only_the_first_position_goes_unseen():
    one, three = (exact.text_law(P, Q, k, "first_token_unseen") for k in (1, 3))
    alpha = theory.alpha(P, Q)
    for k, law in ((1, one), (3, three)):  # one token from q, all others of the round from p
        mean = 1 + theory.expected_tokens(alpha, k - 1)
        np.testing.assert_allclose(law, (Q + (mean - 1) * P) / mean, atol=1e-15)
    seen = tally("first_token_unseen")
    assert (seen.first_counts != seen.counts).any()
    assert fit.chi_square(seen.first_counts, Q).p_value > 0.001
    rest = seen.counts - seen.first_counts
    assert fit.chi_square(rest, P).p_value > 0.001


def test_tallies_grow_to_the_whole_and_are_seeded():
    seen = list(laws.tallies(P, Q, 2, 5000, seed=1))
    assert [t.n_rounds for t in seen] == sorted({t.n_rounds for t in seen})
    assert seen[-1].n_rounds == 5000
    assert len(seen) > 10
    lengths = laws.play(P, Q, np.random.default_rng(1).random((5000, 5))).lengths
    again = tally(k=2, n=5000, seed=1)
    assert again.counts.tolist() == seen[-1].counts.tolist() != tally(k=2, n=5000, seed=2).counts.tolist()
    assert seen[-1].n_tokens == lengths.sum()  # the same uniforms in one piece
    assert seen[-1].standard_error == pytest.approx(lengths.std(ddof=1) / math.sqrt(5000), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 10, 11, 999])
def test_any_number_of_rounds_is_played_to_the_last(n):
    assert tally(n=n).n_rounds == n
    assert tally(n=n).first_counts.sum() == n


# The chi-square test


def test_the_statistic_and_its_tail_are_those_of_scipy():
    seen = tally().counts
    told = stats.chisquare(seen, P * seen.sum())
    mine = fit.chi_square(seen, P)
    assert (mine.statistic, mine.p_value) == (pytest.approx(told.statistic), pytest.approx(told.pvalue))
    assert (mine.n_cells, mine.impossible) == (5, False)


def test_rare_tokens_share_a_cell():
    law = np.array([0.5, 0.4, 0.05, 0.03, 0.01, 0.01, 0.0])
    assert fit._cells(law, 1000).tolist() == [5, 4, 3, 2, 0, 1, -1]
    assert fit._cells(law, 100).tolist() == [3, 2, 1, 0, 0, 0, -1]  # 5 are expected of the third, 5 of all below
    assert fit._cells(law, 95).tolist() == [2, 1, 0, 0, 0, 0, -1]
    assert fit._cells(law, 60).tolist() == [2, 1, 0, 0, 0, 0, -1]
    assert fit._cells(law, 10).tolist() == [1, 0, 0, 0, 0, 0, -1]
    assert fit._cells(law, 1).tolist() == [0, 0, 0, 0, 0, 0, -1]
    assert fit.chi_square([1, 0, 0, 0, 0, 0, 0], law).p_value == 1


def test_a_token_that_cannot_come_ends_the_doubt():
    found = fit.chi_square([500, 499, 1], [0.5, 0.5, 0.0])
    assert (found.impossible, found.p_value) == (True, 0.0)
    assert fit.samples_needed([0.49, 0.5, 0.01], [0.5, 0.5, 0]) == pytest.approx(
        math.log(0.01) / math.log(0.99), rel=0.01
    )


def test_a_fair_rule_is_suspected_as_often_as_the_level_says():
    # 400 seeds at the 1% level: 4 alarms are expected; Binomial(400, 0.01) leaves 0.8% above 9.
    alarms = sum(fit.chi_square(tally(n=2000, seed=s).counts, P).p_value < fit.LEVEL for s in range(400))
    assert 1 <= alarms <= 9  # 3 at these seeds


@pytest.mark.parametrize("rule", BROKEN)
def test_the_same_test_catches_every_broken_rule(rule):
    # The control of the test above, at the same 2000 rounds: noncentralities of 40 and more, so a miss is below 1e-3.
    assert fit.chi_square(tally(rule, n=2000).counts, P).p_value < fit.LEVEL
    assert fit.chi_square(tally(rule, n=2000).first_counts, P).p_value < fit.LEVEL


def test_the_exact_rule_passes_where_they_fail():
    assert fit.chi_square(tally(n=10**6).counts, P).p_value > fit.LEVEL


@pytest.mark.parametrize(
    ("law", "probs"),
    [
        (exact.emitted_law(P, Q, "resample_from_target"), P),
        (exact.emitted_law(P, Q, "drop_without_resampling"), P),
        (0.98 * P + 0.02 * Q, P),
        (exact.emitted_law(*exact.random_laws(5, 10), "resample_from_target"), exact.random_laws(5, 10)[0]),
    ],
)
def test_the_samples_needed_are_enough_and_a_quarter_of_them_is_not(law, probs):
    # 1500 repeats: power 0.99 has a standard error of 0.003. The formula is first order in the difference; the worst
    # of these four came to 0.976. A quarter of the samples has a power near 0.45.
    n, rng = int(fit.samples_needed(law, probs)), np.random.default_rng(7)
    for share, (low, high) in {1: (0.965, 1.0), 4: (0.2, 0.7)}.items():
        tests = [fit.chi_square(counts, probs) for counts in rng.multinomial(n // share, law, size=1500)]
        seen = np.mean([t.p_value < fit.LEVEL for t in tests])
        assert low <= seen <= high
        assert seen == pytest.approx(fit.power(law, probs, n // share), abs=0.06)


def test_the_samples_needed_solve_the_noncentral_chi_square_law():
    law = exact.emitted_law(P, Q, "resample_from_target")
    n = fit.samples_needed(law, P)
    critical, weight = stats.chi2.isf(fit.LEVEL, 4), ((law - P) ** 2 / P).sum()
    assert stats.ncx2.sf(critical, 4, n * weight) >= fit.POWER > stats.ncx2.sf(critical, 4, (n - 2) * weight)


def test_equal_laws_need_more_samples_than_there_are():
    assert fit.samples_needed(P, P) == math.inf
    assert fit.samples_needed(exact.emitted_law(P, Q), P) == math.inf
    assert fit.samples_needed([1.0], [1.0]) == math.inf


def test_a_quarter_of_the_bias_needs_sixteen_times_the_samples():
    law = exact.emitted_law(P, Q, "always_accept")
    small = fit.samples_needed(P + (law - P) / 16, P)
    smaller = fit.samples_needed(P + (law - P) / 64, P)
    assert smaller / small == pytest.approx(16, rel=0.01)


def test_the_divergence_of_samples_falls_as_one_over_n():
    # The mean of 2 n KL over 300 seeds is chi-square's, 4, with a standard error of sqrt(8/300) = 0.16.
    for n in (1000, 30_000):
        kl = [fit.divergence(counts, P) for counts in np.random.default_rng(2).multinomial(n, P, size=300)]
        assert np.mean(kl) / fit.expected_divergence(5, n) == pytest.approx(1, abs=0.15)
    biased = fit.divergence(tally("first_token_unseen").counts, P)
    assert biased > 100 * fit.expected_divergence(5, 300_000)  # the control: a broken rule's does not fall


# Errors


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: laws.play(P, Q, np.zeros((3, 4))), "uniforms must have shape [R, 2 K + 1] with K of at least 1, got"),
        (lambda: laws.play(P, Q, np.zeros((3, 3)), "magic"), "rule must be one of exact, always_accept"),
        (lambda: laws.tallies(P, Q, 0, 5, seed=0), "tallies needs whole numbers: a draft_length and n_rounds of at "),
        (lambda: laws.tallies(P, Q * 2, 1, 5, seed=0), "draft_probs must sum to 1"),
        (lambda: laws.tallies(P, Q, 1, 5, seed=-1), "a seed of at least 0; got 1, 5 and -1"),
        (lambda: fit.chi_square([1, 2], P), "chi_square takes counts and a law of one shape, [V]; got (2,) and (5,)"),
        (lambda: exact.round_counts(P, Q, 0), "a whole K of at least 1, got (5,) and 0"),
        (lambda: exact.text_law([1, 0], [0, 1], 1, "x"), "rule must be one of"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(ConfigError) as error:
        call()
    assert sentence in str(error.value)


def test_dropping_where_nothing_is_shared_emits_nothing_and_says_so():
    seen = tally("drop_without_resampling", [1.0, 0.0], [0.0, 1.0], n=50)
    assert (seen.n_tokens, seen.first_counts.sum(), seen.mean_tokens) == (0, 0, 0)
    with pytest.raises(ConfigError, match="never emits here"):
        exact.text_law([1, 0], [0, 1], 2, "drop_without_resampling")
