"""The least a round can cost: its forward passes alone, and the weights that they read. `limit` prints it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import DynamicCache

import specviz as sv
from benchmarks import smollm2
from benchmarks.timing import timed
from specviz.drafters.model import ModelDrafter, start
from specviz.models.hf import HFModel
from specviz.models.lean import LeanCache, Row


class Models(NamedTuple):
    """A pair, and the models behind its passes. draft: None where drafts are copied."""

    name: str
    pair: sv.Pair
    target: HFModel
    draft: HFModel | None


def load(named: str, way: str | None, folder: Path) -> Models:
    """The pair that was asked for, and the models behind its passes. Raises SpecvizError for one without such passes.

    named: "bundled", "smollm2" (fetched into the folder), or a model's folder or .gguf file. way: "lookup", "skipped",
    or None for the bundled draft.
    """
    if named == "bundled":
        pair = sv.load_pair(draft=way)
    else:
        path = smollm2.fetch(folder) if named == "smollm2" else Path(named)
        named = path.name
        pair = sv.load_pair(path, way or "lookup", device="cpu", dtype="float32")
    drafter = start(pair.draft, pair.target)
    draft = drafter.model if isinstance(drafter, ModelDrafter) else None
    for model in (pair.target, draft):
        if not (model is None or (isinstance(model, HFModel) and model.can_drop and not model.has_encoder)):
            raise sv.ConfigError(f"{model.name} keeps no cache of its own text, so its rounds have no such floor")
    assert isinstance(pair.target, HFModel)
    assert draft is None or isinstance(draft, HFModel)
    pair.target.eos = frozenset()  # every run to its full length
    return Models(f"{named}, {pair.draft.name}", pair, pair.target, draft)


class Bare:
    """One model's forward pass over a cache of its own, and nothing else. own: as the engine does it."""

    def __init__(self, model: HFModel, *, own: bool) -> None:
        self._model, self._lean = model, model.lean if own else None
        self._cache = LeanCache() if self._lean else DynamicCache()
        self._length = 0

    def fill(self, tokens: Sequence[int]) -> None:
        """Let the cache hold these tokens, which continue those it holds."""
        if len(tokens) > self._length:
            self.passes([tokens[self._length :]])[0]()
            self._length = len(tokens)

    def passes(self, windows: Sequence[Sequence[int]]) -> list[Callable[[], object]]:
        """One pass for each window of tokens, one after the other, ready to run."""
        calls: list[Callable[[], object]] = []
        at = self._length
        for window in windows:
            if self._lean:
                calls.append(partial(self._lean, Row(list(window), self._cache, len(window))))
            else:
                ids, places = torch.tensor([list(window)]), torch.arange(at, at + len(window))[None]
                options = {"position_ids": places} if self._model.takes_positions else {}
                calls.append(partial(self._model.model, input_ids=ids, cache=self._cache, use_cache=True, **options))
            at += len(window)
        return calls

    def crop(self, n: int) -> None:
        """Take the last n tokens out of the cache, which were not filled in."""
        if n:
            self._cache.crop(-n)


class Floor:
    """The forward passes of a trace's rounds, in one form."""

    def __init__(self, models: Models, *, own: bool) -> None:
        self._target = Bare(models.target, own=own)
        self._draft = Bare(models.draft, own=own) if models.draft else None

    @torch.inference_mode()
    def seconds(self, tokens: Sequence[int], round_: sv.Round) -> float:
        """Of one round's passes. tokens: prompt and output. Rounds come in their order."""
        filled, k = round_.start - 1, len(round_.nodes)
        window = [tokens[filled], *(node.token for node in round_.nodes)]
        calls = []
        for bare in (self._draft, self._target):
            if bare:
                bare.fill(tokens[:filled])
        if self._draft:
            calls += self._draft.passes([[token] for token in window[:-1]])
        calls += self._target.passes([window])
        seconds, _ = timed(lambda: [call() for call in calls])
        if self._draft:
            self._draft.crop(k)
        self._target.crop(k + 1)
        return seconds


def weight_bytes(model: HFModel) -> tuple[int, int]:
    """Weights that one pass reads, in bytes: as float32, and as they lie where the engine's forward reads them.

    Every matrix whole, and the norms; of the embedding a pass reads a row for each token, which counts as nothing.
    """
    parts = list(model.model.modules())
    matrices = {id(part.weight): part.weight for part in parts if isinstance(part, nn.Linear)}
    embeddings = {id(part.weight) for part in parts if isinstance(part, nn.Embedding)}
    read = [p for p in model.model.parameters() if id(p) in matrices or id(p) not in embeddings]
    saved = sum((p.element_size() - 2) * p.numel() for p in _packed(model)) if model.lean else 0
    return sum(4 * p.numel() for p in read), sum(p.element_size() * p.numel() for p in read) - saved


def _packed(model: HFModel) -> list[Tensor]:
    """The matrices that the engine's forward holds packed as float16: no floats are given to their products."""
    lean = model.lean
    assert lean is not None
    products: list[tuple[Any, list[nn.Linear]]] = [(lean.head, [model.model.lm_head])]
    for layer, block in zip(lean.layers, model.model.model.layers, strict=True):
        attention, mlp = block.self_attn, block.mlp
        products += [
            (layer.qkv, [attention.q_proj, attention.k_proj, attention.v_proj]),
            (layer.out, [attention.o_proj]),
            (layer.gate_up, [mlp.gate_proj, mlp.up_proj]),
            (layer.down, [mlp.down_proj]),
        ]
    return [part.weight for product, parts in products if not product.args[0].is_floating_point() for part in parts]


def bandwidth(n_bytes: int, repeats: int = 25) -> float:
    """Bytes a second that a sum over an array of this size reads, the best of several, in as many threads as all."""
    array = torch.ones(max(1, n_bytes // 4))
    return 4 * len(array) / min(timed(array.sum)[0] for _ in range(repeats))
