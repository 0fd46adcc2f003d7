"""Rows of the notes' table 7.3 and of Leviathan's table 1, to be taken with a click, and the notes' three rules judged.

Only α, c and K are given; every result is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from specviz import theory
from specviz.i18n import _
from specviz.timeline import number
from specviz.ui import inputs, question, state

NOTES = ((0.6, 5), (0.6, 10), (0.7, 10), (0.8, 10), (0.8, 20), (0.9, 10), (0.9, 20), (0.95, 20))  # α, c
PAPER = ((0.6, 2), (0.7, 3), (0.8, 2), (0.8, 5), (0.9, 2), (0.9, 10))  # α, K (the paper's γ)
_LONGER_LOSES, _LONGER_WINS = (0.9, 10.0), (0.6, 10.0)  # α, c: against and for "too long is safer than too short"


def notes_table() -> pd.DataFrame:
    """Table 7.3 computed, with K* between whole numbers beside it."""
    alphas, costs = (np.array(column) for column in zip(*NOTES, strict=True))
    best = theory.best_draft_length(alphas, costs)
    return pd.DataFrame(
        {
            "α": alphas,
            "c": costs,
            "K*": best,
            "real K*": theory.best_draft_length_continuous(alphas, costs),
            "at K*": theory.speedup(alphas, costs, best),
            "at K*−2": theory.speedup(alphas, costs, np.maximum(1, best - 2)),
            "at K*+2": theory.speedup(alphas, costs, best + 2),
        }
    )


def paper_table() -> pd.DataFrame:
    """Leviathan's table 1 computed: operations and speed-up where the draft costs nothing."""
    alphas, lengths = (np.array(column) for column in zip(*PAPER, strict=True))
    return pd.DataFrame(
        {
            "α": alphas,
            "K": lengths,
            "operations": theory.operations(alphas, lengths),
            "speed-up": theory.speedup(alphas, np.inf, lengths),
        }
    )


def show_tables() -> None:
    question.part(_("The printed tables, computed here"))
    one, other = st.columns([4, 3], gap="medium")
    with one:
        question.note(_("Notes, 7.3. Click a row to take its α and c, at the best K."))
        _table(notes_table(), state.NOTES_ROW, _notes_values)
        question.note(_("Where K* − 2 is below 1, K = 1 stands in its place, as in the notes."))
    with other:
        question.note(_("Leviathan et al., table 1. Click a row to take its α and K."))
        _table(paper_table(), state.PAPER_ROW, _paper_values)
        question.note(
            _(
                "Its speed-up is that of a draft that costs nothing: c = ∞ here, c = 0 there. A click sets c = {c}."
            ).format(c=question.given(inputs.DEAREST))
        )


def show_rules() -> None:
    """The notes' three rules of 7.3, judged now."""
    question.part(_("Three rules of the notes (7.3), judged on a grid"))
    laws = _laws()
    share_flat, share_longer = laws.n_flat / laws.n_high, laws.n_longer / laws.n_both
    _rule(
        laws.n_falls_alpha == 0,
        _(
            "K* rises with α: it falls at {falls} steps between {pairs} pairs of α (0.05 to 0.95) and c (2 to 100)."
        ).format(falls=laws.n_falls_alpha, pairs=laws.n_pairs),
    )
    _rule(
        laws.n_falls_cost_ratio == 0,
        _("K* rises with c: it falls at {falls} steps of the same grid.").format(falls=laws.n_falls_cost_ratio),
    )
    _rule(
        share_flat > 0.5,
        _(
            "Flat near the peak at α ≥ 0.8: K* ± 2 loses, as the notes say, usually less than 3%: at {share} of "
            "{pairs} pairs. The most is {most}, at α = {alpha}, c = {c}."
        ).format(
            share=f"{share_flat:.0%}",
            pairs=laws.n_high,
            most=f"{laws.worst_loss:.1%}",
            alpha=question.given(laws.worst_at[0]),
            c=question.given(laws.worst_at[1]),
        ),
    )
    loses, wins = (_around(*at) for at in (_LONGER_LOSES, _LONGER_WINS))
    _rule(
        share_longer == 1,
        _(
            "Too long is safer than too short: at {share} of {pairs} pairs. It is so at α = {a1}, c = {c1}: {short1} "
            "at K* − 2, {long1} at K* + 2. It is not so at α = {a2}, c = {c2}: {short2} at K* − 2, {long2} at K* + 2."
        ).format(
            share=f"{share_longer:.0%}",
            pairs=laws.n_both,
            a1=question.given(_LONGER_WINS[0]),
            c1=question.given(_LONGER_WINS[1]),
            short1=wins[0],
            long1=wins[1],
            a2=question.given(_LONGER_LOSES[0]),
            c2=question.given(_LONGER_LOSES[1]),
            short2=loses[0],
            long2=loses[1],
        ),
    )
    question.note(_("✓ holds, ✕ does not hold everywhere. The notes state the last one as a rule for all."))


def _rule(holds: bool, sentence: str) -> None:
    st.html(f'<p class="sv-lead"><b>{"✓" if holds else "✕"}</b> {escape(sentence)}</p>')


def _table(rows: pd.DataFrame, key: str, values: Callable[[int], dict[str, Any]]) -> None:
    st.dataframe(
        rows,
        hide_index=True,
        key=key,
        on_select=partial(_take, key, values),
        selection_mode="single-cell",
        column_config={
            name: st.column_config.NumberColumn(head, format=shown)
            for name, (head, shown) in _columns().items()
            if name in rows
        },
    )


def _columns() -> dict[str, tuple[str, str]]:
    """The head of a column, and how its numbers are shown."""
    return {
        "K*": ("K*", "%d"),
        "real K*": (_("real K*"), "%.3f"),
        "at K*": (_("at K*"), "%.3f×"),
        "at K*−2": (_("at K*−2"), "%.3f×"),
        "at K*+2": (_("at K*+2"), "%.3f×"),
        "operations": (_("operations"), "%.2f×"),
        "speed-up": (_("speed-up"), "%.2f×"),
    }


def _take(key: str, values: Callable[[int], dict[str, Any]]) -> None:
    cells = state.get(key)["selection"]["cells"]
    if cells:  # none: the click took the selection away
        inputs.take(values(int(cells[0][0])))


def _notes_values(row: int) -> dict[str, Any]:
    alpha, cost_ratio = NOTES[row]
    best = theory.best_draft_length(alpha, cost_ratio)
    return {state.ALPHA: alpha, state.COST_RATIO: float(cost_ratio), state.K: best, state.SURCHARGE: 0.0}


def _paper_values(row: int) -> dict[str, Any]:
    alpha, length = PAPER[row]
    return {state.ALPHA: alpha, state.COST_RATIO: inputs.DEAREST, state.K: length, state.SURCHARGE: 0.0}


def _around(alpha: float, cost_ratio: float) -> tuple[str, str]:
    """The speed-ups two below K* and two above it."""
    best = theory.best_draft_length(alpha, cost_ratio)
    short, long = (theory.speedup(alpha, cost_ratio, best + step) for step in (-2, 2))
    return number(short, 4), number(long, 4)


@cache
def _laws() -> theory.LengthLaws:
    return theory.length_laws(np.arange(1, 20) / 20, np.arange(2, 101))  # 16/20 is 0.8: linspace gives a little less
