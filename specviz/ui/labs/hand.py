"""One round by hand: given numbers, every step on the stage, every number with its formula; and as an exercise."""

from __future__ import annotations

import streamlit as st

from specviz.byhand import Given, Worked, work
from specviz.errors import ConfigError
from specviz.exercise import EXERCISE_2, NOTES, Sheet, Written, random_round
from specviz.figures.round import round_figure
from specviz.i18n import _
from specviz.numerals import shown
from specviz.timeline import label
from specviz.ui import inputs, question, shell, state
from specviz.ui.labs import asking, paper
from specviz.ui.stage import stage

_ABOVE = 168  # pixels of the window over and under the stage: the navigation, the question, the lead


def show() -> None:
    left, right = question.begin(
        "hand",
        title=_("What happens in one round, number by number?"),
        lead=_("Set the laws, the drafts and the random numbers; step through the round, or work it out yourself."),
    )
    with left:
        exercise = inputs.switch(state.HAND_EXERCISE, _("Exercise: find the numbers yourself"))
        room = st.container()  # beside the stage, which a sentence must not push down
        number = asking.seed() if exercise else 0
        given, remarks, error = _given(number, asking_panel=exercise)
    worked = work(given)
    sheet = asking.sheet_of(given) if exercise else None
    if error is not None:
        with room:
            question.refuse(error)
    with right:
        _stage(worked, sheet)
        _answer(worked, sheet, remarks)
        _numbers(worked, sheet)
    question.end(
        source=_(
            "Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1, Corollary 3.6, Eq. (1) and Theorem 3.8; "
            "the notes, section 9 and exercise 2."
        ),
        try_this=_("Change the first r from 0.35 to 0.6: r must be below p/q, so the round ends with its first draft."),
    )


def _given(number: int, *, asking_panel: bool) -> tuple[Given, tuple[str, ...], ConfigError | None]:
    """The round that is asked for, what was filled in, and what is wrong with the fields, which stay as they are."""
    if number:
        given = random_round(number)
        asking.panel(asking.sheet_of(given))
        return given, (), None
    if asking_panel:
        room = st.container()
        with st.expander(_("The numbers of the round")):
            given, remarks, error = _read()
        with room:
            asking.panel(asking.sheet_of(given))
        return given, remarks, error
    return _read()


def _read() -> tuple[Given, tuple[str, ...], ConfigError | None]:
    fields = _fields()
    try:
        given, remarks = fields.read()
    except ConfigError as error:
        last: Given | None = state.get(state.HAND_GOOD)
        return last or NOTES.read()[0], (), error
    state.put(state.HAND_GOOD, given)
    return given, remarks, None


def _fields() -> Written:
    with st.container(horizontal=True, gap="xsmall"):
        for name, told, preset in (
            ("notes", _("Notes, section 9"), NOTES),
            ("exercise", _("Exercise 2"), EXERCISE_2),
        ):
            st.button(told, key=f"hand_{name}", on_click=inputs.take, args=(_values(preset),))
    lists = _("Numbers with blanks between: 0.5, .5, 1/2 and 50% are the same.")
    names = inputs.text(state.HAND_NAMES, _("Tokens"), NOTES.names, told=_("Up to 8 names, with blanks between."))
    p = inputs.text(state.HAND_TARGET, _("Target's law p"), NOTES.target_probs, told=lists)
    q = inputs.text(state.HAND_DRAFT, _("Draft's law q"), NOTES.draft_probs, told=lists)
    k = int(inputs.slider(state.HAND_K, _("Draft length K"), 1, 8, NOTES.draft_length))
    tokens = inputs.text(state.HAND_TOKENS, _("Drafted tokens"), NOTES.draft, told=_("K names, with blanks between."))
    r = inputs.text(
        state.HAND_R, _("r of each draft, in order"), NOTES.r, told=_("One number for each place; – where any will do.")
    )
    u = inputs.text(
        state.HAND_U,
        _("Last draw: its u, or the token"),
        NOTES.u,
        told=_("A number from 0 up to 1, or the token that was drawn: then u is the middle of its stretch."),
    )
    return Written(names, p, q, k, tokens, r, u, float(inputs.cost_ratio(NOTES.cost_ratio)))


