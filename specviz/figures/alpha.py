"""α̂ over the rounds: each judged place's β, their running mean with its band, and where it stands at the end."""

from __future__ import annotations

import math
from typing import Any

import plotly.graph_objects as go

from specviz import measure
from specviz.figures import style
from specviz.figures.panel import blank_figure, panel_layout, whole_steps
from specviz.figures.style import MARKS, Theme
from specviz.i18n import _
from specviz.measure import Mean
from specviz.records import Trace
from specviz.timeline import label, number

_BAND = 0.18  # opacity


def alpha_figure(trace: Trace, *, round: int | None = None, theme: Theme = "light") -> go.Figure:
    """β of each judged place as dots, and α̂, their mean so far, as a line with its 95% band.

    round: index of the round that the viewer stands at, which an upright line marks; None marks none.
    """
    means = measure.alpha_by_round(trace)
    if not means or not means[-1].n:
        return blank_figure(_("α̂ over the rounds"), _("No draft has been judged."), theme=theme)
    colours, final, n_rounds = style.palette(theme), means[-1].estimate, len(means)
    stands = round is not None and 0 <= round < n_rounds and means[round].n > 0
    if round is not None and stands:
        title = _("α̂ over the rounds: {alpha} (round {n}: {here})").format(
            alpha=number(final), n=round + 1, here=number(means[round].estimate)
        )
    else:
        title = _("α̂ over the rounds: {alpha}").format(alpha=number(final))
    layout = panel_layout(theme, title, _("round"), "")
    layout["xaxis"] |= {"range": [0.5, n_rounds + 0.5], "tick0": 0, "dtick": whole_steps(n_rounds)}
    layout["yaxis"] |= {"range": [0, 1.04], "dtick": 0.25}
    flat = {"color": colours.target, "width": 1, "dash": "dot"}
    layout["shapes"] = [{"type": "line", "x0": 0.5, "x1": n_rounds + 0.5, "y0": final, "y1": final, "line": flat}]
    if round is not None and stands:
        here = {"color": colours.text, "width": 1.5, "dash": "dash"}
        layout["shapes"].append({"type": "line", "x0": round + 1, "x1": round + 1, "y0": 0, "y1": 1, "line": here})
    known = [(i + 1, mean) for i, mean in enumerate(means) if mean.n]
    return go.Figure([*_band(known, colours.target), _dots(trace, colours.muted), _line(known, colours.target)], layout)


def _dots(trace: Trace, colour: str) -> dict[str, Any]:
    judged = [(r, r.nodes[t.node], t) for r in trace.rounds for t in r.trials]
    told = _("round {round}, place {place}: {mark} {token}<br>β = {beta}")
    return {
        "type": "scatter",
        "mode": "markers",
        "name": _("β of a judged place"),
        "x": [r.index + 1 for r, _node, _trial in judged],
        "y": [node.beta for _round, node, _trial in judged],
        "marker": {"symbol": "circle", "size": 4, "color": colour, "opacity": 0.6},
        "customdata": [
            told.format(
                round=r.index + 1,
                place=node.depth,
                mark=MARKS["accepted" if trial.accepted else "rejected"],
                token=style.escaped(label(node.token, node.text)),
                beta=number(node.beta),
            )
            for r, node, trial in judged
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _line(known: list[tuple[int, Mean]], colour: str) -> dict[str, Any]:
    told = _("after round {round}: α̂ = {alpha}, {n} places<br>95%: {low} to {high}")
    return {
        "type": "scatter",
        "mode": "lines" if len(known) > 1 else "markers",
        "name": _("α̂, their mean so far"),
        "x": [x for x, _mean in known],
        "y": [mean.estimate for _x, mean in known],
        "line": {"color": colour, "width": 2.5},
        "marker": {"symbol": "diamond", "size": 9, "color": colour},
        "customdata": [
            told.format(
                round=x,
                alpha=number(mean.estimate),
                n=mean.n,
                low=number(mean.interval[0]),
                high=number(mean.interval[1]),
            )
            for x, mean in known
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _band(known: list[tuple[int, Mean]], colour: str) -> list[dict[str, Any]]:
    """One closed outline; a mean without an interval (too few places, or all equal) has no part in it."""
    sure = [(x, *mean.interval) for x, mean in known if not math.isnan(mean.interval[0])]
    if len(sure) < 2:
        return []
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "name": _("its 95% band"),
            "legendrank": 2000,  # after the line, though drawn under it
            "x": [x for x, _low, _high in [*sure, *reversed(sure)]],
            "y": [low for _x, low, _high in sure] + [high for _x, _low, high in reversed(sure)],
            "fill": "toself",
            "fillcolor": style.faint(colour, _BAND),
            "line": {"width": 0},
            "hoverinfo": "skip",
        }
    ]
