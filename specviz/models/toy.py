"""Models whose laws are written down: for tests, for lessons, and as the shortest example of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from specviz.errors import ConfigError, brief
from specviz.models.base import Reader
from specviz.records import is_whole

Law = Callable[[tuple[int, ...]], npt.ArrayLike]


class TableModel:
    """A model that is a function: law(tuple of ids) -> [V] probabilities of the next token.

    eos: the id that ends a text, or None. Raises ConfigError when the law gives anything but V probabilities that
    sum to 1 (to 1e-9).
    """

    def __init__(
        self,
        law: Law,
        vocab_size: int,
        eos: int | None = None,
        *,
        name: str = "table",
        context_length: int | None = None,
    ) -> None:
        if not (is_whole(vocab_size) and vocab_size >= 1):
            raise ConfigError(f"vocab_size must be a whole number of at least 1, got {brief(vocab_size)}")
        if eos is not None and not (is_whole(eos) and 0 <= eos < vocab_size):
            raise ConfigError(f"eos must be an id from 0 to {vocab_size - 1}, or None, got {brief(eos)}")
        if not (context_length is None or (is_whole(context_length) and context_length >= 1)):
            raise ConfigError(
                f"context_length must be a whole number of at least 1, or None, got {brief(context_length)}"
            )
        if not isinstance(name, str):
            raise ConfigError(f"name must be a text, got {brief(name)}")
        self.law = law
        self.vocab_size = vocab_size
        self.eos = frozenset() if eos is None else frozenset({eos})
        self.name = name
        self.context_length = context_length

    def open(self, prompt: Sequence[int] = ()) -> Reader:  # noqa: ARG002 - a table needs no prompt beforehand
        return TableReader(self)

    def probs(self, tokens: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """The law after these tokens, checked. [V]"""
        try:
            probs = np.asarray(self.law(tokens), dtype=np.float64)
        except (TypeError, ValueError):
            probs = np.array(np.nan)
        if probs.shape != (self.vocab_size,) or not (probs >= 0).all() or abs(probs.sum() - 1) > 1e-9:
            raise ConfigError(
                f"the law of {self.name!r} after {brief(tokens)} must be {brief(self.vocab_size)} probabilities that "
                f"sum to 1, got {brief(probs)}"
            )
        return probs


class TableReader(Reader):
    """Keeps the tokens themselves as its cache, so a wrong rollback shows as a wrong law."""

    def __init__(self, model: TableModel) -> None:
        super().__init__()
        self._model = model
        self._cache: list[int] = []

    def _feed(self, tokens: list[int], n: int) -> npt.NDArray[np.float64]:
        self._cache += tokens
        ends = range(len(self._cache) - n + 1, len(self._cache) + 1)
        with np.errstate(divide="ignore"):  # log 0 = -inf: a token that cannot come
            return np.log([self._model.probs(tuple(self._cache[:end])) for end in ends])

    def _drop(self, n: int) -> None:
        del self._cache[-n:]
