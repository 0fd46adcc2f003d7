"""What a rule emits beside the target's law: token by token, over K, over worse drafts and over a mismatch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from specviz.figures import style
from specviz.figures.panel import panel_layout, whole_steps
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.timeline import label, number, signed

HEIGHT = 300
LEAST = 1e-17  # the foot of a logarithmic axis of total variation, where 0 stands too
_NAME = 14  # characters of a token under a bar
_NUMBERED = 12  # with more tokens, bars carry no numbers
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "5px,2px,1px,2px")
_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "x", "triangle-down", "pentagon")
_LINE_GAP, _RIGHT = 0.062, 150  # between two names at the right, of the figure's height; room for them, pixels


@dataclass(frozen=True, slots=True)
class Line:
    """One rule's values along the axis; index: which colour, dash and mark it has in every figure, 0 the exact rule."""

    name: str
    index: int
    values: tuple[float, ...]


def emitted_figure(
    names: Sequence[str], target_probs: Sequence[float], emitted: Sequence[float], *, theme: Theme = "light"
) -> go.Figure:
    """p as bars and what the rule emits as dots: at the bars' tops where it emits the target's law."""
    colours, places = style.palette(theme), list(range(len(names)))
    layout = panel_layout(theme, _("One token: p, and what is emitted"), "", "", height=HEIGHT)
    layout["xaxis"] |= _token_axis(names)
    layout["yaxis"] |= {"range": [0, 1.15 * max(*target_probs, *emitted)], "nticks": 5}
    told = _("{token}<br>p {p}<br>emitted {emitted}<br>difference {difference}")
    hovers = [
        told.format(token=_safe(n, 60), p=number(p), emitted=number(e), difference=number(e - p))
        for n, p, e in zip(names, target_probs, emitted, strict=True)
    ]
    bars = {
        "type": "bar",
        "name": _("target p"),
        "x": places,
        "y": list(target_probs),
        "width": 0.7,
        "marker": {"color": style.faint(colours.target, 0.35), "line": {"color": colours.target, "width": 1.5}},
    }
    dots = {
        "type": "scatter",
        "mode": "markers",
        "name": _("emitted"),
        "x": places,
        "y": list(emitted),
        "marker": {"symbol": "diamond", "size": 8 if len(names) <= 20 else 5, "color": colours.accepted},
    }
    return go.Figure([trace | _hover(hovers) for trace in (bars, dots)], layout)


def bias_figure(
    names: Sequence[str],
    target_probs: Sequence[float],
    emitted: Sequence[float],
    title: str,
    *,
    height: int = HEIGHT,
    theme: Theme = "light",
) -> go.Figure:
    """Emitted less p, by token: what it gains stands up and plain, what it loses hangs down and hatched."""
    colours = style.palette(theme)
    gains = [e - p for p, e in zip(target_probs, emitted, strict=True)]
    layout = panel_layout(theme, title, "", _("emitted − p"), height=height)
    most = max(max(map(abs, gains)), LEAST)
    layout["xaxis"] |= _token_axis(names)
    layout["yaxis"] |= {"range": [-1.45 * most, 1.45 * most], "nticks": 5, "exponentformat": "power"}
    layout["margin"] |= {"l": 66}
    layout["barmode"] = "overlay"
    layout["shapes"] = [_flat(0.0, colours.text, "solid", 1)]
    told = _("{token}<br>p {p}<br>emitted {emitted}<br>{gain}")
    traces = []
    for name, colour, hatch, of_kind in (
        (_("gains"), colours.target, "", [g >= 0 for g in gains]),
        (_("loses"), colours.rejected, style.HATCH["draft"], [g < 0 for g in gains]),
    ):
        chosen = [i for i, fits in enumerate(of_kind) if fits]
        hovers = [
            told.format(
                token=_safe(names[i], 60), p=number(target_probs[i]), emitted=number(emitted[i]), gain=signed(gains[i])
            )
            for i in chosen
        ]
        bar = {
            "type": "bar",
            "name": name,
            "x": chosen,
            "y": [gains[i] for i in chosen],
            "width": 0.7,
            "marker": {"color": colour, "pattern": _hatch(hatch)},
            "text": [signed(gains[i]) for i in chosen] if len(names) <= _NUMBERED else None,
            "textposition": "outside",
            "textfont": {"size": 12},
            "cliponaxis": False,
            "constraintext": "none",
            "showlegend": True,
        }
        traces.append(bar | _hover(hovers))
    return go.Figure(traces, layout)


