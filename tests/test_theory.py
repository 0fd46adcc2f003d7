"""The formulas against the papers' numbers, against exact arithmetic, and against plain search."""

import decimal
import itertools
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specviz import sampling, theory
from specviz.errors import ConfigError

GOLDEN = json.loads((Path(__file__).parent / "golden" / "golden.json").read_text(encoding="utf-8"))
PRINTED = 5.001e-4  # half a unit of the third printed digit

ROUND, EXERCISE = GOLDEN["worked_round"], GOLDEN["exercise_2"]
rates = st.floats(0, 1) | st.floats(0, 1e-6) | st.floats(0, 1e-6).map(lambda x: 1 - x)
ratios = st.floats(1, 1e4) | st.floats(0, 1e-3).map(lambda x: 1 + x)
any_law = settings(deadline=None, max_examples=100)


def laws(max_size=8):
    """Two laws over one vocabulary, zeros and equal laws among them."""
    weights = st.sampled_from([0.0, 0.0, 1.0, 3.0]) | st.floats(1e-9, 1)
    row = st.lists(weights, min_size=max_size, max_size=max_size)
    sizes = st.integers(1, max_size)
    cut = st.tuples(sizes, row, row).map(lambda t: (t[1][: t[0]], t[2][: t[0]]))
    return cut.filter(lambda t: sum(t[0]) > 0 and sum(t[1]) > 0).map(lambda t: tuple(np.divide(w, sum(w)) for w in t))


def exact_expected_tokens(a, k):
    """1 + α + ... + α^K in rational arithmetic, rounded once."""
    rate = Fraction(a)
    return float((1 - rate ** (k + 1)) / (1 - rate)) if rate < 1 else k + 1.0


def stationary_in_decimal(a, c):
    """K* from the stationary equation in 60-digit arithmetic, by Newton's method."""
    with decimal.localcontext(prec=60):
        loss = -Decimal(float(a)).ln()
        t = loss * (Decimal(float(c)) - 1)
        y = 1 + (2 * t).sqrt() + t
        for _ in range(12):
            y = (y.ln() + t) * y / (y - 1)
        assert abs(y - y.ln() - 1 - t) < Decimal("1e-50") * max(1, y)
        return float(y.ln() / loss - 1)


def grid():
    """α and c from end to end: 36 x 29, the hard corners α -> 0, α -> 1 and c -> 1 included."""
    a = np.concatenate(
        [10.0 ** np.arange(-300, 0, 30), np.linspace(0.05, 0.95, 19), 1 - 10.0 ** -np.arange(2.0, 16, 2)]
    )
    c = np.concatenate([1 + 10.0 ** np.arange(-14, 0, 2), np.linspace(1.3, 30, 15), 10.0 ** np.arange(2, 9)])
    return a[:, None], c[None, :]


# The papers' and the notes' numbers


@pytest.mark.parametrize("row", GOLDEN["best_draft_length"])
def test_the_best_whole_draft_length_and_its_neighbours_are_as_printed(row):
    a, c, k = row["alpha"], row["c"], row["K"]
    assert theory.best_draft_length(a, c) == k
    assert theory.speedup(a, c, k) == pytest.approx(row["speedup"], abs=PRINTED)
    assert theory.speedup(a, c, max(1, k - 2)) == pytest.approx(row["at_minus_2"], abs=PRINTED)
    assert theory.speedup(a, c, k + 2) == pytest.approx(row["at_plus_2"], abs=PRINTED)


@pytest.mark.parametrize("row", GOLDEN["best_draft_length_continuous"])
def test_the_stationary_draft_length_is_as_printed(row):
    assert theory.best_draft_length_continuous(row["alpha"], row["c"]) == pytest.approx(row["K"], abs=PRINTED)


@pytest.mark.parametrize("row", GOLDEN["draft_size_tradeoff"], ids=lambda row: row["label"])
def test_the_draft_size_table_is_computed_and_not_copied_from_the_notes(row):
    assert theory.best_draft_length(row["alpha"], row["c"]) == row["K"]
    assert theory.speedup(row["alpha"], row["c"], row["K"]) == pytest.approx(row["speedup"], abs=PRINTED)


def test_the_middle_draft_size_wins():
    speedups = [row["speedup"] for row in GOLDEN["draft_size_tradeoff"]]
    assert np.argmax(speedups) == 2


