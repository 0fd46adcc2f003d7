"""Speed-up over the draft length K, where it is nearly as good as at its best, and what one more guess adds."""

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
from specviz.timeline import number, signed

WITHIN = (0.01, 0.02, 0.03)  # of the best: the plateaus that are shown
_LONGEST = 64
HEIGHT = 340
_LABELLED = 12  # bars that have room for their numbers
_STRIP = 0.2  # of the height, for the plateaus


def longest_shown(alpha: float, cost_ratio: float, draft_length: int) -> int:
    """The K up to which a figure says enough: past the best, its plateau and the current one."""
    best, end = theory.best_draft_length(alpha, cost_ratio), theory.plateau(alpha, cost_ratio, WITHIN[-1])[1]
    return int(min(_LONGEST, max(10, best + 4, end + 3, draft_length + 2)))


def speedup_figure(
    alpha: float, cost_ratio: float, draft_length: int, surcharge: float = 0.0, *, theme: Theme = "light"
) -> go.Figure:
    """Speed-up over K, its best as a star, the current K as a diamond, and under it where it is nearly as good.

    With a surcharge the curve and all marks are those of what the rounds really cost, and a dashed curve is the one
    without it.
    """
    colours, ratio = style.palette(theme), theory.with_surcharge(cost_ratio, surcharge)
    longest = longest_shown(alpha, ratio, draft_length)
    lengths = np.arange(1, longest + 1)
    speedups = np.asarray(theory.speedup(alpha, ratio, lengths))
    best = theory.best_draft_length(alpha, ratio)
    layout = panel_layout(theme, _("Speed-up over K: how many guesses pay"), "K", "", height=HEIGHT)
    layout["xaxis"] |= {"range": [0.5, longest + 0.5], "tick0": 0, "dtick": whole_steps(longest, 12), "anchor": "y2"}
    layout["shapes"] = [
        {
            "type": "line",
            "x0": 0.5,
            "x1": longest + 0.5,
            "y0": 1,
            "y1": 1,
            "line": {"color": colours.muted, "width": 1.5, "dash": "dot"},
        }
    ]
    data = [_curve(_("speed-up"), lengths, speedups, {"color": colours.target, "width": 3})]
    top = max(1.1, float(speedups.max()))
    if surcharge:
        plain = np.asarray(theory.speedup(alpha, cost_ratio, lengths))
        data.append(_curve(_("without the surcharge"), lengths, plain, {"color": colours.muted, "dash": "dash"}))
        top = max(top, float(plain.max()))
    layout["yaxis"] |= {"range": [0, 1.2 * top], "nticks": 6, "ticksuffix": "×", "domain": [_STRIP + 0.06, 1]}
    layout["yaxis2"] = layout["yaxis"] | {
        "range": [-0.6, len(WITHIN) - 0.4],
        "domain": [0, _STRIP],
        "ticksuffix": "",
        "nticks": None,
        "tickvals": list(range(len(WITHIN))),
        "ticktext": [f"−{share:.0%}" for share in reversed(WITHIN)],
        "showgrid": False,
    }
    data += [
        _point(_("your K = {k}"), draft_length, alpha, ratio, colours, {"symbol": "diamond", "color": colours.draft}),
        _point(
            _best_name(alpha, ratio, best), best, alpha, ratio, colours, {"symbol": "star", "color": colours.target}
        ),
    ]
    data += _plateaus(alpha, ratio, longest, colours)
    return go.Figure(data, layout)


def _best_name(alpha: float, ratio: float, best: int) -> str:
    return _("best, K* = {k}") if theory.peak(alpha, ratio)[0] <= best else _("best up to {most}, K = {k}")


