"""What a model is to the decoder: something that answers "the logits after each of the last n of these tokens".

A `Model` is shared and holds weights; `open(prompt)` gives a `Reader`, one request's own way through it, which holds
the cache. Readers never mix, so two requests on one model cannot disturb each other, and closing a request frees its
cache.

A reader keeps the longest common prefix of what it was fed and what it is asked about, drops the rest and feeds the
remainder. Rollback after a rejection, and the draft's missing last token after a full acceptance, need no special case.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from specviz.errors import ConfigError, LogitsError, ModelError, VocabularyError
from specviz.models.vocabulary import Vocabulary
from specviz.records import CacheWork

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from specviz.drafters.base import Draft


class Model(Protocol):
    """The protocol. vocab_size: V. eos: ids that end a text. context_length: the most tokens it can be fed, or None."""

    @property
    def name(self) -> str: ...
    @property
    def vocab_size(self) -> int: ...
    @property
    def eos(self) -> frozenset[int]: ...
    @property
    def context_length(self) -> int | None: ...
    def open(self, prompt: Sequence[int] = ()) -> Reader:
        """A request's reader. prompt: how the texts begin that it will be asked about; an encoder reads it."""
        ...


class Reader(ABC):
    """One request's way through one model. A model author writes `_feed` and `_drop`; see `models/toy.py`."""

    can_drop = True  # False: nothing is kept between calls, every call feeds the whole text again

    def __init__(self) -> None:
        self._held: list[int] = []  # the tokens that the cache has seen
        self._failed = False
        self.work = CacheWork()  # since the reader was opened

    def logits(self, tokens: Sequence[int], n: int) -> npt.NDArray[np.floating[Any]]:
        """The logits after each of the last n tokens, [n, V]. 1 <= n <= len(tokens)."""
        return read([Ask(self, tokens, n)])[0]

    def _begin(self, tokens: list[int], n: int) -> list[int]:
        """Keep the longest common prefix; what is left to feed."""
        held = self._held
        self._failed = True  # until all that follows has worked
        reused = min(common_prefix(held, tokens), len(tokens) - n) if self.can_drop else 0
        dropped = len(held) - reused
        if dropped and self.can_drop:
            self._drop(dropped)
        done = self.work
        self._held = tokens
        self.work = CacheWork(done.reused + reused, done.fed + len(tokens) - reused, done.dropped + dropped)
        return tokens[reused:]

    def _check_whole(self) -> None:
        if self._failed:
            raise ModelError("this reader failed before, and its cache is torn. Open another one.")

    @classmethod
    def _feed_all(cls, fed: Sequence[tuple[Any, list[int], int]]) -> list[npt.NDArray[np.floating[Any]]]:
        """`_feed` for several readers of one model; those that can do it in one pass."""
        return [reader._feed(tokens, n) for reader, tokens, n in fed]

    @abstractmethod
    def _feed(self, tokens: list[int], n: int) -> npt.NDArray[np.floating[Any]]:
        """Append these tokens to the cache and return the logits after each of the last n, [n, V]."""

    @abstractmethod
    def _drop(self, n: int) -> None:
        """Take the last n tokens out of the cache."""


class Ask(NamedTuple):
    """One reader, a text, and for how many of its last tokens the logits are asked."""

    reader: Reader
    tokens: Sequence[int]
    n: int


def read(asks: Sequence[Ask]) -> list[npt.NDArray[np.floating[Any]]]:
    """What each reader answers, each [n, V]. All are of one model, which reads them in one pass if it can.

    Where the pass fails, all of them are torn. Raises ModelError for one that failed before, and none is touched.
    """
    for ask in asks:
        ask.reader._check_whole()
    fed = [(ask.reader, ask.reader._begin(list(ask.tokens), ask.n), ask.n) for ask in asks]
    answers = type(asks[0].reader)._feed_all(fed)
    for ask in asks:
        ask.reader._failed = False
    return answers


_NO_PAIR = (
    "Pair takes two models of specviz, or one and a way to draft such as PromptLookup(), and a Vocabulary or None; "
    "use Pair.from_transformers(target, draft, tokenizer) for loaded models of transformers."
)


