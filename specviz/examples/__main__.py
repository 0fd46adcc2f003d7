"""`python -m specviz.examples`: decode the examples anew and write them, in about a minute.

Their times are what the app's race of two lanes shows, so run it while the machine does nothing else.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import specviz as sv
from specviz import examples

REPEATS = 3  # of each pair of runs; the median one is kept


@cache
def pair(draft: str) -> sv.Pair:
    """The bundled target with this draft, warm: the first runs of a process are slower than all others."""
    loaded = sv.load_pair(draft=draft)
    for _ in range(2):
        sv.speculate(loaded, "Warm", max_new_tokens=16, seed=0)
        sv.autoregress(loaded, "Warm", max_new_tokens=16, seed=0)
    return loaded


def record(example: examples.Example) -> tuple[sv.Trace, sv.Trace]:
    """The run and the target alone, in turns, so that a slow moment of the machine meets both; the medians by time."""
    given: dict[str, Any] = {
        "max_new_tokens": example.max_new_tokens,
        "sampling": example.sampling,
        "seed": example.seed,
    }
    several, plain = [], []
    for _ in range(REPEATS):
        models = pair(example.draft)
        several.append(sv.speculate(models, example.prompt, draft_length=example.draft_length, **given))
        plain.append(sv.autoregress(models, example.prompt, **given))
    return median(several), median(plain)


def median(runs: list[sv.Trace]) -> sv.Trace:
    """The whole run whose time is the middle one, so that its rounds add up to its total."""
    return sorted(runs, key=lambda trace: trace.total_s)[len(runs) // 2]


def line(name: str, trace: sv.Trace, plain: sv.Trace) -> str:
    measured = sv.measure.compare(trace, plain)
    return (
        f"{name:9} {len(trace.tokens):3} tokens {len(trace.rounds):3} rounds  α {measured.alpha:.2f}  "
        f"{sv.measure.tokens_per_round(trace).estimate:.2f} tokens per pass  speed-up {measured.speedup:.2f}"
    )


def main() -> int:
    try:
        for example in examples.EXAMPLES:
            trace, plain = record(example)
            trace.to_json(examples.path(example.name))
            plain.to_json(examples.path(example.name, alone=True))
            print(line(example.name, trace, plain), flush=True)
    except sv.SpecvizError as error:
        print(f"specviz: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
