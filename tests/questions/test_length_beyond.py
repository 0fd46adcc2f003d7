"""The best draft length where it is longer than the page can set, and what the notes say of its equation."""

import json
import re

import pytest

from specviz import theory
from specviz.figures import length as figures
from specviz.figures import length_map as maps
from specviz.timeline import number
from specviz.ui.calculators import printed_lengths, stationary
from tests.questions.test_length import opened, told

BEYOND = [(0.99, 1000), (0.98, 72), (0.97, 145), (0.95, 478)]


@pytest.mark.parametrize(("alpha", "c"), BEYOND)
def test_a_best_draft_beyond_the_slider_is_told_with_the_true_one(alpha, c):
    text = told(opened(alpha, c))
    true = theory.best_draft_length(alpha, c, 1000)
    assert true > 64
    shown = number(theory.speedup(alpha, c, true))
    assert f"the best K up to 64 is 64: {number(theory.speedup(alpha, c, 64))} times" in text
    assert f"Without a limit it is K = {true}: {shown} times." in text
    assert f"Best K up to 6464 {number(theory.speedup(alpha, c, 64), 4)}×; without a limit K = {true}, " in text
    assert number(theory.best_draft_length_continuous(alpha, c), 4) in text
    assert "Nearly as good, up to 64" in text
    assert "the best K is 64" not in text


def test_the_numbers_of_the_longest_case():
    text = told(opened(0.99, 1000))
    assert "is 64: 45.1 times as fast as the target alone. Without a limit it is K = 259: 73.6 times." in text


def test_below_the_limit_nothing_is_said_of_it():
    text = told(opened(0.8, 10))
    assert "the best K is 6: 2.47 times" in text
    assert "Without a limit" not in text
    assert "up to 64" not in text
    assert "Nearly as goodK" in text


def test_a_plateau_that_the_limit_cuts_is_said_to_be_cut():
    assert theory.peak(0.98, 60)[0] <= 64  # the best is inside, and lengths beyond the limit are nearly as good
    assert theory.plateau(0.98, 60, 0.03, 200)[1] > 64
    assert "Nearly as good, up to 64" in told(opened(0.98, 60))


def test_your_own_k_is_measured_against_what_can_be_set():
    assert "Your K = 6445.08× the best up to 64" in told(opened(0.99, 1000, 64))
    assert re.search(r"Your K = 20[\d.]+× [\d.]+% below the best up to 64", told(opened(0.99, 1000, 20)))


def test_without_an_end_the_page_says_what_longer_drafts_come_near():
    text = told(opened(1, 1000))
    assert "Each longer one is faster, and comes nearer to 1000 times." in text
    assert "without a limit there is no best: ever longer drafts come near 1000×" in text


def test_what_a_surcharge_takes_is_told_of_the_true_best():
    text = told(opened(0.99, 1000, s=0.1))
    promised = number(theory.speedup(0.99, 1000, 259))
    assert f"Without the surcharge the best of all would be K = 259, {promised} times." in text
    assert "come nearer to 1000 times" in told(opened(1, 1000, s=0.1))


def test_the_crude_rule_is_judged_at_its_own_length():
    k = int(theory.crude_draft_length(0.95, 478))
    assert k > 64
    at_k, peak = theory.speedup(0.95, 478, k), theory.peak(0.95, 478)[1]
    told_ = f"K = {k} gives {number(at_k, 4)}×, {number(100 * (1 - at_k / peak), 2)}% below the best"
    assert told_ in told(opened(0.95, 478))


def test_the_formula_holds_the_true_best_where_there_is_one():
    shown = opened(0.99, 1000).latex[0].value
    assert "(K^*)" in shown
    assert "{1000+259} = 73.61" in shown
    assert "(64)" in opened(1, 1000).latex[0].value


def test_figures_say_that_they_end_at_the_limit():
    assert "best up to 64, K = 64" in [t.name for t in figures.speedup_figure(0.99, 1000, 4).data]
    assert "best, K* = 6" in [t.name for t in figures.speedup_figure(0.8, 10, 4).data]
    for figure in (maps.best_map_figure(0.99, 1000), maps.speedup_map_figure(0.99, 1000)):
        assert "up to 64" in json.dumps(figure.layout.to_plotly_json(), default=str)
        assert "best K up to 64: 64" in figure.data[-1].customdata[0]
    alts = [f.proto.alt for f in opened(0.99, 1000).get("plotly_chart")]
    assert sum("up to 64" in alt for alt in alts) == 3
    assert "above 0 up to K = 64" in alts[1]
    assert "above 0 below K = 6," in opened(0.8, 10).get("plotly_chart")[1].proto.alt


# The notes


@pytest.mark.parametrize(("alpha", "c"), [(0.8, 10), (0.5, 3), (0.99, 1000)])
def test_the_left_side_of_the_equation_rises_with_c_against_exercise_3(alpha, c):
    text = told(opened(alpha, c))
    real = theory.best_draft_length_continuous(alpha, c)
    found = re.search(
        r"\(exercise 3\) say that the left side falls as c grows; it rises, at this K from ([\d.]+) at c = (\d+) to "
        r"([\d.]+) at c = (\d+), and K must grow to bring it back to 1\.",
        text,
    )
    assert found
    now, here, more, there = map(float, found.groups())
    assert (here, there) == (c, c + 1)
    assert now == 1
    assert more > now
    assert more == pytest.approx(1 + theory.stationary_residual(alpha, c + 1, real), rel=1e-2)


# Words


def test_heads_and_the_word_in_the_formula_can_be_translated(monkeypatch):
    for module in (printed_lengths, stationary):
        monkeypatch.setattr(module, "_", lambda message: f"<{message}>")
    heads = {head for head, _shown in printed_lengths._columns().values()}
    assert {"<real K*>", "<at K*>", "<at K*−2>", "<at K*+2>", "<operations>", "<speed-up>"} <= heads
    assert r"\text{<speed-up>}" in opened(0.8, 10).latex[0].value
