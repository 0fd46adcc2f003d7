"""Sampled: many rounds, the chi-square test on what they emitted, KL falling as 1/n, and N beside E[N]."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pandas as pd

from specviz import exact, theory
from specviz.figures.divergence import Path, divergence_figure
from specviz.i18n import _
from specviz.simulation import fit
from specviz.simulation.laws import Tally, tallies
from specviz.timeline import number
from specviz.ui import inputs, jobs, question, shell, state
from specviz.ui.labs.lossless import given, words
from specviz.ui.polling import poll

COUNTS = {f"{n:,}": n for n in (10**3, 10**4, 10**5, 10**6, 10**7)}
_AT_ONCE = 1_000_000  # uniforms of rounds that need no button
_REDRAWN_S = 0.8  # while a job runs
_APART = 1.25  # from one point of the figure to the next; a nearer one takes the place of the last


@dataclass(frozen=True, slots=True)
class Asked:
    """What is sampled, of each of the rules."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    draft_length: int
    n_rounds: int
    rules: tuple[str, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A rule's samples so far: KL over tokens, and the tally."""

    points: tuple[tuple[int, float], ...]
    tally: Tally


def show(left: Any, right: Any) -> None:
    with left:
        laws = given.ask()
        k = inputs.draft_length(3)
        n = COUNTS[inputs.pick(state.PROOF_ROUNDS, _("Rounds"), list(COUNTS), default="100,000")]
        beside = inputs.pick(
            state.PROOF_BESIDE,
            _("A broken rule beside it"),
            words.RULES[1:],
            default="first_token_unseen",
            named=words.rule_name,
        )
        if beside not in laws.rules:
            beside = "first_token_unseen"
            question.note(words.needs_all_tokens())
        seed = int(inputs.number(state.PROOF_DRAWS, _("Seed of the samples"), 0, 10**6, 0, step=1))
    asked = Asked(laws.p, laws.q, k, n, ("exact", beside), seed)
    with right:
        ready = max(n for n in COUNTS.values() if n * (2 * k + 1) <= _AT_ONCE)
        if n <= ready:
            _results(asked, at_once(asked))
            return
        job = jobs.button(state.PROOF_JOB, _("Play {n} rounds").format(n=f"{n:,}"), lambda: steps(asked), asked=asked)
        if job is None or job.asked != asked or (job.value is None and not job.running):
            first = replace(asked, n_rounds=ready)
            question.note(_("Shown: the first {n} rounds.").format(n=f"{ready:,}"))
            _results(first, at_once(first), n_coming=n)
        elif job.running:
            poll(_growing, asked, job, every=_REDRAWN_S)
        else:
            _results(asked, job.value)


def _growing(asked: Asked, job: jobs.Job) -> None:
    if job.value is not None:
        _results(asked, job.value)


def steps(asked: Asked) -> Generator[tuple[float, dict[str, Seen]], None, None]:
    """The rules side by side, so that all of them grow."""
    options = {"seed": asked.seed}
    streams = [tallies(asked.p, asked.q, asked.draft_length, asked.n_rounds, rule=r, **options) for r in asked.rules]
    points: list[list[tuple[int, float]]] = [[] for _rule in asked.rules]
    for now in zip(*streams, strict=True):
        for path, tally in zip(points, now, strict=True):
            if len(path) > 1 and tally.n_tokens < _APART * path[-2][0]:
                path.pop()
            if tally.n_tokens:
                path.append((tally.n_tokens, fit.divergence(tally.counts, asked.p)))
        seen = {rule: Seen(tuple(path), tally) for rule, path, tally in zip(asked.rules, points, now, strict=True)}
        yield now[0].n_rounds / asked.n_rounds, seen


@lru_cache(maxsize=32)
def at_once(asked: Asked) -> dict[str, Seen]:
    *_before, (_progress, seen) = steps(asked)
    return seen


def judged(tally: Tally, p: tuple[float, ...]) -> tuple[fit.Fit, str]:
    """The test on all tokens, and what it says in a word or two."""
    found = fit.chi_square(tally.counts, p)
    if found.impossible:
        return found, _("seen: a token came that p never gives")
    return found, _("seen") if found.p_value < fit.LEVEL else _("nothing seen")


def _results(asked: Asked, seen: dict[str, Seen], *, n_coming: int = 0) -> None:
    exact_rule, beside = asked.rules
    tally, other = seen[exact_rule].tally, seen[beside].tally
    (found, _said), (broken, _other_said) = judged(tally, asked.p), judged(other, asked.p)
    sentence = (
        _("After {n} rounds the test sees nothing in the exact rule (p-value {p}), but it sees “{rule}” ({q}).")
        if found.p_value >= fit.LEVEL > broken.p_value
        else _("After {n} rounds the test sees nothing: exact rule p-value {p}, “{rule}” {q}.")
        if found.p_value >= fit.LEVEL
        else _("At {n} rounds the test rings for the exact rule too (p-value {p}; “{rule}” {q}): one seed in 100 does.")
    )
    alpha = float(theory.alpha(asked.p, asked.q))
    mean = theory.expected_tokens(alpha, asked.draft_length)
    size = sum(prob > 0 for prob in asked.p)
    kl = fit.divergence(tally.counts, asked.p)
    question.answer(
        sentence.format(
            n=f"{tally.n_rounds:,}",
            p=words.p_value(found.p_value),
            q=words.p_value(broken.p_value),
            rule=words.rule_name(beside),
        ),
        (
            _("χ² of the exact rule"),
            number(found.statistic),
            _("{mean} expected, {n} cells").format(mean=found.n_cells - 1, n=found.n_cells),
        ),
        (
            _("KL of the exact rule"),
            number(kl),
            _("{mean} expected").format(mean=number(float(fit.expected_divergence(size, tally.n_tokens)))),
        ),
        (
            _("tokens per round"),
            f"{tally.mean_tokens:.4f}",
            _("± {error}; E[N] = {mean}").format(error=number(tally.standard_error), mean=number(mean, 4)),
        ),
    )
    question.formula(
        r"\chi^2 = \sum_x \frac{(O_x - n p_x)^2}{n p_x} = "
        rf"{question.tex(found.statistic)},\quad \overline{{\mathrm{{KL}}}} = \frac{{V-1}}{{2n}} = "
        rf"\frac{{{size - 1}}}{{2\cdot {tally.n_tokens}}},\quad "
        rf"E[N] = {words.expected_tokens(alpha, asked.draft_length)}"
    )
    own = _own_law(asked, beside)
    paths = [
        Path(words.rule_name(exact_rule), 0, seen[exact_rule].points, 0.0),
        Path(words.rule_name(beside), words.RULES.index(beside), seen[beside].points, own),
    ]
    coming = int(mean * max(n_coming, asked.n_rounds))
    question.figure(
        divergence_figure(paths, size, coming, theme=shell.theme(), height=330),
        key="divergence",
        alt=_(
            "KL from p over tokens seen: {kl} for the exact rule after {n} tokens, {other} for the broken one"
        ).format(
            kl=number(kl),
            n=f"{tally.n_tokens:,}",
            other=number(fit.divergence(other.counts, asked.p)),
        ),
        frame=lambda: frame(seen),
    )
    question.note(
        _(
            "Every token of every round counts, the bonus too: over a text “{rule}” is off by a TV of {tv}, exactly."
        ).format(rule=words.rule_name(beside), tv=_total_variation(asked, beside))
    )


def frame(seen: dict[str, Seen]) -> pd.DataFrame:
    """The figure's points."""
    points = [(rule, n, kl) for rule, path in seen.items() for n, kl in path.points]
    return pd.DataFrame(points, columns=["rule", "tokens", "kl"])


def _own_law(asked: Asked, rule: str) -> float:
    """KL of the rule's exact law over a text from p."""
    if not exact.round_counts(asked.p, asked.q, asked.draft_length, rule).sum() > 0:
        return 0.0
    return float(theory.kl_divergence(exact.text_law(asked.p, asked.q, asked.draft_length, rule), asked.p))


def _total_variation(asked: Asked, rule: str) -> str:
    if not exact.round_counts(asked.p, asked.q, asked.draft_length, rule).sum() > 0:
        return "–"
    return number(theory.total_variation(exact.text_law(asked.p, asked.q, asked.draft_length, rule), asked.p))
