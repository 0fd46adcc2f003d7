"""The tables of the drafts' page: the ranking, and what the notes print, the paper measured and this machine showed."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf, isnan

from specviz import theory
from specviz.i18n import _
from specviz.theory import Standing
from specviz.timeline import number
from specviz.ui.calculators import published
from specviz.ui.calculators.measured import DRAFT_LENGTH, Measured
from specviz.ui.inputs import LONGEST
from specviz.ui.tables import table_html

_MARK = {True: "★", False: ""}


def ranking_html(names: Sequence[str], standings: Sequence[Standing]) -> str:
    """The candidates, fastest first, and the α at which each would tie with the best of the others."""
    heads = [
        (_("Ranking"), _("Fastest first; the star marks the one to take")),
        ("α", _("Acceptance rate")),
        ("c", _("T_p/T_q")),
        ("K*", _("The draft length that is best for it, of those up to {most}").format(most=LONGEST)),
        (_("Speed-up"), _("Over the target alone, at this K")),
        (_("wins from α"), _("The α at which it would tie with the best of the others and the target alone")),
    ]
    rows = [
        [
            f"{_MARK[i == 0 and s.speedup > 1]} {names[s.index]}".strip(),
            number(s.alpha),
            number(s.cost_ratio),
            _length(s),
            f"{number(s.speedup, 4)}×",
            _("never") if isnan(s.tie_alpha) else _("any") if s.tie_alpha == 0 else number(s.tie_alpha),
        ]
        for i, s in enumerate(standings)
    ]
    return table_html(_("The candidates, fastest first"), heads, rows)


def _length(of: Standing) -> str:
    """The best K that is ranked, and beside it the best of all where that is longer."""
    if of.peak_length <= of.draft_length:
        return str(of.draft_length)
    longer = "∞" if isinf(of.peak_length) else str(of.peak_length)
    return _("{k} (K* = {longer})").format(k=of.draft_length, longer=longer)


def notes_html() -> str:
    """The notes' table 8.2 computed, beside what they print."""
    heads = [
        (_("Draft"), ""),
        ("K*", _("Computed")),
        (_("K* printed"), _("In the notes")),
        (_("Speed-up"), _("Computed, at K*")),
        (_("Printed"), _("In the notes")),
        (_("Difference"), _("Printed less computed")),
    ]
    rows = []
    for row in published.notes_rows():
        apart = f"{row.printed - row.speedup:+.2f}".replace("-", "−")
        told = _("agrees") if published.agrees(row) else apart
        lengths = [str(row.draft_length), str(row.printed_length)]
        rows.append([row.label, *lengths, f"{row.speedup:.3f}×", f"{row.printed:.2f}×", told])
    return table_html(_("The notes' table 8.2 beside the formula"), heads, rows)


def paper_html() -> str:
    """T5-XXL's twelve rows: the formula at the paper's K, its printed expectation, and what it measured."""
    heads = [
        (_("Draft"), ""),
        (_("Task"), _("EnDe: translation; CNNDM: summaries")),
        ("T", _("Temperature")),
        ("α", ""),
        ("c", _("T_p/T_q, the inverse of the paper's")),
        ("K", _("The paper's γ")),
        (_("Formula"), _("Computed at the paper's K")),
        (_("Expected"), _("As the paper prints it")),
        (_("Measured"), _("As the paper measured it")),
        (_("Measured/formula"), _("How far the idealisation is off")),
        (_("K* gives"), _("The formula at the best K")),
    ]
    rows = []
    for row in published.PAPER_ROWS:
        c = row.cost_ratio
        k = theory.best_draft_length(row.alpha, c)
        rows.append(
            [
                row.draft,
                row.task,
                str(row.temperature),
                number(row.alpha),
                number(c),
                str(row.draft_length),
                f"{row.speedup:.2f}×",
                f"{row.expected:.1f}×",
                f"{row.measured:.1f}×",
                number(row.measured / row.speedup),
                _("{speedup}× (K* = {k})").format(speedup=f"{theory.best_speedup(row.alpha, c):.2f}", k=k),
            ]
        )
    return table_html(_("T5-XXL 11B with three drafts: expected and measured"), heads, rows, words=2)


def measured_html(found: Sequence[Measured]) -> str:
    """The bundled pair's drafts, measured: α̂ and c, and the speed-up beside what the formula makes of them."""
    heads = [
        (_("Draft"), ""),
        ("α̂", _("Mean of Σ min(p, q) over judged places, with its 95% interval")),
        ("c", _("Target pass over draft pass, both measured")),
        ("K", _("The draft length of these runs")),
        (_("Measured"), _("Tokens per second over those of the target alone")),
        (_("Formula"), _("From α̂, c and K")),
        (_("Pass over K + 1"), _("A target pass over K + 1 places, over a plain one; the formula takes it to be 1")),
        ("K*", _("The best draft length for α̂ and c, of those up to {most}").format(most=LONGEST)),
    ]
    rows = [
        [
            one.label,
            _("{alpha} ({low} to {high})").format(
                alpha=number(one.alpha.estimate), low=number(one.alpha.interval[0]), high=number(one.alpha.interval[1])
            ),
            number(one.comparison.cost_ratio),
            str(DRAFT_LENGTH),
            f"{number(one.comparison.speedup)}×",
            f"{number(one.comparison.predicted)}×",
            number(one.comparison.pass_ratio),
            str(one.comparison.best_draft_length or "–"),
        ]
        for one in found
    ]
    return table_html(_("The bundled drafts, measured on this machine"), heads, rows)
