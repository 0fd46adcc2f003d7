"""How far to draft: drafters around a drafter that end a draft early, or learn its length from what became of the last.

Both decide from the text, the draft's own law and past rounds, never from the judgement to come, so the output's law
stays the target's: the theorem holds for any length that is chosen so.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specviz.drafters.base import Draft, Drafter, Proposal
from specviz.drafters.model import start
from specviz.errors import ConfigError, brief
from specviz.laws import Laws
from specviz.models.base import Model, check_draft
from specviz.records import CacheWork, is_real, is_whole


class EarlyStop:
    """Stop drafting behind the first token that the draft itself gave less than `least`.

    That token is kept and judged: to drop it would choose among drafts by their token, and break exactness.
    draft: a model, or another way to draft. least: in (0, 1]. Raises ConfigError.
    Source: the confidence threshold of transformers' assisted generation, which drops nothing either.
    """

    def __init__(self, draft: Model | Draft, least: float = 0.4) -> None:
        if not (is_real(least) and 0 < least <= 1):
            raise ConfigError(f"least must lie in (0, 1], got {brief(least)}")
        self.draft, self.least = check_draft(draft), float(least)
        self.name = f"{draft.name}, stopping below {self.least:g}"

    def start(self, target: Model) -> Drafter:
        return _EarlyStop(start(self.draft, target), self.least, target.vocab_size)


class _EarlyStop:
    def __init__(self, inner: Drafter, least: float, vocab_size: int) -> None:
        self._inner, self._least, self._vocab_size = inner, least, vocab_size

    @property
    def work(self) -> CacheWork:
        return self._inner.work

    def propose(
        self,
        tokens: Sequence[int],
        draft_length: int,
        *,
        laws: Laws,
        rng: np.random.Generator,
        eos: frozenset[int],
    ) -> Proposal:
        text, parts = list(tokens), []
        while len(text) - len(tokens) < draft_length:
            part = self._inner.propose(text, 1, laws=laws, rng=rng, eos=eos)
            parts.append(part)
            text += part.tokens
            if not part.tokens or part.tokens[0] in eos or part.probs[0, part.tokens[0]] < self._least:
                break
        return Proposal(
            tuple(text[len(tokens) :]),
            tuple(u for part in parts for u in part.uniforms),
            np.concatenate([np.empty((0, self._vocab_size)), *(part.probs for part in parts)]),
        )


class AdaptiveLength:
    """Draft two more than last time when all of it stood, one less when it did not; between 1 and the run's K.

    draft: a model, or another way to draft. first: how many to begin with, at least 1. Raises ConfigError.
    Source: the "heuristic" schedule of transformers' assisted generation.
    """

    def __init__(self, draft: Model | Draft, first: int = 4) -> None:
        if not (is_whole(first) and first >= 1):
            raise ConfigError(f"first must be a whole number of at least 1, got {brief(first)}")
        self.draft, self.first = check_draft(draft), int(first)
        self.name = f"{draft.name}, adaptive"

    def start(self, target: Model) -> Drafter:
        return _AdaptiveLength(start(self.draft, target), self.first)


class _AdaptiveLength:
    def __init__(self, inner: Drafter, first: int) -> None:
        self._inner, self._length = inner, first
        self._before = 0
        self._drafted: tuple[int, ...] = ()

    @property
    def work(self) -> CacheWork:
        return self._inner.work

    def propose(
        self,
        tokens: Sequence[int],
        draft_length: int,
        *,
        laws: Laws,
        rng: np.random.Generator,
        eos: frozenset[int],
    ) -> Proposal:
        if self._drafted:
            stood = tuple(tokens[self._before : self._before + len(self._drafted)]) == self._drafted
            self._length += 2 if stood else -1
        self._length = max(1, min(self._length, draft_length))
        proposal = self._inner.propose(tokens, min(self._length, draft_length), laws=laws, rng=rng, eos=eos)
        self._before, self._drafted = len(tokens), proposal.tokens
        return proposal
