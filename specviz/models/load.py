"""Load a pair by name, folder or hub id, and check that it is one: same tokens, all weights there, a sound cache."""

from __future__ import annotations

import os
import re
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from specviz.drafters import named
from specviz.drafters.base import Draft
from specviz.errors import ConfigError, LoadError, VocabularyError
from specviz.models import presets
from specviz.models.base import Pair, check_draft
from specviz.models.hf import HFModel, refuse_encoder_decoder
from specviz.models.vocabulary import Vocabulary

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def load_pair(
    target: str | os.PathLike[str] | None = None,
    draft: str | os.PathLike[str] | Draft | None = None,
    *,
    device: str = "auto",
    dtype: str = "auto",
) -> Pair:
    """Load a target and a draft that share a tokenizer; the bundled pair when nothing is named.

    target, draft: a name of `specviz.models.presets`, a local folder, or a hub id. draft can also be a way to draft
    without a second model: one of `specviz.drafters` as `PromptLookup()`, or its name, as "lookup".
    device: "auto" (CUDA, else MPS, else CPU) or torch's name of one. dtype: "auto" (bfloat16 on CUDA,
    else float32; always float32 for the bundled pair), "float32", "float16" or "bfloat16".
    Raises LoadError when one cannot be loaded whole, VocabularyError when their tokens differ, ConfigError.
    """
    way = check_draft(draft) if isinstance(draft, type | Draft) else named(draft) if isinstance(draft, str) else None
    asked = [presets.TARGET if target is None else target]
    if way is None:
        asked.append(presets.DRAFT if draft is None else draft)  # type: ignore[arg-type]
    try:
        names = [os.fspath(name) for name in asked]
    except TypeError:
        raise LoadError(
            "target and draft must be names or folders. For loaded models there is "
            "Pair.from_transformers(target, draft, tokenizer)."
        ) from None
    place, kind = _device(device), dtype
    if kind == "auto":
        own = any(name not in presets.NAMED for name in names)
        kind = "bfloat16" if own and place.type == "cuda" else "float32"
    if not isinstance(kind, str) or kind not in DTYPES:
        raise ConfigError(f"dtype must be auto, {', '.join(DTYPES)}, got {dtype!r}")
    paths = [_locate(name) for name in names]
    tokenizers = [_tokenizer(name, path) for name, path in zip(names, paths, strict=True)]
    if way is None:
        check_same_tokens(*tokenizers)
    vocabulary = Vocabulary(tokenizers[0])
    models = [_weights(name, path, place, DTYPES[kind]) for name, path in zip(names, paths, strict=True)]
    loaded = [HFModel(model, vocabulary, name) for model, name in zip(models, names, strict=True)]
    return Pair(loaded[0], way or loaded[1], vocabulary)


def check_same_tokens(target: PreTrainedTokenizerBase, draft: PreTrainedTokenizerBase) -> None:
    """Raises VocabularyError with the first token that differs. Padding rows of the output layer do not matter."""
    ours, theirs = ({i: token for token, i in t.get_vocab().items()} for t in (target, draft))
    for i in sorted(ours.keys() | theirs.keys()):
        a, b = ours.get(i), theirs.get(i)
        if a != b:
            described = [f"is {token!r}" if token is not None else "does not exist" for token in (a, b)]
            raise VocabularyError(
                f"draft and target do not share a vocabulary: token {i} {described[0]} in the target's and "
                f"{described[1]} in the draft's. Choose two models of one family."
            )


def _locate(name: str) -> str:
    """The folder of a named or local model, or the hub id itself."""
    if name in presets.NAMED:
        return str(presets.NAMED[name])
    try:
        path = Path(name).expanduser()
        is_dir, is_file = path.is_dir(), path.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # no such home, a name too long, NUL in it
        raise LoadError(
            f"{name[:80]!r} cannot be a model's name ({error.__class__.__name__}). Give a folder."
        ) from None
    if is_dir and name.strip():
        if not (path / "config.json").is_file():
            raise LoadError(
                f"{name} is a folder without a config.json, so it holds no model. Name the model's own folder."
            )
        return str(path)
    if is_file:
        raise LoadError(f"{name} is a file. Name the folder that holds config.json and the weights.")
    if path.is_absolute() or name.startswith(("~", ".")) or name.count("/") > 1 or not name.strip():
        raise LoadError(
            f"there is no folder {name!r}. Give a model's folder, a hub id like owner/name, or {presets.TARGET}."
        )
    return name


def _tokenizer(name: str, path: str) -> PreTrainedTokenizerBase:
    try:
        return AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except Exception as error:
        raise LoadError(_reason(name, "its tokenizer", error)) from error


def _weights(name: str, path: str, device: torch.device, dtype: torch.dtype) -> PreTrainedModel:
    level = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()  # what matters of its load report becomes an error below
    transformers_logging.disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(path, trust_remote_code=False)
        refuse_encoder_decoder(config, name)
        model, report = AutoModelForCausalLM.from_pretrained(
            path,
            config=config,
            dtype=dtype,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except LoadError:
        raise
    except Exception as error:
        raise LoadError(_reason(name, "it", error)) from error
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
    lost = sorted(report["missing_keys"]) + sorted(str(key) for key in report["mismatched_keys"])
    if lost:
        raise LoadError(
            f"{name} lacks {len(lost)} of its weights ({lost[0]} first), which would be filled with random numbers. "
            "Download or save it again."
        )
    blocks = {match[0] for key in model.state_dict() for match in [re.match(r".*?\.\d+\.", key)] if match}
    stems = {re.sub(r"\d+\.$", "", block) for block in blocks}  # "model.layers." and the like
    beyond = [key for key in report["unexpected_keys"] if any(re.match(re.escape(s) + r"\d+\.", key) for s in stems)]
    if beyond:
        raise LoadError(
            f"{name} holds weights of layers that its config.json does not tell of ({sorted(beyond)[0]} first), "
            "so it would load as another model. Download or save it again."
        )
    try:
        return model.to(device)
    except torch.OutOfMemoryError as error:
        raise LoadError(_reason(name, "it", error)) from error


def _reason(name: str, what: str, error: Exception) -> str:
    """One sentence of an exception that can be pages long."""
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    reason = f"{type(error).__name__}: {first[:200]}"
    return f"{name}: cannot load {what} ({reason}). Check the name, the files and the network."


def _device(device: str) -> torch.device:
    if device == "auto":
        return torch.device(
            "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        )
    try:
        place = torch.device(device)
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise ConfigError(_device_reason(device, error)) from None
    if place.type == "meta":
        raise ConfigError(
            "device 'meta' holds no numbers, so nothing can be decoded there. Use auto, cpu, cuda or mps."
        )
    return place


def _device_reason(device: str, error: BaseException) -> str:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return f"device {device!r} cannot be used here ({reason[:120]}). Use auto, cpu, cuda or mps."
