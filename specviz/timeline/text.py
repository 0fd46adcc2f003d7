"""The coloured text, token by token, and the table of a round, row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from specviz.records import Node, Round, Trace, Trial

Outcome = Literal["accepted", "rejected", "unjudged", "resampled", "bonus"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the text: what one emitted token added to it, how the token came, and the step that made it."""

    text: str
    outcome: Outcome
    round: int
    step: int
    token: int


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a round's table: a drafted token, or the final draw (which was judged by nobody).

    position: place in the round, 1..K+1. uniform: what the token was drawn with. below: where its stretch of the
    cumulative law begins. draft_prob: None at the bonus place.
    ratio: p/q. accept_prob, r: None where nothing was judged.
    """

    position: int
    token: int
    text: str
    uniform: float
    below: float
    target_prob: float
    draft_prob: float | None
    ratio: float | None
    accept_prob: float | None
    r: float | None
    outcome: Outcome


def spans(trace: Trace) -> tuple[Span, ...]:
    """The text, token by token: one span per emitted token, and together exactly `trace.text`.

    A token adds nothing where it is half a character, an end token, or part of the stop string that was cut off. Works
    on a trace under way as well.
    """
    left = len(trace.text)
    all_spans: list[Span] = []
    for round_ in trace.rounds:
        first = len(round_.nodes) + 1  # K drafts and the pass come before the first judgement
        outcomes: list[Outcome] = ["accepted"] * len(round_.accepted)
        places = [first + i for i, trial in enumerate(round_.trials) if trial.accepted]
        if round_.final is not None:
            outcomes.append("bonus" if round_.final.source == "bonus" else "resampled")
            places.append(first + len(round_.trials))
        for piece, outcome, step, token in zip(round_.pieces, outcomes, places, round_.emitted, strict=True):
            all_spans.append(Span(piece[:left], outcome, round_.index, step, token))
            left -= len(all_spans[-1].text)
    return tuple(all_spans)


def rows(round_: Round) -> tuple[Row, ...]:
    """The table of a round: its drafted tokens in order, then its final draw."""
    trials = {trial.node: trial for trial in round_.trials}
    table = [_drafted_row(node, trials.get(i)) for i, node in enumerate(round_.nodes)]
    final = round_.final
    if final is not None:
        drawn = next(c for c in final.candidates if c.token == final.token)
        table.append(
            Row(
                position=len(round_.accepted) + 1,
                token=final.token,
                text=final.text,
                uniform=final.uniform,
                below=final.below,
                target_prob=drawn.target_prob,
                draft_prob=drawn.draft_prob if final.source == "residual" else None,
                ratio=None,
                accept_prob=None,
                r=None,
                outcome="resampled" if final.source == "residual" else "bonus",
            )
        )
    return tuple(table)


def _drafted_row(node: Node, trial: Trial | None) -> Row:
    p, q = node.candidate.target_prob, node.draft_prob
    return Row(
        position=node.depth,
        token=node.token,
        text=node.text,
        uniform=node.uniform,
        below=node.below,
        target_prob=p,
        draft_prob=q,
        ratio=p / q if q else math.inf,
        accept_prob=None if trial is None else trial.accept_prob,
        r=None if trial is None else trial.r,
        outcome="unjudged" if trial is None else "accepted" if trial.accepted else "rejected",
    )
