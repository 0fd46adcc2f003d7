"""Figures hold the numbers of the record, say them without colour too, and show tokens as text."""

import dataclasses
import math
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import plotly.graph_objects as go
import pytest

import specviz as sv
from specviz.figures import style
from specviz.figures.acceptance import acceptance_figure
from specviz.figures.alpha import alpha_figure
from specviz.figures.laws import ROWS, law_figure
from specviz.figures.lengths import lengths_figure
from specviz.figures.panel import whole_steps
from specviz.records import Candidate
from specviz.timeline import Law, Tail, number
from tests.test_decoding import GREEDY, always, toy_pair

VIEWS = (acceptance_figure, lengths_figure, alpha_figure)
CONFIG = tomllib.loads((Path(__file__).parents[1] / ".streamlit" / "config.toml").read_text())


def law(kind, texts=("a", "b"), **changes):
    """p = 0.5, 0.2 and q = 0.1, 0.6 at the first two places; further tokens share the rest."""
    p, q = [0.5, 0.2, *[0.01] * 20], [0.1, 0.6, *[0.005] * 20]
    rows = tuple(
        Candidate(i, text, p[i], 0.0 if kind == "bonus" else q[i], max(0.0, p[i] - q[i]) / 0.5)
        for i, text in enumerate(texts)
    )
    given = {
        "kind": kind,
        "token": 0,
        "uniform": 0.3,
        "below": 0.2,
        "rejected": 1 if kind == "residual" else None,
        "beta": None if kind == "bonus" else 0.4,
        "rows": rows,
        "tail": Tail(0.3, 0.0 if kind == "bonus" else 0.3, 0.2, 0.0 if kind == "bonus" else 0.1),
    }
    return Law(**given | changes)


def traces(figure):
    return {bar.name: bar for bar in figure.data}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_palette_is_the_theme_of_the_app(theme):
    colours, told = style.palette(theme), CONFIG["theme"][theme]
    assert told["primaryColor"] == told["linkColor"] == colours.target
    assert told["backgroundColor"] == colours.background
    assert told["secondaryBackgroundColor"] == colours.surface
    assert told["textColor"] == colours.text
    assert told["borderColor"] == colours.line
    assert told["chartCategoricalColors"] == list(colours.series)
    assert len(set(colours.series)) >= 10


def test_the_palette_is_the_one_that_was_chosen():
    light, dark = style.palette("light"), style.palette("dark")
    assert light.series[:5] == ("#223F82", "#A5800A", "#208267", "#A32A00", "#E83CCB")
    assert dark.series[:5] == ("#889EF4", "#FEC352", "#45EBB0", "#B57A66", "#FA2FB3")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("ink", ["text", "muted"])
@pytest.mark.parametrize("paper", ["background", "surface"])
def test_text_stands_out_from_its_background(theme, ink, paper):
    """4.5 to 1, the least that WCAG 2.2 asks of small text (1.4.3)."""
    colours = style.palette(theme)
    assert contrast(getattr(colours, ink), getattr(colours, paper)) >= 4.5


def test_the_app_never_asks_another_host():
    assert CONFIG["browser"]["gatherUsageStats"] is False
    assert "http" not in (Path(__file__).parents[1] / ".streamlit" / "config.toml").read_text()


def test_bars_hold_p_q_their_overlap_and_the_residual():
    figure = law_figure(law("residual"))
    bars = traces(figure)
    assert bars["target p"].x == (0.5, 0.2, 0.3)
    assert bars["draft q"].x == (0.1, 0.6, 0.3)
    assert bars["overlap: β = 0.400"].x == pytest.approx((0.1, 0.2, 0.1))
    assert bars["residual"].x == pytest.approx((0.8, 0.0, 0.2))
    assert sum(bars["overlap: β = 0.400"].x) == pytest.approx(0.4)
    assert "β = 0.400" in figure.layout.annotations[0].text
    assert bars["overlap: β = 0.400"].marker.color == style.palette("light").shared


