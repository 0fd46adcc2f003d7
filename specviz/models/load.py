"""Load a pair by name, folder, file or hub id, and check that it is one: same tokens, all weights, a sound cache."""

from __future__ import annotations

import difflib
import gc
import os
import re
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from specviz import drafters
from specviz.drafters import named
from specviz.drafters.base import Draft
from specviz.errors import ConfigError, LoadError, brief
from specviz.models import hub, presets
from specviz.models.base import Pair, check_draft
from specviz.models.hf import model_class
from specviz.models.progress import Progress, Stopped, Watch, stoppable
from specviz.models.vocabulary import Vocabulary, check_same_tokens
from specviz.models.weights import Place, Source, need

__all__ = ["Progress", "check_same_tokens", "load_pair"]

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def load_pair(
    target: str | os.PathLike[str] | None = None,
    draft: str | os.PathLike[str] | Draft | None = None,
    *,
    device: str | tuple[str, str] = "auto",
    dtype: str | tuple[str, str] = "auto",
    quantize: str | None = None,
    device_map: str | None = None,
    progress: Watch | None = None,
) -> Pair:
    """Load a target and a draft that share a tokenizer; the bundled pair when nothing is named.

    target, draft: a name of `specviz.models.presets`, a local folder, a .gguf file (dequantised), or a hub id. draft
    can also be a way to draft without a second model: one of `specviz.drafters` as `PromptLookup()`, or its name, as
    "lookup".
    device: "auto" (CUDA, else MPS, else CPU) or torch's name of one. dtype: "auto" (bfloat16 on CUDA,
    else float32; always float32 for the bundled pair), "float32", "float16" or "bfloat16". Both for the two models, or
    (target's, draft's).
    quantize: "4bit" or "8bit" through bitsandbytes. device_map: "auto" spreads each model over several GPUs.
    progress: told of each file that is fetched or read, as `Progress`. What it raises stops the load, frees what was
    loaded, and goes through.
    Raises LoadError when one cannot be loaded whole, VocabularyError when their tokens differ, ConfigError.
    """
    way = check_draft(draft) if isinstance(draft, type | Draft) else named(draft) if isinstance(draft, str) else None
    asked: list[Any] = [presets.TARGET if target is None else target]
    if way is None:
        asked.append(presets.DRAFT if draft is None else draft)
    try:
        names = [os.fspath(name) for name in asked]
    except TypeError:
        raise LoadError(
            "target and draft must be names or folders. For loaded models there is "
            "Pair.from_transformers(target, draft, tokenizer)."
        ) from None
    places = _places(names, device, dtype, quantize, device_map)
    if not (progress is None or callable(progress)):
        raise ConfigError(f"progress must be a function that takes a Progress, got {brief(progress)}")
    watch = stoppable(progress)
    try:
        return _load(names, places, way, watch)
    except Stopped as stop:
        _forget(stop)
        raised = stop.error
    except BaseException as error:
        _forget(error)
        raise
    raise raised  # not where it was caught, which would change the exceptions that it came with


def _load(names: Sequence[str], places: Sequence[Place], way: Draft | None, watch: Watch) -> Pair:
    sources = [_locate(name, watch) for name in names]
    tokenizers = [source.tokenizer(watch) for source in sources]
    if way is None:
        check_same_tokens(*tokenizers)
    vocabulary = Vocabulary(tokenizers[0])
    models = [source.weights(place, watch) for source, place in zip(sources, places, strict=True)]
    loaded = [model_class(model.config)(model, vocabulary, name) for model, name in zip(models, names, strict=True)]
    return Pair(loaded[0], way or loaded[1], vocabulary)