def lines_figure(
    at: Sequence[float],
    lines: Sequence[Line],
    title: str,
    x: str,
    *,
    logarithmic: bool = False,
    whole: bool = False,
    here: float | None = None,
    height: int = HEIGHT,
    theme: Theme = "light",
) -> go.Figure:
    """Total variation from the target, a line per rule; several have their names at the right ends.

    logarithmic: of total variation, from LEAST; 0 is drawn there. whole: `at` counts something. here: an upright line.
    """
    colours = style.palette(theme)
    layout = panel_layout(theme, title, x, "TV", height=height, legend=False)
    low, high = at[0], at[-1]
    top = max(max(line.values) for line in lines)
    span = (math.log10(LEAST), 0.3) if logarithmic else (-0.03 * (top or 1.0), 1.08 * (top or 1.0))
    layout["margin"] |= {"r": _RIGHT if len(lines) > 1 else 24, "l": 60}
    room = 0.04 * (high - low) or 0.5
    layout["xaxis"] |= {"range": [low - room, high + room]}
    if whole:
        layout["xaxis"] |= {"tick0": 1, "dtick": whole_steps(int(high))}
    layout["yaxis"] |= {"range": list(span), "nticks": 6}
    if logarithmic:
        layout["yaxis"] |= {"type": "log", "exponentformat": "power", "dtick": 4}
    if len(lines) > 1:
        heights = _apart([_height(line.values[-1], span, logarithmic) for line in lines])
        layout["annotations"] = [_end_name(line, at_y, colours) for line, at_y in zip(lines, heights, strict=True)]
    if here is not None:
        mark = {"color": colours.text, "width": 1.5, "dash": "dash"}
        layout["shapes"] = [{"type": "line", "x0": here, "x1": here, "y0": 0, "y1": 1, "yref": "paper", "line": mark}]
    return go.Figure([_line(at, line, colours, logarithmic, whole, x) for line in lines], layout)


def _line(
    at: Sequence[float], line: Line, colours: style.Palette, logarithmic: bool, marked: bool, x: str
) -> dict[str, Any]:
    told = _("{rule}<br>{x}: {at}<br>TV {value}")
    hovers = [
        told.format(rule=_safe(line.name, 60), x=_safe(x, 60), at=number(a), value=number(v))
        for a, v in zip(at, line.values, strict=True)
    ]
    return {
        "type": "scatter",
        "mode": "lines+markers" if marked or len(at) == 1 else "lines",
        "name": line.name,
        "x": list(at),
        "y": [max(v, LEAST) for v in line.values] if logarithmic else list(line.values),
        "line": {
            "color": colour_of(line.index, colours),
            "width": 3.5 if line.index == 0 else 2,
            "dash": _DASHES[line.index % len(_DASHES)],
        },
        "marker": {"symbol": _SYMBOLS[line.index % len(_SYMBOLS)], "size": 8, "color": colour_of(line.index, colours)},
    } | _hover(hovers)


def colour_of(index: int, colours: style.Palette) -> str:
    """The colour of a rule in every figure: the exact rule has that of what is accepted."""
    others = (colours.target, colours.draft, colours.rejected, colours.resampled, *colours.more)
    return colours.accepted if index == 0 else others[(index - 1) % len(others)]


def _end_name(line: Line, height: float, colours: style.Palette) -> dict[str, Any]:
    return {
        "text": f"<b>{_safe(line.name, 22)}</b> {number(line.values[-1], 2)}",
        "x": 1,
        "y": height,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 11, "color": colours.text},
    }


def _apart(heights: Sequence[float]) -> list[float]:
    """The heights moved up and down, in their order, until no two names overlap."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = dict.fromkeys(order, 0.0)
    below = -math.inf
    for i in order:
        below = placed[i] = max(heights[i], below + _LINE_GAP)
    above = 1.0 + _LINE_GAP
    for i in reversed(order):  # what was pushed out at the top comes back, and pushes down what is in its way
        above = placed[i] = min(placed[i], above - _LINE_GAP)
    return [placed[i] for i in range(len(heights))]


def _height(value: float, span: tuple[float, float], logarithmic: bool) -> float:
    """Where it stands between the foot of the axis, 0, and its top, 1."""
    at = math.log10(max(value, LEAST)) if logarithmic else value
    return (at - span[0]) / (span[1] - span[0])


def _token_axis(names: Sequence[str]) -> dict[str, Any]:
    step = whole_steps(len(names), 12)
    chosen = range(len(names)) if len(names) <= _NUMBERED else range(0, len(names), step)
    turned = sum(min(len(name), _NAME) for name in names) > 50 and len(names) <= _NUMBERED
    return {
        "range": [-0.6, len(names) - 0.4],
        "tickvals": list(chosen),
        "ticktext": [_safe(names[i], _NAME) for i in chosen],
        "tickangle": -35 if turned else 0,
        "automargin": True,
    }


def _flat(y: float, colour: str, dash: str, width: float) -> dict[str, Any]:
    line = {"color": colour, "dash": dash, "width": width}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y, "line": line}


def _hatch(shape: str) -> dict[str, Any]:
    return {"shape": shape, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.75)", "size": 6, "solidity": 0.25}


def _hover(texts: Sequence[str]) -> dict[str, Any]:
    return {"customdata": list(texts), "hovertemplate": "%{customdata}<extra></extra>"}


def _safe(text: str, limit: int) -> str:
    return style.escaped(label(0, text, limit))
