"""Several requests in one pass beside the same requests one by one, in tokens per second. Part of `make bench`.

Both ways decode the same prompts with the same seeds, so their tokens should be the same; where a pass of several rows
rounds otherwise than a pass of one, a near tie may turn, and such texts are counted.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import cycle, islice
from typing import Any, NamedTuple

import torch

import specviz as sv
from benchmarks.contestants import Contest
from benchmarks.timing import TEXTS, in_turns, machine, options, positive, ratios, spread, table, timed


class Ran(NamedTuple):
    seconds: float
    traces: list[sv.Trace]

    @property
    def n_tokens(self) -> int:
        return sum(len(trace.tokens) for trace in self.traces)


def together(pair: sv.Pair, prompts: list[str], asked: dict[str, Any], _i: int) -> Ran:
    return Ran(*timed(lambda: sv.speculate_many(pair, prompts, seeds=range(len(prompts)), **asked)))


def one_by_one(pair: sv.Pair, prompts: list[str], asked: dict[str, Any], _i: int) -> Ran:
    return Ran(*timed(lambda: [sv.speculate(pair, p, seed=seed, **asked) for seed, p in enumerate(prompts)]))


def row(pair: sv.Pair, size: int, asked: dict[str, Any], repeats: int) -> list[str]:
    """One size of batch: tokens per second both ways, their ratio, and how many texts are the same."""
    prompts = list(islice(cycle([prompt for texts in zip(*TEXTS.values(), strict=True) for prompt in texts]), size))
    ways = {way: partial(way, pair, prompts, asked) for way in (together, one_by_one)}
    ran = in_turns(ways, repeats)
    many, single = ([r.n_tokens / r.seconds for r in ran[way]] for way in ways)
    pairs = [(a, b) for way in zip(*ran.values(), strict=True) for a, b in zip(*(r.traces for r in way), strict=True)]
    same = f"{sum(a.tokens == b.tokens for a, b in pairs)}/{len(pairs)}"
    return [f"{spread(many):.0f}", f"{spread(single):.0f}", f"{spread(ratios(many, single)):.2f}", same]


def main() -> int:
    parser = options(__doc__, repeats=3)
    parser.add_argument("-k", "--draft-length", type=positive, default=4)
    parser.add_argument("--tokens", type=positive, default=48)
    parser.add_argument("--sizes", type=positive, nargs="+", default=[2, 4, 8, 16], metavar="N")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    pair = Contest().pair
    print(f"bundled pair, K = {args.draft_length}, {args.tokens} tokens each, {args.repeats} repetitions; {machine()}")
    rows = []
    for temperature in (0, 1):
        asked = {"draft_length": args.draft_length, "sampling": sv.Sampling(temperature)}
        row(pair, 2, asked | {"max_new_tokens": 16}, 1)  # warm
        for size in args.sizes:
            named = f"{f'T = {temperature}' if temperature else 'greedy'}, {size} requests"
            rows.append([named, *row(pair, size, asked | {"max_new_tokens": args.tokens}, args.repeats)])
    print(table(["tokens per second", "together", "one by one", "together / one by one", "same texts"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
