"""Candidate drafts: their speed-up over c or over size, and where they stand among lines of equal speed-up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specviz import theory
from specviz.figures import style
from specviz.figures.panel import blank_figure, panel_layout
from specviz.figures.style import Palette, Theme
from specviz.i18n import _
from specviz.theory import Standing
from specviz.timeline import number

HEIGHT = 330
_LONGEST = 64  # K
LEVELS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0, 40.0)  # speed-ups that have a line
_LABEL = 20  # characters of a name beside its point
_NAMED = 8  # with more candidates only the first ones carry their names
_NEAR = 0.2  # of the figure's width, between two names
_APART = 0.055  # in α, between the right ends of two lines
_RATES = np.linspace(0.0, 1.0, 101)


def speedups_figure(
    names: Sequence[str],
    standings: Sequence[Standing],
    *,
    sizes: Sequence[float] | None = None,
    theme: Theme = "light",
) -> go.Figure:
    """Speed-up at each candidate's best K over c, or over its size: too small guesses badly, too large costs too much.

    names, sizes: one per candidate, by `Standing.index`. sizes: million parameters. standings: fastest first.
    """
    title = _("Speed-up of each draft at its best K up to {most}").format(most=_LONGEST)
    if not standings:
        return blank_figure(title, _("No candidate yet."), theme=theme, height=HEIGHT)
    colours = style.palette(theme)
    x_name = _("c = T_p/T_q: a cheaper draft is further right") if sizes is None else _("size, million parameters")
    layout = panel_layout(theme, title, x_name, "", height=HEIGHT, legend=False)
    places = {s.index: s.cost_ratio if sizes is None else sizes[s.index] for s in standings}
    top = 1.22 * max(1.0, standings[0].speedup)
    axis = _log_axis(list(places.values()))
    layout["xaxis"] |= axis
    layout["yaxis"] |= {"range": [0, top], "nticks": 6, "ticksuffix": "×"}
    layout["shapes"] = [_level_line(colours)]
    layout["annotations"] = [_level_name(colours)]
    line = sorted(standings, key=lambda s: places[s.index])
    return go.Figure(
        [
            {
                "type": "scatter",
                "mode": "lines",
                "x": [places[s.index] for s in line],
                "y": [s.speedup for s in line],
                "line": {"color": colours.line, "width": 3},
                "hoverinfo": "skip",
            },
            _points(
                names,
                standings,
                [places[s.index] for s in standings],
                [s.speedup for s in standings],
                axis["range"],
                colours,
            ),
        ],
        layout,
    )


def plane_figure(names: Sequence[str], standings: Sequence[Standing], *, theme: Theme = "light") -> go.Figure:
    """Lines of equal speed-up at the best K in the plane of c and α, and the candidates on it.

    From the winner, a line down to the α at which it would tie with the best of the others and the target alone.
    """
    title = _("Lines of equal speed-up, each at its best K up to {most}").format(most=_LONGEST)
    colours = style.palette(theme)
    ratios = [s.cost_ratio for s in standings] or [1.0, 100.0]
    layout = panel_layout(theme, title, "c = T_p/T_q", "α", height=HEIGHT, legend=False)
    axis = _log_axis([*ratios, 1.0, 30.0])
    layout["xaxis"] |= axis
    layout["yaxis"] |= {"range": [0, 1.09], "dtick": 0.2}
    low, high = (10**end for end in axis["range"])
    lines = _levels(low, high)
    layout["annotations"] = [_line_name(level, points[0], colours) for level, points in lines.items()]
    traces = [_line(level, points, colours) for level, points in lines.items()]
    if standings:
        traces += _slack(standings[0], colours)
        traces.append(_points(names, standings, ratios, [s.alpha for s in standings], axis["range"], colours))
    return go.Figure(traces, layout)


def level_rows(standings: Sequence[Standing]) -> list[tuple[float, float, float]]:
    """(speed-up, c, α) along each line of `plane_figure`, for its table."""
    low, high = (10**end for end in _log_axis([*(s.cost_ratio for s in standings), 1.0, 30.0])["range"])
    return [(level, c, rate) for level, points in _levels(low, high).items() for c, rate in points]


def _levels(low: float, high: float) -> dict[float, list[tuple[float, float]]]:
    """(c, α) along each line that crosses the plane, from its right edge: for each α, the c that gives the speed-up."""
    levels = np.array(LEVELS)
    ratios = theory.cost_ratio_for_speedup(levels[:, None], _RATES)  # [levels, rates]
    edges = theory.alpha_for_speedup(levels, high)
    lines: dict[float, list[tuple[float, float]]] = {}
    below = -1.0  # the first one, where speculation begins to pay, is always there
    for level, along, edge in zip(LEVELS, ratios, edges.tolist(), strict=True):
        inside = (along >= low) & (along < high)
        points = list(zip(along[inside].tolist(), _RATES[inside].tolist(), strict=True))
        if points and edge - below >= _APART:  # further ones would crowd each other, and their names
            lines[level], below = [(high, edge), *points], edge
    return lines


def _line(level: float, points: list[tuple[float, float]], colours: Palette) -> dict[str, Any]:
    even = level == 1
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [c for c, _rate in points],
        "y": [rate for _c, rate in points],
        "line": {
            "color": colours.text if even else colours.muted,
            "width": 2 if even else 1,
            "dash": "dash" if even else "solid",
        },
        "hoverinfo": "skip",
    }


def _line_name(level: float, end: tuple[float, float], colours: Palette) -> dict[str, Any]:
    """At the line's right end, inside the plane."""
    return {
        "x": math.log10(end[0]),
        "y": end[1],
        "text": _("1×: no gain below") if level == 1 else f"{level:g}×",
        "showarrow": False,
        "xanchor": "right",
        "yanchor": "bottom",
        "font": {"size": 11, "color": colours.muted},
        "bgcolor": style.faint(colours.background, 0.75),
        "borderpad": 0,
    }


