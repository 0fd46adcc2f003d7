"""Self-speculation: the target drafts for itself with layers left out. No second model, no extra memory for weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from specviz.drafters.base import Drafter
from specviz.drafters.model import ModelDrafter
from specviz.errors import ConfigError, brief
from specviz.models.base import Model
from specviz.records import is_real, is_whole

if TYPE_CHECKING:
    from specviz.models.hf import HFModel


class SkippedLayers:
    """The target without some of its layers.

    layers: the layers to leave out, counted from 0; or a share of them in (0, 1), taken from the middle, where leaving
    out costs least. The first layer always stays: a cache counts its tokens there.
    Raises ConfigError for what is neither; and, when a request starts, for a target that is no model of transformers
    or that has no such layers.
    Source: self-speculative decoding, Zhang et al. 2023 (arXiv 2309.08168), without its search for the best layers.
    """

    def __init__(self, layers: Sequence[int] | float = 0.5) -> None:
        share = is_real(layers) and not is_whole(layers)
        if share and 0 < float(layers) < 1:  # type: ignore[arg-type]
            self.layers: tuple[int, ...] | float = float(layers)  # type: ignore[arg-type]
        elif isinstance(layers, Sequence) and layers and all(is_whole(i) and i >= 1 for i in layers):
            self.layers = tuple(sorted({int(i) for i in layers}))
        else:
            raise ConfigError(f"layers must be a share in (0, 1), or whole numbers of at least 1, got {brief(layers)}")
        told = f"{self.layers:.0%} of its layers" if share else f"layers {', '.join(map(str, self.layers))}"  # type: ignore[arg-type]
        self.name = f"the target without {told}"
        self._twins: WeakKeyDictionary[HFModel, HFModel] = WeakKeyDictionary()

    def start(self, target: Model) -> Drafter:
        if target not in self._twins:
            if not hasattr(target, "without"):
                raise ConfigError(f"{target.name} is no model of transformers, so it has no layers to skip")
            self._twins[target] = target.without(self.layers)  # type: ignore[index]
        return ModelDrafter(self._twins[target])  # type: ignore[index]
