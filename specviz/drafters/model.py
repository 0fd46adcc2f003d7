"""Draft with another model: K one-token passes, each drawing from the model's own warped law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from specviz.drafters.base import Draft, Drafter, Proposal
from specviz.errors import LogitsError
from specviz.laws import Laws
from specviz.models.base import Ask, Model, Reader, check_shape, read
from specviz.records import CacheWork
from specviz.sampling import Floats, draw


def start(draft: Model | Draft, target: Model) -> Drafter:
    """One request's drafter: the draft's own way, or drawing from it where it is a model."""
    return draft.start(target) if isinstance(draft, Draft) else ModelDrafter(draft)


class ModelDrafter:
    """A drafter over a smaller model that shares the target's vocabulary. What it first drafts after is the prompt."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.n_rows: int = getattr(model, "n_rows", model.vocab_size)  # ids that it can be fed
        self.reader: Reader | None = None

    @property
    def work(self) -> CacheWork:
        return self.reader.work if self.reader else CacheWork()

    def propose(
        self,
        tokens: Sequence[int],
        draft_length: int,
        *,
        laws: Laws,
        rng: np.random.Generator,
        eos: frozenset[int],
    ) -> Proposal:
        guess = Guess(self, tokens, draft_length, laws=laws, rng=rng, eos=eos)
        finish([guess])
        return guess.proposal


class Guess:
    """A proposal under way: it asks for the draft's logits, and draws from their law, token by token."""

    def __init__(
        self,
        drafter: ModelDrafter,
        tokens: Sequence[int],
        draft_length: int,
        *,
        laws: Laws,
        rng: np.random.Generator,
        eos: frozenset[int],
    ) -> None:
        self.model, self._text, self._n_before = drafter.model, list(tokens), len(tokens)
        if drafter.reader is None:
            drafter.reader = drafter.model.open(self._text)
        self._reader = drafter.reader
        self._laws, self._rng, self._eos = laws, rng, eos
        self._uniforms: list[float] = []
        self._probs: list[Floats] = []
        # A text with a token that the draft cannot read: the target goes on alone.
        unread = drafter.n_rows < self.model.vocab_size and max(self._text) >= drafter.n_rows
        self._draft_length = 0 if unread else draft_length

    @property
    def ask(self) -> Ask | None:
        """What the next token needs, or None: nothing follows an end token, or a full context of the draft."""
        text, n_drafted, full = self._text, len(self._probs), self.model.context_length
        ended = n_drafted == self._draft_length or (n_drafted and text[-1] in self._eos)
        return None if ended or (full is not None and len(text) > full) else Ask(self._reader, text, 1)

    def take(self, logits: npt.NDArray[np.floating[Any]]) -> None:
        """Draw the next token. logits: the answer to `ask`, [1, V]."""
        try:
            law = self._laws(check_shape(logits, 1, self.model.vocab_size), self._text)[0]
        except LogitsError as error:
            raise LogitsError(f"draft {self.model.name!r} at token {len(self._text)}: {error}") from None
        u = float(self._rng.random())
        self._probs.append(law)
        self._uniforms.append(u)
        self._text.append(draw(law, u))

    @property
    def proposal(self) -> Proposal:
        probs = np.array(self._probs).reshape(len(self._probs), self.model.vocab_size)
        return Proposal(tuple(self._text[self._n_before :]), tuple(self._uniforms), probs)


def finish(guesses: Sequence[Guess]) -> None:
    """Draft them to their ends: a pass of the draft gives a token to each that asks for one. All are of one model."""
    while asking := [(guess, ask) for guess in guesses if (ask := guess.ask)]:
        answers = read([ask for _guess, ask in asking])
        for (guess, _ask), logits in zip(asking, answers, strict=True):
            guess.take(logits)