@dataclass(frozen=True)
class Pair:
    """A target, the draft that guesses for it, and the tokenizer they share (None: prompts are ids, texts are empty).

    draft: another model, or a way to draft without one, such as `PromptLookup()` (see `specviz.drafters`).
    Raises VocabularyError when the two models answer over vocabularies of different sizes, and ConfigError for what is
    no model of the protocol (a model of transformers goes through `from_transformers`), and for an encoder-decoder
    model beside one without an encoder.
    """

    target: Model
    draft: Model | Draft
    tokenizer: Vocabulary | None = None

    def __post_init__(self) -> None:
        if isinstance(self.target, type) or not _is_model(self.target):
            raise ConfigError(_NO_PAIR)
        check_draft(self.draft)
        if not (self.tokenizer is None or (hasattr(self.tokenizer, "to_bytes") and hasattr(self.tokenizer, "label"))):
            raise ConfigError(_NO_PAIR)
        inner = self.draft
        while hasattr(inner, "draft"):  # a drafter around another one
            inner = inner.draft
        theirs = getattr(inner, "vocab_size", self.target.vocab_size)
        if theirs != self.target.vocab_size:
            raise VocabularyError(
                f"the target answers over {self.target.vocab_size} tokens and the draft over {theirs}: "
                "they do not share a vocabulary. Choose two models of one family."
            )
        if hasattr(inner, "open") and _has_encoder(inner) != _has_encoder(self.target):
            told = ("draft", "target") if _has_encoder(inner) else ("target", "draft")
            raise ConfigError(
                f"the {told[0]} is an encoder-decoder model and the {told[1]} is not, so they read a prompt in "
                "different ways. Choose two models of one family."
            )

    @property
    def draft_model(self) -> Model:
        """The draft, where it is a model. Raises ConfigError where drafts come another way."""
        if not hasattr(self.draft, "open"):
            raise ConfigError(f"this needs a pair whose draft is a model, and {self.draft.name} is none")
        return cast("Model", self.draft)

    @staticmethod
    def from_transformers(target: PreTrainedModel, draft: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Pair:
        """Make a pair of two loaded transformers models and the tokenizer that both were trained with.

        Both are checked (several tokens in one pass, then a rollback, against no cache at all); one whose cache
        cannot be rolled back is recomputed from the start at each call instead. Puts the models in evaluation mode.
        """
        from specviz.models.hf import model_class

        if not (hasattr(target, "forward") and hasattr(draft, "forward") and hasattr(tokenizer, "get_vocab")):
            raise ConfigError("from_transformers takes two loaded models of transformers and their tokenizer")
        vocabulary = Vocabulary(tokenizer)
        ours, theirs = (model_class(model.config)(model, vocabulary) for model in (target, draft))
        return Pair(ours, theirs, vocabulary)


_Drafting = TypeVar("_Drafting")


def check_draft(draft: _Drafting) -> _Drafting:
    """The draft itself. Raises ConfigError for what is neither a model nor a way to draft."""
    if isinstance(draft, type):
        raise ConfigError(f"{draft.__name__} is a class; give one of it, as in {draft.__name__}()")
    if not (_is_model(draft) or (hasattr(draft, "start") and hasattr(draft, "name"))):
        raise ConfigError(_NO_PAIR)
    return draft


def _is_model(model: object) -> bool:
    return hasattr(model, "open") and hasattr(model, "vocab_size")


def _has_encoder(model: object) -> bool:
    return bool(getattr(model, "has_encoder", False))


def check_shape(logits: npt.NDArray[np.floating[Any]], n: int, vocab_size: int) -> npt.NDArray[np.floating[Any]]:
    """The logits themselves. Raises LogitsError when a model answered with another shape than [n, vocab_size]."""
    if np.shape(logits) != (n, vocab_size):
        raise LogitsError(f"it answered with logits of shape {np.shape(logits)} instead of ({n}, {vocab_size})")
    return logits


def common_prefix(held: Sequence[int], tokens: Sequence[int]) -> int:
    """How many tokens both begin with; both of one type. They part near an end, if at all: it is sought from there."""
    same = most = min(len(held), len(tokens))
    step = 16
    while same and held[:same] != tokens[:same]:
        same, most, step = max(0, same - step), same, 2 * step
    return next((i for i in range(same, most) if held[i] != tokens[i]), most)
