"""One round: the table of its numbers, and the laws at the place that is looked at."""

from __future__ import annotations

from html import escape

import streamlit as st

from specviz.figures.laws import law_figure
from specviz.figures.style import MARKS
from specviz.i18n import _
from specviz.records import Round
from specviz.timeline import Row, Step, label, number, outcome_name, rows, steps
from specviz.ui import controls, runs, shell, state, views

_CHIP, _FULL = 14, 200  # characters of a token in the table, and where the pointer rests on it


def show(player: runs.Player) -> None:
    """The picker and the table on one side, the laws at one place on the other."""
    left, right = st.columns(2, gap="large")
    with left:
        round_ = controls.round_of(player.trace)
        st.html(table_html(round_) + story_html(round_))
        views.downloads(player)
    with right:
        step = place(round_)
        st.html(step_html(step))
        if step.law is not None:
            figure = law_figure(step.law, theme=shell.theme())
            st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key="law_chart", alt=step.title)


def place(round_: Round) -> Step:
    """The place of the round that is looked at: its judgement, or its draft where it was never judged."""
    told: dict[int, Step] = {}  # by place, the last step there counting
    for step in steps(round_):
        if step.law is not None:
            told[len(round_.nodes) if step.node is None else step.node] = step
    names = {at: _("{mark} {i}").format(mark=_mark(step), i=step.depth) for at, step in told.items()}
    if state.get(state.PLACE) not in told:
        state.put(state.PLACE, max(told))
    st.segmented_control(
        _("Laws at place"), list(told), format_func=lambda i: names[i], key=state.PLACE, required=True, wrap=True
    )
    return told[state.get(state.PLACE)]


def _mark(step: Step) -> str:
    if step.node is None:
        return MARKS["bonus" if step.kind == "bonus" else "resampled"]
    return MARKS["unjudged" if step.kind == "draft" else step.cards[step.node]]


def story_html(round_: Round) -> str:
    """What the whole round cost and gave."""
    told = [step for step in steps(round_) if step.kind in ("verify", "emit")]
    return "".join(f'<p class="sv-caption"><b>{escape(s.title)}.</b> {escape(s.caption)}</p>' for s in told)


def step_html(step: Step) -> str:
    return f'<p class="sv-caption">{escape(step.caption)}</p><p class="sv-formula">{escape(step.formula.text)}</p>'


def table_html(round_: Round) -> str:
    """The round's table. Every cell is escaped."""
    heads = [
        ("sv-left", _("Place"), _("Its place in the round")),
        ("sv-left", _("Token"), _("Blanks are shown as ␣, line breaks as ⏎")),
        ("sv-left", _("Outcome"), _("What became of it")),
        ("", "u", _("The uniform number that the token was drawn with")),
        ("", "p", _("Its probability by the target")),
        ("", "q", _("Its probability by the draft")),
        ("", "p/q", _("Target over draft")),
        ("", "min(1, p/q)", _("The probability that it is accepted")),
        ("", "r", _("The uniform number that it was judged with: accepted when r < min(1, p/q)")),
    ]
    head = "".join(
        f'<th scope="col" class="{kind}" title="{escape(told)}">{escape(name)}</th>' for kind, name, told in heads
    )
    body = "".join(_row_html(row) for row in rows(round_))
    name = escape(_("The tokens of this round"))
    return (
        f'<div class="sv-table" role="region" aria-label="{name}" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row_html(row: Row) -> str:
    full = escape(label(row.token, row.text, _FULL))
    chip = (
        f'<span class="sv-chip sv-is-{row.outcome}" title="{full}">{escape(label(row.token, row.text, _CHIP))}</span>'
    )
    numbers = [row.uniform, row.target_prob, row.draft_prob, row.ratio, row.accept_prob, row.r]
    cells = "".join(f"<td>{'' if value is None else escape(number(value))}</td>" for value in numbers)
    final = " sv-final" if row.outcome in ("resampled", "bonus") else ""
    return (
        f'<tr class="sv-row sv-{row.outcome}-row{final}"><td class="sv-left">{row.position}</td>'
        f'<td class="sv-left">{chip}</td>'
        f'<td class="sv-left">{MARKS[row.outcome]} {escape(outcome_name(row.outcome))}</td>{cells}</tr>'
    )
