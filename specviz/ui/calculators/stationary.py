"""The equation of the best draft length between whole numbers: with the numbers put in, as solved, or in words."""

from __future__ import annotations

import math

from specviz import theory
from specviz.i18n import _
from specviz.timeline import number
from specviz.ui import inputs, question


def show(alpha: float, ratio: float, surcharge: float) -> None:
    """The speed-up, and the equation of its peak as solved, with the numbers put in; in words where there is none."""
    best = theory.best_draft_length(alpha, ratio)
    e_n, a, c = number(theory.expected_tokens(alpha, best), 4), question.given(alpha), question.given(ratio)
    letter = "c'" if surcharge else "c"
    question.formula(
        rf"\text{{speed-up}}(K^*) = \frac{{E[N]\,{letter}}}{{{letter}+K^*}} = "
        rf"\frac{{{e_n}\cdot {c}}}{{{c}+{best}}} = {number(theory.speedup(alpha, ratio, best), 4)}"
    )
    if surcharge:
        question.formula(rf"\frac1{{c'}} = \frac1c + s = \frac1{{{c}}}")
    real = theory.best_draft_length_continuous(alpha, ratio) if ratio >= 1 else math.nan
    if not math.isfinite(real) or real <= -1:
        question.note(_without_peak(alpha, ratio))
        return
    loss, at = -math.log(alpha), number(real, 4)
    left = theory.stationary_residual(alpha, ratio, real)
    question.formula(
        rf"\begin{{gathered}} \alpha^{{K+1}}\,[1+({letter}+K)L] = 1,\quad L=\ln\tfrac1\alpha \\ "
        rf"{a}^{{{at}+1}}\,[1+({c}+{at})\cdot {number(loss, 4)}] - 1 = {_tex(left)} \end{{gathered}}"
    )
    question.formula(
        rf"K^* = \frac{{-W_{{-1}}(-e^{{-1-L({letter}-1)}})-1}}{{L}} - {letter} = "
        rf"\frac{{{number(1 + (ratio + real) * loss, 4)}-1}}{{{number(loss, 4)}}} - {c} = {at}"
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


def _tex(value: float) -> str:
    """A number that may be as small as rounding, for KaTeX."""
    if abs(value) < 1e-300:
        return "0"
    mantissa, exponent = f"{value:.0e}".split("e")
    return rf"{mantissa}\cdot 10^{{{int(exponent)}}}"
