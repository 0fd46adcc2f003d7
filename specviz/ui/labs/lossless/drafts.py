"""The draft made worse: what that does to each broken rule, and to the exact one, which is nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import numpy as np
import pandas as pd

from specviz import exact, theory
from specviz.figures.bias import Line, lines_figure
from specviz.i18n import _
from specviz.timeline import number
from specviz.ui import inputs, question, shell, state
from specviz.ui.labs.lossless import given, words

_SHARES = tuple(i / 20 for i in range(21))


def show(left: Any, right: Any) -> None:
    with left:
        laws = given.ask()
        k = inputs.draft_length(3)
        c = float(inputs.cost_ratio())
        worst = cast(
            exact.Worst, inputs.choice(state.PROOF_WORST, _("Mixed in"), ["upside_down", "uniform"], named=_name)
        )
        share = float(inputs.slider(state.PROOF_WORSE, _("How much of it"), 0.0, 1.0, 0.5, step=0.05))
    over = {rule: _over(laws, rule, k, worst) for rule in laws.rules}
    here = _variation(laws, "exact", k, worst, share)
    grown = sum(values[-1] > values[0] + 1e-12 for rule, values in over.items() if rule != "exact")
    draft = exact.worse_draft(laws.p, laws.q, share, worst)
    alpha = float(theory.alpha(laws.p, draft))
    numbers = {"speed": number(theory.speedup(0.0, c, k)), "k": k, "c": question.given(c)}
    mean = theory.expected_tokens(alpha, k)
    with right:
        question.answer(
            _(
                "As the draft gets worse, {n} of {all} broken rules are further off; the exact rule stays at {none}."
            ).format(n=grown, all=len(over) - 1, none=number(max(over["exact"]))),
            (_("α of this draft"), number(alpha), _("{alpha} without the mixture").format(alpha=number(laws.alpha))),
            (_("E[N]"), number(mean), _("a bad draft costs speed")),
            (_("exact rule"), number(here), _("TV from p over the text")),
        )
        question.formula(
            r"q' = (1-s)\,q + s\,w,\quad s = "
            + question.tex(share)
            + r",\quad \alpha = \sum_x \min(p, q') = "
            + question.tex(alpha)
        )
        lines = [
            Line(words.rule_name(r), i, over[r])
            for i, r in enumerate(words.RULES)
            if r in over and not np.isnan(over[r]).any()
        ]
        question.figure(
            lines_figure(
                _SHARES,
                lines,
                _("Bias over the text, as the draft gets worse"),
                _("share s of the bad law in the draft"),
                here=share,
                height=380,
                theme=shell.theme(),
            ),
            key="worse",
            alt=_(
                "Total variation from p over the share of a bad law in the draft: the exact rule stays at {none}"
            ).format(none=number(max(over["exact"]))),
            frame=lambda: pd.DataFrame({"share": _SHARES} | over),
        )
        question.note(
            _(
                "TV of a token picked from a long text, K = {k}. At a drafted position “{rule}” never looks at q: "
                "only the share of bonus tokens changes."
            ).format(k=k, rule=words.rule_name("argmax_verification"))
        )
        question.note(
            _(
                "A hopeless draft, α = 0, gives c/(c+K) = {speed}× at c = {c} and K = {k}: below 1, for its K passes "
                "are still paid. The notes (exercise 5) say → 1×."
            ).format(**numbers)
        )


def _name(worst: str) -> str:
    return {"upside_down": _("p upside down"), "uniform": _("uniform")}[worst]


@lru_cache(maxsize=256)
def _over(laws: given.TwoLaws, rule: str, k: int, worst: exact.Worst) -> tuple[float, ...]:
    return tuple(_variation(laws, rule, k, worst, share) for share in _SHARES)


def _variation(laws: given.TwoLaws, rule: str, k: int, worst: exact.Worst, share: float) -> float:
    """NaN where the rule emits nothing."""
    draft = exact.worse_draft(laws.p, laws.q, share, worst)
    counts = exact.round_counts(laws.p, draft, k, rule)
    if not counts.sum() > 0:
        return float("nan")
    return float(theory.total_variation(counts / counts.sum(), laws.p))
