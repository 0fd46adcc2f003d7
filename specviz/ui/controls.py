"""The widgets of the Watch page. Their values outlive a change of page; the engine judges them, not the widgets."""

from __future__ import annotations

import streamlit as st

from specviz import examples
from specviz.errors import SpecvizError
from specviz.i18n import _
from specviz.models import presets
from specviz.ui import runs, show, state
from specviz.ui.settings import Settings

_WIDEST = 16  # the longest draft that can be chosen
_MOST_TOKENS = 512
_FILE_MB = 20


def settings(shown: runs.Shown) -> None:
    """Prompt, models, warp, Run and Stop, and what can be opened and saved: one row on a wide page."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="settings"):
        st.text_area(
            _("Prompt"),
            key=state.PROMPT,
            height=68,
            placeholder=_("Type the beginning of a text"),
            label_visibility="collapsed",
            persist_state="session",
        )
        _number(state.DRAFT_LENGTH, _("Draft length K"), least=1, most=_WIDEST, step=1, width=124)
        _number(state.TEMPERATURE, _("Temperature"), least=0.0, step=0.1, width=116)
        with st.popover(_("More settings")):
            _more()
        st.button(_("Run"), type="primary", on_click=_run, key="run_button")
        st.button(_("Stop"), on_click=show.stop, disabled=not show.running(), key="stop_button")
        st.menu_button(_("Examples"), examples.NAMES, format_func=examples.title, on_click=_example, key=state.EXAMPLE)
        with st.popover(_("Files")):
            show.downloads(shown)
            st.file_uploader(
                _("Open a saved run (JSON)"),
                type="json",
                key=state.UPLOAD,
                on_change=_upload,
                max_upload_size=_FILE_MB,
            )


def _more() -> None:
    drafts = {
        presets.DRAFT: _("Draft model, 0.7M"),
        presets.WEAK_DRAFT: _("Weak draft model, 0.5M"),
        "lookup": _("Prompt lookup: copies what followed before"),
        "skipped": _("The target with half of its layers"),
        "uniform": _("Hopeless: every token alike"),
    }
    st.selectbox(
        _("Who drafts"),
        list(drafts),
        format_func=lambda key: drafts[key],
        key=state.DRAFT,
        persist_state="session",
    )
    _number(state.TOP_K, _("Top-k"), least=1, step=1, empty=_("off"))
    _number(state.TOP_P, _("Top-p"), least=0.0, most=1.0, step=0.05, empty=_("off"))
    _number(state.MIN_P, _("Min-p"), least=0.0, most=1.0, step=0.05, empty=_("off"))
    _number(state.SEED, _("Seed"), least=0, step=1, empty=_("random"))
    _number(state.MAX_NEW_TOKENS, _("New tokens at most"), least=1, most=_MOST_TOKENS, step=16)


def _number(
    key: str,
    label: str,
    *,
    least: float,
    step: float,
    most: float | None = None,
    empty: str | None = None,
    width: int | None = None,
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
        width=width or "stretch",
        persist_state="session",
    )


def _run() -> None:
    """Run was pressed."""
    show.play(
        Settings(
            prompt=state.get(state.PROMPT),
            draft=state.get(state.DRAFT),
            draft_length=state.get(state.DRAFT_LENGTH),
            temperature=state.get(state.TEMPERATURE),
            top_k=state.get(state.TOP_K),
            top_p=state.get(state.TOP_P),
            min_p=state.get(state.MIN_P),
            seed=state.get(state.SEED),
            max_new_tokens=state.get(state.MAX_NEW_TOKENS),
        )
    )


def _example() -> None:
    """A recorded run was chosen: show it, and take its settings over, so that Run plays it anew."""
    name = state.get(state.EXAMPLE)
    show.stop()
    recorded = examples.load(name)
    for key, value in {
        state.PROMPT: recorded.prompt,
        state.DRAFT: recorded.draft,
        state.DRAFT_LENGTH: recorded.draft_length,
        state.TEMPERATURE: recorded.sampling.temperature,
        state.TOP_K: recorded.sampling.top_k,
        state.TOP_P: recorded.sampling.top_p,
        state.MIN_P: recorded.sampling.min_p,
        state.SEED: recorded.seed,
        state.MAX_NEW_TOKENS: recorded.max_new_tokens,
    }.items():
        state.put(key, value)
    show.turn_to(name)


def _upload() -> None:
    """A file was chosen: show its run, or say in a sentence why it is none."""
    file = state.get(state.UPLOAD)
    state.put(state.ERROR, None)
    if file is None:
        return
    try:
        opened = runs.open_file(file)
    except SpecvizError as error:
        state.put(state.ERROR, str(error))
    else:
        show.stop()
        show.turn_to(opened.id)