@pytest.mark.parametrize("example", [ROUND, EXERCISE], ids=["worked round", "exercise 2"])
def test_the_worked_examples_come_out(example):
    p, q, k = example["target_probs"], example["draft_probs"], example["K"]
    rate = theory.alpha(p, q)
    assert rate == pytest.approx(example["alpha"], abs=1e-15)
    assert theory.total_variation(p, q) == pytest.approx(1 - example["alpha"], abs=1e-15)
    np.testing.assert_allclose(theory.residual(p, q), example["residual"], atol=1e-15)
    assert theory.expected_tokens(rate, k) == pytest.approx(example["expected_tokens"], abs=1e-12)
    assert theory.speedup(rate, example["c"], k) == pytest.approx(example["speedup"], abs=PRINTED)


@pytest.mark.parametrize("row", GOLDEN["leviathan_table_1"])
def test_leviathan_table_1_of_a_draft_that_costs_nothing(row):
    assert theory.operations(row["alpha"], row["K"]) == pytest.approx(row["operations"], abs=5.001e-3)
    assert theory.speedup(row["alpha"], np.inf, row["K"]) == pytest.approx(row["speedup_c0"], abs=5.001e-3)


@pytest.mark.parametrize("row", GOLDEN["leviathan_t5_xxl"]["rows"])
def test_leviathan_expected_speedups_of_t5_xxl(row):
    # Our c is the inverse of the paper's. Worst difference 0.066, in the two cells that the golden file names.
    assert theory.speedup(row["alpha"], 1 / row["c_leviathan"], row["K"]) == pytest.approx(row["expected"], abs=0.1)


def test_the_papers_cost_coefficient_is_not_ours():
    row = GOLDEN["leviathan_t5_xxl"]["rows"][0]
    assert theory.speedup(row["alpha"], row["c_leviathan"], row["K"]) < 0.02  # nothing near the printed 3.2


# Laws


@any_law
@given(laws())
def test_alpha_is_one_less_the_total_variation(pair):
    p, q = pair
    assert theory.alpha(p, q) + theory.total_variation(p, q) == pytest.approx(1, abs=1e-15)  # worst 2.2e-16


@any_law
@given(laws())
def test_alpha_and_total_variation_stay_in_their_range_and_are_symmetric(pair):
    p, q = pair
    for of in (theory.alpha, theory.total_variation):
        assert 0 <= of(p, q) <= 1
        assert of(p, q) == of(q, p)


@any_law
@given(laws())
def test_accepted_mass_plus_rejected_residual_is_the_target(pair):
    p, q = pair
    emitted = np.minimum(p, q) + (1 - theory.alpha(p, q)) * theory.residual(p, q)
    np.testing.assert_allclose(emitted, p, atol=1e-15)  # worst 3.3e-16


@any_law
@given(laws())
def test_kl_divergence_bounds_total_variation(pair):
    p, q = pair
    kl = theory.kl_divergence(p, q)
    assert kl >= 2 * theory.total_variation(p, q) ** 2 - 1e-15  # Pinsker's inequality; 0 = 0 for equal laws
    assert np.isinf(kl) == bool(((p > 0) & (q == 0)).any())


def test_alpha_of_a_law_that_sums_to_a_little_more_than_one_is_still_a_rate():
    rounded = [0.5, 0.5 + 1e-7]  # as a softmax in float32 leaves it
    assert theory.alpha(rounded, rounded) == 1
    assert theory.expected_tokens(theory.alpha(rounded, rounded), 3) == 4


def test_kl_divergence_by_hand():
    assert theory.kl_divergence([0.5, 0.5, 0], [0.25, 0.25, 0.5]) == pytest.approx(np.log(2), abs=1e-15)
    assert theory.kl_divergence([0.5, 0.5], [1, 0]) == np.inf
    assert theory.kl_divergence([1, 0], [0.5, 0.5]) == pytest.approx(np.log(2), abs=1e-15)


def test_there_is_one_residual_in_the_house():
    p, q = np.array(ROUND["target_probs"]), np.array(ROUND["draft_probs"])
    np.testing.assert_array_equal(theory.residual(p, q), sampling.residual(p, q))


# Tokens per target pass


@any_law
@given(rates, st.integers(0, 40))
def test_expected_tokens_agrees_with_exact_arithmetic(a, k):
    assert theory.expected_tokens(a, k) == pytest.approx(exact_expected_tokens(a, k), rel=2e-15)  # worst 4.4e-16


