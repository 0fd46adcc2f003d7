"""Acceptance by place of the draft: of those judged there, and of all drafted there, which is another number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from specviz import measure
from specviz.figures import style
from specviz.figures.panel import blank_figure, panel_layout, whole_steps
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.measure import Rate
from specviz.records import Trace
from specviz.timeline import number

_APART = 0.07  # of a place: the two series stand side by side, since they agree at place 1


def acceptance_figure(trace: Trace, *, theme: Theme = "light") -> go.Figure:
    """Both rates at each place with their 95% Wilson intervals, and what theory makes of the measured α̂.

    If acceptances were independent with one rate α, a draft that is judged would be accepted with α at every place, and
    a drafted one at place i with α^i, since all before it must stand too.
    """
    title = _("Acceptance at each place of the draft")
    places = measure.acceptance_by_position(trace)
    rate = measure.alpha(trace)
    if not places or not rate.n:
        return blank_figure(title, _("No draft has been judged."), theme=theme)
    colours = style.palette(theme)
    depths = [p.depth for p in places]
    layout = panel_layout(theme, title, _("place i"), "")
    layout["xaxis"] |= {"range": [0.5, depths[-1] + 0.5], "tick0": 1, "dtick": whole_steps(depths[-1])}
    layout["yaxis"] |= {"range": [0, 1.04], "dtick": 0.25}
    return go.Figure(
        [
            _theory(depths, [rate.estimate] * len(depths), _("α̂ = {value}"), colours.muted),
            _theory(depths, [rate.estimate**d for d in depths], _("α̂ⁱ = {value}"), colours.muted)
            | {"showlegend": False},
            _series(
                [(p.depth, p.conditional) for p in places],
                _("of those judged there"),
                _("place {place}: {accepted} of {n} judged there, {rate}<br>95%: {low} to {high}"),
                colours.accepted,
                shift=-_APART,
                symbol="circle",
                dash="solid",
            ),
            _series(
                [(p.depth, p.unconditional) for p in places],
                _("of all drafted there"),
                _("place {place}: {accepted} of {n} drafted there, {rate}<br>95%: {low} to {high}"),
                colours.draft,
                shift=_APART,
                symbol="diamond-open",
                dash="dash",
            ),
        ],
        layout,
    )


def _series(
    rates: Sequence[tuple[int, Rate]],
    name: str,
    told: str,
    colour: str,
    *,
    shift: float,
    symbol: str,
    dash: str,
) -> dict[str, Any]:
    """told: the words of a point under the pointer."""
    known = [(depth, rate) for depth, rate in rates if rate.trials]  # a place may be drafted, not judged
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [depth + shift for depth, _rate in known],
        "y": [rate.estimate for _depth, rate in known],
        "line": {"color": colour, "width": 1.5, "dash": dash},
        "marker": {"symbol": symbol, "size": 8, "color": colour, "line": {"width": 2, "color": colour}},
        "cliponaxis": False,
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [rate.interval[1] - rate.estimate for _depth, rate in known],
            "arrayminus": [rate.estimate - rate.interval[0] for _depth, rate in known],
            "thickness": 1.5,
            "width": 3,
            "color": colour,
        },
        "customdata": [
            told.format(
                place=depth,
                accepted=rate.successes,
                n=rate.trials,
                rate=number(rate.estimate),
                low=number(rate.interval[0]),
                high=number(rate.interval[1]),
            )
            for depth, rate in known
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _theory(depths: Sequence[int], values: Sequence[float], told: str, colour: str) -> dict[str, Any]:
    ends = [depths[0] - 0.3, depths[-1] + 0.3] if len(depths) == 1 else depths  # one place: a dash, not a point
    values = list(values) * (len(ends) // len(depths))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": _("theory: α̂ and α̂ⁱ"),
        "legendrank": 2000,  # after the measured ones, though drawn under them
        "x": ends,
        "y": values,
        "line": {"color": colour, "width": 1.5, "dash": "dot"},
        "customdata": [told.format(value=number(v)) for v in values],
        "hovertemplate": "%{customdata}<extra></extra>",
    }
