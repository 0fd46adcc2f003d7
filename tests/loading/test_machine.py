"""What this machine has, on machines of every kind; what each named pair needs; and who is named."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    Qwen2Config,
    Qwen3Config,
)

import specviz as sv
from specviz.cli import main
from specviz.drafters import named
from specviz.models import machine, presets
from specviz.models.machine import Memory
from specviz.models.presets import PRESETS, Preset

ROOT = Path(__file__).parents[2]
CPU = Memory("cpu", "a processor", 8 * 10**9, 16 * 10**9)
VM_STAT = """Mach Virtual Memory Statistics: (page size of 16384 bytes)
Pages free:                              10000.
Pages active:                           200000.
Pages inactive:                          50000.
Pages speculative:                        1000.
"""


@pytest.fixture
def answers(monkeypatch):
    """What other programs answer, by name."""
    told: dict[str, str] = {}
    monkeypatch.setattr(machine, "_answer", lambda program, *_options: told.get(program, ""))
    monkeypatch.setattr(machine, "_torch_knows_cuda", lambda: True)
    return told


def test_a_gpu_is_told_by_its_driver(answers):
    answers["nvidia-smi"] = "NVIDIA H200, 142000, 143771\nNVIDIA H200, 1, 2\n"
    assert machine.memory() == Memory("cuda", "NVIDIA H200", 142000 * 2**20, 143771 * 2**20)
    assert machine.memory().dtype == "bfloat16"


@pytest.mark.parametrize("told", ["", "No devices were found\n", "NVIDIA-SMI has failed, because\n", "a, b, c\n"])
def test_without_a_gpu_it_is_the_processors(answers, told):
    answers["nvidia-smi"] = told
    assert machine.memory().device != "cuda"


@pytest.mark.parametrize("hidden", ["", "-1", "NoDevFiles"])
def test_a_hidden_gpu_is_none(answers, monkeypatch, hidden):
    answers["nvidia-smi"] = "NVIDIA H200, 142000, 143771\n"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert machine.memory().device != "cuda"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's /proc")
def test_linux_says_what_is_available_and_a_container_its_share(monkeypatch):
    files = {"/proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    1000000 kB\n"}
    monkeypatch.setattr(machine, "_read", lambda path: files.get(path, ""))
    assert machine._system()[0] == 1_024_000_000
    files |= {"/sys/fs/cgroup/memory.max": "500000000\n", "/sys/fs/cgroup/memory.current": "200000000\n"}
    assert machine._system() == (300_000_000, 500_000_000)
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    assert machine._system()[0] == 1_024_000_000
    files.clear()
    assert machine._system()[0] is None


def test_macos_counts_pages(answers, monkeypatch):
    answers["vm_stat"] = VM_STAT
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")
    assert machine._system()[0] == 61_000 * 16384
    assert machine.memory().device == "mps"


def test_this_machines_memory_is_known_without_torch():
    code = "import sys; from specviz.models import machine; m = machine.memory(); assert 'torch' not in sys.modules, m"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)
    told = machine.memory()
    assert told.device == (
        "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    )
    if sys.platform.startswith("linux"):
        assert told.free is not None
        assert told.total is not None
        assert 0 < told.free <= told.total


def test_a_preset_needs_its_weights_a_fifth_more_and_the_libraries():
    pair = Preset("a", "t", "d", 10**9, 10**8, "MIT")
    assert pair.needs_bytes("float32") == round(1.1e9 * 4 * 1.2) + 2**29
    assert pair.needs_bytes("4bit") == round(1.1e9 / 2 * 1.2) + 2**29
    assert pair.fits(CPU)
    assert not pair.fits(Memory("cpu", "", 5 * 10**9, None))
    assert pair.fits(Memory("cuda", "", 5 * 10**9, None))  # two bytes each there
    assert pair.fits(Memory("cpu", "", None, None))  # nobody knows


def test_the_bundled_pair_comes_first_and_is_what_it_says(pair):
    first = PRESETS[0]
    assert (first.target, first.draft) == (presets.TARGET, presets.DRAFT)
    assert (first.target_parameters, first.draft_parameters) == (pair.target.n_parameters, pair.draft.n_parameters)
    assert (first.gated, first.for_gpu) == (False, False)


def test_presets_have_names_of_their_own_and_drafts_that_are_smaller():
    assert len({p.name for p in PRESETS}) == len(PRESETS)
    for p in PRESETS:
        assert p.draft_parameters < p.target_parameters
        assert (p.draft_parameters == 0) == (named(p.draft) is not None)
        assert p.licence


# The sizes in the models' config.json: layers, width, inner width, heads, heads of keys, rows, tied.
LLAMA, NEOX, GPT2, QWEN2, QWEN3, GEMMA = (
    LlamaConfig,
    GPTNeoXConfig,
    GPT2Config,
    Qwen2Config,
    Qwen3Config,
    Gemma3TextConfig,
)
SIZES = {
    "HuggingFaceTB/SmolLM2-135M": (LLAMA, 30, 576, 1536, 9, 3, 49152, True),
    "HuggingFaceTB/SmolLM2-360M": (LLAMA, 32, 960, 2560, 15, 5, 49152, True),
    "distilbert/distilgpt2": (GPT2, 6, 768, 3072, 12, 12, 50257, True),
    "openai-community/gpt2": (GPT2, 12, 768, 3072, 12, 12, 50257, True),
    "openai-community/gpt2-medium": (GPT2, 24, 1024, 4096, 16, 16, 50257, True),
    "openai-community/gpt2-large": (GPT2, 36, 1280, 5120, 20, 20, 50257, True),
    "openai-community/gpt2-xl": (GPT2, 48, 1600, 6400, 25, 25, 50257, True),
    "EleutherAI/pythia-70m": (NEOX, 6, 512, 2048, 8, 8, 50304, False),
    "EleutherAI/pythia-410m": (NEOX, 24, 1024, 4096, 16, 16, 50304, False),
    "EleutherAI/pythia-1.4b": (NEOX, 24, 2048, 8192, 16, 16, 50304, False),
    "Qwen/Qwen2.5-0.5B": (QWEN2, 24, 896, 4864, 14, 2, 151936, True),
    "Qwen/Qwen2.5-1.5B": (QWEN2, 28, 1536, 8960, 12, 2, 151936, True),
    "Qwen/Qwen2.5-7B": (QWEN2, 28, 3584, 18944, 28, 4, 152064, False),
    "Qwen/Qwen2.5-14B": (QWEN2, 48, 5120, 13824, 40, 8, 152064, False),
    "Qwen/Qwen2.5-32B": (QWEN2, 64, 5120, 27648, 40, 8, 152064, False),
    "Qwen/Qwen3-0.6B": (QWEN3, 28, 1024, 3072, 16, 8, 151936, True),
    "Qwen/Qwen3-1.7B": (QWEN3, 28, 2048, 6144, 16, 8, 151936, True),
    "Qwen/Qwen3-4B": (QWEN3, 36, 2560, 9728, 32, 8, 151936, True),
    "Qwen/Qwen3-8B": (QWEN3, 36, 4096, 12288, 32, 8, 151936, False),
    "Qwen/Qwen3-14B": (QWEN3, 40, 5120, 17408, 40, 8, 151936, False),
    "Qwen/Qwen3-32B": (QWEN3, 64, 5120, 25600, 64, 8, 151936, False),
    "meta-llama/Llama-3.2-1B": (LLAMA, 16, 2048, 8192, 32, 8, 128256, True),
    "meta-llama/Llama-3.2-3B": (LLAMA, 28, 3072, 8192, 24, 8, 128256, True),
    "meta-llama/Llama-3.1-8B": (LLAMA, 32, 4096, 14336, 32, 8, 128256, False),
    "google/gemma-3-270m": (GEMMA, 18, 640, 2048, 4, 1, 262144, True),
    "google/gemma-3-1b-pt": (GEMMA, 26, 1152, 6912, 4, 1, 262144, True),
}


def n_parameters(kind, layers: int, width: int, inner: int, heads: int, kv_heads: int, rows: int, tied: bool) -> int:
    """Of two layers and of one, built without memory; the rest are alike."""
    size = {QWEN3: 128, GEMMA: 256}.get(kind, width // heads)

    def built(n: int) -> int:
        if kind is GPT2:
            config = GPT2Config(vocab_size=rows, n_embd=width, n_layer=n, n_head=heads, n_inner=inner)
        else:
            shared = {"vocab_size": rows, "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": n}
            keys = {} if kind is NEOX else {"num_key_value_heads": kv_heads, "head_dim": size}
            config = kind(**shared, **keys, num_attention_heads=heads, tie_word_embeddings=tied)
        with torch.device("meta"):
            return sum(p.numel() for p in AutoModelForCausalLM.from_config(config).parameters())

    one, two = built(1), built(2)
    return one + (layers - 1) * (two - one)


def test_the_parameters_of_each_preset_are_those_of_its_architecture():
    for name, (count, _licence) in presets._MODELS.items():
        if name not in presets.NAMED:
            assert n_parameters(*SIZES[name.removesuffix("-Instruct")]) == count, name


def test_the_command_line_lists_them(capsys):
    assert main(["presets"]) == 0
    told = capsys.readouterr().out
    assert all(f"--target {p.target} --draft {p.draft}" in told for p in PRESETS)
    assert "Llama 3.1, Llama 3.2, gated, for a GPU" in told


def test_each_preset_asks_for_what_load_pair_takes():
    for p in PRESETS:
        assert p.target in presets.NAMED or p.target.count("/") == 1
    assert sv.load_pair(PRESETS[0].target, PRESETS[0].draft)
