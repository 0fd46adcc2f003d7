"""The equation of the best draft length between whole numbers: with the numbers put in, as solved, or in words."""

from __future__ import annotations

import math

from specviz import theory
from specviz.i18n import _
from specviz.timeline import apart, number
from specviz.ui import inputs, question


def show(alpha: float, ratio: float, surcharge: float) -> None:
    """The speed-up, and the equation of its peak as solved, with the numbers put in; in words where there is none."""
    best, speedup = theory.peak(alpha, ratio)
    k = "K^*"
    if math.isinf(best):  # what the page can set stands for it
        best, speedup, k = inputs.LONGEST, theory.speedup(alpha, ratio, inputs.LONGEST), str(inputs.LONGEST)
    e_n, a, c = question.tex(theory.expected_tokens(alpha, best), 4), question.given(alpha), question.given(ratio)
    letter = "c'" if surcharge else "c"
    question.formula(
        rf"\text{{{_('speed-up')}}}({k}) = \frac{{E[N]\,{letter}}}{{{letter}+{k}}} = "
        rf"\frac{{{e_n}\cdot {c}}}{{{c}+{best}}} = {question.tex(speedup, 4)}"
    )
    if surcharge:
        question.formula(rf"\frac1{{c'}} = \frac1c + s = \frac1{{{c}}}")
    real = theory.best_draft_length_continuous(alpha, ratio) if ratio >= 1 else math.nan
    if not math.isfinite(real) or real <= -1:
        question.note(_without_peak(alpha, ratio))
        return
    loss, at = question.tex(-math.log(alpha), 4), question.tex(real, 4)
    left = theory.stationary_residual(alpha, ratio, real)
    question.formula(
        rf"\begin{{gathered}} \alpha^{{K+1}}\,[1+({letter}+K)L] = 1,\quad L=\ln\tfrac1\alpha \\ "
        rf"{a}^{{{at}+1}}\,[1+({c}+{at})\cdot {loss}] - 1 = {question.tex(left, 1)} \end{{gathered}}"
    )
    question.note(_moved(alpha, ratio, real, letter))
    question.formula(
        rf"K^* = \frac{{-W_{{-1}}(-e^{{-1-L({letter}-1)}})-1}}{{L}} - {letter} = "
        rf"\frac{{{question.tex(1 - (ratio + real) * math.log(alpha), 4)}-1}}{{{loss}}} - {c} = {at}"
    )
    question.note(
        _(
            "The notes (7.1) say that this equation has no closed form. It has none in elementary functions; with the "
            "lower branch of Lambert's W it has. The best whole K is one of its two neighbours, and at least 1."
        )
    )


def _without_peak(alpha: float, ratio: float) -> str:
    if ratio < 1:
        return _("There is no peak: a guess costs more than a target pass, so the speed-up falls from K = 1 on.")
    if alpha in (0, 1) and ratio > 1:
        return (
            _("There is no peak: every guess stands, so the best K is infinite; here it ends at {most}.").format(
                most=inputs.LONGEST
            )
            if alpha
            else _("There is no peak: no guess stands, so the speed-up falls from the start (K* = −1).")
        )
    return _("There is no peak: a guess costs as much as a target pass, so none can gain anything (K* = −1).")


def _moved(alpha: float, ratio: float, real: float, letter: str) -> str:
    """What becomes of the equation's left side, 1 at this K*, as the draft gets cheaper."""
    now, more = (1 + theory.stationary_residual(alpha, c, real) for c in (ratio, ratio + 1))
    shown = apart(math.nextafter(1, 2), more)[1]
    return _(
        "The notes (exercise 3) say that the left side falls as {letter} grows; it rises, at this K from {now} at "
        "{letter} = {c} to {more} at {letter} = {next}, and K must grow to bring it back to 1."
    ).format(letter=letter, now=number(round(now, 12)), more=shown, c=question.given(ratio), next=f"{ratio + 1:.5g}")