def test_every_bar_carries_its_number():
    bars = traces(law_figure(law("residual")))
    assert bars["target p"].text == ("p 0.500", "p 0.200", "p 0.300")
    assert bars["draft q"].text == ("q 0.100", "q 0.600", "q 0.300")
    assert bars["residual"].text == (" 0.800", " 0", " 0.200")


def test_colour_never_speaks_alone():
    bars = traces(law_figure(law("residual")))
    shapes = [bars[name].marker.pattern.shape for name in ("target p", "draft q", "residual")]
    assert len(set(shapes)) == 3


def test_the_drawn_token_is_framed_and_marked_and_the_rejected_one_struck():
    figure = law_figure(law("residual"))
    ticks = figure.layout.yaxis.ticktext
    assert ticks == ("<b>↻ a</b>", "✕ <s>b</s>", "<i>all others</i>")
    assert traces(figure)["residual"].marker.line.width == (2, 0, 0)


def test_the_bonus_place_has_no_draft_law():
    figure = law_figure(law("bonus"))
    assert list(traces(figure)) == ["target p"]
    assert figure.layout.yaxis.ticktext[0] == "<b>★ a</b>"


def test_a_drafted_place_shows_no_residual():
    assert list(traces(law_figure(law("draft")))) == ["overlap: β = 0.400", "target p", "draft q"]


def test_a_bar_under_the_pointer_names_its_token_and_its_number():
    bars = traces(law_figure(law("residual")))
    assert [bars[name].customdata[1] for name in ("overlap: β = 0.400", "target p", "draft q", "residual")] == [
        "b<br>min(p, q): 0.200",
        "b<br>target p: 0.200",
        "b<br>draft q: 0.600",
        "b<br>residual: 0",
    ]


def test_too_many_rows_join_the_others_but_never_the_tokens_in_question():
    texts = [f"t{i}" for i in range(12)]
    figure = law_figure(law("residual", texts, token=10, rejected=11))
    ticks = figure.layout.yaxis.ticktext
    assert len(ticks) == ROWS + 1
    assert "<b>↻ t10</b>" in ticks
    assert "✕ <s>t11</s>" in ticks
    assert sum(traces(figure)["target p"].x) == pytest.approx(0.5 + 0.2 + 10 * 0.01 + 0.3)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>", "&lt;b&gt;"),
        ("<br>", "&lt;br&gt;"),
        ('<a href="x">', '&lt;a href="x"&gt;'),
        ("&lt;", "&amp;lt;"),
        ("$x$", "&#36;x&#36;"),
        ("%{y}", "&#37;{y}"),
        ("\n", "⏎"),
        ("x" * 2000, "x" * 13 + "…"),
    ],
)
def test_tokens_are_text_to_plotly(text, shown):
    figure = law_figure(law("draft", ("a", text), token=0))
    assert figure.layout.yaxis.ticktext[1] == shown
    harmless = law_figure(law("draft", ("a", "b"), token=0))
    assert [bar.hovertemplate for bar in figure.data] == [bar.hovertemplate for bar in harmless.data]
    for bar in figure.data:
        assert bar.customdata[1].count("<") == 1  # our own line break
        assert "$" not in bar.customdata[1]


def test_two_tokens_with_one_label_stay_two_bars():
    figure = law_figure(law("draft", ("x" * 30, "x" * 40, "2026-01-01")))
    for bar in figure.data:
        assert all(b - a == 1 for a, b in pairwise(bar.y))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_takes_its_colours_from_the_palette_and_needs_nothing_else(theme):
    figure = law_figure(law("residual"), theme=theme)
    assert isinstance(figure, go.Figure)
    assert figure.layout.font.color == style.palette(theme).text
    assert traces(figure)["target p"].marker.color == style.palette(theme).target
    assert figure.to_json()


@pytest.fixture(scope="module")
def run():
    return sv.speculate(toy_pair(), [0], draft_length=4, max_new_tokens=200, seed=1)


