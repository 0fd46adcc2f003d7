"""How many tokens a target pass gave: the rounds counted, beside the law that the measured α̂ predicts."""

from __future__ import annotations

import plotly.graph_objects as go

from specviz import measure, theory
from specviz.figures import style
from specviz.figures.panel import blank_figure, panel_layout, whole_steps
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.records import Trace
from specviz.timeline import number


def lengths_figure(trace: Trace, *, theme: Theme = "light") -> go.Figure:
    """Shares of rounds by the tokens N that they gave, theory's P(N = n), and the mean of each as an upright line.

    Rounds that drafted fewer than K or that an end of text cut are left out: the law is not about them.
    """
    counts, rate = measure.round_lengths(trace), measure.alpha(trace)
    n_rounds = counts.total()
    if not trace.draft_length or not n_rounds or not rate.n:
        sentence = _("No round has drafted all K tokens.") if trace.draft_length else _("Nothing was drafted.")
        return blank_figure(_("Tokens per target pass (N)"), sentence, theme=theme)
    colours, longest = style.palette(theme), trace.draft_length + 1
    lengths = range(1, longest + 1)
    shares = [counts[n] / n_rounds for n in lengths]
    law = theory_law(trace)
    mean = sum(n * count for n, count in counts.items()) / n_rounds
    expected = theory.expected_tokens(rate.estimate, trace.draft_length)
    top = 1.15 * max(*shares, *law)
    told = _("N = {n}: {count} of {rounds} rounds<br>share {share}, theory {predicted}")
    hover = [
        told.format(n=n, count=counts[n], rounds=n_rounds, share=number(share), predicted=number(predicted))
        for n, share, predicted in zip(lengths, shares, law, strict=True)
    ]
    common = {"x": list(lengths), "customdata": hover, "hovertemplate": "%{customdata}<extra></extra>"}
    layout = panel_layout(theme, _("Tokens per target pass (N), rounds: {n}").format(n=n_rounds), "n", "")
    layout["xaxis"] |= {"range": [0.4, longest + 0.6], "tick0": 1, "dtick": whole_steps(longest, 10)}
    layout["yaxis"] |= {"range": [0, top], "tickformat": ".0%", "nticks": 5}
    layout["shapes"] = [_upright(mean, top, colours.target, "solid"), _upright(expected, top, colours.text, "dash")]
    return go.Figure(
        [
            {
                "type": "bar",
                "name": _("rounds, mean {mean} (solid line)").format(mean=number(mean)),
                "y": shares,
                "width": 0.62,
                "marker": {
                    "color": style.faint(colours.target, 0.35),
                    "line": {"color": colours.target, "width": 1.5},
                },
            }
            | common,
            {
                "type": "scatter",
                "mode": "markers",
                "name": _("theory from α̂, E[N] = {mean} (dashed)").format(mean=number(expected)),
                "y": law,
                "marker": {
                    "symbol": "diamond",
                    "size": 9,
                    "color": colours.background,  # hollow, also over a bar
                    "line": {"color": colours.text, "width": 1.5},
                },
            }
            | common,
        ],
        layout,
    )


def theory_law(trace: Trace) -> list[float]:
    """P(N = 1), ..., P(N = K + 1) at the measured α̂."""
    return [float(p) for p in theory.tokens_law(measure.alpha(trace).estimate, trace.draft_length)]


def _upright(x: float, top: float, colour: str, dash: str) -> dict[str, object]:
    line = {"color": colour, "width": 2, "dash": dash}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": top, "line": line}
