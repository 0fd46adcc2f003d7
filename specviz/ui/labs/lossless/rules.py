"""The broken rules of the notes' 11.1: their exact bias, the samples that show it, and the samples themselves."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from specviz import exact, theory, timeline
from specviz.figures.bias import bias_figure
from specviz.i18n import _
from specviz.sampling import Floats
from specviz.simulation import fit
from specviz.simulation.laws import Tally, tallies
from specviz.timeline import number, signed
from specviz.ui import inputs, jobs, question, shell, state
from specviz.ui.labs.lossless import given, words
from specviz.ui.labs.lossless.sampled import COUNTS
from specviz.ui.tables import table_html

_AT_ONCE = 10_000  # samples of each rule that need no button


@dataclass(frozen=True, slots=True)
class Bias:
    """What a rule does to the law at a drafted position and over a text of rounds of K; None: it never emits."""

    rule: str
    emitted: Floats | None
    text_variation: float
    needed: float

    def variation(self, p: tuple[float, ...]) -> float:
        return float("nan") if self.emitted is None else float(theory.total_variation(self.emitted, p))

    def divergence(self, p: tuple[float, ...]) -> float:
        return float("nan") if self.emitted is None else float(theory.kl_divergence(self.emitted, p))


@dataclass(frozen=True, slots=True)
class Asked:
    """What is sampled: so many tokens of a drafted position under each rule."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    n: int
    temperature: float
    seed: int
    rules: tuple[str, ...]


def show(left: Any, right: Any) -> None:
    with left:
        laws = given.ask()
        k = inputs.draft_length(3)
        temperature = inputs.slider(state.PROOF_TEMPERATURE, _("Temperature of the draft"), 0.0, 2.0, 0.5, step=0.05)
        n = COUNTS[inputs.pick(state.PROOF_ROUNDS, _("Samples of each rule"), list(COUNTS), default="10,000")]
        seed = int(inputs.number(state.PROOF_DRAWS, _("Seed of the samples"), 0, 10**6, 0, step=1))
        rule = inputs.pick(state.PROOF_RULE, _("Shown token by token"), words.RULES[1:], named=words.rule_name)
    found = [bias(laws, rule, k, temperature) for rule in laws.rules]
    asked = Asked(laws.p, laws.q, n, temperature, seed, laws.rules)
    with right:
        biased = [b for b in found if not b.variation(laws.p) <= 1e-13]
        shown = [b.variation(laws.p) for b in biased if b.emitted is not None]
        question.answer(
            _(
                "{n} of {all} shortcuts change a drafted token’s law, by a TV of up to {most}; the exact rule: {none}."
            ).format(
                n=len(biased),
                all=len(found) - 1,
                most=number(max(shown, default=0.0), 4),
                none=number(found[0].variation(laws.p)),
            )
        )
        seen, n_asked = _samples(asked)
        _table(laws, found, seen, n_asked, k)
        _one(laws, next((b for b in found if b.rule == rule), found[1]))
        if laws.joined:
            question.note(words.needs_all_tokens())


def bias(laws: given.TwoLaws, rule: str, k: int, temperature: float) -> Bias:
    if not exact.round_counts(laws.p, laws.q, k, rule, draft_temperature=temperature).sum() > 0 or (
        rule == "drop_without_resampling" and laws.alpha == 0
    ):
        return Bias(rule, None, float("nan"), float("nan"))
    emitted = exact.emitted_law(laws.p, laws.q, rule, draft_temperature=temperature)
    text = exact.text_law(laws.p, laws.q, k, rule, draft_temperature=temperature)
    return Bias(rule, emitted, float(theory.total_variation(text, laws.p)), fit.samples_needed(emitted, laws.p))


def steps(asked: Asked) -> Generator[tuple[float, dict[str, Tally]], None, None]:
    """One token per round of K = 1: what leaves the first drafted position."""
    seen: dict[str, Tally] = {}
    for i, rule in enumerate(asked.rules):
        for tally in tallies(
            asked.p, asked.q, 1, asked.n, seed=asked.seed, rule=rule, draft_temperature=asked.temperature
        ):
            seen = seen | {rule: tally}
            yield (i + tally.n_rounds / asked.n) / len(asked.rules), seen


@lru_cache(maxsize=32)
def at_once(asked: Asked) -> dict[str, Tally]:
    *_before, (_progress, seen) = steps(asked)
    return seen


