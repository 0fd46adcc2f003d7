"""The laws at one place, as far as a record keeps them: the top tokens, and what all others hold together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from specviz.records import Candidate, Round

_ROUNDING = 1e-12  # less mass than this is the rounding of a sum, not mass


@dataclass(frozen=True, slots=True)
class Tail:
    """What all tokens without a row of their own hold together; overlap is their share of Σ min(p, q)."""

    target_prob: float
    draft_prob: float
    residual_prob: float
    overlap: float


@dataclass(frozen=True, slots=True)
class Law:
    """The laws at one place and the draw that was made there.

    kind: "draft" is drawn from q, "residual" from norm(max(0, p - q)), "bonus" from p, where no draft law exists.
    below: the law's mass on smaller ids: the token's stretch of the cumulative law begins there.
    rejected: the drafted token that a residual draw replaces. beta: Σ min(p, q), None where no draft law exists.
    rows: the most probable tokens of either law, best target first; the drawn token is among them.
    """

    kind: Literal["draft", "residual", "bonus"]
    token: int
    uniform: float
    below: float
    rejected: int | None
    beta: float | None
    rows: tuple[Candidate, ...]
    tail: Tail


def draft_law(round_: Round, node: int) -> Law:
    """The laws where a token was drafted, and the draw from q."""
    drafted = round_.nodes[node]
    tail = _tail(drafted.candidates, drafted.beta)
    return Law("draft", drafted.token, drafted.uniform, drafted.below, None, drafted.beta, drafted.candidates, tail)


def final_law(round_: Round) -> Law | None:
    """The laws of the draw that ended the round; None when the text ended before one."""
    final = round_.final
    if final is None:
        return None
    if final.source == "bonus":
        tail = _tail(final.candidates, None)
        return Law("bonus", final.token, final.uniform, final.below, None, None, final.candidates, tail)
    rejected = round_.nodes[round_.trials[-1].node]
    tail = _tail(final.candidates, rejected.beta)
    return Law(
        "residual", final.token, final.uniform, final.below, rejected.token, rejected.beta, final.candidates, tail
    )


def _tail(candidates: tuple[Candidate, ...], beta: float | None) -> Tail:
    p, q = sum(c.target_prob for c in candidates), sum(c.draft_prob for c in candidates)
    left = sum(c.residual_prob for c in candidates)
    shared = sum(min(c.target_prob, c.draft_prob) for c in candidates)
    if beta is None:
        return Tail(_rest(1 - p), 0.0, _rest(1 - left), 0.0)
    return Tail(_rest(1 - p), _rest(1 - q), _rest(1 - left), _rest(beta - shared))


def _rest(mass: float) -> float:
    return mass if mass > _ROUNDING else 0.0