def _forget(error: BaseException) -> None:
    """Let go of what the failed load holds, although someone may keep its exception and with it every frame."""
    seen: BaseException | None = error
    while seen is not None:
        traceback.clear_frames(seen.__traceback__)
        seen = seen.__cause__ or seen.__context__
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _locate(name: str, watch: Watch) -> Source:
    if name in presets.NAMED:
        return Source(name, presets.NAMED[name])
    try:
        path = Path(name).expanduser()
        is_dir, is_file = path.is_dir(), path.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # no such home, a name too long, NUL in it
        raise LoadError(
            f"{brief(name)} cannot be a model's name ({error.__class__.__name__}). Give a folder."
        ) from None
    if is_dir and name.strip():
        if not (path / "config.json").is_file():
            raise LoadError(
                f"{name} is a folder without a config.json, so it holds no model. Name the model's own folder."
            )
        return Source(name, path)
    if is_file and path.suffix.lower() == ".gguf":
        need("accelerate", "gguf", what="a .gguf file")
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise LoadError(f"{name} is no GGUF file: it does not begin as one. Download it again.")
        return Source(name, path.parent, gguf=path.name)
    if is_file:
        raise LoadError(f"{name} is a file. Name the folder that holds config.json and the weights, or a .gguf file.")
    if name.lower().endswith(".gguf"):
        raise LoadError(f"there is no file {brief(name)}. Give the path of a GGUF file on this machine.")
    meant = difflib.get_close_matches(name.lower(), drafters.NAMES, n=1, cutoff=0.75)
    if meant:
        raise LoadError(f"there is no model and no way to draft named {brief(name)}. Did you mean {meant[0]}?")
    if _is_path(name):
        raise LoadError(
            f"there is no folder {brief(name)}. Give a model's folder, a hub id like owner/name, or {presets.TARGET}."
        )
    remote = hub.find(name, watch)
    return Source(name, remote.folder, remote=remote)


def _is_path(name: str) -> bool:
    """Whether it can only be meant as a path, of whatever system, and as no hub id."""
    return (
        not name.strip()
        or name.startswith(("/", "~", "."))
        or "\\" in name
        or re.match(r"[A-Za-z]:", name) is not None
        or name.count("/") > 1
        or name.lower().endswith((".gguf", ".safetensors", ".bin"))
    )


def _places(names: Sequence[str], device: object, dtype: object, quantize: object, device_map: object) -> list[Place]:
    """Where each model goes. Raises ConfigError for what is not there, and LoadError for a library that is not."""
    if type(quantize) not in (str, type(None)) or quantize not in (None, "4bit", "8bit"):
        raise ConfigError(f"quantize must be None, '4bit' or '8bit', got {brief(quantize)}")
    if type(device_map) not in (str, type(None)) or device_map not in (None, "auto"):
        raise ConfigError(f"device_map must be None or 'auto', got {brief(device_map)}")
    if device_map and not (isinstance(device, str) and device == "auto"):
        raise ConfigError(
            f"device_map='auto' spreads a model over all devices: device must be auto, got {brief(device)}"
        )
    own = any(name not in presets.NAMED for name in names)
    found = []
    for i in range(len(names)):
        place, kind = _device(_of("device", device, i)), _of("dtype", dtype, i)
        if kind == "auto":
            kind = "bfloat16" if own and place.type == "cuda" else "float32"
        if not isinstance(kind, str) or kind not in DTYPES:
            raise ConfigError(f"dtype must be auto, {', '.join(DTYPES)}, got {brief(kind)}")
        found.append(Place(place, DTYPES[kind], quantize, device_map == "auto"))
    for placed in found:
        placed.options()
    return found


def _of(what: str, given: object, i: int) -> Any:
    """What was given for both models, or for this one."""
    if not isinstance(given, tuple):
        return given
    if len(given) != 2:
        raise ConfigError(f"{what} must be one for both models or (target's, draft's), got {brief(given)}")
    return given[i]


def _device(device: Any) -> torch.device:
    if isinstance(device, str) and device == "auto":
        return torch.device(
            "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        )
    try:
        place = torch.device(device)
        torch.empty(0, device=place)
    except Exception as error:  # whatever torch raises for what is no device
        raise ConfigError(_device_reason(device, error)) from None
    if place.type == "meta":
        raise ConfigError(
            "device 'meta' holds no numbers, so nothing can be decoded there. Use auto, cpu, cuda or mps."
        )
    return place


def _device_reason(device: object, error: BaseException) -> str:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"device {brief(device)} cannot be used here ({reason[:120]}). Use auto, cpu, cuda or mps."
