"""Writes down what a round did: laws and a verdict in, a `Round` out. Nothing here decides a token.

Ends are found here, since they are facts about the text: an end token, or a stop string in the grown text.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specviz.models.vocabulary import GrowingText, Vocabulary
from specviz.records import CacheWork, Candidate, FinalDraw, Node, Round, StopReason, Trial
from specviz.sampling import Floats, Verdict, accept_prob, residual, top2_gap

SHOWN = 5  # the most probable tokens of each law that a record keeps per position


class Outcome(NamedTuple):
    """The round, and why the text ends with it (None: it goes on)."""

    round: Round
    stop_reason: StopReason | None


class Recorder:
    """One request's recorder: holds the text so far, so that it can tell what each token adds and where it ends."""

    def __init__(
        self,
        vocabulary: Vocabulary | None,
        prompt: Sequence[int],
        stop: Sequence[str],
        eos: frozenset[int],
    ) -> None:
        self._vocabulary = vocabulary
        self._growing = GrowingText(vocabulary, before=prompt)
        self._stop = stop
        self._eos = eos
        self.text = ""  # without the stop string, when one ended it
        self._n_rounds = 0
        self._n_tokens = len(prompt)

    def record(
        self,
        *,
        logits: npt.NDArray[np.floating] | None,
        target_probs: Floats,
        draft_probs: Floats,
        drafts: Sequence[int],
        draft_uniforms: Sequence[float],
        verdict: Verdict,
        r: Floats,
        u: float,
        draft_cache: CacheWork,
        target_cache: CacheWork,
        clock: tuple[float, float, float],
    ) -> Outcome:
        """The round as a record. logits: the target's, in greedy runs, for the gap. clock: start, drafted, verified."""
        gaps = [None] * len(target_probs) if logits is None else top2_gap(logits).tolist()
        shown = _top(target_probs)  # [K + 1, SHOWN]
        nodes = self._nodes(target_probs, draft_probs, drafts, draft_uniforms, gaps, shown)
        pieces, stop_reason = self._grow([*drafts[: verdict.n_accepted], verdict.token])
        n_accepted = min(verdict.n_accepted, len(pieces))
        trials = [_trial(target_probs, draft_probs, drafts, i, r, True) for i in range(n_accepted)]
        final = None
        if len(pieces) > n_accepted:
            at = n_accepted
            if verdict.source == "residual":
                trials.append(_trial(target_probs, draft_probs, drafts, at, r, False))
            places = np.concatenate([shown[at], np.asarray(drafts[at : at + 1], dtype=np.intp)])  # and what it replaces
            final = self._final(verdict, u, target_probs[at], draft_probs[at : at + 1], gaps[at], places)
        start, drafted, verified = clock
        round_ = Round(
            index=self._n_rounds,
            start=self._n_tokens,
            nodes=nodes,
            trials=tuple(trials),
            final=final,
            pieces=tuple(pieces),
            draft_cache=draft_cache,
            target_cache=target_cache,
            draft_s=drafted - start,
            verify_s=verified - drafted,
            round_s=time.perf_counter() - start,
        )
        self._n_rounds += 1
        self._n_tokens += len(pieces)
        return Outcome(round_, stop_reason)

    def _grow(self, tokens: Sequence[int]) -> tuple[list[str], StopReason | None]:
        """What each token adds to the text, up to the one that ends it."""
        pieces: list[str] = []
        for token in tokens:
            if token in self._eos:
                return [*pieces, ""], "eos"
            before = len(self.text)
            pieces.append(self._growing.add(token))
            self.text += pieces[-1]
            cut = self._stop_at(before)
            if cut is not None:
                self.text = self.text[:cut]
                return pieces, "stop"
        return pieces, None

    def _stop_at(self, before: int) -> int | None:
        """Where in the text the first stop string begins, among those that the characters from `before` complete."""
        starts = [self.text.find(s, max(0, before - len(s) + 1)) for s in self._stop]
        return min((start for start in starts if start >= 0), default=None)

    def _nodes(
        self,
        target_probs: Floats,
        draft_probs: Floats,
        drafts: Sequence[int],
        uniforms: Sequence[float],
        gaps: Sequence[float | None],
        shown: npt.NDArray[np.intp],
    ) -> tuple[Node, ...]:
        n = len(drafts)
        if n == 0:
            return ()
        p = target_probs[:n]
        betas = np.minimum(p, draft_probs).sum(axis=-1)
        residuals = residual(p, draft_probs)
        shown = np.concatenate([shown[:n], _top(draft_probs), np.asarray(drafts)[:, None]], axis=-1)  # [K, 2 SHOWN + 1]
        places = np.arange(n)[:, None]
        given = zip(*(law[places, shown].tolist() for law in (p, draft_probs, residuals)), strict=True)
        return tuple(
            Node(
                parent=i - 1 if i else None,
                depth=i + 1,
                token=drafts[i],
                text=self._label(drafts[i]),
                uniform=uniforms[i],
                below=_below(draft_probs[i], drafts[i]),
                draft_prob=float(draft_probs[i, drafts[i]]),
                beta=min(1.0, float(betas[i])),
                target_gap=gaps[i],
                candidates=self._candidates(drafts[i], tokens, *probs),
            )
            for i, (tokens, probs) in enumerate(zip(shown.tolist(), given, strict=True))
        )

    def _final(
        self, verdict: Verdict, u: float, p: Floats, q: Floats, gap: float | None, shown: npt.NDArray[np.intp]
    ) -> FinalDraw:
        """q: [1, V], the draft's law at a rejection; [0, V] at the bonus, whose residual norm(max(0, p - 0)) is p."""
        law = residual(p, q[0]) if len(q) else p
        extra = [_top(row[None])[0] for row in (*q, law)] if len(q) else []
        shown = np.concatenate([shown, *extra, [verdict.token]])
        draft_law = q[0] if len(q) else np.zeros_like(p)
        return FinalDraw(
            token=verdict.token,
            text=self._label(verdict.token),
            source=verdict.source,
            uniform=u,
            below=_below(law, verdict.token),
            prob=float(law[verdict.token]),
            target_gap=gap,
            candidates=self._candidates(
                verdict.token, shown.tolist(), *(probs[shown].tolist() for probs in (p, draft_law, law))
            ),
        )

    def _candidates(
        self, chosen: int, tokens: list[int], p: list[float], q: list[float], left: list[float]
    ) -> tuple[Candidate, ...]:
        rows = set(zip(tokens, p, q, left, strict=True))
        possible = [row for row in rows if row[1] > 0 or row[2] > 0 or row[0] == chosen]
        possible.sort(key=lambda row: (-row[1], -row[2], row[0]))
        return tuple(Candidate(token, self._label(token), *probs) for token, *probs in possible)

    def _label(self, token: int) -> str:
        return "" if self._vocabulary is None else self._vocabulary.label(token)


def _top(probs: Floats) -> npt.NDArray[np.intp]:
    """Ids of the most probable tokens, in no order: of one-hot laws the one. [n, V] -> [n, at most SHOWN]"""
    if (probs.max(axis=-1) == 1).all():
        return probs.argmax(axis=-1, keepdims=True)
    if probs.shape[-1] <= SHOWN:
        return np.broadcast_to(np.arange(probs.shape[-1]), probs.shape)
    return np.argpartition(probs, -SHOWN, axis=-1)[:, -SHOWN:]


def _below(law: Floats, token: int) -> float:
    """The mass on smaller ids: where the token's stretch of the cumulative law begins."""
    return min(1.0, float(law[:token].sum()))


def _trial(p: Floats, q: Floats, drafts: Sequence[int], i: int, r: Floats, accepted: bool) -> Trial:
    target_prob, draft_prob = float(p[i, drafts[i]]), float(q[i, drafts[i]])
    return Trial(i, target_prob, accept_prob(target_prob, draft_prob), float(r[i]), accepted)