@pytest.mark.parametrize("a", [1 - 1e-12, 1 - 1e-9, 1 - 2**-53, 1e-12, 1e-300, 5e-324])
@pytest.mark.parametrize("k", [0, 1, 7, 64, 1000])
def test_expected_tokens_is_stable_at_both_ends(a, k):
    exact = exact_expected_tokens(a, k) if a > 0.5 else 1.0 + (a if k else 0.0)  # below, α² is far under rounding
    assert theory.expected_tokens(a, k) == pytest.approx(exact, rel=2e-15)


def test_the_textbook_form_is_not_stable():
    a, k = 1 - 1e-9, 7
    textbook = (1 - a ** (k + 1)) / (1 - a)
    assert abs(textbook / exact_expected_tokens(a, k) - 1) > 1e-9  # why expected_tokens is written as it is
    assert theory.expected_tokens(a, k) == pytest.approx(exact_expected_tokens(a, k), rel=2e-15)


def test_expected_tokens_at_the_ends_themselves():
    assert theory.expected_tokens(1, 5) == 6
    assert theory.expected_tokens(0, 5) == 1
    assert theory.expected_tokens(0.3, 0) == pytest.approx(1, abs=1e-15)


def test_between_whole_draft_lengths_the_formula_goes_on():
    assert theory.expected_tokens(0.25, 0.5) == pytest.approx((1 - 0.25**1.5) / 0.75, rel=1e-15)


@any_law
@given(rates, st.integers(0, 40))
def test_tokens_law_is_a_law_with_the_expected_mean(a, k):
    law = theory.tokens_law(a, k)
    assert law.shape == (k + 1,)
    assert (law >= 0).all()
    assert law.sum() == pytest.approx(1, abs=1e-15)  # worst 3.3e-16
    assert law @ np.arange(1, k + 2) == pytest.approx(theory.expected_tokens(a, k), rel=2e-15)  # worst 6.7e-16


def test_tokens_law_by_hand():
    np.testing.assert_array_equal(theory.tokens_law(0.5, 3), [0.5, 0.25, 0.125, 0.125])
    np.testing.assert_array_equal(theory.tokens_law(0, 2), [1, 0, 0])
    np.testing.assert_array_equal(theory.tokens_law(1, 2), [0, 0, 1])
    np.testing.assert_array_equal(theory.tokens_law(0.3, 0), [1])


@any_law
@given(rates, st.integers(0, 40), st.floats(0, 3))
def test_operations_are_the_passes_positions_over_the_tokens(a, k, ratio):
    assert theory.operations(a, k, ratio) * theory.expected_tokens(a, k) == pytest.approx(k * ratio + k + 1, rel=1e-14)
    assert theory.operations(a, k, ratio) >= 1 - 1e-14


# Two rates


shares = st.floats(0, 1) | st.sampled_from([0.0, 1.0])


@any_law
@given(st.floats(0, 1), shares, shares, shares)
def test_two_rates_keep_their_mean_and_stay_rates(a, share, spread, persistence):
    rates = theory.two_rates(a, share, spread, persistence)
    assert rates.alpha == pytest.approx(a, abs=1e-15)  # worst 1.1e-16
    assert 0 <= rates.hard <= rates.easy <= 1
    if spread == 1 and 0 < share < 1:
        assert rates.easy == pytest.approx(1, abs=1e-15) or rates.hard == pytest.approx(0, abs=1e-15)


@any_law
@given(st.floats(0, 1), shares, shares, st.integers(0, 40))
def test_a_kind_drawn_anew_at_each_place_leaves_the_formula_as_it_is(a, share, spread, k):
    found = theory.reached(theory.two_rates(a, share, spread, 0), k)
    np.testing.assert_allclose(found, a ** np.arange(k + 1), atol=1e-14)  # worst 2.1e-15
    assert found.sum() == pytest.approx(theory.expected_tokens(a, k), rel=1e-14)


@any_law
@given(st.floats(0, 1), shares, shares, st.integers(0, 40))
def test_one_kind_for_a_whole_round_mixes_two_formulas_and_gives_more(a, share, spread, k):
    rates = theory.two_rates(a, share, spread, 1)
    mixed = share * theory.expected_tokens(rates.easy, k) + (1 - share) * theory.expected_tokens(rates.hard, k)
    assert theory.reached(rates, k).sum() == pytest.approx(mixed, rel=1e-14)
    assert mixed >= theory.expected_tokens(a, k) * (1 - 1e-14)