def _samples(asked: Asked) -> tuple[dict[str, Tally], int]:
    """The samples to show, and how many of each rule were asked for: a job that was cancelled or broke has fewer."""
    if asked.n <= _AT_ONCE:
        return at_once(asked), asked.n
    label = _("Draw {n} of each").format(n=f"{asked.n:,}")
    job = jobs.button(state.PROOF_RULES_JOB, label, lambda: steps(asked), asked=asked)
    if job is not None and job.asked == asked and not job.running and job.value is not None:
        return job.value, asked.n
    first = replace(asked, n=_AT_ONCE)
    return at_once(first), _AT_ONCE


def _table(laws: given.TwoLaws, found: list[Bias], seen: dict[str, Tally], n: int, k: int) -> None:
    rows = [_row(laws, b, seen.get(b.rule), n) for b in found]
    heads = [
        _("rule"),
        _("TV"),
        _("TV of the text"),
        _("KL"),
        _("gains most"),
        _("loses most"),
        _("samples needed"),
        _("in {n} samples").format(n=f"{n:,}"),
    ]
    st.html(table_html(_("The rules, their bias, and whether samples show it"), heads, rows, bold=0))
    question.note(
        _(
            "TV = ½ Σ |emitted − p| and KL: at a drafted position; a text has bonus tokens too (K = {k}). "
            "Needed: for 99% power at a 1% level."
        ).format(k=k)
    )


def _row(laws: given.TwoLaws, b: Bias, tally: Tally | None, n: int) -> list[str]:
    name = words.rule_name(b.rule)
    if b.emitted is None:
        return [name, "–", "–", "–", "–", "–", "–", _("never emits a token")]
    gains = b.emitted - np.array(laws.p)
    up, down = int(gains.argmax()), int(gains.argmin())
    told = [
        f"{timeline.label(i, laws.names[i], 14)} {signed(float(gains[i]))}" if abs(gains[i]) > 1e-13 else "–"
        for i in (up, down)
    ]
    return [
        name,
        number(b.variation(laws.p), 4),
        number(b.text_variation, 4),
        number(b.divergence(laws.p)),
        *told,
        words.count(b.needed),
        _verdict(tally, n, laws.p),
    ]


def _verdict(tally: Tally | None, n: int, p: tuple[float, ...]) -> str:
    """Only of a rule whose samples are all drawn: a test that stops when somebody looks has another level."""
    if tally is None or not tally.first_counts.sum():
        return _("not drawn")
    if tally.n_rounds < n:
        return _("stopped at {n}, not judged").format(n=f"{tally.n_rounds:,}")
    found = fit.chi_square(tally.first_counts, p)
    if found.impossible:
        return _("seen: p never gives it")
    said = _("seen, p-value {p}") if found.p_value < fit.LEVEL else _("not seen, p-value {p}")
    return said.format(p=words.p_value(found.p_value))


def _one(laws: given.TwoLaws, b: Bias) -> None:
    if b.emitted is None:
        question.note(_("This rule never emits a token here: the two laws share none, so every draft is dropped."))
        return
    variation = b.variation(laws.p)
    question.figure(
        bias_figure(
            laws.names,
            laws.p,
            b.emitted.tolist(),
            _("{rule}: TV {tv}").format(rule=words.rule_name(b.rule), tv=number(variation)),
            height=240,
            theme=shell.theme(),
        ),
        key="bias",
        alt=_("What the rule {rule} emits less p, by token; half of all bars together is TV = {tv}").format(
            rule=words.rule_name(b.rule), tv=number(variation)
        ),
        frame=lambda: pd.DataFrame(
            {"token": laws.names, "p": laws.p, "q": laws.q, "emitted": b.emitted, "bias": b.emitted - np.array(laws.p)}
        ),
    )
    question.note(words.rule_told(b.rule))
    _needed_formula(laws, b, b.emitted)


def _needed_formula(laws: given.TwoLaws, b: Bias, emitted: Floats) -> None:
    """The samples needed, as the table counts them. None where the bias is rounding, or p rules an emitted token out:
    there the test needs no power, only that token."""
    support = [i for i, prob in enumerate(laws.p) if prob > 0]
    if any(e > 0 for e, prob in zip(emitted.tolist(), laws.p, strict=True) if prob == 0):
        return
    weight = float(sum((emitted[i] - laws.p[i]) ** 2 / laws.p[i] for i in support))
    if weight > 1e-24 and len(support) > 1 and b.needed < float("inf"):
        shift = fit.noncentrality(len(support))
        question.formula(
            rf"n \approx \frac{{\lambda}}{{\sum_x (e-p)^2/p}} = "
            rf"\frac{{{question.tex(shift)}}}{{{question.tex(weight)}}} = {question.tex(shift / weight)},"
            rf"\quad 1 - F_{{\chi'^2_{{{len(support) - 1}}}(\lambda)}}(x_{{1\%}}) = 99\%"
        )
