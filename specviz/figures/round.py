"""A round on paper: each judgement, and the last draw, as a number that falls on a strip from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from specviz.figures import style
from specviz.figures.panel import panel_layout
from specviz.figures.style import MARKS, Palette, Theme
from specviz.i18n import _
from specviz.records import Round
from specviz.timeline import apart, label, number

_ROW, _HEAD = 62, 70  # pixels
_THICK = 0.46
_LEAST = 0.055  # of the strip: a narrower stretch shows no name
_TICK = 10  # characters of a token


def round_figure(
    round_: Round,
    names: Sequence[str],
    law: Sequence[float],
    *,
    n_judged: int | None = None,
    drawn: bool = True,
    theme: Theme = "light",
) -> go.Figure:
    """One strip a place: up to min(1, p/q) it accepts, and r falls on it. Then the last draw's law, and where u fell.

    names, law: the tokens and the law that the last draw came from, in the order of ids. n_judged: how many judgements
    are shown (None: all); drawn: whether the last draw is.
    """
    colours = style.palette(theme)
    trials = round_.trials[:n_judged]
    rows = len(round_.nodes) + 1
    layout = panel_layout(theme, _("Where each random number fell"), "", "", height=_HEAD + _ROW * rows, legend=False)
    data: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    ticks = []
    for place, node in enumerate(round_.nodes):
        trial = trials[place] if place < len(trials) else None
        token = style.escaped(label(node.token, node.text, _TICK))
        if trial is None:
            ended = bool(trials) and not trials[-1].accepted
            ticks.append(f"{place + 1} · {token}")
            data.append(_stretch(place, 0.0, 1.0, "rgba(0,0,0,0)", colours.line, ""))
            told = _("{mark} never judged").format(mark=MARKS["unjudged"]) if ended else "?"
            notes.append(_note(0.5, place, told, colours.muted))
            continue
        ticks.append(f"{place + 1} · <b>{MARKS['accepted' if trial.accepted else 'rejected']} {token}</b>")
        r, accept = apart(trial.r, trial.accept_prob)
        sign = "<" if trial.accepted else "≥"
        hover = _("place {i}: r = {r} {sign} {accept}").format(i=place + 1, r=r, sign=sign, accept=accept)
        data += _judgement(place, trial.accept_prob, colours, hover)
        notes += _zones(place, trial.accept_prob, accept, trial.r, colours)
        data.append(_needle(place, trial.r, f"r = {r}", colours, hover))
    last = rows - 1
    if drawn and round_.final is not None:
        final = round_.final
        mark = MARKS["resampled" if final.source == "residual" else "bonus"]
        ticks.append(f"<b>{mark} {style.escaped(label(final.token, final.text, _TICK))}</b>")
        colour = colours.resampled if final.source == "residual" else colours.target
        data += _law(last, names, law, final.token, colour, colours)
        notes += [
            _note(
                _beside(final.uniform, start, start + prob),
                last,
                style.escaped(label(token, names[token], _TICK)),
                colours.text,
            )
            for token, start, prob in _stretches(law)
            if prob > _LEAST
        ]
        told = _("u = {u}: {token}").format(
            u=number(final.uniform), token=style.escaped(label(final.token, final.text))
        )
        data.append(_needle(last, final.uniform, f"u = {number(final.uniform)}", colours, told))
    else:
        ticks.append(_("last draw"))
        data.append(_stretch(last, 0.0, 1.0, "rgba(0,0,0,0)", colours.line, ""))
        notes.append(_note(0.5, last, "?", colours.muted))
    layout["margin"] |= {"l": 96, "r": 16}
    layout["xaxis"] |= {"range": [0, 1], "tickvals": [0, 0.25, 0.5, 0.75, 1], "showline": False}
    layout["yaxis"] |= {
        "range": [rows - 0.6, -0.8],
        "tickvals": list(range(rows)),
        "ticktext": ticks,
        "tickfont": {"size": 14},
        "showgrid": False,
    }
    return go.Figure(data, layout | {"barmode": "overlay", "annotations": notes, "hovermode": "closest"})


def _judgement(row: int, accept: float, colours: Palette, hover: str) -> list[dict[str, Any]]:
    yes = _stretch(row, 0.0, accept, style.faint(colours.accepted, 0.3), colours.accepted, hover)
    no = _stretch(row, accept, 1.0, style.faint(colours.rejected, 0.16), colours.rejected, hover)
    no["marker"]["pattern"] = {"shape": "/", "fillmode": "overlay", "size": 8, "solidity": 0.12}
    return [yes, no] if 0 < accept < 1 else [yes if accept else no]


def _zones(row: int, accept: float, shown: str, r: float, colours: Palette) -> list[dict[str, Any]]:
    """What each part of the strip says, away from the needle."""
    told = []
    if accept > 0.2:
        told.append(_note(_beside(r, 0.0, accept), row, _("accept < {accept}").format(accept=shown), colours.text))
    if accept < 0.85:
        told.append(_note(_beside(r, accept, 1.0), row, _("reject"), colours.text))
    return told


def _beside(needle: float, start: float, end: float) -> float:
    """The middle of the wider part of the stretch that the needle leaves free."""
    if not start < needle < end:
        return (start + end) / 2
    return (start + needle) / 2 if needle - start > end - needle else (needle + end) / 2


def _law(
    row: int, names: Sequence[str], law: Sequence[float], drawn: int, colour: str, colours: Palette
) -> list[dict[str, Any]]:
    bars = []
    for token, start, prob in _stretches(law):
        hover = _("{token}: probability {prob}").format(
            token=style.escaped(label(token, names[token])), prob=number(prob)
        )
        fill = style.faint(colour, 0.45 if token == drawn else 0.12)
        bars.append(_stretch(row, start, start + prob, fill, colour if token == drawn else colours.muted, hover))
    return bars


def _stretches(law: Sequence[float]) -> list[tuple[int, float, float]]:
    """(id, where it begins, how long it is) of each token that the law can give."""
    found, start = [], 0.0
    for token, prob in enumerate(law):
        if prob > 0:
            found.append((token, start, prob))
        start += prob
    return found


def _stretch(row: int, start: float, end: float, fill: str, line: str, hover: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": [end - start],
        "y": [row],
        "base": [start],
        "width": _THICK,
        "marker": {"color": fill, "line": {"color": line, "width": 1.5}},
        "customdata": [hover],
        "hovertemplate": "%{customdata}<extra></extra>",
        **({} if hover else {"hoverinfo": "skip", "hovertemplate": None}),
    }


def _needle(row: int, at: float, name: str, colours: Palette, hover: str) -> dict[str, Any]:
    """The random number: an upright line through the strip, its value over it."""
    return {
        "type": "scatter",
        "mode": "lines+markers+text",
        "x": [at, at],
        "y": [row + _THICK / 2 + 0.04, row - _THICK / 2 - 0.06],
        "line": {"color": colours.text, "width": 3},
        "marker": {"color": colours.text, "symbol": ["circle", "triangle-down"], "size": [1, 11]},
        "text": ["", f"<b>{name}</b>"],
        "textposition": "top right" if at < 0.08 else "top left" if at > 0.92 else "top center",
        "textfont": {"size": 13, "color": colours.text},
        "cliponaxis": False,
        "customdata": [hover, hover],
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _note(x: float, y: float, text: str, colour: str) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "showarrow": False, "font": {"size": 13, "color": colour}}
