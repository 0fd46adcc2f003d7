"""The hopeless draft: it knows nothing. For lessons, and to see that the output does not care."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specviz.drafters.base import Drafter, Proposal
from specviz.models.base import Model
from specviz.records import CacheWork, Sampling
from specviz.sampling import draw, warp


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
        tokens: Sequence[int],  # noqa: ARG002 - it does not read the text
        draft_length: int,
        *,
        sampling: Sampling,
        rng: np.random.Generator,
        eos: frozenset[int],
    ) -> Proposal:
        law = warp(self._logits, sampling)
        drafted: list[int] = []
        uniforms: list[float] = []
        while len(drafted) < draft_length and not (drafted and drafted[-1] in eos):
            uniforms.append(float(rng.random()))
            drafted.append(draw(law, uniforms[-1]))
        return Proposal(tuple(drafted), tuple(uniforms), np.tile(law, (len(drafted), 1)))
