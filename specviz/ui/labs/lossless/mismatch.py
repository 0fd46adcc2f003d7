"""A draft that draws from another law than the q it reports: another temperature, a top-k of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from specviz import exact, theory
from specviz.figures.bias import Line, lines_figure
from specviz.i18n import _
from specviz.records import Sampling
from specviz.sampling import Floats, warp
from specviz.timeline import number
from specviz.ui import inputs, question, shell, state
from specviz.ui.labs.lossless import given, words

_TEMPERATURES = tuple(i / 20 for i in range(2, 41))
_RULE = "mismatched_temperature"


def show(left: Any, right: Any) -> None:
    with left:
        laws = given.ask()
        if laws.joined:
            laws = given.chosen("letters")
            question.note(words.no_warp_of_joined())
        size = len(laws.p)
        temperature = float(
            inputs.slider(state.PROOF_TEMPERATURE, _("Temperature of the draft"), 0.0, 2.0, 0.5, step=0.05)
        )
        top_k = min(size, int(inputs.number(state.PROOF_TOP_K, _("Top-k of the draft"), 1, 50, 2, step=1)))
        question.note(_("The ratio and the residual use q as it is: temperature 1, all {v} tokens.").format(v=size))
    emitted = exact.judged_law(drafted(laws, temperature, None), laws.p, laws.q)
    cut = exact.judged_law(drafted(laws, 1.0, top_k), laws.p, laws.q)
    at, cut_at = (float(theory.total_variation(law, laws.p)) for law in (emitted, cut))
    both = exact.judged_law(drafted(laws, temperature, top_k), laws.p, laws.q)
    temperatures = _temperatures(temperature)
    over = tuple(
        float(theory.total_variation(exact.judged_law(drafted(laws, t, None), laws.p, laws.q), laws.p))
        for t in temperatures
    )
    over_k = tuple(
        float(theory.total_variation(exact.judged_law(drafted(laws, 1.0, n), laws.p, laws.q), laws.p))
        for n in range(1, size + 1)
    )
    index = words.RULES.index(_RULE)
    with right:
        question.answer(
            _("Drafting at temperature {t} while the ratio takes q at 1 moves the law by a TV of {tv}.").format(
                t=question.given(temperature), tv=number(at)
            ),
            (_("temperature {t}").format(t=question.given(temperature)), number(at), _("TV from p")),
            (_("top-k {k}").format(k=top_k), number(cut_at), _("TV from p")),
            (_("both"), number(float(theory.total_variation(both, laws.p))), _("TV from p")),
        )
        question.formula(
            rf"q_T(x) \propto q(x)^{{1/{question.given(temperature)}}},\quad P(x) = q_T \min(1, \tfrac pq) + "
            r"\Big(1-\textstyle\sum q_T \min(1, \tfrac pq)\Big)\, p_r(x),\quad \mathrm{TV}(P, p) = " + question.tex(at)
        )
        one, other = st.columns(2, gap="medium")
        with one:
            question.figure(
                lines_figure(
                    temperatures,
                    [Line(_("drafted at T"), index, over)],
                    _("TV over the draft's temperature"),
                    "T",
                    here=temperature,
                    theme=shell.theme(),
                ),
                key="temperatures",
                alt=_("Total variation from p over the draft's temperature: {tv} at {t}, 0 at 1").format(
                    tv=number(at), t=question.given(temperature)
                ),
                frame=lambda: pd.DataFrame({"temperature": temperatures, "tv": over}),
            )
        with other:
            question.figure(
                lines_figure(
                    list(range(1, size + 1)),
                    [Line(_("drafted by top-k"), index, over_k)],
                    _("TV over the draft's top-k"),
                    "k",
                    whole=True,
                    here=top_k,
                    theme=shell.theme(),
                ),
                key="top_ks",
                alt=_("Total variation from p over the draft's top-k: {tv} at {k}").format(tv=number(cut_at), k=top_k),
                frame=lambda: pd.DataFrame({"top_k": range(1, size + 1), "tv": over_k}),
            )
        question.note(
            _("Any draft is exact, as long as the q of the ratio and of the residual is the law that it drew from.")
        )


def drafted(laws: given.TwoLaws, temperature: float, top_k: int | None) -> Floats:
    with np.errstate(divide="ignore"):  # log 0 = -inf: still a token that cannot come
        return warp(np.log(laws.q), Sampling(temperature=temperature, top_k=top_k))


def _temperatures(at: float) -> tuple[float, ...]:
    return tuple(sorted({*_TEMPERATURES, at}))
