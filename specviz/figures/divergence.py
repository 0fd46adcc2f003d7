"""Samples come to their law: KL of what was seen from the target, over the number of tokens seen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specviz.figures import style
from specviz.figures.bias import HEIGHT, colour_of
from specviz.figures.panel import blank_figure, panel_layout
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.simulation import fit
from specviz.timeline import number


@dataclass(frozen=True, slots=True)
class Path:
    """One rule's way. points: (tokens seen, KL in nats). level: the KL of its own law, where it ends up; 0 if exact.

    index: as in `bias.Line`.
    """

    name: str
    index: int
    points: tuple[tuple[int, float], ...]
    level: float


def divergence_figure(
    paths: Sequence[Path], size: int, n_most: int, *, theme: Theme = "light", height: int = HEIGHT
) -> go.Figure:
    """KL(seen ‖ p) over tokens, both logarithmic, and (V - 1)/(2 n), its mean under the target's law.

    size: V, the tokens that the target gives. n_most: the tokens that are coming, so that the axis stands still.
    """
    title = _("KL of what was seen from p, over the tokens seen")
    drawn = [(path, [(n, kl) for n, kl in path.points if 0 < kl < math.inf]) for path in paths]
    values = [kl for _path, points in drawn for _n, kl in points]
    if not values:
        return blank_figure(title, _("Nothing to draw: nothing seen yet, or KL is 0 or infinite."), theme=theme)
    colours = style.palette(theme)
    least_n = min(points[0][0] for _path, points in drawn if points)
    ends = np.array([least_n, max(n_most, 2 * least_n)], dtype=np.float64)
    mean = fit.expected_divergence(size, ends)
    layout = panel_layout(theme, title, _("tokens n"), _("KL, nats"), height=height)
    low = min(*values, *mean[mean > 0], 1.0)
    layout["xaxis"] |= {"type": "log", "range": np.log10(ends * [0.8, 1.25]).tolist(), "dtick": 1}
    layout["xaxis"] |= {"exponentformat": "power"}
    layout["yaxis"] |= {"type": "log", "range": [math.log10(low) - 0.3, math.log10(max(*values, *mean)) + 0.3]}
    layout["yaxis"] |= {"dtick": 1, "exponentformat": "power"}
    layout["margin"] |= {"l": 60}
    dashed = {"color": colours.text, "width": 1.5, "dash": "dash"}
    told = _("(V − 1)/(2n) at n = {n}: {kl}")
    reference = {
        "type": "scatter",
        "mode": "lines",
        "name": _("(V − 1)/(2n), its mean if the law is p"),
        "x": ends.tolist(),
        "y": mean.tolist(),
        "line": dashed,
        "customdata": [told.format(n=number(n), kl=number(kl)) for n, kl in zip(ends, mean, strict=True)],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
    levels = [_level(path, ends, colours) for path in paths if 0 < path.level < math.inf]
    return go.Figure([*([reference] if size > 1 else []), *levels, *(_way(*one, colours) for one in drawn)], layout)


def _way(path: Path, points: Sequence[tuple[int, float]], colours: style.Palette) -> dict[str, Any]:
    told = _("{rule}<br>{n} tokens: KL {kl}")
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": path.name,
        "x": [n for n, _kl in points],
        "y": [kl for _n, kl in points],
        "line": {"color": colour_of(path.index, colours), "width": 2.5},
        "marker": {"symbol": "circle" if path.index == 0 else "square", "size": 5},
        "customdata": [told.format(rule=style.escaped(path.name), n=f"{n:,}", kl=number(kl)) for n, kl in points],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _level(path: Path, ends: Any, colours: style.Palette) -> dict[str, Any]:
    """Where a biased rule's way must end: the KL of its exact law."""
    told = _("{rule}: exact KL {kl}").format(rule=path.name, kl=number(path.level))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": told,
        "x": ends.tolist(),
        "y": [path.level] * 2,
        "line": {"color": colour_of(path.index, colours), "width": 1.5, "dash": "dot"},
        "customdata": [style.escaped(told)] * 2,
        "hovertemplate": "%{customdata}<extra></extra>",
    }
