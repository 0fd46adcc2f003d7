"""How near a round comes to what its forward passes alone cost, and where the rest of it goes. Part of `make bench`.

The floor of a round is its K one-token draft passes and its one (K + 1)-token target pass at the very place of the
text, caches in place, nothing converted and nothing drawn: by the engine's own forward, and by transformers' forward of
the same models. Efficiency is the floor over the round as it ran, trace on. Machine efficiency is the time that the
memory takes to deliver the weights of those passes, over the round; weights that fit into a cache come faster.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch

import specviz as sv
from benchmarks.floor import Floor, Models, bandwidth, load, weight_bytes
from benchmarks.timing import (
    TEXTS,
    Clock,
    Clocks,
    in_turns,
    machine,
    options,
    positive,
    ratios,
    spread,
    table,
    wherever,
    whole_rounds,
)
from specviz.drafters import lookup
from specviz.models.base import read
from specviz.models.hf import HFModel, HFReader
from specviz.recording import Recorder
from specviz.sampling import draw, verify, warp

MEMORY_BYTES = 2**29  # far more than any cache holds
PARTS = (
    "draft passes",
    "verify pass",
    "host conversion",
    "warp",
    "draws and judgement",
    "copying drafts",
    "recording: text",
    "recording: candidates, the record",
    "what the caches hold",
    "the rest of the loop, in Python",
)


def clocks(target: HFModel) -> list[Clock]:
    """Around the parts of a round. Ask when the engine is loaded: it loads its modules late."""
    draft, verify_pass, host, warping, judging, copying, text, record, caches, rest = PARTS
    return [
        Clock(HFReader, "_pass", lambda reader: verify_pass if reader._of is target else draft),
        Clock(HFReader, "_known", host),
        *wherever(warp, warping),
        *wherever(draw, judging),
        *wherever(verify, judging),
        Clock(lookup._Lookup, "propose", copying),
        Clock(Recorder, "_grow", text),
        Clock(Recorder, "record", record),
        *wherever(read, caches),
        Clock(sv.Run, "__next__", rest),
    ]


class Asked(NamedTuple):
    """The runs that are measured: the first prompt of each text."""

    draft_length: int
    n_tokens: int
    sampling: sv.Sampling

    def streams(self, pair: sv.Pair, seed: int) -> Iterator[sv.Run]:
        for prompts in TEXTS.values():
            yield sv.stream(
                pair,
                prompts[0],
                draft_length=self.draft_length,
                max_new_tokens=self.n_tokens,
                sampling=self.sampling,
                seed=seed,
            )

    def runs(self, pair: sv.Pair, seed: int) -> Iterator[sv.Trace]:
        return (run.finish() for run in self.streams(pair, seed))


class Measured(NamedTuple):
    """Of the rounds of a few runs: median milliseconds, median shares of the round, and drafts in a mean round."""

    round_ms: float
    own_ms: float
    theirs_ms: float
    own: float
    theirs: float
    n_drafts: float


def measure(models: Models, asked: Asked, seed: int) -> Measured:
    """Decode, and then run the rounds' forward passes alone, by the engine's forward and by transformers'."""
    taken: list[float] = []
    own: list[float] = []
    theirs: list[float] = []
    n_drafts = 0
    for trace in asked.runs(models.pair, seed):
        rounds = whole_rounds(trace, any_length=models.draft is None)
        tokens = [*trace.prompt_tokens, *trace.tokens]
        n_drafts += sum(len(r.nodes) for r in rounds)
        taken += [r.round_s for r in rounds]
        for seconds, floor in ((own, Floor(models, own=True)), (theirs, Floor(models, own=False))):
            seconds += [floor.seconds(tokens, r) for r in rounds]
    if not taken:
        raise sv.ConfigError("no round drafts all K tokens: ask for more tokens, or a smaller K")
    round_ms, own_ms, theirs_ms = (1000 * statistics.median(seconds) for seconds in (taken, own, theirs))
    share, their_share = (statistics.median(ratios(floor, taken)) for floor in (own, theirs))
    return Measured(round_ms, own_ms, theirs_ms, share, their_share, n_drafts / len(taken))


