"""E[N] and the law of N: the page shows the formula, draws rounds beside it, and says where independence breaks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import specviz as sv
from specviz import theory
from specviz.figures import tokens as figures
from specviz.simulation.lengths import draw_lengths, draw_two_rates
from specviz.timeline import number
from specviz.ui import state
from tests.test_pages import Reader, html, page
from tests.test_theory import GOLDEN

few = settings(max_examples=30)
rates = st.floats(0, 1)
lengths = st.integers(1, 64)


def told(at):
    assert not at.exception
    assert not at.error
    return Reader(html(at)).text


def formulas(at):
    return [latex.value for latex in at.latex]


def drawn(alpha, k, n_rounds=500):
    return draw_lengths(alpha, k, n_rounds, np.random.default_rng(0))


def walked(kinds, k, n_rounds=500):
    return draw_two_rates(kinds, k, n_rounds, np.random.default_rng(0))


# The figures


@few
@given(rates, lengths)
def test_the_bars_are_the_law_and_sum_to_one(alpha, k):
    bars, diamonds = figures.tokens_law_figure(alpha, k, drawn(alpha, k)).data
    assert list(bars.x) == list(diamonds.x) == list(range(1, k + 2))
    assert sum(bars.y) == pytest.approx(1)
    assert sum(diamonds.y) == pytest.approx(1)
    assert np.dot(bars.x, bars.y) == pytest.approx(theory.expected_tokens(alpha, k))


@few
@given(rates, lengths)
def test_the_upright_line_stands_at_the_mean(alpha, k):
    line = figures.tokens_law_figure(alpha, k, drawn(alpha, k)).layout.shapes[0]
    assert line.x0 == line.x1 == theory.expected_tokens(alpha, k)


@few
@given(rates, lengths)
def test_curves_rise_with_k_and_stay_under_their_ceiling(alpha, k):
    figure = figures.tokens_family_figure(alpha, k)
    *curves, point = figure.data
    for curve in curves:
        assert (np.diff(curve.y) >= 0).all()
        assert (np.array(curve.y) <= np.array(curve.x) + 1 + 1e-9).all()
    assert curves[-1].line.width > curves[0].line.width
    assert (np.array(curves[-1].y) * (1 - alpha) <= 1 + 1e-9).all()
    assert (point.x[0], point.y[0]) == (k, theory.expected_tokens(alpha, k))


def test_curves_are_named_at_their_ends_and_the_ceiling_is_a_line_where_it_fits():
    figure = figures.tokens_family_figure(0.8, 4)
    assert {f"α = {rate}" for rate in figures.FAMILY} < {a.text for a in figure.layout.annotations}
    assert figure.layout.shapes[0].y0 == pytest.approx(5)
    assert any("ceiling 1/(1 − α) = 5.00" in a.text for a in figure.layout.annotations)
    assert not figures.tokens_family_figure(0.999, 4).layout.shapes
    assert any("no ceiling" in a.text for a in figures.tokens_family_figure(1.0, 4).layout.annotations)


@few
@given(rates, rates, rates, rates, lengths)
def test_a_guess_that_is_judged_later_stands_more_often_where_rates_last(alpha, share, spread, kept, k):
    kinds = theory.two_rates(alpha, share, spread, kept)
    formula, whole, now, _seen = figures.rate_by_place_figure(kinds, k, walked(kinds, k, 50)).data
    level, most, line = (np.array(trace.y, float) for trace in (formula, whole, now))
    assert (level == kinds.alpha).all()
    judged = ~np.isnan(line)
    assert (line[judged] >= alpha - 1e-9).all()
    assert (most[judged] >= line[judged] - 1e-9).all()


@few
@given(rates, rates, rates, rates)
def test_the_formula_says_too_little_of_rounds_begun_anywhere_and_too_much_of_those_in_a_text(
    alpha, share, spread, kept
):
    anywhere, text = figures.missed(theory.two_rates(alpha, share, spread, kept), 12)
    assert (anywhere >= -1e-9).all()
    assert (text <= 1e-9).all()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_series_differ_by_more_than_colour(theme):
    kinds = theory.two_rates(0.8, 0.5, 0.8, 0.9)
    for figure in (
        figures.rate_by_place_figure(kinds, 4, walked(kinds, 4), theme=theme),
        figures.missed_figure(kinds, 4, theme=theme),
    ):
        looks = [(trace.mode, trace.line.dash, trace.line.width, trace.marker.symbol) for trace in figure.data]
        assert len(set(looks)) == len(looks)


# The page


def test_the_notes_round_and_exercise_give_their_tokens():
    for row in (GOLDEN["worked_round"], GOLDEN["exercise_2"]):
        at = page("pages/tokens.py", alpha=str(row["alpha"]), K=str(row["K"]))
        shown = f"a target pass gives {row['expected_tokens']:.2f} tokens on average"
        assert shown in told(at)
        assert f"says {row['expected_tokens']} tokens" in told(at)  # with the golden file's own digits
        assert f"= {number(row['expected_tokens'])}" in formulas(at)[0]


@pytest.mark.parametrize("alpha", ["0", "1", "0.01", "0.99"])
@pytest.mark.parametrize("k", ["1", "64"])
def test_every_end_of_the_inputs_has_an_answer(alpha, k):
    text = told(page("pages/tokens.py", alpha=alpha, K=k))
    mean = theory.expected_tokens(float(alpha), int(k))
    assert f"At α = {alpha} and K = {k}, a target pass gives {number(mean)} tokens on average." in text
    assert "nan" not in text.lower()


@pytest.mark.parametrize(
    "ends", [{"share": "0"}, {"share": "1"}, {"spread": "1", "lasting": "1"}, {"spread": "0"}, {"lasting": "0"}]
)
def test_every_end_of_the_two_rates_has_an_answer(ends):
    assert "Easy places accept at" in told(page("pages/tokens.py", **ends))


def test_what_is_drawn_stands_beside_the_formula_with_its_interval_and_the_difference():
    simulated = draw_lengths(0.7, 5, 10_000, np.random.default_rng(3))
    text = told(page("pages/tokens.py", alpha="0.7", K="5", rounds="10k", draws="3"))
    least, most = simulated.interval
    off = simulated.mean - theory.expected_tokens(0.7, 5)
    assert number(simulated.mean, 5) in text
    assert f"{number(least, 5)} to {number(most, 5)}" in text
    assert f"{'+' if off > 0 else '−'}{number(abs(off))} from the formula" in text


def test_a_seed_whose_interval_misses_the_formula_says_so():
    mean = theory.expected_tokens(0.8, 4)
    for seed, said in ((63, "holds it"), (64, "outside the 95% interval")):
        least, most = draw_lengths(0.8, 4, 100, np.random.default_rng(seed)).interval
        assert (least <= mean <= most) == (said == "holds it")
        assert said in told(page("pages/tokens.py", rounds="100", draws=str(seed)))


def test_where_independence_breaks_is_said_in_numbers():
    kinds = theory.two_rates(0.8, 0.5, 0.8, 0.9)
    text = told(page("pages/tokens.py"))
    anywhere = theory.reached(kinds, 4).sum()
    along = theory.reached(kinds, 4, start=theory.start_in_text(kinds, 4))
    formula = theory.expected_tokens(0.8, 4)
    assert f"{number(anywhere, 4)} +{number(100 * (anywhere / formula - 1), 2)}%" in text
    assert f"{number(along.sum(), 4)} −{number(100 * (1 - along.sum() / formula), 2)}%" in text
    assert f"it measures α̂ = {number(theory.judged_alpha(along))}" in text


def test_drawn_anew_at_each_place_nothing_is_off():
    text = told(page("pages/tokens.py", lasting="0"))
    assert "Rounds that begin anywhere3.362 0%" in text
    assert "Rounds one after another in a text3.362 0%" in text


def test_a_link_reproduces_the_page():
    link = {
        "alpha": "0.65",
        "K": "9",
        "rounds": "10k",
        "draws": "7",
        "share": "0.25",
        "spread": "0.5",
        "lasting": "0.4",
    }
    at = page("pages/tokens.py", **link)
    for key, value in link.items():
        if key != state.ROUNDS:
            assert at.slider(key=key).value == float(value)
    assert told(at) == told(page("pages/tokens.py", **link))
    assert told(at) != told(page("pages/tokens.py", **link | {"draws": "8"}))


@pytest.mark.parametrize("value", ["", "nan", "-1", "1e9", "<b>x</b>", "9" * 400])
def test_a_link_that_makes_no_sense_opens_the_page(value):
    keys = (state.ROUNDS, state.ROUNDS_SEED, state.SHARE, state.SPREAD, state.PERSISTENCE)
    assert "a target pass gives" in told(page("pages/tokens.py", **dict.fromkeys(keys, value)))


def test_measured_numbers_are_loaded_from_the_last_run():
    at = page("pages/tokens.py")
    at.button(key="from_last_run").click().run()
    trace = sv.examples.load("prose")
    assert at.slider(key=state.ALPHA).value == pytest.approx(sv.measure.alpha(trace).estimate, abs=1e-4)
    assert f"At α = {at.slider(key=state.ALPHA).value:.4g} and K = {trace.draft_length}" in told(at)
