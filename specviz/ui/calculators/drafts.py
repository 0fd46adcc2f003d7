"""Which draft: candidates with their α and c, ranked."""

from __future__ import annotations

from math import isinf, isnan

import pandas as pd
import streamlit as st

from specviz import measure, theory
from specviz.figures.drafts import level_rows, plane_figure, speedups_figure
from specviz.i18n import _
from specviz.theory import Standing
from specviz.timeline import number
from specviz.ui import inputs, jobs, question, shell, state
from specviz.ui.calculators import candidates, measured, published
from specviz.ui.calculators.candidates import Draft, Row
from specviz.ui.calculators.compared import measured_html, notes_html, paper_html, ranking_html

_JOB = "measure_drafts"
_KNOWN = "known_drafts"
_TAKEN = "measured_drafts"  # the job whose result is in the table already


def show() -> None:
    left, right = question.begin(
        "drafts",
        title=_("Which draft is worth taking?"),
        lead=_("A larger draft is accepted more often and costs more. What counts is the speed-up that both come to."),
    )
    default = _notes()
    candidates.begin(default)
    with left:
        kind = _cost_kind()
        target = candidates.target_value(kind)
        table = st.container()
        st.menu_button(_("Take known drafts"), list(_known()), on_click=_take_known, key=_KNOWN, width="stretch")
        _last_run()
        job = jobs.button(_JOB, _("Measure the bundled drafts"), measured.steps)
    with table:
        typed = candidates.editor(kind, default)
        _take_measured(job)
        drafts, sentences = candidates.usable(typed, kind, target)
        if kind == candidates.SIZE:
            told = _("c is taken as the ratio of the sizes: an estimate, for passes that wait for memory alone.")
            sentences = [*sentences, told]
        for sentence in sentences:
            question.note(sentence)
    standings = theory.rank_drafts([d.alpha for d in drafts], [d.cost_ratio for d in drafts])
    with right:
        _answer(drafts, standings)
        _figures(drafts, standings, by_size=kind == candidates.SIZE)
        if standings:
            _formula(standings[0])
            st.html(ranking_html([d.label for d in drafts], standings))
            _longer(drafts, standings)
        _beside(typed, kind, job)
    question.end(
        source=_(
            "Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8 and Corollary 3.9; their c is the inverse, T_q/T_p. "
            "T5-XXL: their Table 4, appendix A.3. The first table: section 8.2 of the notes."
        ),
        try_this=_(
            "Take T5-XXL's drafts, choose “size” for the cost, and enter 77, 250 and 800: the ratio of sizes promises "
            "far more than the c that the paper measured."
        ),
    )


def _cost_kind() -> str:
    """What the cost column holds. Another choice turns the costs into the new unit."""
    kinds = (candidates.RATIO, candidates.TIME, candidates.SIZE)
    kind = inputs.choice(state.PRICED, _("A draft's cost is given as"), kinds, named=candidates.kind_name)
    before = st.session_state.get(state.PRICED_BEFORE, kind)
    if before != kind:
        candidates.convert(before, candidates.kept_target(before), kind, candidates.kept_target(kind))
    state.put(state.PRICED_BEFORE, kind)
    return kind


def _known() -> dict[str, tuple[Row, ...]]:
    """The notes' and the paper's candidates by what the menu calls them."""
    tasks = {
        _("T5-XXL, {task}, temperature {t}").format(task=task, t=t): _paper(task, t) for task, t in published.TASKS
    }
    return {_("The notes' five sizes (8.2)"): _notes(), **tasks}


def _take_known() -> None:
    _take(_known()[state.get(_KNOWN)])


def _notes() -> tuple[Row, ...]:
    return tuple(Row(r.label, r.alpha, float(r.cost_ratio)) for r in published.notes_rows())


def _paper(task: str, temperature: int) -> tuple[Row, ...]:
    rows = published.paper_rows(task, temperature)
    return tuple(Row(r.draft, r.alpha, round(r.cost_ratio, 4)) for r in rows)


def _take(rows: tuple[Row, ...]) -> None:
    """These candidates, whose costs are given as c."""
    candidates.put(rows)
    inputs.take({state.PRICED: candidates.RATIO})
    state.put(state.PRICED_BEFORE, candidates.RATIO)


