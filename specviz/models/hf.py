"""A transformers model as a `Model`: its forward pass, its KV cache and the rollback. Cropping lives here only."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
import torch
from transformers import AutoModelForCausalLM, Cache, DynamicCache, PreTrainedConfig, PreTrainedModel

from specviz.errors import ConfigError, LoadError, PromptError
from specviz.models.base import Ask, Reader, read
from specviz.models.layers import keeping, layers_path
from specviz.models.lean import LeanCache, LeanLlama, Row
from specviz.models.static import StaticCache, StaticPasses
from specviz.models.vocabulary import Vocabulary

CHECK_TOKENS = 16  # how many the self-check feeds before it rolls back: enough for each way that a pass goes


class HFModel:
    """A causal language model of transformers.

    Rows of the output layer beyond the tokenizer (padding) are cut; an id that the tokenizer does not know gets -inf.
    can_drop: whether the cache survived the self-check (several tokens in one pass, then a rollback, must give what
    the model alone gives without a cache); where it did not, every call feeds the whole text again.
    Raises LoadError for one whose logits depend on later tokens. An encoder-decoder model has a class of its own, see
    `model_class`.
    """

    auto: ClassVar[Any] = AutoModelForCausalLM  # what loads it
    has_encoder = False

    def __init__(
        self,
        model: PreTrainedModel,
        vocabulary: Vocabulary,
        name: str | None = None,
        lean: LeanLlama | None = None,
        static: StaticPasses | None = None,
    ) -> None:
        config = model.config.get_text_config(decoder=True)
        self.name = name or model.config._name_or_path or type(model).__name__
        self.model = model.eval()
        self._vocabulary = vocabulary
        self.device = _input_device(model)
        self.vocab_size = vocabulary.size
        self.unknown = list(vocabulary.unknown)
        self.eos = _eos(model, vocabulary)
        self.context_length = _context_length(config)
        accepted = inspect.signature(model.forward).parameters
        self.takes_positions = "position_ids" in accepted and not self.has_encoder  # where they are the encoder's
        self.takes_logits_to_keep = "logits_to_keep" in accepted
        self.n_rows: int = model.get_input_embeddings().num_embeddings
        self.can_drop = True
        self.lean = lean or LeanLlama.of(model)
        self.static = static or (StaticPasses(model) if StaticPasses.fits(model) else None)
        self._check()
        if (
            not self.takes_positions
            and self.context_length
            and isinstance(pad := getattr(config, "pad_token_id", None), int)
        ):
            self.context_length -= pad + 1  # RoBERTa's kind counts positions from there on

    @property
    def n_parameters(self) -> int:
        return self.model.num_parameters()  # also where several stand in one number

    def open(self, prompt: Sequence[int] = ()) -> Reader:  # noqa: ARG002 - a decoder alone needs none beforehand
        if self.lean and self.lean.stale:
            self.lean = LeanLlama.of(self.model)
        return HFReader(self)

    def __getstate__(self) -> dict[str, Any]:
        """For a copy or a pickle: packed weights and graphs can do neither, and are made anew."""
        return {**vars(self), "lean": self.lean is not None, "static": self.static is not None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.lean = LeanLlama.of(self.model) if state["lean"] else None
        self.static = StaticPasses(self.model) if state["static"] else None

    def without(self, layers: Sequence[int] | float) -> HFModel:
        """This model with layers left out, over the same weights: nothing is copied.

        layers: their indices from 1 on, or the share of them in (0, 1) that goes, from the middle.
        Raises ConfigError when no such layers are there, or none would be left.
        """
        path = layers_path(self.model)
        n = len(self.model.get_submodule(path))
        if isinstance(layers, float):
            n_left_out = min(n - 1, max(1, round(layers * n)))
            first = 1 + (n - 1 - n_left_out) // 2
            layers = range(first, first + n_left_out)
        if not all(1 <= i < n for i in layers) or len(layers) >= n:
            raise ConfigError(f"{self.name} has layers 1 to {n - 1} that can be skipped, got {list(layers)}")
        kept = [i for i in range(n) if i not in set(layers)]
        lean = self.lean.keeping(kept) if self.lean else None
        told = f"{self.name} without {n - len(kept)} of {n} layers"
        return type(self)(keeping(self.model, path, kept), self._vocabulary, told, lean)

    def _check(self) -> None:
        """Compare with the model alone, without our cache and positions: first causality, then our way to feed it.

        A second reader is asked in between, since some families keep what they read in the model itself.
        """
        pad = getattr(self.model.config, "pad_token_id", None)  # some families count no position for it
        known = [i for i in range(min(self.vocab_size, self.n_rows)) if i not in self.unknown and i != pad]
        ids = (known[: 2 * CHECK_TOKENS] * 2 * CHECK_TOKENS)[: 2 * CHECK_TOKENS]
        first, other = ids[:CHECK_TOKENS], [*ids[: CHECK_TOKENS - 3], *ids[CHECK_TOKENS : CHECK_TOKENS + 3]]
        too_large = f"{self.name} does not fit into the memory of {self.device}."
        try:
            want, want_other = self._alone(first), self._alone(other)  # after each token, [CHECK_TOKENS, V]
        except torch.OutOfMemoryError:
            raise LoadError(too_large) from None
        except Exception as error:
            told = f"{type(error).__name__}: {error}".splitlines()[0][:120]
            raise LoadError(
                f"{self.name} fails on its first tokens ({told}). Choose another model, or other layers to skip."
            ) from error
        if np.isnan(want).any():
            raise LoadError(f"{self.name} answers with NaN, which is no law. Its weights are torn: download it again.")
        if not self._close(want[:-3], want_other[:-3]):
            raise LoadError(
                f"{self.name} lets a token see those after it, so it is no decoder: its laws would change with the "
                "drafts. Choose a causal language model."
            )
        positions = sorted({self.takes_positions, False}, reverse=True)
        ways: list[Any] = list(itertools.product([None], [None], positions, (True, False)))
        if self.lean:
            ways.insert(0, (None, self.lean, self.takes_positions, True))
        if self.static:
            ways.insert(0, (self.static, None, self.takes_positions, True))
        for way in ways:
            self.static, self.lean, self.takes_positions, self.can_drop = way
            try:
                reader = self.open(first[:2])
                reader.logits(first[:2], 1)
                second = self.open(other[:2])
                second.logits(other, 3)
                texts = (first, want), (other, want_other), (first, want)  # twice, so that a graph is replayed
                alike = [self._close(reader.logits(text, 3), answer[-3:]) for text, answer in texts]
                together = read([Ask(reader, other, 3), Ask(second, first, 3)])
                if all(alike) and all(map(self._close, together, (want_other[-3:], want[-3:]))):
                    return
            except torch.OutOfMemoryError:
                if self.static:
                    continue  # the other ways take less
                raise LoadError(too_large) from None
            except Exception:  # a cache or positions that this family does not understand fail in many ways
                continue
        raise LoadError(f"{self.name} answers differently from one pass to the next, so it cannot be decoded exactly.")

    @torch.inference_mode()
    def _alone(self, tokens: list[int]) -> npt.NDArray[np.floating[Any]]:
        ids = torch.tensor([tokens], device=self.device)
        return self.model(input_ids=ids, use_cache=False).logits[0, :, : self.vocab_size].float().numpy(force=True)

    def _close(self, got: npt.NDArray[np.floating[Any]], want: npt.NDArray[np.floating[Any]]) -> bool:
        got, known = got[:, : want.shape[1]], np.isfinite(want)
        known[:, [i for i in self.unknown if i < want.shape[1]]] = False
        exact = self.model.dtype == torch.float32 and not getattr(self.model, "is_quantized", False)
        tolerance = 1e-4 if exact else 5e-2
        worst = np.abs(np.subtract(got, want, where=known, out=np.zeros_like(want))).max(initial=0)
        return bool(worst <= tolerance * max(1.0, np.abs(want, where=known, out=np.zeros_like(want)).max(initial=0)))


class HFReader(Reader):
    """One request's KV cache over a shared `HFModel`."""

    def __init__(self, model: HFModel) -> None:
        super().__init__()
        self._of = model
        self.can_drop = model.can_drop
        self._first = 0  # the place in the text where the decoder begins
        self._cache = self._new_cache()
        self._length = 0

    def _new_cache(self) -> LeanCache | StaticCache | Cache | None:
        if self._of.static:
            return self._of.static.open()
        if self._of.lean:
            return LeanCache()
        # Built without the config: plain layers, which roll back exactly also for models with sliding windows.
        return DynamicCache() if self.can_drop else None

    @classmethod
    def _feed_all(cls, fed: Sequence[tuple[HFReader, list[int], int]]) -> list[npt.NDArray[np.floating[Any]]]:
        lean = fed[0][0]._of.lean
        if lean is None or len(fed) == 1:
            return super()._feed_all(fed)
        for reader, tokens, _n in fed:
            reader._check_rows(tokens)
        logits = lean(*(Row(tokens, cast("LeanCache", reader._cache), n) for reader, tokens, n in fed))
        for reader, tokens, _n in fed:
            reader._length += len(tokens)
        parts = np.split(logits, np.cumsum([n for _reader, _tokens, n in fed])[:-1])
        return [reader._known(part) for (reader, _tokens, _n), part in zip(fed, parts, strict=True)]

    @torch.inference_mode()
    def _feed(self, tokens: list[int], n: int) -> npt.NDArray[np.floating[Any]]:
        start = self._length if self.can_drop else 0
        self._check_rows(tokens)
        logits = self._pass(tokens, start, n)
        self._length = start + len(tokens)
        return self._known(logits)

    def _check_rows(self, tokens: list[int]) -> None:
        of = self._of
        if min(tokens) < 0:
            raise PromptError(f"token ids are whole numbers from 0 on, got {min(tokens)}")
        if max(tokens) >= of.n_rows:
            raise PromptError(
                f"{of.name} has no row for token {max(tokens)}: its embedding ends at {of.n_rows - 1}. "
                "The tokenizer was extended and the model was not."
            )

    def _pass(self, tokens: list[int], start: int, n: int) -> torch.Tensor | npt.NDArray[np.float32]:
        """One forward pass over the tokens from this place on: the logits after each of the last n, [n, rows]."""
        of = self._of
        if of.lean and isinstance(self._cache, LeanCache):
            return of.lean(Row(tokens, self._cache, n))
        if of.static and isinstance(self._cache, StaticCache):
            return of.static(tokens, self._cache, n)
        options: dict[str, Any] = {"cache": self._cache, "use_cache": True} if self.can_drop else {"use_cache": False}
        if of.takes_positions:
            options["position_ids"] = torch.arange(start, start + len(tokens), device=of.device).unsqueeze(0)
        if of.takes_logits_to_keep:
            options["logits_to_keep"] = n
        return of.model(input_ids=torch.tensor([tokens], device=of.device), **options).logits[0, -n:]

    def _known(self, logits: torch.Tensor | npt.NDArray[np.float32]) -> npt.NDArray[np.floating[Any]]:
        """Over the tokenizer's ids, on the host: rows beyond them are cut, ids without a row or a token get -inf."""
        of = self._of
        answer = logits if isinstance(logits, np.ndarray) else logits.float().numpy(force=True)
        answer = answer[:, : of.vocab_size]  # [n, rows of the output layer, at most V]
        if answer.shape[1] < of.vocab_size:
            answer = np.pad(answer, ((0, 0), (0, of.vocab_size - answer.shape[1])), constant_values=-np.inf)
        if of.unknown:
            answer[:, of.unknown] = -np.inf
        return answer

    def _drop(self, n: int) -> None:
        assert self._cache is not None
        if self._length - n <= self._first:
            self._cache = self._new_cache()
        else:
            self._cache.crop(-n)
        self._length -= n


