"""β token by token along the text, and tokens per target pass under several draft lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from specviz import measure, theory
from specviz.figures import style
from specviz.figures.panel import blank_figure, panel_layout, whole_steps
from specviz.figures.style import MARKS, Palette, Theme
from specviz.i18n import _
from specviz.records import Trace
from specviz.timeline import Place, label, number

WINDOW = 6  # judged places of a running mean


def beta_figure(places: Sequence[Place], *, theme: Theme = "light") -> go.Figure:
    """β at each judged token's place, in the order of the text, with the mean of the last few."""
    title = _("β along the text, and the mean of {n} places").format(n=WINDOW)
    judged = [(i, place, place.beta) for i, place in enumerate(places, 1) if place.beta is not None]
    if not judged:
        return blank_figure(title, _("No draft has been judged."), theme=theme)
    colours = style.palette(theme)
    layout = panel_layout(theme, title, _("token of the text"), "β")
    layout["xaxis"] |= {"range": [0.3, len(places) + 0.7], "tick0": 0, "dtick": whole_steps(len(places), 12)}
    layout["yaxis"] |= {"range": [0, 1.04], "dtick": 0.25}
    kept = [one for one in judged if one[1].outcome == "accepted"]
    fallen = [one for one in judged if one[1].outcome != "accepted"]
    traces = [
        _bars(kept, _("a draft was accepted"), colours.accepted, ""),
        _bars(fallen, _("one was rejected, this token resampled"), colours.resampled, style.HATCH["residual"]),
        _mean(judged, colours),
    ]
    return go.Figure([trace for trace in traces if trace["x"]], layout)


def several_figure(traces: Sequence[Trace], *, theme: Theme = "light") -> go.Figure:
    """Tokens per target pass of runs with different K, with 95% intervals, and E[N] at each run's own α̂."""
    title = _("Tokens per target pass under several K")
    if not traces:
        return blank_figure(title, _("No run has ended yet."), theme=theme)
    colours = style.palette(theme)
    layout = panel_layout(theme, title, "K", "")
    ks = [trace.draft_length for trace in traces]
    means = [measure.tokens_per_round(trace) for trace in traces]
    rates = [measure.alpha(trace) for trace in traces]
    expected = [
        theory.expected_tokens(rate.estimate, k) if rate.n else math.nan for rate, k in zip(rates, ks, strict=True)
    ]
    ends = [mean.interval for mean in means]
    most = max(
        [*(m.estimate for m in means), *(high for _low, high in ends if high > 0), *filter(math.isfinite, expected)]
    )
    layout["xaxis"] |= {"type": "category"}
    layout["yaxis"] |= {"range": [0, 1.1 * most], "nticks": 6}
    told = _("K = {k}: {mean} tokens per pass, {n} passes<br>95%: {low} to {high}")
    return go.Figure(
        [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": _("E[N] from the run's α̂"),
                "x": [str(k) for k in ks],
                "y": expected,
                "line": {"color": colours.muted, "width": 1.5, "dash": "dot"},
                "marker": {"symbol": "diamond-open", "size": 9, "color": colours.muted},
                "customdata": [
                    _("K = {k}: E[N] = {mean}").format(k=k, mean=number(value))
                    for k, value in zip(ks, expected, strict=True)
                ],
                "hovertemplate": "%{customdata}<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "markers",
                "name": _("measured, with its 95% interval"),
                "x": [str(k) for k in ks],
                "y": [mean.estimate for mean in means],
                "marker": {"symbol": "circle", "size": 10, "color": colours.target},
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [_reach(high, m.estimate) for (_low, high), m in zip(ends, means, strict=True)],
                    "arrayminus": [_reach(m.estimate, low) for (low, _high), m in zip(ends, means, strict=True)],
                    "thickness": 1.5,
                    "width": 4,
                    "color": colours.target,
                },
                "customdata": [
                    told.format(k=k, mean=number(m.estimate), n=m.n, low=number(low), high=number(high))
                    for k, m, (low, high) in zip(ks, means, ends, strict=True)
                ],
                "hovertemplate": "%{customdata}<extra></extra>",
            },
        ],
        layout,
    )


def _bars(places: Sequence[tuple[int, Place, float]], name: str, colour: str, hatch: str) -> dict[str, Any]:
    told = _("token {i}, round {round}: {mark} {token}<br>β = {beta}")
    return {
        "type": "bar",
        "name": name,
        "x": [i for i, _place, _beta in places],
        "y": [beta for _i, _place, beta in places],
        "width": 0.8,
        "marker": {
            "color": style.faint(colour, 0.45),
            "line": {"color": colour, "width": 1},
            "pattern": {"shape": hatch, "fgcolor": colour, "size": 5},
        },
        "customdata": [
            told.format(
                i=i,
                round=place.round + 1,
                mark=MARKS[place.outcome],
                token=style.escaped(label(place.token, place.text)),
                beta=number(beta),
            )
            for i, place, beta in places
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _mean(judged: Sequence[tuple[int, Place, float]], colours: Palette) -> dict[str, Any]:
    """Over the last WINDOW judged places, once there are as many."""
    betas = [beta for _i, _place, beta in judged]
    ends = range(WINDOW, len(judged) + 1)
    means = [math.fsum(betas[end - WINDOW : end]) / WINDOW for end in ends]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _("mean of the last {n}").format(n=WINDOW),
        "x": [judged[end - 1][0] for end in ends],
        "y": means,
        "line": {"color": colours.text, "width": 2},
        "customdata": [_("mean of {n}: {beta}").format(n=WINDOW, beta=number(mean)) for mean in means],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _reach(one: float, other: float) -> float:
    """Of a whisker; none where the interval is not known."""
    return one - other if math.isfinite(one - other) else 0.0
