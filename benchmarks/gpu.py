"""A round on a GPU beside its bare passes: how much of a round is the two models' own work.

    python -m benchmarks.gpu             # Llamas of about 7 and 0.5 billion parameters, bfloat16
    python -m benchmarks.gpu --small     # small ones, a minute on a CPU

The weights are random, which changes no time. The floor is K bare draft passes of one token and one bare target pass of
K + 1 tokens, replayed over caches in place: no tokens go there, no logits come back. The round is that of
`sv.speculate`, its record included. Efficiency is floor / round, each taken within a repetition.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

import specviz as sv
from specviz.models.hf import HFModel, HFReader
from specviz.models.static import StaticPasses
from specviz.models.vocabulary import Vocabulary

CONTEXT = 4096
ROLES = ("target", "draft")
# Layers, hidden size, intermediate size, heads and kv heads. The first is Llama 2's of 7 billion parameters.
SHAPES = {"target": (32, 4096, 11008, 32, 32), "draft": (24, 1024, 4096, 16, 16)}
SMALL = {"target": (8, 256, 704, 4, 4), "draft": (2, 128, 352, 2, 2)}


def build(role: str, shape: tuple[int, ...], vocabulary: Vocabulary, device: str, dtype: torch.dtype) -> HFModel:
    """A Llama of this shape with random weights. Elsewhere than on CUDA it is told to take the way for CUDA too."""
    layers, hidden, intermediate, heads, kv_heads = shape
    config = LlamaConfig(
        vocab_size=vocabulary.size,
        num_hidden_layers=layers,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=CONTEXT,
    )
    torch.manual_seed(ROLES.index(role))
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    ours = HFModel(model, vocabulary, role, static=None if device == "cuda" else StaticPasses(model))
    if ours.static is None:
        raise SystemExit(f"the {role} does not take the way for CUDA: its self-check found it different.")
    return ours


def words(n: int) -> Vocabulary:
    tokenizer = Tokenizer(models.WordLevel({f"<{i}>": i for i in range(n)}, unk_token="<0>"))
    return Vocabulary(PreTrainedTokenizerFast(tokenizer_object=tokenizer))


class Floor:
    """The bare passes of a round, each model's at this text. Waits for the device after each part."""

    def __init__(self, pair: sv.Pair, text: Sequence[int], draft_length: int) -> None:
        self._readers: list[HFReader] = []  # they hold the memory that is replayed over
        target, draft = (
            self._replay(model, text, n) for model, n in ((pair.target, draft_length + 1), (pair.draft, 1))
        )
        self._parts = {"draft": (draft, draft_length), "target": (target, 1)}

    def _replay(self, model: Any, text: Sequence[int], n: int) -> Any:
        reader = model.open()
        reader.logits(text[:-n], 1)
        reader.logits(text, n)  # captured here
        self._readers.append(reader)
        return reader._cache.memory.short[n].replay

    @torch.inference_mode()
    def seconds(self) -> dict[str, float]:
        return {role: _timed(replay, times) for role, (replay, times) in self._parts.items()}


def _timed(replay: Any, times: int) -> float:
    wait()
    start = time.perf_counter()
    for _ in range(times):
        replay()
    wait()
    return time.perf_counter() - start


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


@contextmanager
def clocked() -> Iterator[dict[str, list[float]]]:
    """Seconds of each pass by its model, from token ids to logits on the host, inside the block."""
    seconds: dict[str, list[float]] = defaultdict(list)
    feed = HFReader._feed

    def timed(self: HFReader, tokens: list[int], n: int) -> Any:
        start = time.perf_counter()
        answer = feed(self, tokens, n)
        seconds[self._of.name].append(time.perf_counter() - start)
        return answer

    with patch.object(HFReader, "_feed", timed):
        yield seconds


def repetition(pair: sv.Pair, floor: Floor, prompt: Sequence[int], options: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of a round's parts and the efficiency: of one run, the round that took the middle time, and bare
    passes by their medians."""
    k = options.draft_length
    asked = sv.Sampling(options.temperature, top_k=options.top_k, top_p=options.top_p)
    with clocked() as seconds:
        trace = sv.speculate(
            pair, prompt, draft_length=k, max_new_tokens=options.tokens, sampling=asked, seed=options.seed
        )
    drafting, verifying = iter(seconds["draft"]), iter(seconds["target"])
    each = [(r, sum(islice(drafting, len(r.nodes))), next(verifying)) for r in trace.rounds]
    rounds = sorted((r.round_s, draft, target) for r, draft, target in each[1:] if len(r.nodes) == k)
    round_, draft, target = rounds[len(rounds) // 2]
    bare = [floor.seconds() for _ in range(len(rounds))]
    told = {f"bare {role}": statistics.median(one[role] for one in bare) for role in ("draft", "target")}
    told |= {"round": round_, "draft": draft, "target": target, "host": round_ - draft - target}
    told = {name: 1e3 * value for name, value in told.items()}
    return {**told, "efficiency": (told["bare draft"] + told["bare target"]) / told["round"]}


LINES = {
    "round": "a round, its record included",
    "draft": "  draft: {k} passes, ids in and logits out",
    "target": "  verify: one pass, ids in and logits out",
    "host": "  host: warps, draws, judgement, record",
    "bare draft": "bare draft passes, {k}",
    "bare target": "bare target pass, one of {k} + 1 tokens",
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small shapes, for a CPU")
    parser.add_argument("-k", "--draft-length", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=64, help="tokens of the prompt")
    parser.add_argument("--vocabulary", type=int, help="tokens of the vocabulary (32000; with --small 2048)")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--top-k", type=int)
    parser.add_argument("--top-p", type=float)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    vocabulary = words(options.vocabulary or (2048 if options.small else 32000))
    shapes = SMALL if options.small else SHAPES
    target, draft = (build(role, shapes[role], vocabulary, device, dtype) for role in ROLES)
    pair = sv.Pair(target, draft, vocabulary)

    k = options.draft_length
    text = np.random.default_rng(0).integers(1, vocabulary.size, options.prompt + options.tokens // 2).tolist()
    prompt, floor = text[: options.prompt], Floor(pair, text, k)
    repetition(pair, floor, prompt, options)  # warm: the first captures what the run needs
    found = [repetition(pair, floor, prompt, options) for _ in range(options.repeats)]

    name = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
    print(f"{name}, {str(dtype).removeprefix('torch.')}, torch {torch.__version__}")
    if device != "cuda":
        print("No CUDA here: these are numbers of a CPU, without graphs. CUDA has not been measured.")
    sizes = " and ".join(f"{model.n_parameters / 1e6:,.0f}" for model in (target, draft))
    print(f"{sizes} million parameters, {vocabulary.size:,} tokens; K = {k}, {options.repeats} repetitions")
    print(f"{'ms':<44}{'median':>9}{'lowest':>9}{'highest':>9}")
    for part, line in [*LINES.items(), ("efficiency", "efficiency: bare / round")]:
        values = [one[part] for one in found]
        numbers = (statistics.median(values), min(values), max(values))
        print(f"{line.format(k=k):<44}" + "".join(f"{value:>9.3f}" for value in numbers))


if __name__ == "__main__":
    main()