@any_law
@given(st.floats(0, 1), shares, shares, st.floats(0, 1), st.floats(0, 1), st.integers(1, 40))
def test_the_more_kinds_persist_the_more_a_fresh_round_gives_and_the_less_one_in_a_text(a, share, spread, one, two, k):
    less, more = (theory.two_rates(a, share, spread, kept) for kept in sorted((one, two)))
    fresh = [theory.reached(rates, k) for rates in (less, more)]
    assert (fresh[1] >= fresh[0] - 1e-12).all()
    assert theory.judged_alpha(fresh[1]) >= a - 1e-12
    text = [theory.reached(rates, k, start=theory.start_in_text(rates, k)).sum() for rates in (less, more)]
    assert [theory.tokens_in_text(rates, k)[k] for rates in (less, more)] == pytest.approx(text, rel=1e-12)
    assert text[0] <= theory.expected_tokens(a, k) + 1e-12
    assert text[1] <= text[0] + 1e-12


def test_the_recursion_is_what_a_walk_over_all_kinds_of_places_gives():
    rates = theory.two_rates(0.7, 0.3, 0.8, 0.6)
    rate, kinds = (rates.hard, rates.easy), (1 - rates.share, rates.share)
    for k in range(5):
        walked = 0.0
        for path in itertools.product((0, 1), repeat=k):
            chance = kinds[path[0]] if path else 1.0
            for here, there in itertools.pairwise(path):
                chance *= rates.persistence * (here == there) + (1 - rates.persistence) * kinds[there]
            walked += chance * np.prod([rate[kind] for kind in path])
        assert theory.reached(rates, k)[-1] == pytest.approx(walked, rel=1e-14)


def test_the_rate_rises_with_the_place_among_the_rounds_that_get_there():
    found = theory.reached(theory.two_rates(0.8, 0.5, 0.8, 0.9), 8)
    by_place = theory.rate_by_place(found)
    assert by_place[0] == pytest.approx(0.8)
    assert (np.diff(by_place) > 0).all()
    assert by_place[-1] < 0.96
    np.testing.assert_array_equal(theory.rate_by_place([1, 0.5, 0, 0]), [0.5, 0, np.nan])


def test_a_start_in_a_text_by_hand():
    """K = 1, kinds that stay, rates 1 and 0, half of the places each: an easy stretch has half the rounds of a hard."""
    rates = theory.TwoRates(easy=1.0, hard=0.0, share=0.5, persistence=1.0)
    assert theory.start_in_text(rates, 1) == pytest.approx(1 / 3)
    assert theory.reached(rates, 1, start=1 / 3).sum() == pytest.approx(4 / 3)
    nearly = theory.TwoRates(easy=1.0, hard=0.0, share=0.5, persistence=1 - 1e-9)
    assert theory.start_in_text(nearly, 1) == pytest.approx(1 / 3, abs=1e-8)
    assert theory.start_in_text(theory.two_rates(0.8, 0.3, 1, 0), 4) == pytest.approx(0.3)


def test_judged_alpha_is_the_rate_where_there_is_one():
    assert theory.judged_alpha(0.7 ** np.arange(6)) == pytest.approx(0.7)
    assert theory.judged_alpha([1.0, 0.0]) == 0


# Speed-up


@any_law
@given(st.floats(0, 1), st.floats(1e-3, 1e3), st.floats(1e-3, 10), st.integers(0, 40))
def test_speedup_is_tokens_over_the_time_of_a_round(a, c, draft_s, k):
    target_s = c * draft_s
    seconds = theory.round_time(target_s, draft_s, k)
    assert seconds == pytest.approx(target_s + k * draft_s, rel=1e-15)
    assert theory.speedup(a, c, k) == pytest.approx(theory.expected_tokens(a, k) * target_s / seconds, rel=1e-14)


def test_a_hopeless_draft_slows_down_and_a_perfect_one_gains_at_most_its_block():
    assert theory.speedup(0, 10, 4) == pytest.approx(10 / 14, rel=1e-15)
    assert theory.speedup(1, 10, 4) == pytest.approx(50 / 14, rel=1e-15)
    assert theory.speedup(0.7, 10, 0) == pytest.approx(1, abs=1e-15)
    assert theory.speedup(0.7, np.inf, 4) == theory.expected_tokens(0.7, 4)
    assert theory.speedup(0.7, 1e-307, 1e9) == 0


