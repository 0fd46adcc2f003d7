"""A judged place of the last run, whose recorded laws a reader takes over."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from specviz.i18n import _
from specviz.timeline import Law, draft_law, number, shares
from specviz.timeline.labels import quoted
from specviz.timeline.laws import rest_names
from specviz.ui import inputs, laws, state

_AT = "laws_at"  # the place: its round and its trial, from 0, or None


def choose(*, on_take: Callable[[], None]) -> None:
    """A list of the judged places; the laws of the chosen one are taken, and on_take is called."""
    rounds = inputs.last_run().trace.rounds
    names = {(i, j): _name((i, j)) for i, round_ in enumerate(rounds) for j in range(len(round_.trials))}
    st.selectbox(
        _("A real place of the last run"),
        list(names),
        format_func=lambda at: names.get(at, ""),  # a place of another run has no name
        index=None,
        placeholder=_("Choose a judged token"),
        key=_AT,
        on_change=_take,
        args=(on_take,),
    )


def leave() -> None:
    """The laws are no longer those of a place, in a callback."""
    state.put(_AT, None)


def told() -> list[str]:
    """Where the laws come from, and how they stand in a dozen rows; nothing when they come from no place."""
    at = state.get(_AT)
    if at is None:
        return []
    law = _law(at)
    sentences = [
        _("The laws of round {round}, place {place}, as recorded: Σ min(p, q) there was {alpha}.").format(
            round=at[0] + 1, place=at[1] + 1, alpha=number(law.beta or 0.0)
        )
    ]
    if _joins(law):
        sentences.append(
            _(
                "Tokens without a row stand together, those that p favours apart from those that q favours, so that "
                "Σ min(p, q) stays what was recorded. α, β and TV are exact; KL over such rows is approximate."
            )
        )
    return sentences


def joined(now: laws.Laws) -> bool:
    """Whether rows stand for several tokens: those of the place, or in a link and after an edit those named so."""
    at = state.get(_AT)
    return any(name in rest_names() for name in now.names) if at is None else _joins(_law(at))


def _joins(law: Law) -> bool:
    return bool(len(law.rows) > laws.MOST or law.tail.target_prob or law.tail.draft_prob)


def _take(on_take: Callable[[], None]) -> None:
    at = state.get(_AT)
    if at is not None:
        rows = shares(_law(at), laws.MOST)
        laws.put(laws.of([(row.name, row.target_prob, row.draft_prob) for row in rows]))
        on_take()


def _law(at: tuple[int, int]) -> Law:
    round_ = inputs.last_run().trace.rounds[at[0]]
    return draft_law(round_, round_.trials[at[1]].node)


def _name(at: tuple[int, int]) -> str:
    law = _law(at)
    text = next(c.text for c in law.rows if c.token == law.token)
    return _("Round {round}, place {place}: {token}, α = {alpha}").format(
        round=at[0] + 1, place=at[1] + 1, token=quoted(law.token, text), alpha=number(law.beta or 0.0)
    )
