"""The laws at one place as bars: the target's p, the draft's q, what both give (its area is β), and the residual."""

from __future__ import annotations

from typing import Any, NamedTuple

import plotly.graph_objects as go

from specviz.figures import style
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.timeline import Law, label, number

ROWS = 7  # bars at most; what has none of its own is in the bar of all others
_ROW, _HEAD = 38, 64  # pixels
_INK = "rgba(255,255,255,0.75)"  # of the hatch
_TICK, _HOVER = 14, 60  # characters of a token
_LEFT, _RIGHT = (0.0, 0.59), (0.62, 1.0)  # where the two halves stand


class _Bar(NamedTuple):
    """A row of the chart: one token, or all that have no row."""

    tick: str
    name: str
    p: float
    q: float
    left: float
    both: float
    drawn: bool


def law_figure(law: Law, *, theme: Theme = "light") -> go.Figure:
    """p and q at the place, their overlap shaded, which is β; beside them the residual, if it gave the token.

    At the bonus place there is no draft law: p alone. The drawn token is framed and marked, the rejected one struck.
    """
    bars, colours = _bars(law), style.palette(theme)
    p, q = [b.p for b in bars], [b.q for b in bars]
    frame = {"width": [2 if b.drawn else 0 for b in bars], "color": colours.text}
    target = {"color": colours.target, "line": frame}
    draft = style.hatched(colours.draft, style.HATCH["draft"], _INK, frame)
    target_words = _("target p"), _("{token}<br>target p: {value}")
    if law.beta is None:
        data = [_row(bars, p, *target_words, "p ", target, width=0.6, offset=-0.3)]
    else:
        both, shade = [b.both for b in bars], {"color": colours.shared, "line": {"width": 1, "color": colours.muted}}
        overlap = _("overlap: β = {beta}").format(beta=number(law.beta))
        data = [
            _row(bars, both, overlap, _("{token}<br>min(p, q): {value}"), "", shade, width=0.96, offset=-0.48),
            _row(bars, p, *target_words, "p ", target, width=0.3, offset=-0.34),
            _row(bars, q, _("draft q"), _("{token}<br>draft q: {value}"), "q ", draft, width=0.3, offset=0.04),
        ]
    if law.kind == "residual":
        left = [b.left for b in bars]
        marker = style.hatched(colours.resampled, style.HATCH["residual"], _INK, frame)
        words = _("residual"), _("{token}<br>residual: {value}")
        data.append(
            _row(bars, left, *words, " ", marker, width=0.6, offset=-0.3) | {"xaxis": "x2", "showlegend": False}
        )
    return go.Figure(data, _layout(law, bars, theme))


def _row(
    bars: list[_Bar],
    values: list[float],
    name: str,
    told: str,
    letter: str,
    marker: dict[str, Any],
    *,
    width: float,
    offset: float,
) -> dict[str, Any]:
    """One bar per token; its number stands beside it, where a letter says what it is. told: under the pointer."""
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "x": values,
        "y": list(range(len(bars))),
        "width": width,
        "offset": offset,
        "marker": marker,
        "text": [f"{letter}{number(value)}" for value in values] if letter else None,
        "textposition": "outside",
        "constraintext": "none",
        "textfont": {"size": 12},
        "cliponaxis": False,
        "customdata": [
            told.format(token=style.escaped(bar.name), value=number(value))
            for bar, value in zip(bars, values, strict=True)
        ],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _layout(law: Law, bars: list[_Bar], theme: Theme) -> dict[str, Any]:
    layout, residual = style.layout(theme), law.kind == "residual"
    axis = layout["xaxis"] | {"showticklabels": False, "showgrid": False, "showline": False}
    widest = max(max(b.p, b.q) for b in bars) * (1.35 if residual else 1.18)  # with room for the number
    title = _("target p") if law.beta is None else _("p and q, β = {beta}").format(beta=number(law.beta))
    layout |= {
        "height": _HEAD + _ROW * len(bars),
        "barmode": "overlay",
        "showlegend": law.beta is not None,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yanchor": "top", "font": {"size": 12}},
        "xaxis": axis | {"range": [0, widest], "domain": _LEFT if residual else (0.0, 1.0)},
        "yaxis": layout["yaxis"]
        | {
            "range": [len(bars) - 0.45, -0.55],
            "showgrid": False,
            "ticks": "",
            "tickvals": list(range(len(bars))),
            "ticktext": [b.tick for b in bars],
            "automargin": True,
        },
        "annotations": [_title(title, _LEFT[0])],
    }
    if residual:
        layout["xaxis2"] = axis | {"range": [0, max(b.left for b in bars) * 1.4], "domain": _RIGHT, "anchor": "y"}
        layout["annotations"].append(_title(_("residual"), _RIGHT[0]))
    return layout


def _title(text: str, x: float) -> dict[str, Any]:
    return {
        "text": text,
        "x": x,
        "y": 1,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 13},
    }


def _bars(law: Law) -> list[_Bar]:
    """Rows in the order of p; the least of them give way when there are too many, never the tokens in question."""
    kept = {law.token, law.rejected}
    weight = sorted(law.rows, key=lambda c: (c.token not in kept, -max(c.target_prob, c.draft_prob, c.residual_prob)))
    shown = {c.token for c in weight[:ROWS]}
    bars = [
        _Bar(
            tick=_tick(law, c.token, c.text),
            name=label(c.token, c.text, _HOVER),
            p=c.target_prob,
            q=c.draft_prob,
            left=c.residual_prob,
            both=min(c.target_prob, c.draft_prob),
            drawn=c.token == law.token,
        )
        for c in law.rows
        if c.token in shown
    ]
    others = [c for c in law.rows if c.token not in shown]
    tail = law.tail
    rest = _Bar(
        tick=f"<i>{style.escaped(_('all others'))}</i>",
        name=_("all others"),
        p=tail.target_prob + sum(c.target_prob for c in others),
        q=tail.draft_prob + sum(c.draft_prob for c in others),
        left=tail.residual_prob + sum(c.residual_prob for c in others),
        both=tail.overlap + sum(min(c.target_prob, c.draft_prob) for c in others),
        drawn=False,
    )
    return [*bars, rest] if rest.p or rest.q or rest.left else bars


def _tick(law: Law, token: int, text: str) -> str:
    shown = style.escaped(label(token, text, _TICK))
    if token == law.token:
        mark = {"residual": style.MARKS["resampled"], "bonus": style.MARKS["bonus"], "draft": "▸"}[law.kind]
        return f"<b>{mark} {shown}</b>"
    if token == law.rejected:
        return f"{style.MARKS['rejected']} <s>{shown}</s>"
    return shown
