"""Draft by copying: the words that followed last time often follow again. No model, no cache, no time to speak of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from specviz.drafters.base import Drafter, Proposal
from specviz.errors import ConfigError, brief
from specviz.laws import Laws
from specviz.models.base import Model, common_prefix
from specviz.records import CacheWork, is_whole


class PromptLookup:
    """Looks for the last tokens of the text earlier in it, and drafts what followed there (n-gram lookup).

    longest, shortest: how many tokens must match, tried from the longest down; the latest match counts. Without a
    match nothing is drafted and the round is the target's alone. The draft's law is one-hot, so a copied token stands
    with the target's own probability of it.
    Raises ConfigError when the lengths are not whole or not 1 <= shortest <= longest.
    Source: the method is known as prompt lookup decoding (A. Saxena, 2023), and as n-gram speculation.
    """

    def __init__(self, longest: int = 3, shortest: int = 1) -> None:
        if not (is_whole(longest) and is_whole(shortest) and 1 <= shortest <= longest):
            raise ConfigError(
                "shortest and longest must be whole, 1 <= shortest <= longest, "
                f"got {brief(shortest)} and {brief(longest)}"
            )
        self.longest, self.shortest = int(longest), int(shortest)
        self.name = "prompt lookup"

    def start(self, target: Model) -> Drafter:
        return _Lookup(self, target.vocab_size)


class _Lookup:
    """One request's index of where each n-gram of its text was seen last."""

    def __init__(self, of: PromptLookup, vocab_size: int) -> None:
        self._of = of
        self._vocab_size = vocab_size
        self._after: dict[tuple[int, ...], list[int]] = {}  # n-gram -> the places after its occurrences
        self._text: tuple[int, ...] = ()  # what is in the index; the last token has nothing after it yet
        self.work = CacheWork()

    def propose(
        self,
        tokens: Sequence[int],
        draft_length: int,
        *,
        laws: Laws,  # noqa: ARG002 - a copied token has all the mass, whatever the warp
        rng: np.random.Generator,
        eos: frozenset[int],
    ) -> Proposal:
        text = tuple(tokens)
        self._index(text)
        copied = self._copied(text, draft_length, eos)
        probs = np.zeros((len(copied), self._vocab_size))
        probs[np.arange(len(copied)), list(copied)] = 1.0
        return Proposal(copied, tuple(float(rng.random()) for _ in copied), probs)

    def _index(self, text: tuple[int, ...]) -> None:
        """Bring the index up to this text. What it held beyond the common part was drafted and has fallen."""
        held = self._text
        kept = min(common_prefix(held, text), len(held) - 1, len(text) - 1)  # n-grams that end there or before stay
        for end in range(len(held) - 1, kept, -1):
            for n in range(self._of.shortest, min(self._of.longest, end) + 1):
                self._after[held[end - n : end]].pop()
        for end in range(kept + 1, len(text)):
            for n in range(self._of.shortest, min(self._of.longest, end) + 1):
                self._after.setdefault(text[end - n : end], []).append(end)
        self._text = text

    def _copied(self, text: tuple[int, ...], most: int, eos: frozenset[int]) -> tuple[int, ...]:
        for n in range(min(self._of.longest, len(text)), self._of.shortest - 1, -1):
            places = self._after.get(text[len(text) - n :])
            if places:
                found = text[places[-1] : places[-1] + most]
                ends = [i for i, token in enumerate(found) if token in eos]
                return found[: ends[0] + 1] if ends else found
        return ()
