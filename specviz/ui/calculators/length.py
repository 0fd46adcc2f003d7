"""The best draft length K: where the speed-up is greatest, how flat it is there, and what the rules of thumb say."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import streamlit as st

from specviz import theory
from specviz.figures.length import WITHIN, gain_figure, longest_shown, speedup_figure
from specviz.figures.length_map import best_map_figure, speedup_map_figure, whole_map
from specviz.i18n import _
from specviz.timeline import number, signed
from specviz.ui import inputs, question, shell, state
from specviz.ui.calculators import printed_lengths, stationary


def show() -> None:
    left, right = question.begin(
        "length",
        title=_("How many tokens should the draft guess?"),
        lead=_("Each further guess costs a draft pass for certain and stands ever more rarely: there is a best K."),
    )
    with left:
        alpha, cost_ratio, k = inputs.alpha(), inputs.cost_ratio(), inputs.draft_length()
        surcharge = inputs.surcharge()
        inputs.from_last_run()
        told = _("The draft's arithmetic per token over the target's, for Leviathan's count of operations.")
        ops = float(inputs.number(state.OPERATION_RATIO, _("Operation ratio ĉ"), 0.0, 10.0, 0.0, step=0.01, told=told))
    ratio = theory.with_surcharge(cost_ratio, surcharge)
    with right:
        _best(alpha, cost_ratio, k, surcharge)
        _curves(alpha, cost_ratio, k, surcharge)
        stationary.show(alpha, ratio, surcharge)
        _more(alpha, cost_ratio, k, surcharge, ops)
    question.part(_("Where this is among all α and c"))
    _maps(alpha, ratio)
    printed_lengths.show_tables()
    printed_lengths.show_rules()
    question.end(
        source=_(
            "Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8, Corollary 3.9 (break-even), Theorem 3.11 "
            "(operations), section 3.5; notes, sections 6 and 7. The closed form by Lambert's W and the surcharge are "
            "ours."
        ),
        try_this=_(
            "Load the last run: its target pass over K + 1 positions costs more than a plain one. Set s to 0 and see "
            "how much of the promised speed-up that was."
        ),
    )


def _best(alpha: float, cost_ratio: float, k: int, surcharge: float) -> None:
    ratio = theory.with_surcharge(cost_ratio, surcharge)
    best = theory.best_draft_length(alpha, ratio)
    peak, now = theory.speedup(alpha, ratio, best), theory.speedup(alpha, ratio, k)
    ranges = [_range(*theory.plateau(alpha, ratio, share)) for share in WITHIN]
    question.answer(
        _sentence(alpha, cost_ratio, surcharge, best, peak),
        _best_number(alpha, ratio, best, peak),
        (_("Your K = {k}").format(k=k), f"{number(now, 4)}×", _lost(now, peak, beyond=_beyond(alpha, ratio))),
        (
            _("Nearly as good, up to {most}").format(most=inputs.LONGEST)
            if theory.plateau(alpha, ratio, WITHIN[-1])[1] == inputs.LONGEST
            else _("Nearly as good"),
            f"K = {ranges[0]}",
            _("within 1%; {two} within 2%; {three} within 3%").format(two=ranges[1], three=ranges[2]),
        ),
    )


def _beyond(alpha: float, ratio: float) -> bool:
    """Whether the best K is longer than the page can set."""
    return theory.peak(alpha, ratio)[0] > inputs.LONGEST


def _best_number(alpha: float, ratio: float, best: int, peak: float) -> tuple[str, str, str]:
    if _beyond(alpha, ratio):
        length, most = theory.peak(alpha, ratio)
        told = (
            _("{speedup}×; without a limit there is no best: ever longer drafts come near {most}×")
            if math.isinf(length)
            else _("{speedup}×; without a limit K = {length}, {most}×; the real-valued best is {real}")
        )
        shown = {"length": length, "most": number(most, 4), "real": _real(alpha, ratio)}
        return (
            _("Best K up to {limit}").format(limit=inputs.LONGEST),
            str(best),
            told.format(speedup=number(peak, 4), **shown),
        )
    told = _("{speedup}×; the real-valued best is {real}")
    return _("Best K"), str(best), told.format(speedup=number(peak, 4), real=_real(alpha, ratio))


def _sentence(alpha: float, cost_ratio: float, surcharge: float, best: int, peak: float) -> str:
    ratio = theory.with_surcharge(cost_ratio, surcharge)
    a, c = question.given(alpha), question.given(cost_ratio)
    least = question.given(theory.break_even_alpha(ratio))
    if alpha <= theory.break_even_alpha(ratio):
        told = (
            _(
                "At c = {c} no K pays, whatever α is: a guess costs a target pass or more. At α = {alpha} the "
                "least loss is at K = {best}, {peak} times the target alone."
            )
            if ratio <= 1
            else _(
                "At α = {alpha} and c = {c} no K pays: α would have to exceed {least}. The least loss is at K = "
                "{best}, {peak} times the target alone."
            )
        )
        return told.format(alpha=a, c=c, least=least, best=best, peak=number(peak))
    told = (
        _("At α = {alpha} and c = {c} the best K up to {most} is {best}: {peak} times as fast as the target alone.")
        if _beyond(alpha, ratio)
        else _("At α = {alpha} and c = {c} the best K is {best}: {peak} times as fast as the target alone.")
    )
    sentences = [told.format(alpha=a, c=c, best=best, peak=number(peak), most=inputs.LONGEST)]
    if _beyond(alpha, ratio):
        sentences.append(
            _unlimited(
                alpha,
                ratio,
                _("Without a limit it is K = {k}: {most} times."),
                _("Each longer one is faster, and comes nearer to {most} times."),
            )
        )
    if surcharge:
        sentences.append(
            _unlimited(
                alpha,
                cost_ratio,
                _("Without the surcharge the best of all would be K = {k}, {most} times."),
                _("Without the surcharge each longer one would be faster, and come nearer to {most} times."),
            )
        )
    return " ".join(sentences)


def _unlimited(alpha: float, ratio: float, finite: str, endless: str) -> str:
    """The best K of all in the sentence for one that there is, or in the one for none."""
    length, speedup = theory.peak(alpha, ratio)
    return (endless if math.isinf(length) else finite).format(k=length, most=number(speedup))


def _curves(alpha: float, cost_ratio: float, k: int, surcharge: float) -> None:
    ratio = theory.with_surcharge(cost_ratio, surcharge)
    best = theory.best_draft_length(alpha, ratio)
    wide, narrow = st.columns([5, 3])
    with wide:
        question.figure(
            speedup_figure(alpha, cost_ratio, k, surcharge, theme=shell.theme()),
            key="speedup",
            alt=(
                _("Speed-up over K: {peak} at the best K up to {most}, K = {best}, and {now} at K = {k}")
                if _beyond(alpha, ratio)
                else _("Speed-up over K: {peak} at its best, K = {best}, and {now} at K = {k}")
            ).format(
                most=inputs.LONGEST,
                peak=number(theory.speedup(alpha, ratio, best)),
                best=best,
                now=number(theory.speedup(alpha, ratio, k)),
                k=k,
            ),
            frame=lambda: _frame(alpha, cost_ratio, surcharge),
        )
    with narrow:
        question.figure(
            gain_figure(alpha, ratio, k, theme=shell.theme()),
            key="gain",
            alt=(
                _("What one more guess adds to the speed-up: above 0 up to K = {best}, and {gain} from K = {k}")
                if _beyond(alpha, ratio)
                else _("What one more guess adds to the speed-up: above 0 below K = {best}, and {gain} from K = {k}")
            ).format(
                best=best,
                gain=signed(theory.marginal_gain(alpha, ratio, k), 2),
                k=k,
            ),
            frame=lambda: _frame(alpha, cost_ratio, surcharge)[["K", "gain_of_one_more"]].head(
                longest_shown(alpha, ratio, k)
            ),
        )


def _more(alpha: float, cost_ratio: float, k: int, surcharge: float, ops: float) -> None:
    ratio = theory.with_surcharge(cost_ratio, surcharge)
    numbers = [
        (
            _("Speculation pays if"),
            f"α > {question.given(theory.break_even_alpha(ratio))}",
            _("1/c, and s more if there is a surcharge") if surcharge else _("that is 1/c"),
        ),
        (
            _("c, two conventions"),
            question.given(cost_ratio),
            _("T_p/T_q here and in the notes; Leviathan et al. write c = T_q/T_p = {inverse}").format(
                inverse=question.given(1 / cost_ratio)
            ),
        ),
        (
            _("Crude rule (7.2)"),
            *_crude(alpha, ratio, theory.peak(alpha, ratio)[1]),
        ),
        (
            _("One more guess than K = {k}").format(k=k),
            f"{signed(theory.marginal_gain(alpha, ratio, k), 2)}×",
            _("on the speed-up"),
        ),
        (
            _("Operations at K = {k}").format(k=k),
            f"{number(theory.operations(alpha, k, ops))}×",
            _("the target's alone, (Kĉ + K + 1)/E[N]"),
        ),
        (
            _("At least, at the best K"),
            f"{number(theory.guaranteed_speedup(alpha, ratio))}×",
            _("what K = 1 gives: (1 + α)c/(1 + c)"),
        ),
    ]
    question.answer(_("What else these numbers say"), *numbers)


def _crude(alpha: float, ratio: float, peak: float) -> tuple[str, str]:
    if ratio < 1:
        return "–", _("says nothing where a guess costs more than a target pass")
    crude = theory.crude_draft_length(alpha, ratio)
    if math.isinf(crude):
        return number(crude), _("ln c / ln(1/α) − 1: without end, as the best K itself")
    whole = max(math.floor(crude), 1)
    at = theory.speedup(alpha, ratio, whole)
    return number(crude), _("ln c / ln(1/α) − 1; K = {k} gives {speedup}×, {lost}").format(
        k=whole, speedup=number(at, 4), lost=_lost(at, peak)
    )


def _maps(alpha: float, ratio: float) -> None:
    best = theory.best_draft_length(alpha, ratio)
    spot = {"alpha": question.given(alpha), "c": number(ratio), "best": best}
    one, other = st.columns(2)
    with one:
        question.figure(
            best_map_figure(alpha, ratio, theme=shell.theme()),
            key="best_map",
            alt=_("The best K up to {most} grows with α and with c; at α = {alpha} and c = {c} it is {best}").format(
                most=inputs.LONGEST, **spot
            ),
            frame=_map_frame,
        )
    with other:
        question.figure(
            speedup_map_figure(alpha, ratio, theme=shell.theme()),
            key="speedup_map",
            alt=_(
                "The speed-up at the best K up to {most} grows with α and with c; at α = {alpha} and c = {c} it is "
                "{speedup}"
            ).format(most=inputs.LONGEST, speedup=number(theory.speedup(alpha, ratio, best)), **spot),
            frame=_map_frame,
        )


def _real(alpha: float, ratio: float) -> str:
    return number(theory.best_draft_length_continuous(alpha, ratio), 4) if ratio >= 1 else _("none")


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least}–{most}"


def _lost(now: float, peak: float, *, beyond: bool = False) -> str:
    """How far below the best, or below the best that the page can set."""
    lost = 100 * (1 - now / peak)
    if beyond:
        told = _("{percent}% below the best up to {most}") if lost > 1e-9 else _("the best up to {most}")
    else:
        told = _("{percent}% below the best") if lost > 1e-9 else _("the best")
    return told.format(percent=number(lost, 2), most=inputs.LONGEST)


def _frame(alpha: float, cost_ratio: float, surcharge: float) -> pd.DataFrame:
    lengths, ratio = np.arange(1, inputs.LONGEST + 1), theory.with_surcharge(cost_ratio, surcharge)
    speedups = theory.speedup(alpha, ratio, lengths)
    return pd.DataFrame(
        {
            "K": lengths,
            "speedup": speedups,
            "without_surcharge": theory.speedup(alpha, cost_ratio, lengths),
            "gain_of_one_more": theory.marginal_gain(alpha, ratio, lengths),
            f"below_best_up_to_{inputs.LONGEST}_percent": 100 * (1 - speedups / speedups.max()),
        }
    )


def _map_frame() -> pd.DataFrame:
    drawn = whole_map()
    alphas, costs = np.meshgrid(drawn.alphas, drawn.cost_ratios, indexing="ij")
    columns = {"alpha": alphas, "c": costs, "best_K": drawn.best, "speedup": drawn.speedup}
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()})