def _take_measured(job: jobs.Job | None) -> None:
    """What was measured joins the table once, as soon as it is there; after the editor, which has the latest edits."""
    if job is None or job.running or not job.value or st.session_state.get(_TAKEN) is job:
        return
    state.put(_TAKEN, job)
    _add(*(Row(m.label, round(m.alpha.estimate, 4), round(m.comparison.cost_ratio, 3)) for m in job.value))
    st.rerun()


def _last_run() -> None:
    """A button that adds the draft of the run on the stage, where both its α̂ and its c were measured."""
    shown = inputs.last_run()
    if shown.alone is None or not shown.alone.rounds or not shown.trace.n_judged:
        return
    compared = measure.compare(shown.trace, shown.alone)
    if not 0 < compared.cost_ratio < float("inf"):
        return
    row = Row(_("last run"), round(compared.alpha, 4), round(compared.cost_ratio, 3))
    st.button(_("Add the last run's draft"), on_click=_add, args=(row,), key="add_last_run", width="stretch")
    st.html(f'<p class="sv-told">α̂ = {number(compared.alpha)}, c = {number(compared.cost_ratio)}</p>')


def _add(*new: Row) -> None:
    """More candidates, whose costs are given as c, in the unit of the others. One of the same name gives way."""
    kind, names = state.get(state.PRICED_BEFORE), {row.label for row in new}
    kept = [row for row in state.get(state.KEPT)[state.DRAFTS] if row.label not in names]
    target = candidates.kept_target(kind)
    added = [Row(r.label, r.alpha, candidates.cost(r.cost, kind, target) if r.cost else r.cost) for r in new]
    candidates.put((*kept, *added))


def _answer(drafts: tuple[Draft, ...], standings: tuple[Standing, ...]) -> None:
    if not standings:
        question.answer(_("There is no candidate to compare yet: a row needs an α and a cost."))
        return
    best, second = standings[0], standings[1] if len(standings) > 1 else None
    name = drafts[best.index].label
    if best.speedup <= 1:
        sentence = _("None of these pays: the best, {name}, reaches {speedup}× the target's own speed.")
        question.answer(sentence.format(name=name, speedup=number(best.speedup, 4)), *_numbers(drafts, standings))
    elif second is None or second.speedup <= 1:
        sentence = _("{name} is the only one that pays: {speedup}× the target's own speed, at K = {k}.")
        question.answer(
            sentence.format(name=name, speedup=number(best.speedup, 4), k=best.draft_length),
            *_numbers(drafts, standings),
        )
    elif best.speedup == second.speedup:
        sentence = _("{name} and {other} are equally fast: {speedup}× the target's own speed.")
        question.answer(
            sentence.format(name=name, other=drafts[second.index].label, speedup=number(best.speedup, 4)),
            *_numbers(drafts, standings),
        )
    else:
        sentence = _("{name} wins: {speedup}× the target's own speed at K = {k}, {more}% more than {other}.")
        question.answer(
            sentence.format(
                name=name,
                speedup=number(best.speedup, 4),
                k=best.draft_length,
                more=number(100 * (best.speedup / second.speedup - 1)),
                other=drafts[second.index].label,
            ),
            *_numbers(drafts, standings),
        )


def _formula(best: Standing) -> None:
    """The winner's speed-up, with its numbers."""
    rate, c, k = question.given(best.alpha), question.given(best.cost_ratio), best.draft_length
    tokens = rf"\frac{{1-{rate}^{{{k}+1}}}}{{1-{rate}}}" if best.alpha < 1 else f"({k}+1)"
    question.formula(
        rf"\max_{{K\le {inputs.LONGEST}}}"
        r" \frac{1-\alpha^{K+1}}{1-\alpha}\cdot\frac{c}{c+K}"
        rf" = {tokens}\cdot\frac{{{c}}}{{{c}+{k}}} = {question.tex(best.speedup, 4)}"
    )


def _longer(drafts: tuple[Draft, ...], standings: tuple[Standing, ...]) -> None:
    """Which candidates would be faster with a longer draft than is ranked."""
    told = [
        (
            _("{name} comes nearer to {speedup}× with each longer draft.")
            if isinf(s.peak_length)
            else _("{name} without a limit: K* = {k}, {speedup}×.")
        ).format(name=drafts[s.index].label, k=s.peak_length, speedup=number(s.peak_speedup, 4))
        for s in standings
        if s.peak_length > s.draft_length
    ]
    if told:
        question.note(" ".join([_("Ranked with K up to {most}.").format(most=inputs.LONGEST), *told]))


