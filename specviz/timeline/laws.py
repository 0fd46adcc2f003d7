"""The laws at one place, as far as a record keeps them: the top tokens, and what all others hold together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from specviz.i18n import _
from specviz.records import Candidate, Round
from specviz.timeline.labels import label

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


class Share(NamedTuple):
    """A row of `shares`: a token, or all others of one kind."""

    name: str
    target_prob: float
    draft_prob: float


def shares(law: Law, most: int) -> tuple[Share, ...]:
    """The laws at a place in at most `most` rows (3 or more), whose Σ min(p, q) is the recorded β.

    Tokens without a row of their own stand in one row where one law lies below the other on all of them, as far as
    the sums tell. Elsewhere a single row would make the overlap too large, so they stand in two: those that the target
    favours and those that the draft favours. Their masses follow from the record, except for how the overlap of the
    tokens that it does not list divides between the two: it is halved.
    """
    rows = sorted(law.rows, key=lambda c: (c.token != law.token, -max(c.target_prob, c.draft_prob)))
    tail = law.tail
    whole = len(rows) <= most and not (tail.target_prob or tail.draft_prob)
    shown = {c.token for c in (rows if whole else rows[: most - 2])}
    named = [Share(label(c.token, c.text), c.target_prob, c.draft_prob) for c in law.rows if c.token in shown]
    if whole:
        return tuple(named)
    both = min(tail.overlap, tail.target_prob, tail.draft_prob)  # which rounding may have passed
    more = [tail.target_prob - both / 2, both / 2]  # p and q of the tokens with p > q, and of those with p < q
    less = [both / 2, tail.draft_prob - both / 2]
    for c in law.rows:
        if c.token not in shown:
            side = more if c.target_prob > c.draft_prob else less
            side[0], side[1] = side[0] + c.target_prob, side[1] + c.draft_prob
    rest, favoured, other = rest_names()
    if min(more[0] - more[1], less[1] - less[0]) <= _ROUNDING:
        return (*named, Share(rest, more[0] + less[0], more[1] + less[1]))
    return (*named, Share(favoured, more[0], more[1]), Share(other, less[0], less[1]))


def rest_names() -> tuple[str, str, str]:
    """The names of the rows of `shares` that stand for several tokens: all others, or those with p > q and p < q."""
    return _("rest"), _("rest, p>q"), _("rest, p<q")


def _tail(candidates: tuple[Candidate, ...], beta: float | None) -> Tail:
    p, q = sum(c.target_prob for c in candidates), sum(c.draft_prob for c in candidates)
    left = sum(c.residual_prob for c in candidates)
    shared = sum(min(c.target_prob, c.draft_prob) for c in candidates)
    if beta is None:
        return Tail(_rest(1 - p), 0.0, _rest(1 - left), 0.0)
    return Tail(_rest(1 - p), _rest(1 - q), _rest(1 - left), _rest(beta - shared))


def _rest(mass: float) -> float:
    return mass if mass > _ROUNDING else 0.0
