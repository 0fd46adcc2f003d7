"""E[N] and the law of N, and what becomes of both where the acceptance rate is not one."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from specviz import theory
from specviz.figures.tokens import (
    FAMILY,
    missed,
    missed_figure,
    rate_by_place_figure,
    tokens_family_figure,
    tokens_law_figure,
)
from specviz.i18n import _
from specviz.simulation.lengths import Lengths, draw_lengths, draw_two_rates
from specviz.timeline import number, signed
from specviz.ui import inputs, question, shell, state

_ROUNDS = {"1M": 1_000_000, "10k": 10_000, "100": 100}
_WALKED = 40_000  # rounds at most that are drawn guess for guess: 64 guesses take some 0.1 s
_SEEDS = 99


def show() -> None:
    left, right = question.begin(
        "tokens",
        title=_("How many tokens does one target pass give?"),
        lead=_("A round ends at the first guess that falls, so N is a geometric law with a cap at K + 1."),
    )
    with left:
        alpha, k = inputs.alpha(), inputs.draft_length()
        inputs.from_last_run()
        n_rounds = _ROUNDS[inputs.choice(state.ROUNDS, _("Rounds to draw at random"), list(_ROUNDS))]
        seed = int(inputs.slider(state.ROUNDS_SEED, _("Seed of the draws"), 0, _SEEDS, 0))
    with right:
        _one_rate(alpha, k, _drawn(alpha, k, n_rounds, seed))
    left, right = st.columns([3, 9], gap="large")
    with left:
        question.part(_("When α varies"))
        rates = _two_rates(alpha)
    with right:
        _many_rates(rates, k, _walked(rates, k, min(n_rounds, _WALKED), seed))
    question.end(
        source=_(
            "Leviathan et al. 2023 (arXiv 2211.17192), Eq. (1), for independent acceptances with one rate (section "
            "3.1); notes, sections 6 and 9.3. The two rates and their recursion are ours."
        ),
        try_this=_(
            "Move α to 1: every guess stands, and a pass gives K + 1 tokens. Then back to 0.8, set the rates as far "
            "apart as can be and let them last: the two lines below part."
        ),
    )


def _one_rate(alpha: float, k: int, drawn: Lengths) -> None:
    mean, law = theory.expected_tokens(alpha, k), theory.tokens_law(alpha, k)
    ceiling = theory.expected_tokens(alpha, 1e9)
    question.answer(
        _("At α = {alpha} and K = {k}, a target pass gives {mean} tokens on average.").format(
            alpha=question.given(alpha), k=k, mean=number(mean)
        ),
        (_("E[N], the formula"), number(mean), _("at most {most}").format(most=k + 1)),
        (_("Drawn at random"), number(drawn.mean, 5), _drawn_told(drawn, mean)),
        (
            _("Ceiling 1/(1 − α)"),
            number(ceiling) if alpha < 1 else "∞",
            _("at any K; this K reaches {share} of it").format(share=f"{mean / ceiling:.0%}")
            if alpha < 1
            else _("each further guess is a further token"),
        ),
    )
    a = question.given(alpha)
    textbook = rf"\frac{{1-\alpha^{{K+1}}}}{{1-\alpha}} = \frac{{1-{a}^{{{k}+1}}}}{{1-{a}}}" if alpha < 1 else "K+1"
    question.formula(rf"E[N] = {textbook} = {number(mean)}")
    one, other = st.columns(2)
    with one:
        question.figure(
            tokens_law_figure(alpha, k, drawn, theme=shell.theme()),
            key="tokens_law",
            alt=_("Probability of each number of tokens N = 1 to {most} of a target pass; mean {mean}").format(
                most=k + 1, mean=number(mean)
            ),
            frame=lambda: pd.DataFrame(
                {"n": range(1, k + 2), "probability": law, "drawn_rounds": drawn.counts, "drawn_share": drawn.shares}
            ),
        )
    with other:
        question.figure(
            tokens_family_figure(alpha, k, theme=shell.theme()),
            key="tokens_family",
            alt=_("E[N] rises with K towards 1/(1 − α), which is {ceiling} at α = {alpha}").format(
                ceiling=number(ceiling) if alpha < 1 else "∞", alpha=a
            ),
            frame=lambda: _family(alpha),
        )


def _two_rates(alpha: float) -> theory.TwoRates:
    """What the inputs make of α: a share of easy places, how far apart, and how long a kind lasts."""
    share = inputs.slider(state.SHARE, _("Share of easy places"), 0.0, 1.0, 0.5, step=0.05)
    spread = inputs.slider(state.SPREAD, _("How far apart the two rates are"), 0.0, 1.0, 0.8, step=0.05)
    kept = inputs.slider(state.PERSISTENCE, _("How much a kind lasts to the next place"), 0.0, 1.0, 0.9, step=0.05)
    question.note(
        _(
            "The mean rate stays α = {alpha}. Apart 1: as far as this mean allows. Lasting 0: each place is of a kind "
            "drawn anew; 1: a round keeps its kind."
        ).format(alpha=question.given(alpha))
    )
    return theory.two_rates(alpha, share, spread, kept)


def _many_rates(rates: theory.TwoRates, k: int, drawn: Lengths) -> None:
    formula, start = theory.expected_tokens(rates.alpha, k), theory.start_in_text(rates, k)
    anywhere, text = theory.reached(rates, k), theory.reached(rates, k, start=start)
    whole = theory.reached(theory.TwoRates(rates.easy, rates.hard, rates.share, 1.0), k)
    judged = theory.judged_alpha(text)
    question.answer(
        _(
            "Easy places accept at {easy} and hard ones at {hard}. The formula, at their mean, says {mean} tokens: "
            "exact only if the kind of each place is drawn anew."
        ).format(easy=number(rates.easy), hard=number(rates.hard), mean=number(formula, 4)),
        (
            _("Rounds that begin anywhere"),
            number(float(anywhere.sum()), 4),
            _("{off}; drawn {mean}").format(off=_off(anywhere.sum(), formula), mean=_within(drawn)),
        ),
        (
            _("One rate for the whole round"),
            number(float(whole.sum()), 4),
            _("{off}, the most that lasting can add").format(off=_off(whole.sum(), formula)),
        ),
        (
            _("Rounds one after another in a text"),
            number(float(text.sum()), 4),
            _("{off}; it measures α̂ = {judged}, for which the formula says {said}").format(
                off=_off(text.sum(), formula),
                judged=number(judged),
                said=number(theory.expected_tokens(judged, k), 4),
            ),
        ),
    )
    question.formula(_recursion(rates, k, float(anywhere.sum())))
    one, other = st.columns(2)
    with one:
        question.figure(
            rate_by_place_figure(rates, k, drawn, theme=shell.theme()),
            key="rate_by_place",
            alt=_("The acceptance rate of guess n among rounds that get there, from {first} at n = 1 to {last}").format(
                first=number(rates.alpha), last=number(float(theory.rate_by_place(anywhere)[-1]))
            ),
            frame=lambda: pd.DataFrame(
                {
                    "n": range(1, k + 1),
                    "formula": rates.alpha,
                    "two_rates": theory.rate_by_place(anywhere),
                    "whole_round": theory.rate_by_place(whole),
                    "drawn": theory.rate_by_place(drawn.reached),
                }
            ),
        )
    with other:
        question.figure(
            missed_figure(rates, k, theme=shell.theme()),
            key="tokens_missed",
            alt=_("E[N] against the formula at K = {k}: {anywhere} begun anywhere, {text} in a text").format(
                k=k, anywhere=_off(anywhere.sum(), formula), text=_off(text.sum(), formula)
            ),
            frame=lambda: _missed(rates, max(12, k)),
        )
    question.note(
        _(
            "Where the independence breaks: a guess is judged only if those before it stood: rounds that get far are "
            "in easy places, and the rate rises with n. That adds tokens. But in a text a hard place ends a round, and "
            "the next one begins beside it: more rounds begin in hard places, and that takes more away."
        )
    )


def _recursion(rates: theory.TwoRates, k: int, mean: float) -> str:
    easy, hard, w = number(rates.easy), number(rates.hard), question.given(rates.share)
    kept = question.given(rates.persistence)
    return (
        rf"\begin{{gathered}} E[N] = \sum_{{n=0}}^{{{k}}} \pi\,(D\,T)^n\,\mathbf 1 = {number(mean, 4)} \\ "
        rf"\pi = ({w},\ {question.given(1 - rates.share)}),\ D = \mathrm{{diag}}({easy},\ {hard}) \\ "
        rf"T = {kept}\,I + (1 - {kept})\,\mathbf 1\,\pi \end{{gathered}}"
    )


def _drawn_told(drawn: Lengths, mean: float) -> str:
    least, most = drawn.interval
    holds = least - 1e-12 <= mean <= most + 1e-12
    told = (
        _("{off} from the formula; the 95% interval, {least} to {most}, holds it")
        if holds
        else _("{off} from the formula, outside the 95% interval, {least} to {most}, as for 1 seed in 20")
    )
    return told.format(off=signed(round(drawn.mean - mean, 9)), least=number(least, 5), most=number(most, 5))


def _within(drawn: Lengths) -> str:
    return _("{mean} ± {half}").format(mean=number(drawn.mean, 4), half=number(drawn.interval[1] - drawn.mean, 2))


def _off(value: Any, formula: float) -> str:
    """By how much a number differs from the formula's, in per cent."""
    return f"{signed(round(100 * (float(value) / formula - 1), 9), 2)}%"  # below that is rounding


@lru_cache(64)
def _drawn(alpha: float, k: int, n_rounds: int, seed: int) -> Lengths:
    return draw_lengths(alpha, k, n_rounds, np.random.default_rng(seed))


@lru_cache(64)
def _walked(rates: theory.TwoRates, k: int, n_rounds: int, seed: int) -> Lengths:
    return draw_two_rates(rates, k, n_rounds, np.random.default_rng(seed))


def _family(alpha: float) -> pd.DataFrame:
    lengths = np.arange(1, inputs.LONGEST + 1)
    curves = {f"alpha_{rate:.4g}": theory.expected_tokens(rate, lengths) for rate in (*FAMILY, alpha)}
    return pd.DataFrame({"K": lengths} | curves)


def _missed(rates: theory.TwoRates, longest: int) -> pd.DataFrame:
    anywhere, text = missed(rates, longest)
    return pd.DataFrame({"K": range(1, longest + 1), "begun_anywhere_percent": anywhere, "in_a_text_percent": text})