@any_law
@given(st.floats(0, 1), st.floats(0.1, 100))
def test_speculation_pays_exactly_above_the_break_even_alpha(a, c):
    at = theory.break_even_alpha(c)
    assert at == pytest.approx(1 / c)
    best = theory.speedup(a, c, theory.best_draft_length(a, c))
    if a > at + 1e-9:
        assert best >= theory.guaranteed_speedup(a, c) > 1
    elif a < at - 1e-9:
        assert best < 1


@any_law
@given(rates, st.floats(0.1, 100))
def test_the_guarantee_is_leviathans_in_our_c(a, c):
    assert theory.guaranteed_speedup(a, c) == pytest.approx((1 + a) / (1 + 1 / c), rel=1e-15)


@any_law
@given(st.floats(0, 1), st.floats(0.1, 1e3), st.floats(0, 0.5), st.integers(0, 40))
def test_a_dearer_check_acts_as_a_dearer_draft(a, c, s, k):
    round_in_target_passes = 1 + s * k + k / c
    with_it = theory.with_surcharge(c, s)
    assert theory.speedup(a, with_it, k) == pytest.approx(theory.expected_tokens(a, k) / round_in_target_passes)
    assert theory.break_even_alpha(with_it) == pytest.approx(1 / c + s)
    assert with_it <= c * (1 + 1e-15)
    assert theory.best_draft_length(a, with_it) <= theory.best_draft_length(a, c)


def test_a_surcharge_by_hand_and_at_its_ends():
    assert theory.with_surcharge(10, 0.1) == 5
    assert theory.with_surcharge(8, 0) == 8
    assert theory.with_surcharge(np.inf, 0.25) == 4
    assert theory.with_surcharge(np.inf, 0) == np.inf


# The best draft length


@any_law
@given(st.floats(0, 0.99), st.floats(0.2, 100), st.integers(1, 64))
def test_the_best_draft_length_is_what_a_plain_search_finds(a, c, limit):
    found = theory.best_draft_length(a, c, limit)
    speedups = [float(sum(a**n for n in range(k + 1))) * c / (c + k) for k in range(1, limit + 1)]
    assert isinstance(found, int)
    assert speedups[found - 1] >= max(speedups) * (1 - 1e-14)
    assert all(s < max(speedups) for s in speedups[: found - 1])  # the smallest of equals


def test_ties_go_to_the_shorter_draft():
    for a, k in itertools.product((0.5, 0.25, 0.125), range(1, 9)):
        tied = exact_expected_tokens(a, k) / a ** (k + 1) - k  # the c at which K and K + 1 are equally good, exactly
        assert theory.speedup(a, tied, k) == pytest.approx(theory.speedup(a, tied, k + 1), rel=1e-15)
        assert theory.best_draft_length(a, tied) == k
    assert theory.best_draft_length(1, 1) == 1  # (K + 1)/(1 + K) for every K
    assert theory.best_draft_length(0, 10) == 1
    assert theory.best_draft_length(1, 10) == 64
    assert theory.best_draft_length(1, 10, limit=7) == 7


def test_the_lambert_root_solves_the_stationary_equation():
    a, c = grid()
    k = theory.best_draft_length_continuous(a, c)
    assert np.abs(theory.stationary_residual(a, c, k)).max() < 1e-12  # worst 3.6e-14, at α = 1e-300
    a, c = np.linspace(0.05, 0.95, 19)[:, None], np.linspace(1.3, 30, 15)
    k = theory.best_draft_length_continuous(a, c)
    for off in (
        -1e-6,
        1e-6,
    ):  # and no neighbour does: a shorter draft leaves something to gain, a longer one too little
        assert (np.sign(theory.stationary_residual(a, c, k + off)) == -np.sign(off)).all()


def test_the_best_whole_length_is_a_neighbour_of_the_stationary_one():
    a, c = np.meshgrid(np.linspace(0.01, 0.99, 99), np.geomspace(1.001, 200, 60), indexing="ij")
    k = theory.best_draft_length_continuous(a, c)
    below, above = np.maximum(1, np.floor(k)), np.maximum(1, np.ceil(k))
    best = theory.best_draft_length(a, c, limit=400)
    assert above.max() < 400
    assert ((best == below) | (best == above)).all()
    assert (best != np.maximum(1, np.round(k))).any()  # rounding K* would not do


