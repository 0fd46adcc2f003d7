"""From logits to the laws of one request: first what the text so far asks for, then the warp. The same for both models.

A drafted place has the drafts before it in its text. So each of the K + 1 rows of a target pass is treated with a text
of its own, and the draft's logits at that place with the very same one: that keeps the output exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from specviz.records import Sampling
from specviz.sampling import Floats, warp


class Laws:
    """One request's way from logits to laws.

    n_prompt: how many tokens of the text are prompt. eos: ids that end a text. bad_words: sequences of ids that never
    come to an end in the text.
    """

    def __init__(
        self,
        sampling: Sampling,
        n_prompt: int,
        eos: frozenset[int],
        bad_words: Sequence[tuple[int, ...]] = (),
    ) -> None:
        self.sampling = sampling
        self._n_prompt = n_prompt
        self._eos = sorted(eos)
        self._bad_words = bad_words
        self._changes = sampling.by_text or bool(bad_words)

    def __call__(self, logits: npt.NDArray[np.floating], text: Sequence[int]) -> Floats:
        """The warped laws after each of the last n places of the text. [n, V] -> [n, V]."""
        return warp(self.logits(logits, text), self.sampling)

    def logits(self, logits: npt.NDArray[np.floating], text: Sequence[int]) -> npt.NDArray[np.floating]:
        """The logits as the text changes them, before the warp. [n, V] -> [n, V], the same array if it does not."""
        if not self._changes:
            return logits
        changed = np.array(logits, dtype=np.float64)
        for row, end in zip(changed, range(len(text) - len(logits) + 1, len(text) + 1), strict=True):
            self._change(row, text[:end])
        return changed

    def _change(self, row: Floats, text: Sequence[int]) -> None:
        """Source: the repetition penalty of Keskar et al. 2019 (arXiv 1909.05858), over prompt and output; presence and
        frequency penalties as OpenAI's interface defines them, over the output alone."""
        sampling = self.sampling
        if sampling.repetition_penalty is not None:
            seen = np.unique(text)
            row[seen] = np.where(
                row[seen] > 0, row[seen] / sampling.repetition_penalty, row[seen] * sampling.repetition_penalty
            )
        if sampling.presence_penalty or sampling.frequency_penalty:
            told, counts = np.unique(np.asarray(text[self._n_prompt :], dtype=np.intp), return_counts=True)
            row[told] -= (sampling.presence_penalty or 0.0) + (sampling.frequency_penalty or 0.0) * counts
        for *before, last in self._bad_words:
            if list(text[len(text) - len(before) :]) == before:
                row[last] = -np.inf
        if len(text) - self._n_prompt < (sampling.min_new_tokens or 0):
            row[self._eos] = -np.inf
