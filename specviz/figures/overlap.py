"""Two laws over a small vocabulary: what they share, which is α, and how the emitted law comes about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from specviz.exact import Parts
from specviz.figures import style
from specviz.figures.panel import panel_layout
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.timeline import number

Floats = npt.NDArray[np.float64]

HEIGHT = 330
_WIDTH = 0.84  # of a bar; 1 is the distance of two tokens
_FEW = 8  # tokens whose names have room for more than a few characters
_NO_FILL, _NO_LINE = "rgba(0,0,0,0)", {"width": 0}


def overlap_figure(names: Sequence[str], p: Floats, q: Floats, *, theme: Theme = "light") -> go.Figure:
    """A column per token, as high as the greater of p and q: what both give, whose area is α, and on it what one gives.

    The laws are outlined: p solid, q dashed. names, p, q: one per token, p and q are laws.
    """
    colours, shared = style.palette(theme), np.minimum(p, q)
    alpha, left = _told(shared.sum()), _told((p - shared).sum())
    told = _("{token}<br>target p: {p}<br>draft q: {q}<br>both, min(p, q): {shared}")
    under_pointer = [
        told.format(token=style.escaped(name), p=number(a), q=number(b), shared=number(c))
        for name, a, b, c in zip(names, p.tolist(), q.tolist(), shared.tolist(), strict=True)
    ]
    shade = {"color": colours.shared, "line": _NO_LINE}
    only_p = {"color": style.faint(colours.target, 0.16), "line": _NO_LINE}
    data = [
        _bars(shared, _("both: α = {alpha}").format(alpha=alpha), shade, under_pointer, inside=colours.text),
        _bars(p - shared, _("only p: {left}, the residual").format(left=left), only_p, under_pointer, base=shared),
        _bars(
            q - shared,
            _("only q: {left}, rejected").format(left=_told((q - shared).sum())),
            style.hatched(style.faint(colours.draft, 0.15), style.HATCH["draft"], colours.draft, _NO_LINE),
            under_pointer,
            base=shared,
        ),
        _outline(p, _("target p"), {"color": colours.target, "width": 2.5}),
        _outline(q, _("draft q"), {"color": colours.draft, "width": 2.5, "dash": "4px,3px"}),
        _labels(np.maximum(p, q), [f"p {number(a)}<br>q {number(b)}" for a, b in zip(p, q, strict=True)]),
    ]
    title = _("What p and q share: α = {alpha}").format(alpha=alpha)
    return go.Figure(data, _layout(theme, title, names, float(np.maximum(p, q).max())))


def emitted_figure(names: Sequence[str], p: Floats, parts: Parts, *, theme: Theme = "light") -> go.Figure:
    """A column per token: the mass accepted from the draft, and on it the mass resampled; p is drawn around both."""
    colours = style.palette(theme)
    emitted = parts.accepted + parts.resampled
    told = _("{token}<br>accepted: {accepted}<br>resampled: {resampled}<br>target p: {p}")
    under_pointer = [
        told.format(token=style.escaped(name), accepted=number(a), resampled=number(b), p=number(c))
        for name, a, b, c in zip(names, parts.accepted.tolist(), parts.resampled.tolist(), p.tolist(), strict=True)
    ]
    accepted = _("{mark} accepted from the draft: {mass}").format(
        mark=style.MARKS["accepted"], mass=_told(parts.accepted.sum())
    )
    resampled = _("{mark} resampled from the residual: {mass}").format(
        mark=style.MARKS["resampled"], mass=_told(parts.resampled.sum())
    )
    shade = {"color": style.faint(colours.accepted, 0.45), "line": _NO_LINE}
    hatch = style.hatched(style.faint(colours.resampled, 0.2), style.HATCH["residual"], colours.resampled, _NO_LINE)
    data = [
        _bars(parts.accepted, accepted, shade, under_pointer, inside=colours.text),
        _bars(parts.resampled, resampled, hatch, under_pointer, base=parts.accepted, inside=colours.text),
        _outline(p, _("target p"), {"color": colours.target, "width": 2.5}),
        _labels(emitted, [_told(value) for value in emitted.tolist()]),
    ]
    return go.Figure(data, _layout(theme, _("What is emitted: accepted + resampled = p"), names, float(emitted.max())))


def tidy(mass: float) -> float:
    """A sum or difference of probabilities without its rounding, which makes 0.9999999999999999 of 1 and 1e-17 of 0."""
    return 0.0 if abs(mass) < 1e-15 else round(mass, 14) if mass > 0.5 else mass


def _told(mass: float) -> str:
    return number(tidy(float(mass)))


def _bars(
    heights: Floats,
    name: str,
    marker: dict[str, Any],
    told: list[str],
    *,
    base: Floats | None = None,
    inside: str | None = None,
) -> dict[str, Any]:
    """base: what the bars stand on. inside: the colour in which each shows its number where it fits."""
    return {
        "type": "bar",
        "name": name,
        "x": list(range(len(heights))),
        "y": heights.tolist(),
        "base": None if base is None else base.tolist(),
        "width": _WIDTH,
        "marker": marker,
        "text": [_told(height) if tidy(height) else "" for height in heights.tolist()] if inside else None,
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "insidetextfont": {"size": 12, "color": inside},
        "customdata": told,
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def _labels(tops: Floats, texts: list[str]) -> dict[str, Any]:
    """Numbers over the columns, made smaller where columns are narrow: they belong to bars that nobody sees."""
    return {
        "type": "bar",
        "x": list(range(len(tops))),
        "y": tops.tolist(),
        "width": _WIDTH,
        "marker": {"color": _NO_FILL, "line": _NO_LINE},
        "text": texts,
        "textposition": "outside",
        "textfont": {"size": 13},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _outline(law: Floats, name: str, line: dict[str, Any]) -> dict[str, Any]:
    """The columns of a law, without fill. One that has no height is not drawn."""
    x: list[float | None] = []
    y: list[float | None] = []
    for i, height in enumerate(law.tolist()):
        if height > 0:
            x += [i - _WIDTH / 2, i - _WIDTH / 2, i + _WIDTH / 2, i + _WIDTH / 2, None]
            y += [0, height, height, 0, None]
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, "line": line, "hoverinfo": "skip"}


def _layout(theme: Theme, title: str, names: Sequence[str], top: float) -> dict[str, Any]:
    layout = panel_layout(theme, title, "", _("probability"), height=HEIGHT)
    cut = 14 if len(names) <= _FEW else 9
    short = [name if len(name) <= cut else name[: cut - 1] + "…" for name in names]
    layout["xaxis"] |= {
        "range": [-0.6, len(names) - 0.4],
        "tickvals": list(range(len(names))),
        "ticktext": [f"<b>{style.escaped(name)}</b>" for name in short],
        "tickfont": {"size": 13},
    }
    layout["yaxis"] |= {"range": [0, 1.22 * top], "nticks": 5}
    return layout | {"barmode": "overlay"}