def test_the_stationary_length_agrees_with_sixty_digits():
    rng = np.random.default_rng(0)
    below_one = 1 - 10 ** rng.uniform(-15, 0, 200)
    near_zero = 10 ** rng.uniform(-300, 0, 200)
    a, c = np.concatenate([below_one, near_zero]), 1 + 10 ** rng.uniform(-14, 8, 400)
    series = np.sqrt(2 * -np.log(a) * (c - 1)) < 0.1
    assert 50 < series.sum() < 350  # both ways of solving are met
    found = theory.best_draft_length_continuous(a, c)
    error = [abs((k - x) / (1 + abs(x))) for k, x in zip(found, map(stationary_in_decimal, a, c), strict=True)]
    assert max(error) < 1e-14  # worst 1.0e-15


def test_the_stationary_length_at_its_ends():
    k = theory.best_draft_length_continuous
    assert k(0, 10) == k(0, np.inf) == k(0.5, 1) == k(1, 1) == -1
    assert k(1, 10) == k(0.5, np.inf) == k(1, np.inf) == np.inf
    assert k(1e-300, 10) == pytest.approx(-1, abs=0.02)
    assert k(1 - 1e-15, 10) == pytest.approx(np.sqrt(2 * 9 / 1e-15), rel=1e-3)  # √(2(c - 1)/L) as L -> 0


@any_law
@given(rates, ratios)
def test_the_stationary_length_grows_with_alpha_and_with_c(a, c):
    k = theory.best_draft_length_continuous
    assert k(a, c) <= k(min(1, a * 1.1 + 1e-3), c)
    assert k(a, c) <= k(a, c * 1.1)


def test_the_crude_rule_is_crude():
    assert theory.crude_draft_length(0.8, 10) == pytest.approx(np.log(10) / np.log(1.25) - 1, rel=1e-14)
    assert theory.crude_draft_length(0.8, 10) > 1.5 * theory.best_draft_length_continuous(0.8, 10)  # 9.3 and 5.8
    assert theory.crude_draft_length(0.3, 10) < theory.best_draft_length_continuous(0.3, 10)
    assert theory.crude_draft_length(0, 10) == theory.crude_draft_length(0.5, 1) == -1
    assert theory.crude_draft_length(1, 10) == np.inf


@any_law
@given(rates, ratios, st.integers(1, 63))
def test_one_more_guess_gains_up_to_the_best_length_and_not_beyond(a, c, k):
    gain, best = theory.marginal_gain(a, c, k), theory.best_draft_length(a, c)
    assert gain == pytest.approx(theory.speedup(a, c, k + 1) - theory.speedup(a, c, k), abs=1e-12)
    assert gain > 0 if k < best else gain <= 1e-12 * theory.speedup(a, c, k)


@any_law
@given(rates, st.floats(0.1, 1e4), st.floats(0, 0.2), st.integers(1, 64))
def test_the_plateau_holds_exactly_the_lengths_near_the_best(a, c, within, limit):
    least, most = theory.plateau(a, c, within, limit)
    speedups = theory.speedup(a, c, np.arange(1, limit + 1))
    near = speedups >= (1 - within) * speedups.max()
    surely, maybe = speedups > (1 - within + 1e-12) * speedups.max(), speedups > (1 - within - 1e-12) * speedups.max()
    inside = np.zeros(limit, bool)
    inside[least - 1 : most] = True
    assert (inside >= surely).all()
    assert (inside <= maybe).all()
    assert near.any()
    assert least <= theory.best_draft_length(a, c, limit) <= most


@given(st.floats(0, 1), st.floats(0.1, 1000))
def test_the_peak_is_what_a_long_search_finds(a, c):
    length, at_peak = theory.peak(a, c)
    if length > 2000:
        return
    assert length == theory.best_draft_length(a, c, 2100)
    assert at_peak == theory.speedup(a, c, length)


def test_a_peak_beyond_any_slider_is_found_and_one_without_end_is_told():
    assert theory.peak(0.99, 1000) == (259, theory.speedup(0.99, 1000, 259))
    assert theory.peak(1 - 1e-12, 1000)[0] > 10**7  # no search could hold so many lengths
    assert theory.peak(1, 1000) == (np.inf, 1000)
    assert theory.peak(0.8, np.inf) == (np.inf, pytest.approx(5))
    assert theory.peak(0, 1000)[0] == theory.peak(1, 0.5)[0] == theory.peak(1, 1)[0] == 1


