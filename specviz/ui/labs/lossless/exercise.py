"""The notes' exercise 6: V = 10, K = 3, 50,000 rounds, sampled and greedy, and the first token unseen added."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from specviz import theory
from specviz.figures.divergence import Path, divergence_figure
from specviz.i18n import _
from specviz.simulation import fit
from specviz.timeline import number
from specviz.ui import question, shell
from specviz.ui.labs.lossless import given, sampled, words
from specviz.ui.tables import table_html

SIZE, K, N_ROUNDS = 10, 3, 50_000
_BROKEN = "first_token_unseen"


def show(left: Any, right: Any) -> None:
    with left:
        seed = given.seed()
        laws = given.random(seed, SIZE)
        question.note(
            _("V = {v} tokens, K = {k}, {n} rounds of each: p and q are drawn from the seed.").format(
                v=SIZE, k=K, n=f"{N_ROUNDS:,}"
            )
        )
    seen = sampled.at_once(sampled.Asked(laws.p, laws.q, K, N_ROUNDS, ("exact", _BROKEN), seed))
    best = given.one_hot(laws.p), given.one_hot(laws.q)
    greedy = sampled.at_once(sampled.Asked(*best, K, N_ROUNDS, ("exact",), seed))["exact"].tally
    top = int(np.argmax(laws.p))
    n_agreeing = int(greedy.counts[top])
    tally, other = seen["exact"].tally, seen[_BROKEN].tally
    fits = {rule: sampled.judged(one.tally, laws.p) for rule, one in seen.items()}
    rings = fits["exact"][0].p_value < fit.LEVEL
    missed = fits[_BROKEN][0].p_value >= fit.LEVEL
    mean = theory.expected_tokens(laws.alpha, K)
    greedy_mean = theory.expected_tokens(theory.alpha(*best), K)
    with right:
        question.answer(_told(rings=rings, missed=missed, agrees=n_agreeing == greedy.n_tokens))
        question.formula(
            rf"E[N] = {words.expected_tokens(laws.alpha, K)},\qquad "
            rf"\frac{{V-1}}{{2n}} = \frac{{{SIZE - 1}}}{{2\cdot {tally.n_tokens}}} = "
            rf"{question.tex((SIZE - 1) / (2 * tally.n_tokens))}"
        )
        heads = [_("version"), _("expected"), _("KL from p"), _("p-value"), _("tokens per round"), _("verdict")]
        rows = [
            [
                _("sampled"),
                _("KL → 0, mean → {mean}").format(mean=number(mean, 4)),
                number(seen["exact"].points[-1][1]),
                words.p_value(fits["exact"][0].p_value),
                f"{tally.mean_tokens:.4f} ± {number(tally.standard_error)}",
                fits["exact"][1],
            ],
            [
                _("greedy"),
                _("every token is p's best, mean {mean}").format(mean=number(greedy_mean, 4)),
                "–",
                "–",
                f"{greedy.mean_tokens:.4f}",
                _("{n} of {all} tokens agree").format(n=f"{n_agreeing:,}", all=f"{greedy.n_tokens:,}"),
            ],
            [
                _("sampled, first token unseen"),
                _("a bias that can be seen"),
                number(seen[_BROKEN].points[-1][1]),
                words.p_value(fits[_BROKEN][0].p_value),
                f"{other.mean_tokens:.4f} ± {number(other.standard_error)}",
                fits[_BROKEN][1],
            ],
        ]
        st.html(table_html(_("Exercise 6: what is expected and what came out"), heads, rows, words=2))
        paths = [Path(words.rule_name(rule), words.RULES.index(rule), one.points, 0.0) for rule, one in seen.items()]
        question.figure(
            divergence_figure(paths, SIZE, tally.n_tokens, theme=shell.theme()),
            key="exercise",
            alt=_("KL from p over tokens seen: {exact} sampled, {broken} with the first token unseen").format(
                exact=number(seen["exact"].points[-1][1]), broken=number(seen[_BROKEN].points[-1][1])
            ),
            frame=lambda: sampled.frame(seen),
        )
        question.note(
            _("The notes accept on r ≤ p/q; r < p/q is right, since r can be 0 and a token of p = 0 must never pass.")
        )


def _told(*, rings: bool, missed: bool, agrees: bool) -> str:
    """What came out beside what the exercise's answer says. A false alarm and a miss are two things."""
    if not agrees:
        return _("Not the answer's picture: the greedy chain is not p's, so the rule is broken.")
    if rings and missed:
        return _(
            "Not the answer's picture at this seed: the test rings for the exact rule, as at a level of 1% it does for "
            "one seed in a hundred, and it does not see the first token unseen."
        )
    if rings:
        return _(
            "Not quite the answer's picture at this seed: the test rings for the exact rule. At a level of 1% one seed "
            "in a hundred rings falsely."
        )
    if missed:
        return _(
            "Not quite the answer's picture at this seed: the test does not see the first token unseen. The bias is "
            "there, and too small for so few tokens."
        )
    return _("As the answer says: sampled the law is p, greedy the chain is p's, and the first token unseen shows.")