def gain_figure(alpha: float, cost_ratio: float, draft_length: int, *, theme: Theme = "light") -> go.Figure:
    """What one more guess adds to the speed-up, from each K: plain bars add, hatched ones take away."""
    colours = style.palette(theme)
    longest = longest_shown(alpha, cost_ratio, draft_length)
    lengths = np.arange(1, longest + 1)
    gains = np.asarray(theory.marginal_gain(alpha, cost_ratio, lengths))
    layout = panel_layout(theme, _("Gain of one more guess"), "K", "", height=HEIGHT, legend=False)
    layout["xaxis"] |= {"range": [0.4, longest + 0.6], "tick0": 0, "dtick": whole_steps(longest, 6)}
    least, most = min(0.0, float(gains.min())), max(0.0, float(gains.max()))
    room = 0.15 * max(most - least, 1e-9)
    layout["yaxis"] |= {"range": [least - room, most + room], "nticks": 5, "zeroline": True}
    layout["yaxis"] |= {"zerolinecolor": colours.text, "zerolinewidth": 1.5}
    adds = gains > 0
    told = _("from K = {k} to {next}: {gain}×")
    shown = [signed(gain, 2) for gain in gains.tolist()]
    if longest <= _LABELLED and most > 0:
        layout["annotations"] = [
            {"x": k, "y": gain, "text": said, "showarrow": False, "yshift": 9, "font": {"size": 11}}
            for k, gain, said in zip(lengths.tolist(), gains.tolist(), shown, strict=True)
            if gain > 0.03 * most
        ]
    return go.Figure(
        {
            "type": "bar",
            "x": lengths.tolist(),
            "y": gains.tolist(),
            "width": 0.7,
            "marker": {
                "color": [style.faint(colours.accepted if up else colours.rejected, 0.45) for up in adds],
                "line": {
                    "color": [colours.accepted if up else colours.rejected for up in adds],
                    "width": [3 if k == draft_length else 1 for k in lengths.tolist()],
                },
                "pattern": {"shape": ["" if up else "/" for up in adds], "fgcolor": colours.text, "size": 5},
            },
            "customdata": [
                told.format(k=k, next=k + 1, gain=said) for k, said in zip(lengths.tolist(), shown, strict=True)
            ],
            "hovertemplate": "%{customdata}<extra></extra>",
        },
        layout,
    )


def _curve(name: str, lengths: Any, speedups: npt.NDArray[np.float64], line: dict[str, Any]) -> dict[str, Any]:
    told = _("K = {k}: {speedup}×")
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": lengths.tolist(),
        "y": speedups.tolist(),
        "line": line,
        "marker": {"size": 5},
        "customdata": [
            told.format(k=k, speedup=number(s, 4)) for k, s in zip(lengths.tolist(), speedups.tolist(), strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _point(
    name: str, k: int, alpha: float, ratio: float, colours: style.Palette, marker: dict[str, Any]
) -> dict[str, Any]:
    speedup, name = theory.speedup(alpha, ratio, k), name.format(k=k, most=_LONGEST)
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": name,
        "x": [k],
        "y": [speedup],
        "text": [f"<b>{number(speedup)}×</b>"] if marker["symbol"] == "star" else None,
        "textposition": "top center",
        "cliponaxis": False,
        "marker": {"size": 15, "line": {"color": colours.text, "width": 1.5}} | marker,
        "customdata": [_("{name}: {speedup}×").format(name=name, speedup=number(speedup, 4))],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _plateaus(alpha: float, ratio: float, longest: int, colours: style.Palette) -> list[dict[str, Any]]:
    """One bar for each of WITHIN, from the least to the greatest K, with both beside it."""
    bars = []
    for row, share in enumerate(reversed(WITHIN)):
        least, most = theory.plateau(alpha, ratio, share)
        said = str(least) if least == most else f"{least}–{most}"
        right = most < 0.85 * longest
        told = (
            _("at most {share} from the best: K = {range}")
            if most < _LONGEST
            else _("at most {share} from the best up to {most}: K = {range}")
        ).format(share=f"{share:.0%}", range=said, most=_LONGEST)
        bars.append(
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "showlegend": False,
                "x": [least, most],
                "y": [row, row],
                "yaxis": "y2",
                "line": {"color": colours.target, "width": 3},
                "marker": {"symbol": "line-ns", "size": 10, "line": {"color": colours.target, "width": 2}},
                "text": ["", said] if right else [said, ""],
                "textposition": "middle right" if right else "middle left",
                "textfont": {"size": 12},
                "cliponaxis": False,
                "customdata": [told, told],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        )
    return bars
