"""The hopeless draft: it knows nothing. For lessons, and to see that the output does not care."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specviz.drafters.base import Drafter, Proposal
from specviz.laws import Laws
from specviz.models.base import Model
from specviz.records import CacheWork
from specviz.sampling import Floats, draw


class UniformDraft:
    """Every token that the target can emit is as probable as any other."""

    name = "uniform"

    def start(self, target: Model) -> Drafter:
        return _Uniform(target)


class _Uniform:
    def __init__(self, target: Model) -> None:
        self._logits = np.zeros(target.vocab_size)
        self._logits[list(getattr(target, "unknown", ()))] = -np.inf
        self.work = CacheWork()

    def propose(
        self,
        tokens: Sequence[int],
        draft_length: int,
        *,
        laws: Laws,
        rng: np.random.Generator,
        eos: frozenset[int],
    ) -> Proposal:
        text = list(tokens)
        probs: list[Floats] = []
        uniforms: list[float] = []
        while len(probs) < draft_length and not (probs and text[-1] in eos):
            probs.append(laws(self._logits[None], text)[0])
            uniforms.append(float(rng.random()))
            text.append(draw(probs[-1], uniforms[-1]))
        drafted = tuple(text[len(tokens) :])
        return Proposal(drafted, tuple(uniforms), np.array(probs).reshape(len(probs), len(self._logits)))
