"""A whole run at a glance: a line per round, every emitted token with its place's β, and what stands out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from specviz.records import Candidate, Round, Trace
from specviz.timeline.text import Outcome, spans

Verdict = Literal["accepted", "rejected", "undrafted"]


@dataclass(frozen=True, slots=True)
class Line:
    """One round. outcome: whether a draft was rejected, none of those judged was, or none was drafted.

    beta: mean Σ min(p, q) of its judged places, NaN without. text: what it added. seconds: the whole round.
    entropy: of the target's law in nats, mean over the places whose tokens it emitted. A record keeps the top tokens
    of each place, and what the others hold together counts as one token: the true entropy is at least this.
    """

    round: int
    outcome: Verdict
    drafted: int
    accepted: int
    emitted: int
    text: str
    beta: float
    entropy: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Place:
    """One emitted token. text: what it added. beta: Σ min(p, q) at its place; None where no draft was judged there.

    A resampled token stands where a draft was rejected, so that place's beta is its own.
    """

    round: int
    token: int
    text: str
    outcome: Outcome
    beta: float | None


@dataclass(frozen=True, slots=True)
class Streak:
    """Accepted drafts with no rejection between them, from the first round to the last; a bonus between is not one."""

    accepted: int
    first_round: int
    last_round: int


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected draft. behind: drafts after it that nobody judged. target_prob, draft_prob: its p and q."""

    round: int
    depth: int
    token: int
    text: str
    behind: int
    target_prob: float
    draft_prob: float


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring judged places, the first and the last as indices of `places`, and their mean β."""

    first: int
    last: int
    beta: float


def lines(trace: Trace) -> tuple[Line, ...]:
    """One per round, in order. Works on a run under way, and on one of the target alone."""
    return tuple(_line(round_) for round_ in trace.rounds)


def places(trace: Trace) -> tuple[Place, ...]:
    """One per emitted token; their texts together are `trace.text`."""
    betas = [beta for round_ in trace.rounds for beta in _betas(round_)]
    return tuple(Place(s.round, s.token, s.text, s.outcome, beta) for s, beta in zip(spans(trace), betas, strict=True))


def longest_streak(trace: Trace) -> Streak | None:
    """The first of the longest; None when no draft was accepted."""
    best: Streak | None = None
    count = first = 0
    for round_ in trace.rounds:
        for trial in round_.trials:
            if not trial.accepted:
                count = 0
                continue
            count, first = count + 1, round_.index if count == 0 else first
            if best is None or count > best.accepted:
                best = Streak(count, first, round_.index)
    return best


def costliest_rejection(trace: Trace) -> Rejection | None:
    """The one with the most drafts behind it, which were made for nothing; of equals the one with the largest q - p."""
    rejected = [
        Rejection(
            r.index, node.depth, node.token, node.text, len(r.nodes) - len(r.trials), t.target_prob, node.draft_prob
        )
        for r in trace.rounds
        for t in r.trials
        if not t.accepted
        for node in [r.nodes[t.node]]
    ]
    return max(rejected, key=lambda one: (one.behind, one.draft_prob - one.target_prob), default=None)


def stretches(found: Sequence[Place], length: int) -> tuple[Stretch, Stretch] | None:
    """Where the mean β of so many judged places in a row is lowest, and where highest; None with too few to differ."""
    judged = [(i, place.beta) for i, place in enumerate(found) if place.beta is not None]
    if len(judged) <= length:
        return None
    windows = [judged[i : i + length] for i in range(len(judged) - length + 1)]
    means = [Stretch(w[0][0], w[-1][0], math.fsum(beta for _i, beta in w) / length) for w in windows]
    return min(means, key=lambda s: s.beta), max(means, key=lambda s: s.beta)


def _line(round_: Round) -> Line:
    judged = [round_.nodes[trial.node].beta for trial in round_.trials]
    entropies = [_entropy(candidates) for candidates in _laws(round_)]
    outcome: Verdict = "undrafted"
    if round_.nodes:
        outcome = "accepted" if all(trial.accepted for trial in round_.trials) else "rejected"
    return Line(
        round=round_.index,
        outcome=outcome,
        drafted=len(round_.nodes),
        accepted=len(round_.accepted),
        emitted=len(round_.emitted),
        text="".join(round_.pieces),
        beta=math.fsum(judged) / len(judged) if judged else math.nan,
        entropy=math.fsum(entropies) / len(entropies) if entropies else math.nan,
        seconds=round_.round_s,
    )


def _betas(round_: Round) -> list[float | None]:
    """Of each emitted token's place: the judgements come in the order of the text, a bonus after them all."""
    judged: list[float | None] = [round_.nodes[trial.node].beta for trial in round_.trials]
    return [*judged, None][: len(round_.emitted)]


def _laws(round_: Round) -> list[tuple[Candidate, ...]]:
    """The recorded part of the target's law at each emitted token's place."""
    accepted = [round_.nodes[trial.node].candidates for trial in round_.trials if trial.accepted]
    return accepted if round_.final is None else [*accepted, round_.final.candidates]


def _entropy(candidates: Sequence[Candidate]) -> float:
    probs = [c.target_prob for c in candidates]
    rest = 1.0 - math.fsum(probs)
    return math.fsum(-p * math.log(p) for p in [*probs, rest] if p > 0)
