"""E[N] and the law of N."""

from __future__ import annotations

import pandas as pd

from specviz import theory
from specviz.figures.tokens import tokens_law_figure
from specviz.i18n import _
from specviz.timeline import number
from specviz.ui import inputs, question, shell


def show() -> None:
    left, right = question.begin(
        "tokens",
        title=_("How many tokens does one target pass give?"),
        lead=_("A round ends at the first guess that falls, so N is a geometric law with a cap at K + 1."),
    )
    with left:
        alpha, k = inputs.alpha(), inputs.draft_length()
        inputs.from_last_run()
    mean, law = theory.expected_tokens(alpha, k), theory.tokens_law(alpha, k)
    with right:
        question.answer(
            _("At α = {alpha} and K = {k}, a target pass gives {mean} tokens on average.").format(
                alpha=question.given(alpha), k=k, mean=number(mean)
            ),
            (_("E[N]"), number(mean), _("at most {most}").format(most=k + 1)),
        )
        question.formula(
            rf"E[N] = \frac{{1-\alpha^{{K+1}}}}{{1-\alpha}} = \frac{{1-{question.given(alpha)}^{{{k}+1}}}}"
            rf"{{1-{question.given(alpha)}}} = {number(mean)}"
        )
        question.figure(
            tokens_law_figure(alpha, k, theme=shell.theme()),
            key="tokens_law",
            alt=_("The probability of each number of tokens per target pass"),
            frame=lambda: pd.DataFrame({"n": range(1, k + 2), "probability": law}),
        )
    question.end(
        source=_("Leviathan et al. 2023 (arXiv 2211.17192), Eq. (1)."),
        try_this=_("Move α to 1: every guess stands, and a pass gives K + 1 tokens."),
    )
