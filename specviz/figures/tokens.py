"""E[N] over K, and the law of N: what the formulas say of α and K."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from specviz import theory
from specviz.figures import style
from specviz.figures.panel import panel_layout, whole_steps
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.timeline import number


def tokens_law_figure(alpha: float, draft_length: int, *, theme: Theme = "light") -> go.Figure:
    """P(N = n) as bars, n = 1..K + 1, and E[N] as an upright line."""
    colours, law = style.palette(theme), theory.tokens_law(alpha, draft_length)
    mean = theory.expected_tokens(alpha, draft_length)
    longest, top = draft_length + 1, 1.15 * float(law.max())
    lengths = np.arange(1, longest + 1)
    layout = panel_layout(
        theme,
        _("Tokens N of a target pass: E[N] = {mean}").format(mean=number(mean)),
        "n",
        "P(N = n)",
        height=300,
        legend=False,
    )
    layout["xaxis"] |= {"range": [0.4, longest + 0.6], "tick0": 1, "dtick": whole_steps(longest, 10)}
    layout["yaxis"] |= {"range": [0, top], "nticks": 5}
    line = {"color": colours.text, "width": 2, "dash": "dash"}
    layout["shapes"] = [{"type": "line", "x0": mean, "x1": mean, "y0": 0, "y1": top, "line": line}]
    told = _("N = {n}: {prob}")
    return go.Figure(
        {
            "type": "bar",
            "x": lengths.tolist(),
            "y": law.tolist(),
            "width": 0.62,
            "marker": {"color": style.faint(colours.target, 0.35), "line": {"color": colours.target, "width": 1.5}},
            "customdata": [told.format(n=n, prob=number(p)) for n, p in zip(lengths, law.tolist(), strict=True)],
            "hovertemplate": "%{customdata}<extra></extra>",
        },
        layout,
    )