def profile(models: Models, asked: Asked, seed: int) -> dict[str, float]:
    """Milliseconds of a mean round by its parts, which sum to the round. Without the first, which reads the prompt."""
    seconds: Counter[str] = Counter()
    n_rounds = 0
    for run in asked.streams(models.pair, seed):
        with Clocks().around(*clocks(models.target)) as taking:
            next(run)
            taking.take()
            n_rounds += sum(1 for _ in run)
        seconds.update(taking.take())
    return {part: 1000 * seconds[part] / max(1, n_rounds) for part in PARTS}


def report(models: Models, k: int, n_tokens: int, repeats: int) -> None:
    """Measure and print: efficiencies, then where a round goes."""
    laws_asked = {"greedy": Asked(k, n_tokens, sv.Sampling(0)), "T = 1": Asked(k, n_tokens, sv.Sampling(1))}
    contestants = {law: partial(measure, models, asked) for law, asked in laws_asked.items()}
    in_turns(contestants, 1)
    given = in_turns(contestants, repeats)
    print(f"{models.name}, K = {k}, {len(TEXTS)} prompts x {n_tokens} tokens, {repeats} repetitions; {machine()}")
    target, draft = weight_bytes(models.target), weight_bytes(models.draft) if models.draft else (0, 0)
    memory, near = bandwidth(MEMORY_BYTES), bandwidth(target[1])
    print(
        f"memory: {memory / 1e9:.1f} GB/s, a sum over {MEMORY_BYTES / 1e6:.0f} MB; {near / 1e9:.1f} GB/s, a sum over ",
        end="",
    )
    print(f"{target[1] / 1e6:.1f} MB again and again, as much as a target pass reads")
    for told, i in (("as float32", 0), ("as the engine's forward holds them", 1)):
        print(f"weights {told}: {target[i] / 1e6:.1f} MB in a target pass, {draft[i] / 1e6:.2f} MB in a draft pass")

    def machine_share(m: Measured, i: int) -> float:
        return 1000 * (m.n_drafts * draft[i] + target[i]) / memory / m.round_ms

    rows: dict[str, tuple[str, Callable[[Measured], float]]] = {
        "a round, trace on (ms)": (".2f", lambda m: m.round_ms),
        "floor, the engine's forward (ms)": (".2f", lambda m: m.own_ms),
        "floor, transformers' forward (ms)": (".2f", lambda m: m.theirs_ms),
        "efficiency, the engine's forward": (".3f", lambda m: m.own),
        "efficiency, transformers' forward": (".3f", lambda m: m.theirs),
        "machine efficiency, weights as float32": (".3f", lambda m: machine_share(m, 0)),
        "machine efficiency, weights as read": (".3f", lambda m: machine_share(m, 1)),
    }
    lines = [
        [name, *(format(spread([figure(m) for m in given[law]]), spec) for law in given)]
        for name, (spec, figure) in rows.items()
    ]
    print(table(["median (least–most) of the repetitions", *given], lines), end="\n\n")

    profiled = in_turns({law: partial(profile, models, asked) for law, asked in laws_asked.items()}, repeats)
    parts = {law: {part: statistics.fmean(ms[part] for ms in each) for part in PARTS} for law, each in profiled.items()}
    cells = [[f"{ms[part]:.3f} ms {ms[part] / sum(ms.values()):6.1%}" for ms in parts.values()] for part in PARTS]
    totals = [f"{sum(ms.values()):.3f} ms {1:6.0%}" for ms in parts.values()]
    lines = [[part, *cell] for part, cell in zip(PARTS, cells, strict=True)]
    print(table(["a mean round, by clocks around its parts", *parts], [*lines, ["the round", *totals]]))


def main() -> int:
    parser = options(__doc__, repeats=3)
    parser.add_argument("--pair", default="bundled", help="bundled, smollm2 (93 MB are fetched), a folder, or a .gguf")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--lookup", dest="way", action="store_const", const="lookup", help="drafts are copied")
    way.add_argument(
        "--skipped", dest="way", action="store_const", const="skipped", help="the target with fewer layers"
    )
    parser.add_argument("-k", "--draft-length", type=positive, default=4)
    parser.add_argument("--tokens", type=positive, default=128)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    try:
        with tempfile.TemporaryDirectory() as folder:
            models = load(args.pair, args.way, Path(folder))
        report(models, args.draft_length, args.tokens, args.repeats)
    except sv.SpecvizError as error:
        print(f"specviz: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
