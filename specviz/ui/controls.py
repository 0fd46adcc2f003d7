"""The widgets of the Watch page. Their values outlive a change of page; the engine judges them, not the widgets."""

from __future__ import annotations

import streamlit as st

from specviz.i18n import _
from specviz.models import presets
from specviz.records import Round, Trace
from specviz.ui import runs, state

_WIDEST = 16  # the longest draft that can be chosen
_MOST_TOKENS = 512


def settings() -> None:
    """Prompt, models, warp, Run and Stop."""
    st.text_area(
        _("Prompt"),
        key=state.PROMPT,
        height=70,
        placeholder=_("Type the beginning of a text"),
        on_change=_typed,
        persist_state="session",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        names = {state.PROSE: _("Prose"), state.CODE: _("Code"), state.OWN: _("Own text")}
        st.segmented_control(
            _("Example"),
            list(names),
            format_func=lambda key: names[key],
            key=state.EXAMPLE,
            on_change=_exampled,
            required=True,
            persist_state="session",
        )
        drafts = {presets.DRAFT: _("Draft, 0.7M"), presets.WEAK_DRAFT: _("Weak draft, 0.5M")}
        st.segmented_control(
            _("Draft model"),
            list(drafts),
            format_func=lambda key: drafts[key],
            key=state.DRAFT,
            required=True,
            persist_state="session",
        )
        _number(state.DRAFT_LENGTH, _("Draft length K"), least=1, most=_WIDEST, step=1)
        _number(state.TEMPERATURE, _("Temperature, 0 is greedy"), least=0.0, step=0.1, width=164)
        with st.popover(_("More settings")):
            _number(state.TOP_K, _("Top-k"), least=1, step=1, empty=_("off"))
            _number(state.TOP_P, _("Top-p"), least=0.0, most=1.0, step=0.05, empty=_("off"))
            _number(state.MIN_P, _("Min-p"), least=0.0, most=1.0, step=0.05, empty=_("off"))
            _number(state.SEED, _("Seed"), least=0, step=1, empty=_("random"))
            _number(state.MAX_NEW_TOKENS, _("New tokens at most"), least=1, most=_MOST_TOKENS, step=16)
        st.space("stretch")
        st.button(_("Run"), type="primary", on_click=runs.ask, key="run_button")
        st.button(_("Stop"), on_click=runs.stop, disabled=not runs.running(), key="stop_button")


def round_of(trace: Trace) -> Round:
    """The picker of a round, and the round it stands at."""
    n = len(trace.rounds)
    at = max(1, min(state.get(state.ROUND), n))
    state.put(state.ROUND, at)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.button(_("Previous"), on_click=_turn, args=(at - 1,), disabled=at == 1, key="previous_button")
        if n > 1:
            st.slider(_("Round"), 1, n, key=state.ROUND, on_change=_turn, persist_state="session")
        st.button(_("Next"), on_click=_turn, args=(at + 1,), disabled=at == n, key="next_button")
    return trace.rounds[at - 1]


def _number(
    key: str,
    label: str,
    *,
    least: float,
    step: float,
    most: float | None = None,
    empty: str | None = None,
    width: int = 132,
) -> None:
    """A number. empty: what the box says when it is empty, where it may be."""
    st.number_input(
        label,
        min_value=least,
        max_value=most,
        value="min" if empty is None else None,
        step=step,
        key=key,
        placeholder=empty,
        width=width,
        persist_state="session",
    )


def _exampled() -> None:
    """An example was chosen: put it into the box."""
    chosen = state.get(state.EXAMPLE)
    state.put(state.PROMPT, state.EXAMPLES.get(chosen, state.get(state.OWN_PROMPT)))


def _typed() -> None:
    """The box was edited: the text is the reader's own now."""
    state.put(state.OWN_PROMPT, state.get(state.PROMPT))
    state.put(state.EXAMPLE, state.OWN)


def _turn(to: int | None = None) -> None:
    """Another round: its table starts at the final draw."""
    if to is not None:
        state.put(state.ROUND, to)
    state.put(state.PLACE, None)
