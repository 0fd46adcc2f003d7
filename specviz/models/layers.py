"""A transformers model with layers left out, over the same weights: only the objects that hold them are copied."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from types import MethodType
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from specviz.errors import ConfigError


def layers_path(model: PreTrainedModel) -> str:
    """Where the list of the decoder's layers is, as "model.layers". Raises ConfigError when there is none."""
    decoder = model.get_decoder()  # beside an encoder, or a part that sees pictures
    n = decoder.config.get_text_config(decoder=True).num_hidden_layers
    parts = {id(m) for m in decoder.modules() if isinstance(m, nn.ModuleList) and len(m) == n}
    path = next((name for name, m in model.named_modules() if id(m) in parts), None)
    if path is None or n < 2:
        raise ConfigError(f"{type(model).__name__} has no list of two layers or more, so none can be skipped")
    return path


def keeping(model: PreTrainedModel, path: str, kept: Sequence[int]) -> PreTrainedModel:
    """A twin of the model whose list of layers at this path has only the kept ones, numbered anew for the cache."""
    layers = model.get_submodule(path)
    shorter = nn.ModuleList(_numbered(layers.get_submodule(str(i)), place) for place, i in enumerate(kept))
    twin = _with(model, path.split("."), shorter)
    decoder: Any = twin.get_submodule(path.rpartition(".")[0])  # which looks up there what mask a layer gets
    kinds = vars(getattr(decoder, "config", decoder)).get("layer_types")
    if kinds:
        decoder.config = copy.copy(decoder.config)
        decoder.config.layer_types = [kinds[i] for i in kept]
    return twin


def _with(module: Any, path: Sequence[str], part: nn.Module) -> Any:
    """The module with another part at this path; the objects on the way there are copied, and nothing else."""
    twin = _shell(module)
    twin._modules[path[0]] = _with(module._modules[path[0]], path[1:], part) if len(path) > 1 else part
    return twin


def _shell(module: Any) -> Any:
    """The module with a dictionary of children of its own; parameters and children are the same objects."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    if "_old_forward" in vars(twin):  # accelerate has hooked the module, and its wrapper is bound to the original
        twin._old_forward = MethodType(type(twin).forward, twin)
        twin.forward = partial(twin.forward.func, twin)
    return twin


def _numbered(module: nn.Module, place: int) -> Any:
    """A layer whose parts write into this place of a cache."""
    twin = _shell(module)
    twin._modules = {name: child and _numbered(child, place) for name, child in module._modules.items()}
    if hasattr(module, "layer_idx"):
        twin.layer_idx = place
    return twin
