"""The widgets of the Watch page. Their values outlive a change of page; the engine judges them, not the widgets."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import streamlit as st

from specviz import drafters, examples
from specviz.errors import SpecvizError
from specviz.i18n import _
from specviz.models import presets
from specviz.ui import hosting, links, pairs, runs, shell, show, state
from specviz.ui import models as chosen
from specviz.ui.settings import Settings

_WARP = (  # settings that are fields of Sampling, under one name
    state.TEMPERATURE,
    state.TOP_K,
    state.TOP_P,
    state.MIN_P,
    state.REPETITION_PENALTY,
    state.PRESENCE_PENALTY,
    state.FREQUENCY_PENALTY,
    state.MIN_NEW_TOKENS,
)


def settings(shown: runs.Shown) -> None:
    """Prompt, models, warp, Run and Stop, and what can be opened and saved: one row on a wide page."""
    chosen.wait()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="xsmall", key="settings"):
        st.text_area(
            _("Prompt"),
            key=state.PROMPT,
            height=68,
            placeholder=_("Type the beginning of a text"),
            label_visibility="collapsed",
            persist_state="session",
        )
        _number(state.DRAFT_LENGTH, _("Draft length K"), least=1, most=hosting.LIMITS.draft_length, step=1, width=124)
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
                max_upload_size=hosting.LIMITS.upload_bytes // 2**20,
            )

    if not state.get(state.MODELS).bundled:
        st.html(f'<p class="sv-told">{escape(_asked())}</p>')


def _asked() -> str:
    """Whom Run asks, where it is not the bundled pair."""
    models: pairs.Choice = state.get(state.MODELS)
    told = _("Run: target {target}, draft {draft}")
    if state.get(state.CHAT) and pairs.speaks(models):
        told = _("Run, as a chat: target {target}, draft {draft}")
    return told.format(target=models.target, draft=_drafts(models).get(state.get(state.DRAFT), models.draft))


def _more() -> None:
    models: pairs.Choice = state.get(state.MODELS)
    drafts = _drafts(models)
    if state.get(state.DRAFT) not in drafts:
        state.put(state.DRAFT, next(iter(drafts)))
    st.selectbox(
        _("Who drafts"),
        list(drafts),
        format_func=lambda key: drafts[key],
        key=state.DRAFT,
        persist_state="session",
    )
    paces = {
        "fixed": _("K tokens every round"),
        "early": _("until the draft is unsure, at most K"),
        "adaptive": _("more after a round that stood, at most K"),
    }
    st.selectbox(
        _("How far it drafts"),
        drafters.PACES,
        format_func=lambda key: paces[key],
        key=state.PACE,
        persist_state="session",
    )
    st.page_link(links.models(), label=_("Models: {target}").format(target=shell.plain(models.target)))
    if pairs.speaks(models):
        st.toggle(_("Chat: as a message to the model"), key=state.CHAT, persist_state="session")
        st.text_area(_("System prompt"), key=state.SYSTEM, height=68, persist_state="session")
    _number(state.SEED, _("Seed"), least=0, step=1, empty=_("random"))
    _number(state.MAX_NEW_TOKENS, _("New tokens at most"), least=1, most=hosting.LIMITS.new_tokens, step=16)
    warp, words = st.tabs([_("Warp"), _("Penalties")])
    with warp:
        _number(state.TOP_K, _("Top-k"), least=1, step=1, empty=_("off"))
        _number(state.TOP_P, _("Top-p"), least=0.0, most=1.0, step=0.05, empty=_("off"))
        _number(state.MIN_P, _("Min-p"), least=0.0, most=1.0, step=0.05, empty=_("off"))
    with words:
        _number(state.REPETITION_PENALTY, _("Repetition penalty"), least=0.01, step=0.05, empty=_("off"))
        _number(state.PRESENCE_PENALTY, _("Presence penalty"), least=-1000.0, step=0.1, empty=_("off"))
        _number(state.FREQUENCY_PENALTY, _("Frequency penalty"), least=-1000.0, step=0.1, empty=_("off"))
        _number(state.MIN_NEW_TOKENS, _("New tokens at least"), least=0, step=1, empty=_("off"))
        st.text_area(_("Words that never come, one a line"), key=state.BAD_WORDS, height=68, persist_state="session")


def _drafts(models: pairs.Choice) -> dict[str, str]:
    """Who can draft for the target, and the words for it."""
    ways = chosen.ways()
    if models.bundled:
        return {presets.DRAFT: _("Draft model, 0.7M"), presets.WEAK_DRAFT: _("Weak draft model, 0.5M")} | ways
    return ({} if models.draft in ways else {models.draft: models.draft}) | ways


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
    same = {
        key: state.get(key)
        for key in (
            state.PROMPT,
            state.DRAFT_LENGTH,
            state.MAX_NEW_TOKENS,
            state.SEED,
            state.PACE,
            state.CHAT,
            state.SYSTEM,
        )
    }
    words = tuple(line.strip() for line in state.get(state.BAD_WORDS).splitlines() if line.strip())
    models = replace(state.get(state.MODELS), draft=state.get(state.DRAFT))
    sampling = {key: state.get(key) for key in _WARP} | {"bad_words": words}
    show.play(Settings(models=models, sampling=sampling, **same))


def _example() -> None:
    """A recorded run was chosen: show it, and take its settings over, so that Run plays it anew."""
    name = state.get(state.EXAMPLE)
    show.stop()
    recorded = examples.load(name)
    values = {
        state.PROMPT: recorded.prompt,
        state.MODELS: pairs.Choice(),
        state.PACE: "fixed",
        state.DRAFT: recorded.draft,
        state.DRAFT_LENGTH: recorded.draft_length,
        state.SEED: recorded.seed,
        state.MAX_NEW_TOKENS: recorded.max_new_tokens,
        state.BAD_WORDS: "\n".join(recorded.sampling.bad_words),
    }
    for key, value in (values | {key: getattr(recorded.sampling, key) for key in _WARP}).items():
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
