"""What most figures share: a short title, a legend under it, and a sentence where there is nothing to draw."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from specviz.figures import style
from specviz.figures.style import Theme

SMALL, LARGE = 260, 380  # pixels; three small ones stand side by side, each some 430 wide; a large one has the page
_TOP, _LEFT, _RIGHT, _BOTTOM = 70, 44, 12, 40  # room for the title and a legend of two lines, ticks, an axis title
_EDGE, _TITLE = 6, 26  # where the words begin; the legend stands under the title


def panel_layout(
    theme: Theme, title: str, x: str, y: str, *, height: int = SMALL, legend: bool = True
) -> dict[str, Any]:
    """Layout of a figure with these words; a title of up to 44 characters fits 330 pixels."""
    layout = style.layout(theme)
    ticks = {"tickfont": {"size": 12}, "ticks": "", "automargin": False}
    named = {"font": {"size": 12, "color": style.palette(theme).muted}, "standoff": 4}
    return layout | {
        "height": height,
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP if legend else _TITLE + 10, "b": _BOTTOM},
        "xaxis": layout["xaxis"] | ticks | {"title": {"text": x} | named, "showgrid": False},
        "yaxis": layout["yaxis"] | ticks | {"title": {"text": y} | named},
        "title": _title(title),
        "legend": {
            "orientation": "h",
            "xref": "container",
            "x": 0,
            "xanchor": "left",
            "yref": "container",
            "y": 1 - _TITLE / height,
            "yanchor": "top",
            "bgcolor": "rgba(0,0,0,0)",
            "font": {"size": 12},
            "itemclick": False,
            "itemdoubleclick": False,
        },
        "showlegend": legend,
        "hovermode": "closest",
    }


def blank_figure(title: str, sentence: str, *, theme: Theme, height: int = SMALL) -> go.Figure:
    """No axes, one sentence: there is nothing to draw, and why."""
    layout = style.layout(theme)
    hidden = {"visible": False, "range": [0, 1], "fixedrange": True}
    told = {"text": sentence, "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
    return go.Figure(
        layout=layout
        | {
            "height": height,
            "xaxis": hidden,
            "yaxis": hidden,
            "title": _title(title),
            "annotations": [told | {"font": {"color": style.palette(theme).muted}}],
        }
    )


def _title(text: str) -> dict[str, Any]:
    return {
        "text": f"<b>{text}</b>",
        "font": {"size": 13},
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "top",
        "pad": {"l": _EDGE, "t": _EDGE},
    }


def whole_steps(most: int, labels: int = 8) -> int:
    """The distance of ticks on 1..most so that at most `labels` of them stand there: 1, 2, 5, 10, 20, ..."""
    step = next(s for power in range(18) for s in (10**power, 2 * 10**power, 5 * 10**power) if most <= s * labels)
    return int(step)