def test_acceptance_holds_both_rates_of_each_place_and_their_intervals(run):
    figure = traces(acceptance_figure(run))
    for name, shift, kind, what in (
        ("of those judged there", -0.07, "conditional", "judged"),
        ("of all drafted there", 0.07, "unconditional", "drafted"),
    ):
        series = figure[name]
        rates = [getattr(p, kind) for p in sv.measure.acceptance_by_position(run)]
        assert series.x == pytest.approx([d + shift for d in (1, 2, 3, 4)])
        assert series.y == pytest.approx([r.estimate for r in rates])
        highs = [y + up for y, up in zip(series.y, series.error_y.array, strict=True)]
        lows = [y - down for y, down in zip(series.y, series.error_y.arrayminus, strict=True)]
        assert highs == pytest.approx([r.interval[1] for r in rates])
        assert lows == pytest.approx([r.interval[0] for r in rates])
        for i, (told, rate) in enumerate(zip(series.customdata, rates, strict=True), 1):
            assert f"place {i}: {rate.successes} of {rate.trials} {what} there, " in told
    assert figure["of those judged there"].y != figure["of all drafted there"].y


def test_the_two_acceptance_rates_differ_without_colour_too(run):
    judged, drafted = (traces(acceptance_figure(run))[n] for n in ("of those judged there", "of all drafted there"))
    assert (judged.marker.symbol, judged.line.dash) == ("circle", "solid")
    assert (drafted.marker.symbol, drafted.line.dash) == ("diamond-open", "dash")


def test_theory_of_acceptance_is_alpha_and_its_powers(run):
    alpha = sv.measure.alpha(run).estimate
    flat, falling = (t for t in acceptance_figure(run).data if t.name.startswith("theory"))
    assert flat.customdata[0] == f"α̂ = {number(alpha)}"
    assert falling.customdata[1] == f"α̂ⁱ = {number(alpha**2)}"
    assert flat.y == pytest.approx([alpha] * 4)
    assert falling.y == pytest.approx([alpha, alpha**2, alpha**3, alpha**4])
    assert [t.showlegend for t in (flat, falling)] == [None, False]  # one name for both


def test_lengths_are_shares_of_full_rounds_beside_the_law_of_the_measured_alpha(run):
    measured, theory = lengths_figure(run).data
    counts, alpha = sv.measure.round_lengths(run), sv.measure.alpha(run).estimate
    n = counts.total()
    assert n < len(run.rounds)  # the last one drafted fewer
    assert measured.x == theory.x == (1, 2, 3, 4, 5)
    assert measured.y == pytest.approx([counts[i] / n for i in range(1, 6)])
    assert sum(measured.y) == pytest.approx(1)
    assert theory.y == pytest.approx(sv.theory.tokens_law(alpha, 4))
    assert measured.customdata[2].startswith(f"N = 3: {counts[3]} of {n} rounds")
    assert (measured.type, theory.marker.symbol, theory.marker.color) == ("bar", "diamond", "#FFFFFF")


def test_lengths_mark_the_mean_of_each(run):
    figure = lengths_figure(run)
    counts = sv.measure.round_lengths(run)
    mean = sum(n * c for n, c in counts.items()) / counts.total()
    expected = sv.theory.expected_tokens(sv.measure.alpha(run).estimate, 4)
    assert [(line.x0, line.line.dash) for line in figure.layout.shapes] == [
        (pytest.approx(mean), "solid"),
        (pytest.approx(expected), "dash"),
    ]
    assert [bar.name for bar in figure.data] == [
        f"rounds, mean {mean:.2f} (solid line)",
        f"theory from α̂, E[N] = {expected:.2f} (dashed)",
    ]
    assert f"rounds: {counts.total()}" in figure.layout.title.text


