"""Draft with another model: K one-token passes, each drawing from the model's own warped law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specviz.drafters.base import Draft, Drafter, Proposal
from specviz.errors import LogitsError
from specviz.laws import Laws
from specviz.models.base import Model, check_shape
from specviz.records import CacheWork
from specviz.sampling import Floats, draw


def start(draft: Model | Draft, target: Model) -> Drafter:
    """One request's drafter: the draft's own way, or drawing from it where it is a model."""
    return draft.start(target) if isinstance(draft, Draft) else ModelDrafter(draft)


class ModelDrafter:
    """A drafter over a smaller model that shares the target's vocabulary."""

    def __init__(self, model: Model) -> None:
        self._name = model.name
        self._vocab_size = model.vocab_size
        self._context_length = model.context_length
        self._n_rows: int = getattr(model, "n_rows", model.vocab_size)  # ids that it can be fed
        self._reader = model.open()

    @property
    def work(self) -> CacheWork:
        return self._reader.work

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
        drafted: list[int] = []
        uniforms: list[float] = []
        probs: list[Floats] = []
        if self._n_rows < self._vocab_size and max(text) >= self._n_rows:
            draft_length = 0  # the text holds a token that the draft cannot read: the target goes on alone
        while len(drafted) < draft_length and not (drafted and drafted[-1] in eos):
            if self._context_length is not None and len(text) > self._context_length:
                break  # the draft's context is full: the target goes on alone
            try:
                law = laws(check_shape(self._reader.logits(text, 1), 1, self._vocab_size), text)[0]
            except LogitsError as error:
                raise LogitsError(f"draft {self._name!r} at token {len(text)}: {error}") from None
            u = float(rng.random())
            probs.append(law)
            token = draw(law, u)
            drafted.append(token)
            uniforms.append(u)
            text.append(token)
        return Proposal(tuple(drafted), tuple(uniforms), np.array(probs).reshape(len(probs), self._vocab_size))