def _values(fields: Written) -> dict[str, object]:
    return {
        state.HAND_NAMES: fields.names,
        state.HAND_TARGET: fields.target_probs,
        state.HAND_DRAFT: fields.draft_probs,
        state.HAND_K: fields.draft_length,
        state.HAND_TOKENS: fields.draft,
        state.HAND_R: fields.r,
        state.HAND_U: fields.u,
        state.COST_RATIO: fields.cost_ratio,
    }


def _stage(worked: Worked, sheet: Sheet | None) -> None:
    """The round as any run is shown, in the large text of a talk; in an exercise up to the last step that was found."""
    if sheet is None:
        stage(worked.trace, key="hand_stage", above=_ABOVE, talk=True)
        return
    known = sheet.known
    told = sum(key.startswith("verdict") or key in ("token", "n_tokens") for key in known)
    until = worked.given.draft_length + 1 + told
    stage(
        worked.trace,
        key="hand_stage",
        above=_ABOVE,
        talk=True,
        until=until,
        start=(0, until - 1),
        autoplay=told > 0,
        live="n_tokens" not in known,
    )


def _answer(worked: Worked, sheet: Sheet | None, remarks: tuple[str, ...]) -> None:
    if sheet is None or sheet.open is None:
        tokens = ", ".join(label(token, worked.given.names[token]) for token in worked.round.emitted)
        question.answer(
            _("The round gives {tokens}: N = {n}. Such rounds give E[N] = {mean} on average.").format(
                tokens=tokens, n=len(worked.round.emitted), mean=shown(worked.expected_tokens)
            )
        )
        if remarks:  # in an exercise they would tell what is asked
            question.note(" ".join(remarks))


def _numbers(worked: Worked, sheet: Sheet | None) -> None:
    known = paper.everything if sheet is None else sheet.known.__contains__
    laws, sums = st.columns(2, gap="medium")
    with laws:
        st.html(paper.laws_html(worked, known))
    with sums:
        st.html(paper.sums_html(worked, known))
    st.html(paper.round_html(worked, known))
    if known("speedup"):
        for column, formula in zip(st.columns(2), _formulas(worked), strict=True):
            with column:
                question.formula(formula)
    question.note(
        _(
            "The notes write β for 1 − α. Here, as in the paper, β is the overlap Σ min(p, q) at one place; with the "
            "same laws at every place each β is α. The notes accept at r ≤ p/q; the rule is r < p/q, since r can be 0. "
            "On paper nothing takes time: the stage and the CSV take 1 ms for a draft pass and c ms for the target's."
        )
    )
    n_judged = None if sheet is None else sum(key.startswith("verdict") for key in sheet.known)
    drawn = known("token")
    question.figure(
        round_figure(
            worked.round, worked.given.names, worked.final_law, n_judged=n_judged, drawn=drawn, theme=shell.theme()
        ),
        key="hand_round",
        alt=_alt(worked) if drawn else _("Where each random number fell, as far as it was found"),
        frame=lambda: paper.frame(worked, known),
    )
    if known("speedup"):
        with st.container(key="hand_trace_save"):
            st.download_button(
                _("The round as a run (CSV)"),
                lambda: worked.trace.to_csv() or "",
                file_name="specviz-by-hand.csv",
                mime="text/csv",
                on_click="ignore",
                key="hand_trace_csv",
                help=_("The table of a run that the Watch page saves: a row for each draft and for the last draw"),
            )


def _formulas(worked: Worked) -> tuple[str, str]:
    alpha, c, k = shown(worked.alpha), shown(worked.given.cost_ratio), worked.given.draft_length
    mean, faster = shown(worked.expected_tokens), shown(worked.speedup)
    filled = rf"\frac{{1-{alpha}^{{{k}+1}}}}{{1-{alpha}}}" if worked.alpha < 1 else f"{k} + 1"
    return (
        f"E[N] = {filled} = {mean}",
        rf"\frac{{E[N] \cdot c}}{{c+K}} = \frac{{{mean} \cdot {c}}}{{{c}+{k}}} = {faster}",
    )


def _alt(worked: Worked) -> str:
    """The figure in words, with its numbers."""
    told = [
        (
            _("place {i}: r = {r}, accepted below {a}") if t.accepted else _("place {i}: r = {r}, rejected from {a}")
        ).format(i=t.node + 1, r=shown(t.r), a=shown(t.accept_prob))
        for t in worked.round.trials
    ]
    told.append(_("last draw: u = {u}").format(u=shown(worked.given.u)))
    return _("Where each random number fell: {places}").format(places="; ".join(told))
