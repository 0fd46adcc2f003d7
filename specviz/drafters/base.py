"""What a drafter is to the decoder: something that guesses the next few tokens and says from which laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from specviz.laws import Laws
from specviz.models.base import Model
from specviz.records import CacheWork


@dataclass(frozen=True, slots=True)
class Proposal:
    """k drafted tokens, 0 <= k <= K, the uniforms they were drawn with, and the laws they were drawn from.

    probs: [k, V] float64. Row i must be the very law that token i was drawn from: exactness rests on it.
    """

    tokens: tuple[int, ...]
    uniforms: tuple[float, ...]
    probs: npt.NDArray[np.float64]


class Drafter(Protocol):
    """One request's proposer. work: its cache's work since it was opened."""

    @property
    def work(self) -> CacheWork: ...

    def propose(
        self,
        tokens: Sequence[int],
        draft_length: int,
        *,
        laws: Laws,
        rng: np.random.Generator,
        eos: frozenset[int],
    ) -> Proposal:
        """Guess at most draft_length tokens after these; stop after an end token, since nothing can follow it.

        laws: makes of logits the law to draw from: laws(logits, text), with the drafts so far in the text.
        """
        ...


@runtime_checkable
class Draft(Protocol):
    """A way to draft that is no model: what a `Pair` holds as its draft, shared by all requests as a model is."""

    @property
    def name(self) -> str: ...
    def start(self, target: Model) -> Drafter:
        """One request's drafter for this target. Raises ConfigError when it cannot draft for it."""
        ...
