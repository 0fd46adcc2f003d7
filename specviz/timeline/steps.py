"""What happens in a round, in order, each step with all that a stage needs to show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from specviz.records import FinalDraw, Node, Round, Trace, Trial
from specviz.timeline import told
from specviz.timeline.laws import Law, draft_law, final_law
from specviz.timeline.told import Formula, Told

Kind = Literal["draft", "verify", "judge", "residual", "bonus", "emit"]
Card = Literal["absent", "drafted", "accepted", "rejected", "unjudged"]


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over all that happened up to and including a step."""

    rounds: int = 0  # target passes
    tokens: int = 0
    judged: int = 0
    accepted: int = 0
    beta: float = 0.0  # over judged places: beta / judged is α̂ so far


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happens, as it is told.

    round, index: which step of which round. node: the drafted token that it is about (None: the pass, the final draw
    or the round). depth: its place in the round, 1..K+1 (None: all of them). token, text: what is drawn or judged.
    law: the laws at that place. mark: the uniform or r that decides, in [0, 1); threshold: min(1, p/q), where r must
    fall below it. cards: how each drafted token stands after the step. tally: the sums after it.
    """

    round: int
    index: int
    kind: Kind
    node: int | None
    depth: int | None
    token: int | None
    text: str
    title: str
    caption: str
    formula: Formula
    law: Law | None
    mark: float | None
    threshold: float | None
    cards: tuple[Card, ...]
    tally: Tally


def steps(of: Trace | Round) -> tuple[Step, ...]:
    """Every step of a run, or of one round (its tally then starts at nothing)."""
    tally = Tally()
    all_steps: list[Step] = []
    for round_ in of.rounds if isinstance(of, Trace) else (of,):
        all_steps.extend(_Teller(round_, tally).steps())
        tally = all_steps[-1].tally
    return tuple(all_steps)


class _Teller:
    """Tells one round."""

    def __init__(self, round_: Round, tally: Tally) -> None:
        self._round = round_
        self._tally = tally
        self._cards: list[Card] = ["absent"] * len(round_.nodes)
        self._index = 0

    def steps(self) -> Iterator[Step]:
        round_ = self._round
        for i, node in enumerate(round_.nodes):
            self._cards[i] = "drafted"
            yield self._draft(i, node)
        yield self._step("verify", told.verified(round_))
        for trial in round_.trials:
            yield self._judge(trial)
        if round_.final is not None:
            yield self._final(round_.final)
        tally = self._tally
        self._tally = replace(tally, rounds=tally.rounds + 1, tokens=tally.tokens + len(round_.emitted))
        yield self._step("emit", told.emitted(round_))

    def _draft(self, i: int, node: Node) -> Step:
        return self._step(
            "draft",
            told.drafted(self._round, node),
            node=i,
            depth=node.depth,
            token=node.token,
            text=node.text,
            law=draft_law(self._round, i),
            mark=node.uniform,
        )

    def _judge(self, trial: Trial) -> Step:
        node, tally = self._round.nodes[trial.node], self._tally
        self._tally = replace(
            tally,
            judged=tally.judged + 1,
            accepted=tally.accepted + trial.accepted,
            beta=tally.beta + node.beta,
        )
        self._cards[trial.node] = "accepted" if trial.accepted else "rejected"
        if trial is self._round.trials[-1]:
            self._cards = ["unjudged" if card == "drafted" else card for card in self._cards]
        return self._step(
            "judge",
            told.judged(self._round, trial, more="unjudged" in self._cards),
            node=trial.node,
            depth=node.depth,
            token=node.token,
            text=node.text,
            law=draft_law(self._round, trial.node),
            mark=trial.r,
            threshold=trial.accept_prob,
        )

    def _final(self, final: FinalDraw) -> Step:
        return self._step(
            final.source,
            told.drawn(self._round, final),
            depth=len(self._round.accepted) + 1,
            token=final.token,
            text=final.text,
            law=final_law(self._round),
            mark=final.uniform,
        )

    def _step(
        self,
        kind: Kind,
        words: Told,
        *,
        node: int | None = None,
        depth: int | None = None,
        token: int | None = None,
        text: str = "",
        law: Law | None = None,
        mark: float | None = None,
        threshold: float | None = None,
    ) -> Step:
        self._index += 1
        return Step(
            round=self._round.index,
            index=self._index - 1,
            kind=kind,
            node=node,
            depth=depth,
            token=token,
            text=text,
            title=words.title,
            caption=words.caption,
            formula=words.formula,
            law=law,
            mark=mark,
            threshold=threshold,
            cards=tuple(self._cards),
            tally=self._tally,
        )
