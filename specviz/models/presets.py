"""Named models. The bundled ones are folders beside this code, so that everything works offline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specviz.models.machine import Memory

BUNDLED = Path(__file__).parent.parent / "bundled"

TARGET = "bundled/target"
DRAFT = "bundled/draft"
WEAK_DRAFT = "bundled/draft-weak"

NAMED: dict[str, Path] = {
    TARGET: BUNDLED / "target",
    DRAFT: BUNDLED / "draft",
    WEAK_DRAFT: BUNDLED / "draft-weak",
}

BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0, "8bit": 1.0, "4bit": 0.5}  # of one weight
MARGIN = 1.2  # over the weights, for caches, laws and passes under way
LIBRARIES = 2**29  # bytes that torch and transformers take by themselves


@dataclass(frozen=True, slots=True)
class Preset:
    """A pair that is known to share its tokens.

    target, draft: what `load_pair` takes; draft can be a way to draft without a second model. gated: whether the hub
    asks who loads it to accept its terms first. for_gpu: whether it is too slow to watch on a CPU.
    """

    name: str
    target: str
    draft: str
    target_parameters: int
    draft_parameters: int
    licence: str
    gated: bool = False
    for_gpu: bool = False

    def needs_bytes(self, dtype: str) -> int:
        """Memory for both models in this type, with `MARGIN` and `LIBRARIES` on top. dtype: a key of `BYTES`."""
        return round((self.target_parameters + self.draft_parameters) * BYTES[dtype] * MARGIN) + LIBRARIES

    def fits(self, memory: Memory) -> bool:
        """Whether it fits into what is free, in the type that "auto" takes there; so it seems where that is unknown."""
        return memory.free is None or self.needs_bytes(memory.dtype) <= memory.free


# The counts are those of the architectures that the models' config.json describe, tied weights once.
_MODELS: dict[str, tuple[int, str]] = {
    TARGET: (6_951_168, "MIT"),
    DRAFT: (1_297_344, "MIT"),
    "HuggingFaceTB/SmolLM2-135M": (134_515_008, "Apache-2.0"),
    "HuggingFaceTB/SmolLM2-135M-Instruct": (134_515_008, "Apache-2.0"),
    "HuggingFaceTB/SmolLM2-360M": (361_821_120, "Apache-2.0"),
    "HuggingFaceTB/SmolLM2-360M-Instruct": (361_821_120, "Apache-2.0"),
    "distilbert/distilgpt2": (81_912_576, "Apache-2.0"),
    "openai-community/gpt2": (124_439_808, "MIT"),
    "openai-community/gpt2-medium": (354_823_168, "MIT"),
    "openai-community/gpt2-large": (774_030_080, "MIT"),
    "openai-community/gpt2-xl": (1_557_611_200, "MIT"),
    "EleutherAI/pythia-70m": (70_426_624, "Apache-2.0"),
    "EleutherAI/pythia-410m": (405_334_016, "Apache-2.0"),
    "EleutherAI/pythia-1.4b": (1_414_647_808, "Apache-2.0"),
    "Qwen/Qwen2.5-0.5B": (494_032_768, "Apache-2.0"),
    "Qwen/Qwen2.5-1.5B": (1_543_714_304, "Apache-2.0"),
    "Qwen/Qwen2.5-0.5B-Instruct": (494_032_768, "Apache-2.0"),
    "Qwen/Qwen2.5-7B-Instruct": (7_615_616_512, "Apache-2.0"),
    "Qwen/Qwen2.5-14B-Instruct": (14_770_033_664, "Apache-2.0"),
    "Qwen/Qwen2.5-32B-Instruct": (32_763_876_352, "Apache-2.0"),
    "Qwen/Qwen3-0.6B": (596_049_920, "Apache-2.0"),
    "Qwen/Qwen3-1.7B": (1_720_574_976, "Apache-2.0"),
    "Qwen/Qwen3-4B": (4_022_468_096, "Apache-2.0"),
    "Qwen/Qwen3-8B": (8_190_735_360, "Apache-2.0"),
    "Qwen/Qwen3-14B": (14_768_307_200, "Apache-2.0"),
    "Qwen/Qwen3-32B": (32_762_123_264, "Apache-2.0"),
    "meta-llama/Llama-3.2-1B": (1_235_814_400, "Llama 3.2"),
    "meta-llama/Llama-3.2-3B": (3_212_749_824, "Llama 3.2"),
    "meta-llama/Llama-3.1-8B": (8_030_261_248, "Llama 3.1"),
    "google/gemma-3-270m": (268_098_176, "Gemma"),
    "google/gemma-3-1b-pt": (999_885_952, "Gemma"),
}


def _preset(name: str, target: str, draft: str, *, gated: bool = False, for_gpu: bool = False) -> Preset:
    of_target, of_draft = _MODELS[target], _MODELS[draft] if "/" in draft else (0, "")  # a way to draft needs none
    licences = dict.fromkeys(licence for _count, licence in (of_target, of_draft) if licence)
    return Preset(name, target, draft, of_target[0], of_draft[0], ", ".join(licences), gated, for_gpu)


_SMOL, _GPT2, _PYTHIA, _QWEN = "HuggingFaceTB/SmolLM2", "openai-community/gpt2", "EleutherAI/pythia", "Qwen/Qwen"
_LLAMA, _GEMMA = "meta-llama/Llama", "google/gemma-3"

PRESETS: tuple[Preset, ...] = (
    _preset("Bundled pair", TARGET, DRAFT),
    _preset("SmolLM2 360M and 135M", f"{_SMOL}-360M", f"{_SMOL}-135M"),
    _preset("SmolLM2 360M and 135M, chat", f"{_SMOL}-360M-Instruct", f"{_SMOL}-135M-Instruct"),
    _preset("SmolLM2 135M with prompt lookup", f"{_SMOL}-135M", "lookup"),
    _preset("SmolLM2 135M with half its layers", f"{_SMOL}-135M", "skipped"),
    _preset("GPT-2 medium and DistilGPT-2", f"{_GPT2}-medium", "distilbert/distilgpt2"),
    _preset("GPT-2 large and GPT-2", f"{_GPT2}-large", _GPT2),
    _preset("GPT-2 XL and GPT-2", f"{_GPT2}-xl", _GPT2),
    _preset("Pythia 410M and 70M", f"{_PYTHIA}-410m", f"{_PYTHIA}-70m"),
    _preset("Pythia 1.4B and 70M", f"{_PYTHIA}-1.4b", f"{_PYTHIA}-70m"),
    _preset("Qwen2.5 1.5B and 0.5B", f"{_QWEN}2.5-1.5B", f"{_QWEN}2.5-0.5B", for_gpu=True),
    _preset("Qwen2.5 7B and 0.5B, chat", f"{_QWEN}2.5-7B-Instruct", f"{_QWEN}2.5-0.5B-Instruct", for_gpu=True),
    _preset("Qwen2.5 14B and 0.5B, chat", f"{_QWEN}2.5-14B-Instruct", f"{_QWEN}2.5-0.5B-Instruct", for_gpu=True),
    _preset("Qwen2.5 32B and 0.5B, chat", f"{_QWEN}2.5-32B-Instruct", f"{_QWEN}2.5-0.5B-Instruct", for_gpu=True),
    _preset("Qwen3 4B and 0.6B, chat", f"{_QWEN}3-4B", f"{_QWEN}3-0.6B", for_gpu=True),
    _preset("Qwen3 8B and 0.6B, chat", f"{_QWEN}3-8B", f"{_QWEN}3-0.6B", for_gpu=True),
    _preset("Qwen3 14B and 0.6B, chat", f"{_QWEN}3-14B", f"{_QWEN}3-0.6B", for_gpu=True),
    _preset("Qwen3 32B and 1.7B, chat", f"{_QWEN}3-32B", f"{_QWEN}3-1.7B", for_gpu=True),
    _preset("Llama 3.2 3B and 1B", f"{_LLAMA}-3.2-3B", f"{_LLAMA}-3.2-1B", gated=True, for_gpu=True),
    _preset("Llama 3.1 8B and 3.2 1B", f"{_LLAMA}-3.1-8B", f"{_LLAMA}-3.2-1B", gated=True, for_gpu=True),
    _preset("Gemma 3 1B and 270M", f"{_GEMMA}-1b-pt", f"{_GEMMA}-270m", gated=True, for_gpu=True),
)
