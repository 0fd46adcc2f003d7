"""Draft with another model: K one-token passes, each drawing from the model's own warped law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specviz.drafters.base import Draft, Drafter, Proposal
from specviz.errors import LogitsError
from specviz.laws import Laws
from specviz.models.base import Model, Reader, check_shape
from specviz.records import CacheWork
from specviz.sampling import Floats, draw


def start(draft: Model | Draft, target: Model) -> Drafter:
    """One request's drafter: the draft's own way, or drawing from it where it is a model."""
    return draft.start(target) if isinstance(draft, Draft) else ModelDrafter(draft)


class ModelDrafter:
    """A drafter over a smaller model that shares the target's vocabulary. What it first drafts after is the prompt."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._n_rows: int = getattr(model, "n_rows", model.vocab_size)  # ids that it can be fed
        self._reader: Reader | None = None

    @property
    def work(self) -> CacheWork:
        return self._reader.work if self._reader else CacheWork()

    def propose(
        self,
        tokens: Sequence[int],
        draft_length: int,
        *,
        laws: Laws,
        rng: np.random.Generator,
        eos: frozenset[int],
    ) -> Proposal:
        model, text = self._model, list(tokens)
        if self._reader is None:
            self._reader = model.open(text)
        drafted: list[int] = []
        uniforms: list[float] = []
        probs: list[Floats] = []
        if self._n_rows < model.vocab_size and max(text) >= self._n_rows:
            draft_length = 0  # the text holds a token that the draft cannot read: the target goes on alone
        while len(drafted) < draft_length and not (drafted and drafted[-1] in eos):
            if model.context_length is not None and len(text) > model.context_length:
                break  # the draft's context is full: the target goes on alone
            try:
                law = laws(check_shape(self._reader.logits(text, 1), 1, model.vocab_size), text)[0]
            except LogitsError as error:
                raise LogitsError(f"draft {model.name!r} at token {len(text)}: {error}") from None
            u = float(rng.random())
            probs.append(law)
            token = draw(law, u)
            drafted.append(token)
            uniforms.append(u)
            text.append(token)
        return Proposal(tuple(drafted), tuple(uniforms), np.array(probs).reshape(len(probs), model.vocab_size))