def _numbers(drafts: tuple[Draft, ...], standings: tuple[Standing, ...]) -> list[tuple[str, str, str]]:
    """By how much, and how wrong α would have to be."""
    best = standings[0]
    capped = best.peak_length > best.draft_length
    at = _("at K = {k}, the best up to {k}") if capped else _("at K* = {k}")
    cells = [(_("Over no speculation"), f"{number(best.speedup, 4)}×", at.format(k=best.draft_length))]
    if len(standings) > 1:
        second = standings[1]
        told = _("{name} gives {speedup}×").format(name=drafts[second.index].label, speedup=number(second.speedup, 4))
        cells.append((_("Over the second"), f"{number(best.speedup / second.speedup, 4)}×", told))
    tie = best.tie_alpha
    if best.speedup <= 1:
        value = _("none") if isnan(tie) else number(tie)
        cells.append((_("α that it would need to pay"), value, _("it has {alpha}").format(alpha=number(best.alpha))))
    else:
        told = _("it has {alpha}").format(alpha=question.given(best.alpha))
        cells.append((_("First down to α ="), number(tie), told))
    return cells


def _figures(drafts: tuple[Draft, ...], standings: tuple[Standing, ...], *, by_size: bool) -> None:
    names = [d.label for d in drafts]
    sizes = [d.size or 0.0 for d in drafts] if by_size else None
    left, right = st.columns(2, gap="medium")
    told = ", ".join(f"{names[s.index]} {number(s.speedup, 4)}×" for s in standings)
    with left:
        question.figure(
            speedups_figure(names, standings, sizes=sizes, theme=shell.theme()),
            key="drafts_speedups",
            alt=_("Speed-up of each draft at its best K up to {most}, fastest first: {told}").format(
                most=inputs.LONGEST, told=told
            ),
            frame=lambda: _frame(drafts, standings),
        )
    with right:
        question.figure(
            plane_figure(names, standings, theme=shell.theme()),
            key="drafts_plane",
            alt=_("The candidates among lines of equal speed-up in the plane of c and α: {told}").format(
                told=", ".join(f"{d.label} (c = {number(d.cost_ratio)}, α = {number(d.alpha)})" for d in drafts)
            ),
            frame=lambda: pd.DataFrame(level_rows(standings), columns=["speedup", "cost_ratio", "alpha"]),
        )


def _frame(drafts: tuple[Draft, ...], standings: tuple[Standing, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            (drafts[s.index].label, s.alpha, s.cost_ratio, drafts[s.index].size, s.draft_length, s.speedup, s.tie_alpha)
            for s in standings
        ],
        columns=["draft", "alpha", "cost_ratio", "million_parameters", "best_draft_length", "speedup", "tie_alpha"],
    )


def _beside(typed: tuple[Row, ...], kind: str, job: jobs.Job | None) -> None:
    """What is printed or measured of the candidates that are in the table, beside the formula."""
    if kind == candidates.RATIO and typed == _notes():
        question.part(_("What the notes print (8.2)"))
        st.html(notes_html())
        rows = published.notes_rows()
        told = _(
            "The notes print other speed-ups in {n} of {rows} rows. In the last row the best K is {k}, not {printed}."
        )
        question.note(
            told.format(
                n=sum(not published.agrees(row) for row in rows),
                rows=len(rows),
                k=rows[-1].draft_length,
                printed=rows[-1].printed_length,
            )
        )
    elif kind == candidates.RATIO and typed in [_paper(*task) for task in published.TASKS]:
        question.part(_("T5-XXL: formula and measurement"))
        st.html(paper_html())
        question.note(
            _("The formula meets what the paper expects within {most}; what it measured differs by far more.").format(
                most=f"{published.furthest():.2f}"
            )
        )
        told = _(
            "The notes say of T5-small that it has about 60M parameters and gives 2–3×. In the paper it has {size}M, "
            "and {least}× to {most}× was measured."
        )
        least, most = published.small_measured()
        question.note(told.format(size=published.SMALL_SIZE, least=f"{least:.1f}", most=f"{most:.1f}"))
    if job is not None and job.value:
        question.part(_("Measured on this machine"))
        st.html(measured_html(job.value))
