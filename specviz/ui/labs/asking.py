"""The exercise: one question at a time, told right or wrong and why, with hints, the answer on request, and a score."""

from __future__ import annotations

from html import escape

import streamlit as st

from specviz.byhand import Given
from specviz.exercise import MOST_SEED, Question, Sheet
from specviz.i18n import _
from specviz.ui import inputs, state


def seed() -> int:
    """The number of the exercise, 0 for the round that the fields say; a button for another one."""
    number = int(
        inputs.number(
            state.HAND_SEED,
            _("Exercise number"),
            0,
            MOST_SEED,
            0,
            step=1,
            told=_("Each number is a round of its own, the same for everybody. 0 is the round of your own numbers."),
        )
    )
    following = number % MOST_SEED + 1
    st.button(
        _("New random exercise"),
        key="hand_new",
        on_click=inputs.take,
        args=({state.HAND_SEED: following},),
        width="stretch",
    )
    return number


def sheet_of(given: Given) -> Sheet:
    """The sheet of this round; a round that was not asked about begins anew."""
    sheet: Sheet | None = state.get(state.HAND_SHEET)
    if sheet is None or sheet.given != given:
        sheet = Sheet(given)
        _put(sheet)
    return sheet


def panel(sheet: Sheet) -> None:
    """What was said of the last answer, the question, the field, help, and how far it is."""
    question, done, n = sheet.open, len(sheet.marks), sheet.n_questions
    _tell(sheet)
    if question is None:
        st.html(f'<p class="sv-answer">{escape(_("Done. Every number of the round is found."))}</p>')
        st.button(_("Start again"), key="hand_again", on_click=_put, args=(Sheet(sheet.given),), width="stretch")
    else:
        _ask(sheet, question)
    st.progress(done / n)
    told = (
        _("{right} of {done} right at the first try; {left} to go at most.")
        if question is not None
        else _("{right} of {done} right at the first try.")
    )
    st.html(f'<p class="sv-told">{escape(told.format(right=sheet.n_right, done=done, left=n - done))}</p>')


def _tell(sheet: Sheet) -> None:
    said = sheet.said
    if said is None:
        return
    kind = {True: "yes", False: "no", None: "so"}[said.right]
    mark = {True: "✓", False: "✕", None: "–"}[said.right]
    formula = f"<span>{escape(said.formula)}</span>" if said.formula else ""
    st.html(f'<p class="sv-said sv-said-{kind}" role="status"><b>{mark} {escape(said.sentence)}</b>{formula}</p>')


def _ask(sheet: Sheet, question: Question) -> None:
    st.html(f'<p class="sv-asks"><b>{len(sheet.marks) + 1}.</b> {escape(question.asks)}</p>')
    if sheet.hinted:
        st.html(f'<p class="sv-told">{escape(question.hint)}</p>')
    with st.form("hand_form", border=False):
        st.text_input(_("Your answer"), key=state.HAND_ANSWER, placeholder=_shape(question), autocomplete="off")
        st.form_submit_button(_("Check"), type="primary", on_click=_answer, key="hand_check", width="stretch")
    with st.container(horizontal=True, gap="xsmall"):
        if question.kind == "verdict":
            st.button(_("✓ accepted"), key="hand_yes", on_click=_put, args=(sheet.answer("accepted"),))
            st.button(_("✕ rejected"), key="hand_no", on_click=_put, args=(sheet.answer("rejected"),))
        st.button(_("Hint"), key="hand_hint", disabled=sheet.hinted, on_click=_put, args=(sheet.hint(),))
        st.button(_("Show the answer"), key="hand_show", on_click=_put, args=(sheet.show(),))


def _shape(question: Question) -> str:
    if question.kind == "verdict":
        return _("accepted or rejected")
    if question.kind == "token":
        return _("the name of a token")
    if question.kind == "numbers":
        return _("{n} numbers, blanks between").format(n=len(question.values))
    return _("as 0.6, .6, 3/5 or 60%")


def _answer() -> None:
    sheet: Sheet = state.get(state.HAND_SHEET)
    _put(sheet.answer(state.get(state.HAND_ANSWER)))


def _put(sheet: Sheet) -> None:
    """A new sheet; a question that is done takes its answer with it, and a wrong one stays to be mended."""
    before: Sheet | None = state.get(state.HAND_SHEET)
    if before is None or before.given != sheet.given or len(before.marks) != len(sheet.marks):
        state.put(state.HAND_ANSWER, "")
    state.put(state.HAND_SHEET, sheet)