def test_alpha_holds_each_judged_beta_and_the_running_mean_with_its_band(run):
    data = traces(alpha_figure(run))
    dots, line, band = (data[n] for n in ("β of a judged place", "α̂, their mean so far", "its 95% band"))
    betas = [(r.index + 1, r.nodes[t.node].beta) for r in run.rounds for t in r.trials]
    assert list(zip(dots.x, dots.y, strict=True)) == betas
    means = sv.measure.alpha_by_round(run)
    first = next(i for i, m in enumerate(means) if m.n)
    assert line.x == tuple(range(first + 1, len(means) + 1))
    assert line.y == tuple(m.estimate for m in means[first:])
    sure = [m.interval for m in means if not math.isnan(m.interval[0])]
    assert band.y == (*[low for low, _ in sure], *[high for _, high in reversed(sure)])
    assert not any(math.isnan(y) for t in data.values() for y in t.y)


def test_alpha_ends_at_the_level_line_and_marks_the_round_of_the_viewer(run):
    (level,) = alpha_figure(run).layout.shapes
    assert level.y0 == level.y1 == pytest.approx(sv.measure.alpha(run).estimate)
    here = alpha_figure(run, round=7)
    assert [s.x0 for s in here.layout.shapes] == [0.5, 8]
    assert "(round 8: " in here.layout.title.text
    for nowhere in (-1, len(run.rounds), None):
        assert len(alpha_figure(run, round=nowhere).layout.shapes) == 1


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_side_views_take_their_colours_from_the_palette(run, view, theme):
    figure = view(run, theme=theme)
    assert figure.layout.paper_bgcolor == style.palette(theme).background
    assert figure.layout.height == 260
    values = {v for v in dataclasses.astuple(style.palette(theme)) if isinstance(v, str)} | set(
        style.palette(theme).more
    )
    assert set(re.findall("#[0-9A-Fa-f]{6}", figure.to_json())) <= values


@pytest.mark.parametrize("view", VIEWS)
def test_side_views_of_a_run_without_judgements_are_one_sentence(run, view):
    plain = sv.autoregress(toy_pair(), [0], max_new_tokens=3)
    for trace in (plain, dataclasses.replace(run, rounds=()), dataclasses.replace(plain, rounds=())):
        figure = view(trace)
        assert not figure.data
        (note,) = figure.layout.annotations
        assert note.text.endswith(".")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("k", [1, 4, 40])
@pytest.mark.parametrize("sampling", [None, GREEDY])
def test_side_views_of_short_runs_hold_only_numbers(view, rounds, k, sampling):
    for pair in (toy_pair(), sv.Pair(always(1), always(1)), sv.Pair(always(1), always(2))):
        trace = sv.speculate(pair, [0], draft_length=k, max_new_tokens=100, sampling=sampling, seed=1)
        figure = view(dataclasses.replace(trace, rounds=trace.rounds[:rounds]))
        assert figure.data
        assert all(math.isfinite(y) for series in figure.data for y in series.y)
        assert figure.layout.yaxis.range[0] == 0


@pytest.mark.parametrize("text", ["<img src=x onerror=alert(1)>", "$x$", "%{y}", "a\nb", "שלום", "x" * 2000])
def test_a_token_under_the_pointer_is_text(run, text):
    nodes = [dataclasses.replace(node, text=text) for node in run.rounds[0].nodes]
    odd = dataclasses.replace(run, rounds=(dataclasses.replace(run.rounds[0], nodes=tuple(nodes)), *run.rounds[1:]))
    told = traces(alpha_figure(odd))["β of a judged place"].customdata[0]
    assert told.count("<") == 1  # our own line break
    assert "$" not in told
    assert "%" not in told
    assert "\n" not in told
    assert len(told) < 100


@pytest.mark.parametrize("most", [1, 8, 9, 16, 17, 40, 41, 500, 10**6])
def test_ticks_stand_at_round_numbers_and_are_few(most):
    step = whole_steps(most)
    assert most / step <= 8
    assert str(step).strip("0") in ("1", "2", "5")
    assert step == 1 or most / step > 8 * 0.4  # no fewer than need be


def contrast(one, other):
    """WCAG 2.2: (lighter + 0.05) / (darker + 0.05) of relative luminances."""
    low, high = sorted(luminance(c) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