def model_class(config: PreTrainedConfig) -> type[HFModel]:
    """What reads a model of this configuration; its `auto` is the class of transformers that loads it."""
    if config.is_encoder_decoder:
        from specviz.models.seq2seq import Seq2SeqModel

        return Seq2SeqModel
    return HFModel


def _input_device(model: PreTrainedModel) -> torch.device:
    """Where token ids go: a model can lie on several devices, and its embedding's counts, or where that runs."""
    embedding = model.get_input_embeddings()
    place = getattr(getattr(embedding, "_hf_hook", None), "execution_device", None)
    return embedding.weight.device if place is None else torch.device(place)


def _context_length(config: PreTrainedConfig) -> int | None:
    """The most tokens that the model can be fed with one law for each place, or None."""
    lengths = [getattr(config, name, None) for name in ("max_position_embeddings", "max_seq_len")]
    rope = getattr(config, "rope_parameters", None) or {}
    for one in (rope, *rope.values()):  # of all layers, or by kind of layer
        if isinstance(one, Mapping) and one.get("rope_type") == "longrope":
            lengths.insert(0, one["original_max_position_embeddings"])  # beyond it other angles turn the whole text
    return next((length for length in lengths if isinstance(length, int)), None)


def _eos(model: PreTrainedModel, vocabulary: Vocabulary) -> frozenset[int]:
    """Every id that one of the model's own files calls the end of a text."""
    ids: set[int] = set()
    generation = getattr(model, "generation_config", None)
    for value in (
        vocabulary.eos,
        getattr(model.config, "eos_token_id", None),
        getattr(generation, "eos_token_id", None),
    ):
        ids |= {value} if isinstance(value, int) else set(value or ())
    return frozenset(i for i in ids if i in vocabulary.tokens)
