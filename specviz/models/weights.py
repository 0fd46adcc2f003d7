"""A model's files, all on this disk, into a tokenizer and a transformers model, or one sentence why not."""

from __future__ import annotations

import importlib.util
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoTokenizer,
    BitsAndBytesConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from specviz.errors import LoadError
from specviz.models.hf import model_class
from specviz.models.hub import INDEX, WHOLE, Remote, shards
from specviz.models.progress import Watch, reading
from specviz.models.reasons import not_read, torn


@dataclass(frozen=True)
class Place:
    """Where the weights go, and as what. spread: over all devices, as accelerate sees fit."""

    device: torch.device
    dtype: torch.dtype
    quantize: Literal["4bit", "8bit"] | None = None
    spread: bool = False

    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"dtype": self.dtype}
        if self.spread:
            need("accelerate", what="device_map='auto'")
        if self.quantize:
            need("bitsandbytes", "accelerate", what=f"quantize={self.quantize!r}")
        if self.spread or self.quantize:
            options["device_map"] = "auto" if self.spread else {"": self.device}
        if self.quantize:
            options["quantization_config"] = (
                BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=self.dtype)
                if self.quantize == "4bit"
                else BitsAndBytesConfig(load_in_8bit=True)
            )
        return options


@dataclass(frozen=True)
class Source:
    """Where a model is. folder: holds config.json and the weights, or the file `gguf` that holds everything."""

    name: str
    folder: Path
    gguf: str | None = None
    remote: Remote | None = None

    def tokenizer(self, watch: Watch) -> PreTrainedTokenizerBase:
        try:
            with reading(self.name, {}, watch):
                return AutoTokenizer.from_pretrained(str(self.folder), **self._options())
        except Exception as error:
            raise not_read(self.name, "its tokenizer", error) from error

    def weights(self, place: Place, watch: Watch) -> PreTrainedModel:
        """The model with all its weights. Raises LoadError for any that is lost, torn or too many."""
        if self.gguf and place.quantize:
            raise LoadError(
                f"{self.name} is dequantised when it is read, so quantize={place.quantize!r} needs safetensors."
            )
        if self.remote:
            self.remote.fetch_weights(watch)
        options = place.options() | self._options()
        try:
            with reading(self.name, {}, watch):
                config = AutoConfig.from_pretrained(str(self.folder), **self._options())
            with reading(self.name, self._files(), watch):
                model, report = model_class(config).auto.from_pretrained(
                    str(self.folder), config=config, use_safetensors=True, output_loading_info=True, **options
                )
            _refuse_parts(self.name, model, report)
            return model if "device_map" in options else model.to(place.device)
        except LoadError:
            raise
        except Exception as error:
            raise not_read(self.name, "it", error) from error

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
        return options | ({"gguf_file": self.gguf} if self.gguf else {})

    def _files(self) -> dict[str, dict[str, int]]:
        """The tensors of each file of weights with their bytes. Raises LoadError for a file that is torn."""
        if self.gguf:
            return {self.gguf: {"": (self.folder / self.gguf).stat().st_size}}
        whole = (self.folder / WHOLE).is_file() or not (self.folder / INDEX).is_file()
        found = {}
        for file in [WHOLE] if whole else shards(self.folder):
            try:
                with safe_open(self.folder / file, "np") as tensors:
                    found[file] = {key: _n_bytes(tensors.get_slice(key)) for key in tensors.keys()}  # noqa: SIM118
            except FileNotFoundError:
                raise LoadError(
                    f"{self.name} has no {file}. Only safetensors are read, since pickled weights can run code."
                ) from None
            except (SafetensorError, OSError, ValueError) as error:
                raise torn(self.name, file, error) from error
        return found


def need(*libraries: str, what: str) -> None:
    """Raises LoadError with the command that installs what is not there."""
    lost = [library for library in libraries if importlib.util.find_spec(library) is None]
    if lost:
        raise LoadError(f"{what} needs {' and '.join(lost)}: pip install {' '.join(lost)}")


def _n_bytes(tensor: Any) -> int:
    bits = re.search(r"\d+", tensor.get_dtype())  # F32, BF16, F8_E4M3, BOOL
    return math.prod(tensor.get_shape()) * (int(bits[0]) if bits else 8) // 8


def _refuse_parts(name: str, model: PreTrainedModel, report: dict[str, Any]) -> None:
    lost = sorted(report["missing_keys"]) + sorted(str(key) for key in report["mismatched_keys"])
    if lost:
        raise LoadError(
            f"{name} lacks {len(lost)} of its weights ({lost[0]} first), which would be filled with random numbers. "
            "Download or save it again."
        )
    blocks = {match[0] for key in model.state_dict() for match in [re.match(r".*?\.\d+\.", key)] if match}
    stems = {re.sub(r"\d+\.$", "", block) for block in blocks}  # "model.layers." and the like
    masks = re.compile(r"\.(attn|attention)\.(masked_)?bias$")  # of GPT-2 and its kin, which old versions saved
    beyond = [
        key
        for key in report["unexpected_keys"]
        if any(re.match(re.escape(s) + r"\d+\.", key) for s in stems) and not masks.search(key)
    ]
    if beyond:
        raise LoadError(
            f"{name} holds weights of layers that its config.json does not tell of ({sorted(beyond)[0]} first), "
            "so it would load as another model. Download or save it again."
        )
