"""The best draft length up to 64 and its speed-up over α and c: two maps with the reader's place on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from specviz import theory
from specviz.figures import style
from specviz.figures.panel import panel_layout
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.timeline import number

HEIGHT = 300
_LONGEST = 64
_GRID = 51, 61  # values of α and of c
_COSTS = 1.0, 1000.0


@dataclass(frozen=True, slots=True)
class Map:
    """best: K, up to 64, and speedup: what it gives, [A, C], over alphas, [A], and cost_ratios, [C]."""

    alphas: npt.NDArray[np.float64]
    cost_ratios: npt.NDArray[np.float64]
    best: npt.NDArray[np.float64]
    speedup: npt.NDArray[np.float64]


def best_map_figure(alpha: float, cost_ratio: float, *, theme: Theme = "light") -> go.Figure:
    """The best K up to 64 over α and c as colour, in doublings, with the reader's place and where speculation pays."""
    drawn, steps = whole_map(), [1, 2, 4, 8, 16, 32, 64]
    return _map(
        _("Best K up to {most}, over α and c").format(most=_LONGEST),
        np.log2(drawn.best),
        steps,
        "",
        alpha,
        cost_ratio,
        theme,
    )


def speedup_map_figure(alpha: float, cost_ratio: float, *, theme: Theme = "light") -> go.Figure:
    """The speed-up at K* over α and c as colour, on a scale of doublings, with the same marks."""
    return _map(
        _("Speed-up at the best K up to {most}").format(most=_LONGEST),
        np.log2(whole_map().speedup),
        [1, 2, 4, 8, 16, 32],
        "×",
        alpha,
        cost_ratio,
        theme,
    )


@cache
def whole_map() -> Map:
    """The best K up to 64 and its speed-up from end to end of α and c; computed once."""
    alphas, costs = np.linspace(0, 1, _GRID[0]), np.geomspace(*_COSTS, _GRID[1])
    best = theory.best_draft_length(alphas[:, None], costs[None, :], _LONGEST)
    return Map(alphas, costs, best, theory.speedup(alphas[:, None], costs[None, :], best))


def _map(
    title: str,
    shade: npt.NDArray[np.float64],
    steps: list[int],
    unit: str,
    alpha: float,
    cost_ratio: float,
    theme: Theme,
) -> go.Figure:
    colours, drawn = style.palette(theme), whole_map()
    layout = panel_layout(theme, title, _("c = T_p/T_q"), "α", height=HEIGHT, legend=False)
    layout["xaxis"] |= {"type": "log", "range": [0, 3], "tickvals": [1, 3, 10, 30, 100, 300, 1000]}
    layout["yaxis"] |= {"range": [0, 1], "dtick": 0.2, "showgrid": False}
    told = _("α = {alpha}, c = {c}<br>best K up to {most}: {best}, speed-up {speedup}").format(
        most=_LONGEST, alpha="%{y:.2f}", c="%{x:.3~g}", best="%{customdata[0]:d}", speedup="%{customdata[1]:.3~g}"
    )
    here = {"x": [min(max(cost_ratio, _COSTS[0]), _COSTS[1])], "y": [alpha]}
    best = theory.best_draft_length(alpha, cost_ratio)
    spot = _("you: α = {alpha}, c = {c}<br>best K up to {most}: {best}, speed-up {speedup}").format(
        most=_LONGEST,
        alpha=number(alpha),
        c=number(cost_ratio),
        best=best,
        speedup=number(theory.speedup(alpha, cost_ratio, best)),
    )
    costs = drawn.cost_ratios
    return go.Figure(
        [
            {
                "type": "heatmap",
                "x": costs,
                "y": drawn.alphas,
                "z": shade,
                "zmin": 0,
                "zmax": float(np.log2(_LONGEST)),
                "colorscale": [[0, colours.background], [1, colours.target]],
                "colorbar": {
                    "thickness": 10,
                    "outlinewidth": 0,
                    "tickvals": np.log2(steps).tolist(),
                    "ticktext": [f"{step}{unit}" for step in steps],
                },
                "customdata": np.stack([drawn.best, drawn.speedup], axis=-1),
                "hovertemplate": f"{told}<extra></extra>",
            },
            {
                "type": "scatter",
                "mode": "lines",
                "x": costs,
                "y": theory.break_even_alpha(costs),
                "line": {"color": colours.text, "width": 1.5, "dash": "dash"},
                "hovertemplate": _("break-even: α = 1/c") + "<extra></extra>",
            },
            here
            | {
                "type": "scatter",
                "mode": "markers",
                "cliponaxis": False,
                "marker": {
                    "symbol": "star",
                    "size": 15,
                    "color": colours.draft,
                    "line": {"color": colours.text, "width": 1.5},
                },
                "customdata": [spot],
                "hovertemplate": "%{customdata}<extra></extra>",
            },
        ],
        layout
        | {
            "showlegend": False,
            "annotations": [
                {
                    "x": np.log10(5),
                    "y": 0.11,
                    "xanchor": "right",
                    "text": _("never pays"),
                    "showarrow": False,
                    "font": {"size": 11},
                }
            ],
        },
    )