def _slack(winner: Standing, colours: Palette) -> list[dict[str, Any]]:
    """How far the winner's α may fall before the choice changes."""
    tie = winner.tie_alpha
    if not tie < winner.alpha:
        return []
    told = _("until α = {alpha} the choice stands").format(alpha=number(tie))
    return [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "x": [winner.cost_ratio] * 2,
            "y": [winner.alpha, tie],
            "line": {"color": colours.accepted, "width": 3},
            "marker": {
                "symbol": ["circle", "line-ew"],
                "size": [1, 16],
                "line": {"width": 3, "color": colours.accepted},
            },
            "customdata": [told] * 2,
            "hovertemplate": "%{customdata}<extra></extra>",
        }
    ]


def _points(
    names: Sequence[str],
    standings: Sequence[Standing],
    x: Sequence[float],
    y: Sequence[float],
    ends: Sequence[float],
    colours: Palette,
) -> dict[str, Any]:
    """The winner is a star, the others are circles; each carries its name. ends: of the x axis, as powers of ten."""
    told = _("{name}<br>α = {alpha}, c = {c}<br>K* = {k}: {speedup}×")
    capped = _("{name}<br>α = {alpha}, c = {c}<br>best K up to {most}, {k}: {speedup}×")
    wins = [i == 0 and s.speedup > 1 for i, s in enumerate(standings)]
    sides = _sides(x, y, ends)
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": list(x),
        "y": list(y),
        "cliponaxis": False,
        "marker": {
            "symbol": ["star" if win else "circle" for win in wins],
            "size": [16 if win else 10 for win in wins],
            "color": [colours.accepted if win else colours.draft for win in wins],
            "line": {"width": 1.5, "color": colours.background},
        },
        "text": [_name(names[s.index], i) for i, s in enumerate(standings)],
        "textposition": sides,
        "textfont": {"size": 12, "color": colours.text},
        "customdata": [
            (capped if s.peak_length > s.draft_length else told).format(
                most=_LONGEST,
                name=style.escaped(names[s.index]),
                alpha=number(s.alpha),
                c=number(s.cost_ratio),
                k=s.draft_length,
                speedup=number(s.speedup, 4),
            )
            for s in standings
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _sides(x: Sequence[float], y: Sequence[float], ends: Sequence[float]) -> list[str]:
    """Names over their points, but under one that stands lower than a near neighbour on its left."""
    low, high = ends
    before, height = -math.inf, 0.0
    sides = ["top center"] * len(x)
    for i in sorted(range(len(x)), key=lambda i: (x[i], -y[i])):
        place = (math.log10(x[i]) - low) / (high - low)
        if place - before < _NEAR and y[i] < height:
            sides[i] = "bottom center"
        before, height = place, y[i]
    return sides


def _name(name: str, place: int) -> str:
    if place >= _NAMED:
        return ""
    return style.escaped(name if len(name) <= _LABEL else name[: _LABEL - 1] + "…")


def _log_axis(values: Sequence[float]) -> dict[str, Any]:
    """A log axis that holds these with some room, with ticks at 1, 2 and 5 of each power."""
    low, high = math.log10(min(values)), math.log10(max(values))
    room = max(0.16, 0.09 * (high - low))
    width = high - low + 2 * room
    steps = (1, 1.5, 2, 3, 4, 5, 7) if width < 0.9 else (1, 2, 5) if width < 4 else (1,)
    ticks = [step * 10.0**power for power in range(math.floor(low - room), math.ceil(high + room)) for step in steps]
    return {
        "type": "log",
        "range": [low - room, high + room],
        "tickvals": ticks,
        "ticktext": [f"{tick:g}" for tick in ticks],
    }


def _level_line(colours: Palette) -> dict[str, Any]:
    line = {"color": colours.text, "width": 1.5, "dash": "dash"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 1, "y1": 1, "line": line}


def _level_name(colours: Palette) -> dict[str, Any]:
    return {
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "y": 1,
        "yanchor": "top",
        "text": _("the target alone"),
        "showarrow": False,
        "font": {"size": 12, "color": colours.muted},
    }