@given(st.floats(0, 1), st.floats(1, 1000))
def test_one_more_guess_gains_below_the_best_length_only(a, c):
    best = theory.best_draft_length(a, c)
    gains = theory.marginal_gain(a, c, np.arange(1, 64))
    assert (gains[: best - 1] > 0).all()
    assert (gains[best - 1 :] <= 1e-12).all()
    assert theory.marginal_gain.__doc__.count("below K*") == 1


def test_a_plateau_by_hand():
    assert theory.plateau(0.8, 10, 0) == (6, 6)
    assert theory.plateau(0.8, 10, 0.03) == (4, 8)  # 2.401 and 2.405 of 2.470, and at 3 and 9 less
    assert theory.plateau(0.8, 10, 1) == (1, 64)
    assert theory.plateau(1, 10, 0.01) == (60, 64)  # 610/70 of 650/74; at 59 it is 600/69


def test_the_laws_of_the_best_length_on_a_grid():
    laws = theory.length_laws(np.linspace(0.05, 0.95, 19), np.arange(2, 101))
    assert (laws.n_falls_alpha, laws.n_falls_cost_ratio) == (0, 0)
    assert laws.n_pairs == 19 * 99
    assert laws.n_flat / laws.n_high > 0.95
    assert laws.worst_loss > 0.1  # "usually", as the notes say: a short K* is not flat
    a, c = laws.worst_at
    best = theory.best_draft_length(a, c)
    off = min(theory.speedup(a, c, max(1, best - 2)), theory.speedup(a, c, best + 2))
    assert laws.worst_loss == pytest.approx(1 - off / theory.speedup(a, c, best))
    assert 0 < laws.n_longer < laws.n_both  # the second half of the third rule holds at some pairs only


def test_the_laws_are_judged_and_not_assumed():
    rows = GOLDEN["best_draft_length"]
    for row in rows:
        laws = theory.length_laws([row["alpha"]], [row["c"]])
        assert laws.n_longer == ((row["at_plus_2"] >= row["at_minus_2"]) and row["K"] >= 3)
    backwards = theory.length_laws([0.9, 0.6], [20, 5])  # descending: K* falls at every step
    assert (backwards.n_falls_alpha, backwards.n_falls_cost_ratio) == (2, 2)


# Arrays


