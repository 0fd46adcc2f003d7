"""Exact: the emitted law as a vector, whole texts by enumeration, and greedy decoding, chain beside chain."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

import specviz as sv
from specviz import exact, theory, timeline
from specviz.figures import style
from specviz.figures.bias import Line, emitted_figure, lines_figure
from specviz.i18n import _
from specviz.timeline import number, signed
from specviz.ui import inputs, question, shell, state
from specviz.ui.labs.lossless import given, words
from specviz.ui.tables import table_html

_KS = range(1, 6)
_TOKENS = 3  # of the toy pair whose texts are enumerated
_RULES = ("exact", "first_token_unseen")
_CHAIN = 24  # tokens of the greedy chains
_CHAIN_TOKENS, _LIKENESS, _CHAIN_K = 12, 0.7, 4


def show(left: Any, right: Any) -> None:
    with left:
        laws = given.ask()
        length = int(inputs.slider(state.PROOF_LENGTH, _("Length of the enumerated texts"), 2, 4, 4))
        toy = int(inputs.number(state.PROOF_DRAWS, _("Seed of the toy pair"), 0, 10**6, 0, step=1))
    emitted = exact.emitted_law(laws.p, laws.q)
    worst = float(np.abs(emitted - laws.p).max())
    over_k = _texts(toy, length)
    farthest = max(over_k["exact"])
    with right:
        verdict = (
            _("Yes: over {n} tokens the largest difference is {worst}, over whole texts TV is {farthest}: rounding.")
            if max(worst, farthest) < 1e-14
            else _("No: over {n} tokens the largest difference is {worst}, over whole texts the TV is {farthest}.")
        )
        question.answer(verdict.format(n=len(laws.p), worst=number(worst), farthest=number(farthest)))
        alpha = question.tex(laws.alpha)
        question.formula(
            r"P(x) = \min(p, q) + (1-\alpha)\,\frac{\max(0,\,p-q)}{1-\alpha} = p(x),\quad \alpha = "
            rf"{alpha},\quad \max_x |P(x) - p(x)| = {question.tex(worst)}"
        )
        one, texts = st.columns(2, gap="medium")
        with one:
            question.figure(
                emitted_figure(laws.names, laws.p, emitted.tolist(), theme=shell.theme()),
                key="emitted",
                alt=_("p as bars and the emitted law as dots at their tops; the largest difference is {worst}").format(
                    worst=number(worst)
                ),
                frame=lambda: _vectors(laws, emitted),
            )
        with texts:
            lines = [Line(words.rule_name(r), words.RULES.index(r), over_k[r]) for r in _RULES]
            question.figure(
                lines_figure(
                    list(_KS),
                    lines,
                    _("Whole texts of {n} tokens: TV from the target").format(n=length),
                    "K",
                    logarithmic=True,
                    whole=True,
                    theme=shell.theme(),
                ),
                key="texts",
                alt=_("Total variation over whole texts for K from 1 to 5: {exact} for the exact rule").format(
                    exact=number(farthest)
                ),
                frame=lambda: pd.DataFrame({"K": list(_KS)} | over_k),
            )
        _greedy(toy)
        _greedy_target(laws)
        with st.expander(_("The vectors, in numbers")):
            rows = [
                [timeline.label(i, name), f"{p:.6g}", f"{q:.6g}", f"{e:.6g}", signed(e - p)]
                for i, (name, p, q, e) in enumerate(zip(laws.names, laws.p, laws.q, emitted.tolist(), strict=True))
            ]
            heads = [_("token"), "p", "q", _("emitted"), _("difference")]
            st.html(table_html(_("p, q and the emitted law by token"), heads, rows, scrolls=True))
            question.note(
                _(
                    "Texts: a toy pair over {n} tokens, laws by the last two of them; {texts} texts, round by round."
                ).format(n=_TOKENS, texts=_TOKENS**length)
            )


def _vectors(laws: given.TwoLaws, emitted: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {"token": laws.names, "p": laws.p, "q": laws.q, "emitted": emitted, "difference": emitted - laws.p}
    )


@lru_cache(maxsize=64)
def _texts(seed: int, length: int) -> dict[str, tuple[float, ...]]:
    """TV of whole texts from the target's law, for each rule and K."""
    pair = exact.random_pair(seed, _TOKENS)
    plain = exact.target_sequence_law(pair, [0], length)
    return {
        rule: tuple(
            exact.sequence_total_variation(exact.sequence_law(pair, [0], length, k, rule=rule), plain) for k in _KS
        )
        for rule in _RULES
    }


def _greedy(seed: int) -> None:
    """At temperature 0: the decoder's chain beside the target's own."""
    alone, spoken = _chains(seed)
    same = alone.tokens == spoken.tokens
    mean = len(spoken.tokens) / len(spoken.rounds)
    told = (
        _("Greedy is the special case with one-hot laws: {n} of {n} tokens agree, at {mean} tokens per target pass.")
        if same
        else _("Greedy chains differ: the rule is broken. {n} tokens at {mean} per target pass.")
    )
    outcomes = [
        outcome
        for r in spoken.rounds
        for outcome in (
            *("accepted" for _a in r.accepted),
            *(() if r.final is None else ("resampled" if r.final.source == "residual" else "bonus",)),
        )
    ]
    letters = given.letters(_CHAIN_TOKENS)
    rows = (
        (_("target alone"), [_cell(letters[t], "", "") for t in alone.tokens]),
        (
            _("with a draft"),
            [_cell(letters[t], f" sv-is-{o}", "") for t, o in zip(spoken.tokens, outcomes, strict=True)],
        ),
        (_("outcome"), [_cell(style.MARKS[o], "", timeline.outcome_name(o)) for o in outcomes]),
    )
    body = "".join(
        f'<tr><th scope="row" class="sv-left">{escape(name)}</th>{"".join(cells)}</tr>' for name, cells in rows
    )
    question.note(told.format(n=len(alone.tokens), mean=number(mean)))
    st.html(
        f'<div class="sv-table" role="region" aria-label="{escape(_("Two greedy chains"))}" tabindex="0">'
        f"<table><tbody>{body}</tbody></table></div>"
    )


def _greedy_target(laws: given.TwoLaws) -> None:
    """A draft that samples beside a target that takes its best token."""
    p = given.one_hot(laws.p)
    variation = float(theory.total_variation(exact.emitted_law(p, laws.q), p))
    question.note(
        _(
            "A sampled draft with a greedy target: the emitted law is off by a TV of {tv}. The notes (10) say that "
            "this breaks exactness. In the general rule it does not: p is one-hot, a draft stands exactly when it is "
            "the target's argmax."
        ).format(tv=number(variation))
    )


def _cell(text: str, kind: str, told: str) -> str:
    """A token of a chain, or with what became of it only the mark."""
    inner = f'<span title="{escape(told)}">{text}</span>' if told else f'<span class="sv-chip{kind}">{text}</span>'
    return f'<td style="padding: 0.15rem; text-align: center">{inner}</td>'


@lru_cache(maxsize=16)
def _chains(seed: int) -> tuple[sv.Trace, sv.Trace]:
    pair = exact.random_pair(seed, _CHAIN_TOKENS, _LIKENESS)
    settings: dict[str, Any] = {"max_new_tokens": _CHAIN, "sampling": sv.Sampling(0), "seed": seed}
    return sv.autoregress(pair, [0], **settings), sv.speculate(pair, [0], draft_length=_CHAIN_K, **settings)
