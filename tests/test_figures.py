"""Figures hold the numbers of the record, say them without colour too, and show tokens as text."""

import tomllib
from itertools import pairwise
from pathlib import Path

import plotly.graph_objects as go
import pytest

from specviz.figures import style
from specviz.figures.laws import ROWS, law_figure
from specviz.records import Candidate
from specviz.timeline import Law, Tail

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
    assert bars["both: min(p, q)"].x == pytest.approx((0.1, 0.2, 0.1))
    assert bars["residual"].x == pytest.approx((0.8, 0.0, 0.2))
    assert sum(bars["both: min(p, q)"].x) == pytest.approx(0.4)
    assert "β = 0.400" in figure.layout.annotations[0].text


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
    assert list(traces(law_figure(law("draft")))) == ["both: min(p, q)", "target p", "draft q"]


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
    assert all("<" not in bar.customdata[1][0] and "$" not in bar.customdata[1][0] for bar in figure.data)


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


def contrast(one, other):
    """WCAG 2.2: (lighter + 0.05) / (darker + 0.05) of relative luminances."""
    low, high = sorted(luminance(c) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