A, C, K = np.array([0, 0.3, 0.9, 1]), np.array([[1.5], [20], [1e6]]), np.array([[[0]], [[3]]])


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (theory.expected_tokens, (A, K)),
        (theory.operations, (A, K, 0.1)),
        (theory.round_time, (A, C, K)),
        (theory.speedup, (A, C, K)),
        (theory.guaranteed_speedup, (A, C)),
        (theory.marginal_gain, (A, C, K)),
        (theory.with_surcharge, (C, A)),
        (theory.break_even_alpha, (C,)),
        (theory.best_draft_length, (A, C)),
        (theory.best_draft_length_continuous, (A, C)),
        (theory.crude_draft_length, (A, C)),
        (theory.stationary_residual, (A[1:], C, K)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_arrays_give_what_numbers_give(function, arguments):
    whole = function(*arguments)
    each = np.broadcast_arrays(*arguments)
    assert whole.shape == each[0].shape
    for place in np.ndindex(whole.shape):
        one = function(*(values[place].item() for values in each))
        assert type(one) in (int, float)
        assert one == whole[place]


def test_laws_come_in_stacks_too():
    p, q = np.random.default_rng(0).dirichlet(np.ones(5), size=(2, 3, 4))
    for of in (theory.alpha, theory.total_variation, theory.kl_divergence):
        assert of(p, q).shape == (3, 4)
        assert of(p, q)[1, 2] == of(p[1, 2], q[1, 2])
        assert type(of(p[0, 0], q[0, 0])) is float
    assert theory.alpha(p, q[0, 0]).shape == (3, 4)
    assert theory.tokens_law(np.array([[0.1, 0.9]]), 3).shape == (1, 2, 4)
    np.testing.assert_array_equal(theory.tokens_law(np.array([0.1, 0.9]), 3)[1], theory.tokens_law(0.9, 3))


# Errors


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.expected_tokens(1.2, 3), "alpha must lie in [0, 1], got 1.2"),
        (lambda: theory.expected_tokens([0.5, np.nan], 3), "alpha must lie in [0, 1], got nan"),
        (lambda: theory.expected_tokens("0.5", 3), "alpha must be a number or an array of numbers, got '0.5'"),
        (lambda: theory.expected_tokens(True, 3), "alpha must be a number or an array of numbers, got True"),
        (lambda: theory.expected_tokens([[1], [1, 0]], 3), "alpha must be a number or an array of numbers, got [[1], "),
        (lambda: theory.expected_tokens(0.5, -1), "draft_length (K) must be finite and at least 0, got -1.0"),
        (lambda: theory.expected_tokens(0.5, np.inf), "draft_length (K) must be finite and at least 0, got inf"),
        (lambda: theory.expected_tokens([0.1, 0.2], [1, 2, 3]), "do not broadcast: alpha (2,) and draft_length (3,)"),
        (lambda: theory.tokens_law(0.5, 2.0), "draft_length (K) must be a whole number of at least 0, got 2.0"),
        (lambda: theory.tokens_law(0.5, -1), "draft_length (K) must be a whole number of at least 0, got -1"),
        (lambda: theory.speedup(0.5, 0, 3), "cost_ratio (c = T_p/T_q) must be positive, got 0.0"),
        (lambda: theory.break_even_alpha(-2), "cost_ratio (c = T_p/T_q) must be positive, got -2.0"),
        (lambda: theory.round_time(-1, 1, 3), "target_s must be a finite number of seconds, at least 0, got -1.0"),
        (lambda: theory.round_time(1, np.inf, 3), "draft_s must be a finite number of seconds, at least 0, got inf"),
        (lambda: theory.operations(0.5, 3, -1), "operation_ratio must be finite and at least 0, got -1.0"),
        (lambda: theory.two_rates(0.5, 1.1, 0.5, 0.5), "share must lie in [0, 1], got 1.1"),
        (lambda: theory.two_rates(0.5, 0.5, -1, 0.5), "spread must lie in [0, 1], got -1.0"),
        (lambda: theory.two_rates(0.5, 0.5, 0.5, 2), "persistence must lie in [0, 1], got 2.0"),
        (lambda: theory.reached(theory.two_rates(0.5, 0.5, 0.5, 0.5), 1.5), "a whole number of at least 0, got 1.5"),
        (lambda: theory.plateau(0.5, 10, 1.5), "within must lie in [0, 1], got 1.5"),
        (lambda: theory.with_surcharge(10, -0.1), "surcharge must be finite and at least 0, got -0.1"),
        (lambda: theory.with_surcharge(0, 0.1), "cost_ratio (c = T_p/T_q) must be positive, got 0.0"),
        (lambda: theory.best_draft_length(0.5, 10, 0), "limit must be a whole number of at least 1, got 0"),
        (lambda: theory.best_draft_length_continuous(0.5, 0.5), "cost_ratio (c = T_p/T_q) must be at least 1: a draft"),
        (lambda: theory.crude_draft_length(0.5, 0.5), "a draft slower than the target never pays, got 0.5"),
        (lambda: theory.stationary_residual(0, 10, 3), "alpha must lie in (0, 1], got 0.0"),
        (lambda: theory.stationary_residual(0.5, np.inf, 3), "cost_ratio (c = T_p/T_q) must be finite, got inf"),
        (lambda: theory.stationary_residual(0.5, 10, -2), "draft_length (K) must be finite and at least -1, got -2.0"),
        (lambda: theory.alpha([0.5, 0.6], [0.5, 0.5]), "target_probs must sum to 1 (to 1e-6) along its last axis, got"),
        (lambda: theory.alpha([0.5, 0.5], [1.5, -0.5]), "draft_probs must be probabilities of at least 0, got -0.5"),
        (lambda: theory.alpha([0.5, np.nan], [1, 0]), "target_probs must be probabilities of at least 0, got nan"),
        (lambda: theory.alpha([1], [0.5, 0.5]), "must share a vocabulary, got shapes (1,) and (2,)"),
        (
            lambda: theory.alpha(1.0, 1.0),
            "target_probs must hold at least one probability along its last axis, got shape ()",
        ),
        (lambda: theory.residual([], []), "target_probs must hold at least one probability along its last axis"),
        (
            lambda: theory.kl_divergence([[1, 0]] * 2, [[1, 0]] * 3),
            "do not broadcast: target_probs (2, 2) and draft_pr",
        ),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(ConfigError) as error:
        call()
    assert sentence in str(error.value)
