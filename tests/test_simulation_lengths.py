"""Rounds drawn in bulk agree with the formulas, and would not agree with wrong ones."""

import numpy as np
import pytest
from scipy import stats

from specviz import theory
from specviz.errors import ConfigError
from specviz.simulation import lengths

N_ROUNDS = 200_000
# A seeded test fails by chance with this probability at most. At N_ROUNDS a shift of one length's probability by 0.006
# (the negative controls shift more) has a chi-square noncentrality above 28: it is found with more than 95% power.
LEVEL = 1e-4
STICKY = theory.two_rates(0.8, 0.5, 0.8, 0.9)


def p_value(drawn, reached):
    """Of the counts, under the law with these P(N >= n): chi-square over the lengths that 5 rounds are due to."""
    due = -np.diff([*reached, 0.0]) * drawn.n_rounds
    common = due >= 5
    observed, expected = drawn.counts[common].astype(float), due[common]
    rest = drawn.n_rounds - observed.sum(), drawn.n_rounds - expected.sum()
    if rest[1] > 5:
        observed, expected = np.append(observed, rest[0]), np.append(expected, rest[1])
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue


def text_rounds(rates, draft_length, n_texts, n_rounds, rng):
    """Rounds one after another along n_texts texts: each next one begins at the place after the last token's."""
    easy, given = rng.random(n_texts) < rates.share, np.zeros((n_rounds, n_texts))
    for taken in given:
        place, following, open_ = easy, np.zeros(n_texts, bool), np.ones(n_texts, bool)
        for _ in range(draft_length):
            stands = rng.random(n_texts) < np.where(place, rates.easy, rates.hard)
            after = lengths.next_kinds(place, rates, rng)
            following = np.where(open_ & ~stands, after, following)
            taken += open_
            open_ = open_ & stands
            place = after
        taken += open_
        easy = np.where(open_, lengths.next_kinds(place, rates, rng), following)
    return given


@pytest.mark.parametrize(("a", "k"), [(0.5, 3), (0.8, 4), (0.8, 64), (0.999, 7), (0.01, 1)])
def test_drawn_rounds_follow_the_law_of_n(a, k):
    drawn = lengths.draw_lengths(a, k, N_ROUNDS, np.random.default_rng(1))
    assert drawn.n_rounds == N_ROUNDS
    assert p_value(drawn, a ** np.arange(k + 1)) > LEVEL
    assert abs(drawn.mean - theory.expected_tokens(a, k)) < 4 * drawn.standard_error


def test_the_test_would_see_a_law_that_is_off_by_a_little():
    drawn = lengths.draw_lengths(0.8, 4, N_ROUNDS, np.random.default_rng(1))
    assert p_value(drawn, 0.81 ** np.arange(5)) < LEVEL
    assert abs(drawn.mean - theory.expected_tokens(0.81, 4)) > 4 * drawn.standard_error


@pytest.mark.parametrize("draw", ["lengths", "two_rates"])
def test_at_the_ends_every_round_is_the_same(draw):
    rng = np.random.default_rng(0)
    for a, n in ((0.0, 1), (1.0, 4)):
        if draw == "lengths":
            drawn = lengths.draw_lengths(a, 3, 100, rng)
        else:
            drawn = lengths.draw_two_rates(theory.two_rates(a, 0.5, 1.0, 0.5), 3, 100, rng)
        assert drawn.counts.tolist() == [100 * (i == n) for i in range(1, 5)]
        assert drawn.interval == (n, n)


@pytest.mark.parametrize("persistence", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_rounds_through_two_kinds_of_places_follow_the_recursion(persistence, share):
    rates = theory.two_rates(0.7, share, 0.9, persistence)
    drawn = lengths.draw_two_rates(rates, 6, N_ROUNDS, np.random.default_rng(2))
    assert p_value(drawn, theory.reached(rates, 6)) > LEVEL


def test_rounds_through_two_kinds_of_places_do_not_follow_the_formula():
    drawn = lengths.draw_two_rates(STICKY, 6, N_ROUNDS, np.random.default_rng(2))
    assert p_value(drawn, theory.reached(STICKY, 6)) > LEVEL
    assert p_value(drawn, 0.8 ** np.arange(7)) < LEVEL
    less = theory.two_rates(0.8, 0.5, 0.8, 0.85)
    assert p_value(drawn, theory.reached(less, 6)) < LEVEL


def test_rounds_that_begin_where_they_are_told_to_follow_the_recursion_from_there():
    drawn = lengths.draw_two_rates(STICKY, 6, N_ROUNDS, np.random.default_rng(3), start=0.1)
    assert p_value(drawn, theory.reached(STICKY, 6, start=0.1)) > LEVEL
    assert p_value(drawn, theory.reached(STICKY, 6)) < LEVEL


@pytest.mark.parametrize("persistence", [0.0, 0.6, 0.9])
def test_rounds_along_a_text_begin_and_run_as_predicted(persistence):
    """2000 texts, the first 20 rounds of each left out: their start is not yet what it comes to (0.9^20 of it is)."""
    rates = theory.two_rates(0.8, 0.4, 0.9, persistence)
    given = text_rounds(rates, 5, 2000, 60, np.random.default_rng(4))[20:]
    by_text = given.mean(axis=0)  # independent of one another, as rounds of one text are not
    error = by_text.std() / np.sqrt(by_text.size)
    expected = theory.reached(rates, 5, start=theory.start_in_text(rates, 5)).sum()
    assert abs(by_text.mean() - expected) < 4 * error  # fails by chance 6 times in 100 000
    if persistence:
        assert abs(by_text.mean() - theory.reached(rates, 5).sum()) > 4 * error
        assert abs(by_text.mean() - theory.expected_tokens(0.8, 5)) > 4 * error


def test_what_was_drawn_knows_its_mean_its_interval_and_who_got_how_far():
    drawn = lengths.Lengths(np.array([2, 1, 1]))
    assert drawn.n_rounds == 4
    assert drawn.mean == 1.75
    assert drawn.standard_error == pytest.approx(np.sqrt((2 * 0.75**2 + 0.25**2 + 1.25**2) / 4 / 4))
    assert drawn.reached.tolist() == [1, 0.5, 0.25]
    assert drawn.interval[0] < drawn.mean < drawn.interval[1]


def test_one_seed_one_simulation():
    one, same, other = (lengths.draw_lengths(0.8, 4, 1000, np.random.default_rng(s)).counts for s in (5, 5, 6))
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda rng: lengths.draw_lengths(1.5, 4, 10, rng), "alpha must lie in [0, 1], got 1.5"),
        (lambda rng: lengths.draw_lengths(0.5, 1.5, 10, rng), "draft_length (K) must be a whole number of at least 0"),
        (lambda rng: lengths.draw_lengths(0.5, 4, 0, rng), "n_rounds must be a whole number of at least 1, got 0"),
        (lambda rng: lengths.draw_two_rates(STICKY, -1, 10, rng), "draft_length (K) must be a whole number of at le"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, sentence):
    with pytest.raises(ConfigError) as error:
        call(np.random.default_rng(0))
    assert sentence in str(error.value)
