"""E[N] over K and the law of N at one rate, and what both become where two rates take turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from specviz import theory
from specviz.figures import style
from specviz.figures.panel import panel_layout, whole_steps
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.simulation.lengths import Lengths
from specviz.timeline import number

FAMILY = (0.5, 0.7, 0.8, 0.9, 0.95)  # rates whose curves stand beside the current one
HEIGHT = 320
_LABELLED = 12  # bars that have room for their numbers
_CURVE = 24  # K up to which curves are drawn, unless the current K is greater
_APART = 0.06  # of the height: labels nearer than this would touch


def tokens_law_figure(alpha: float, draft_length: int, drawn: Lengths, *, theme: Theme = "light") -> go.Figure:
    """P(N = n) as bars, n = 1..K + 1, E[N] as an upright line, and the shares of drawn rounds as diamonds."""
    colours, law = style.palette(theme), theory.tokens_law(alpha, draft_length).tolist()
    mean, longest = theory.expected_tokens(alpha, draft_length), draft_length + 1
    lengths, counts, shares = list(range(1, longest + 1)), drawn.counts.tolist(), drawn.shares.tolist()
    top = 1.2 * max(*law, *shares)
    layout = panel_layout(theme, _("Tokens N of one target pass"), "n", "P(N = n)", height=HEIGHT)
    layout["xaxis"] |= {"range": [0.4, longest + 0.6], "tick0": 1, "dtick": whole_steps(longest, 10)}
    layout["yaxis"] |= {"range": [0, top], "nticks": 5}
    line = {"color": colours.text, "width": 2, "dash": "dash"}
    layout["shapes"] = [{"type": "line", "x0": mean, "x1": mean, "y0": 0, "y1": top, "line": line}]
    if longest <= _LABELLED:
        layout["annotations"] = [
            _note(number(p, 2), colours) | {"x": n, "y": max(p, share), "xanchor": "center", "yshift": 15}
            for n, p, share in zip(lengths, law, shares, strict=True)
        ]
    told, seen = _("N = {n}: {prob}"), _("N = {n}: {count} of {rounds} drawn rounds, {share}")
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": _("formula, E[N] = {mean} (dashed)").format(mean=number(mean)),
            "x": lengths,
            "y": law,
            "width": 0.62,
            "marker": {"color": style.faint(colours.target, 0.35), "line": {"color": colours.target, "width": 1.5}},
            "customdata": [told.format(n=n, prob=number(p)) for n, p in zip(lengths, law, strict=True)],
            "hovertemplate": "%{customdata}<extra></extra>",
        },
        _diamonds(colours)
        | {
            "name": _("drawn, mean {mean}").format(mean=number(drawn.mean)),
            "x": lengths,
            "y": shares,
            "customdata": [
                seen.format(n=n, count=count, rounds=drawn.n_rounds, share=number(share))
                for n, count, share in zip(lengths, counts, shares, strict=True)
            ],
        },
    ]
    return go.Figure(data, layout)


def tokens_family_figure(alpha: float, draft_length: int, *, theme: Theme = "light") -> go.Figure:
    """E[N] over K for several rates, each named at its end, the current one bold with its point and its ceiling."""
    colours, longest = style.palette(theme), max(_CURVE, draft_length)
    lengths = np.arange(1, longest + 1)
    rates = [rate for rate in FAMILY if abs(rate - alpha) > 1e-9]
    curves = {rate: theory.expected_tokens(rate, lengths) for rate in (*rates, alpha)}
    ceiling = theory.break_even_alpha(1 - alpha) if alpha < 1 else np.inf  # 1/(1 - α)
    highest = max(float(curve[-1]) for curve in curves.values())
    top = 1.1 * (ceiling if highest < ceiling < 1.25 * highest else highest)
    layout = panel_layout(theme, _("E[N] over K, and its ceiling"), "K", "E[N]", height=HEIGHT, legend=False)
    layout["xaxis"] |= {"range": [0, longest * 1.2], "tick0": 0, "dtick": whole_steps(longest, 7)}
    layout["yaxis"] |= {"range": [0, top], "nticks": 6}
    layout["annotations"] = [
        _at_end(longest, float(curve[-1]), f"α = {rate:.4g}", colours.text if rate == alpha else colours.muted)
        for rate, curve in curves.items()
        if rate == alpha or abs(float(curve[-1]) - float(curves[alpha][-1])) > _APART * top
    ]
    if ceiling <= top:
        line = {"color": colours.text, "width": 1.5, "dash": "dash"}
        layout["shapes"] = [{"type": "line", "x0": 0, "x1": longest, "y0": ceiling, "y1": ceiling, "line": line}]
        said, at = _("ceiling 1/(1 − α) = {value}"), {"x": longest, "xanchor": "right", "y": ceiling, "yshift": 10}
    else:
        said = _("ceiling 1/(1 − α) = {value}, above this figure") if alpha < 1 else _("no ceiling at α = 1")
        at = {"x": 0.02 * longest, "y": top, "yanchor": "top"}
    layout["annotations"].append(_note(said.format(value=number(ceiling)), colours) | at)
    told = _("α = {alpha}, K = {k}: E[N] = {mean}")
    hover = {"hovertemplate": "%{customdata}<extra></extra>"}
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": lengths.tolist(),
            "y": curve.tolist(),
            "line": {"color": colours.target, "width": 3.5}
            if rate == alpha
            else {"color": colours.muted, "width": 1.25},
            "customdata": [
                told.format(alpha=f"{rate:.4g}", k=k, mean=number(mean))
                for k, mean in zip(lengths.tolist(), curve.tolist(), strict=True)
            ],
        }
        | hover
        for rate, curve in curves.items()
    ]
    mean = theory.expected_tokens(alpha, draft_length)
    data.append(
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": [draft_length],
            "y": [mean],
            "text": [f"<b>{number(mean)}</b>"],
            "textposition": "top center",
            "marker": {"size": 12, "color": colours.target, "line": {"color": colours.background, "width": 2}},
            "customdata": [told.format(alpha=f"{alpha:.4g}", k=draft_length, mean=number(mean))],
        }
        | hover
    )
    return go.Figure(data, layout)


def rate_by_place_figure(
    rates: theory.TwoRates, draft_length: int, drawn: Lengths, *, theme: Theme = "light"
) -> go.Figure:
    """The acceptance rate at each place among the rounds that get there: one rate says level, two rates say rising."""
    colours, places = style.palette(theme), np.arange(1, draft_length + 1).tolist()
    whole = theory.TwoRates(rates.easy, rates.hard, rates.share, 1.0)
    lines = (
        (_("one rate for the whole round"), whole, {"color": colours.muted, "width": 1.5, "dash": "dot"}),
        (_("these two rates"), rates, {"color": colours.target, "width": 3}),
    )
    layout = panel_layout(theme, _("Acceptance where guess n is judged"), "n", "", height=HEIGHT)
    layout["xaxis"] |= {"range": [0.5, draft_length + 0.5], "tick0": 1, "dtick": whole_steps(draft_length, 10)}
    room = 0.03 + 0.15 * (rates.easy - rates.hard)
    layout["yaxis"] |= {"range": [rates.hard - room, rates.easy + room], "nticks": 6}
    layout["shapes"] = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": rate, "y1": rate, "line": {"color": colours.line}}
        for rate in (rates.easy, rates.hard)
    ]
    layout["annotations"] = [
        _note(text.format(rate=number(rate)), colours)
        | {"xref": "paper", "x": 1, "xanchor": "right", "y": rate, "yshift": 9 * side}
        for text, rate, side in ((_("easy, {rate}"), rates.easy, 1), (_("hard, {rate}"), rates.hard, -1))
        if rates.easy > rates.hard
    ]
    told = _("guess {n}: {rate}")
    data: list[dict[str, Any]] = [
        _line(_("the formula: α at every place"), places, np.full(draft_length, rates.alpha), told)
        | {"line": {"color": colours.text, "width": 1.5, "dash": "dash"}}
    ]
    for name, kinds, line in lines:
        data.append(
            _line(name, places, theory.rate_by_place(theory.reached(kinds, draft_length)), told) | {"line": line}
        )
    seen = theory.rate_by_place(drawn.reached)
    told = _("guess {n}: {rate} of the drawn rounds that got there")
    data.append(_line(_("drawn"), places, seen, told) | _diamonds(colours))
    return go.Figure(data, layout)


def missed_figure(rates: theory.TwoRates, draft_length: int, *, theme: Theme = "light") -> go.Figure:
    """How far E[N] is from the formula at the mean rate, in per cent of the formula's, over K."""
    colours, longest = style.palette(theme), max(_CURVE // 2, draft_length)
    lengths = np.arange(1, longest + 1).tolist()
    anywhere, text = missed(rates, longest)
    layout = panel_layout(theme, _("E[N] less the formula's, in per cent"), "K", "", height=HEIGHT)
    layout["xaxis"] |= {"range": [0.5, longest + 0.5], "tick0": 0, "dtick": whole_steps(longest, 8)}
    most = max(0.5, float(np.abs([*anywhere, *text]).max()))
    layout["yaxis"] |= {"range": [-1.2 * most, 1.2 * most], "nticks": 6, "ticksuffix": "%"}
    layout["shapes"] = [
        {"type": "line", "x0": 0, "x1": longest + 0.5, "y0": 0, "y1": 0, "line": {"color": colours.text, "width": 1.5}},
        _upright(draft_length, 1.2 * most, colours.muted),
    ]
    told = _("K = {n}: {rate}%")
    marks = {"mode": "lines+markers"}
    return go.Figure(
        [
            _line(_("rounds that begin anywhere"), lengths, anywhere, told)
            | marks
            | {"line": {"color": colours.target, "width": 3}, "marker": {"symbol": "circle", "size": 6}},
            _line(_("rounds one after another in a text"), lengths, text, told)
            | marks
            | {
                "line": {"color": colours.rejected, "width": 3, "dash": "dash"},
                "marker": {"symbol": "square", "size": 6},
            },
        ],
        layout,
    )


def missed(rates: theory.TwoRates, longest: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Per cent by which E[N] differs from the formula's, K = 1..longest: of rounds begun anywhere, and in a text."""
    formula = theory.expected_tokens(rates.alpha, np.arange(1, longest + 1))
    anywhere, text = theory.reached(rates, longest).cumsum()[1:], theory.tokens_in_text(rates, longest)[1:]
    return 100 * (anywhere / formula - 1), 100 * (text / formula - 1)


def _line(name: str, x: list[int], y: npt.NDArray[np.float64], told: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y.tolist(),
        "customdata": [told.format(n=n, rate=number(value)) for n, value in zip(x, y.tolist(), strict=True)],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _diamonds(colours: style.Palette) -> dict[str, Any]:
    """What was drawn at random: hollow, so that it shows over a bar and a line."""
    line = {"color": colours.text, "width": 1.5}
    return {
        "type": "scatter",
        "mode": "markers",
        "marker": {"symbol": "diamond", "size": 9, "color": colours.background, "line": line},
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _upright(x: float, reach: float, colour: str) -> dict[str, Any]:
    line = {"color": colour, "width": 1.5, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": -reach, "y1": reach, "line": line}


def _at_end(x: float, y: float, text: str, colour: str) -> dict[str, Any]:
    shown = {"x": x, "y": y, "text": text, "showarrow": False, "xanchor": "left", "xshift": 4}
    return shown | {"font": {"size": 12, "color": colour}}


def _note(text: str, colours: style.Palette) -> dict[str, Any]:
    return {"text": text, "showarrow": False, "xanchor": "left", "font": {"size": 12, "color": colours.text}}
