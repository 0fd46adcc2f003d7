"""p, q and r kept in 16 bits: what the emitted law then is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from specviz import exact, theory
from specviz.figures.bias import bias_figure
from specviz.i18n import _
from specviz.sampling import Floats
from specviz.simulation import fit
from specviz.timeline import number
from specviz.ui import inputs, question, shell, state
from specviz.ui.labs.lossless import given, words
from specviz.ui.tables import table_html

_FORMATS = ("bfloat16", "float16", "float32")


@dataclass(frozen=True, slots=True)
class _Case:
    told: str
    options: dict[str, bool]


def show(left: Any, right: Any) -> None:
    with left:
        laws = given.ask()
        form = cast(exact.Format, inputs.choice(state.PROOF_FORMAT, _("Numbers kept in"), _FORMATS))
    cases = _cases()
    emitted = [exact.rounded_law(laws.p, laws.q, form, **case.options) for case in cases]
    variations = [float(theory.total_variation(law, laws.p)) for law in emitted]
    p = np.array(laws.p)
    lost = float(exact.rounded(p, form).sum() - 1)
    steps = 2 ** exact.UNIFORM_BITS[form]
    worst = int(np.argmax(variations))
    with right:
        question.answer(
            _(
                "In {form} the law is off by a TV of {least} where p and q are rounded well, and of {most} at worst."
            ).format(form=form, least=number(variations[0]), most=number(variations[worst])),
            (_("Σ p after rounding"), f"1 {'−' if lost < 0 else '+'} {number(abs(lost))}", ""),
            (
                _("r is 0"),
                _("1 in {n}").format(n=f"{steps:,}"),
                _("with r of {bits} bits").format(bits=exact.UNIFORM_BITS[form]),
            ),
        )
        question.formula(
            r"\hat p = \mathrm{round}(p),\quad P(x) = \tilde q \min(1, \hat p/\hat q) + "
            r"\Big(1-\textstyle\sum \tilde q \min(1, \hat p/\hat q)\Big)\,\hat p_r(x),\quad "
            rf"\mathrm{{TV}}(P, p) = {question.tex(variations[0])}"
        )
        heads = [
            _("what is rounded"),
            _("TV from p"),
            _("KL from p"),
            _("mass where p = 0"),
            _("samples needed to see it"),
        ]
        rows = [
            [
                case.told,
                number(variation),
                number(float(theory.kl_divergence(law, laws.p))),
                number(float(law[p == 0].sum())),
                words.count(fit.samples_needed(law, laws.p)),
            ]
            for case, law, variation in zip(cases, emitted, variations, strict=True)
        ]
        st.html(table_html(_("What is rounded, and what the emitted law then is"), heads, rows))
        question.figure(
            bias_figure(
                laws.names,
                laws.p,
                emitted[worst].tolist(),
                _("{form}, the worst row: TV {tv}").format(form=form, tv=number(variations[worst])),
                height=260,
                theme=shell.theme(),
            ),
            key="rounding",
            alt=_(
                "Emitted less p by token in the worst row of the table; half of all bars together is TV = {tv}"
            ).format(tv=number(variations[worst])),
            frame=lambda: _frame(laws, cases, emitted),
        )
        question.note(
            _("Rounded well, the exact rule emits the rounded p itself: the target alone would lose as much.")
        )


def _cases() -> list[_Case]:
    return [
        _Case(_("p and q, each divided by its sum again"), {}),
        _Case(_("p and q, not normalised again"), {"renormalised": False}),
        _Case(_("p and q for the ratio; drafted from the full q"), {"drafted_in_full": True}),
        _Case(_("p, q, the ratio and r; accepted on r < p/q"), {"short_uniforms": True}),
        _Case(_("p, q, the ratio and r; accepted on r ≤ p/q"), {"short_uniforms": True, "inclusive": True}),
    ]


def _frame(laws: given.TwoLaws, cases: list[_Case], emitted: list[Floats]) -> pd.DataFrame:
    columns: dict[str, Any] = {"token": laws.names, "p": laws.p, "q": laws.q}
    return pd.DataFrame(columns | {case.told: law for case, law in zip(cases, emitted, strict=True)})
