"""What the engine's benchmarks share: prompts, repetitions in turns, clocks around functions, tables, the machine."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import torch

import specviz as sv

TEXTS = {  # a repetition takes the next prompt of each
    "prose": (
        "It is a truth universally acknowledged",
        "The family of Dashwood had long been settled in Sussex.",
        "Call me Ishmael. Some years ago",
    ),
    "code": (
        "def __init__(self, name, value):\n        self.name = name",
        "def main(argv=None):\n    ",
        "import os\nimport sys\n\n\nclass Reader:\n",
    ),
}

Outcome = TypeVar("Outcome")
Name = TypeVar("Name", bound=Hashable)


class Spread(NamedTuple):
    """The median of several values, and the ends of them."""

    median: float
    least: float
    most: float

    def __format__(self, spec: str) -> str:
        """Each number by the given format: median (least–most)."""
        return f"{self.median:{spec}} ({self.least:{spec}}–{self.most:{spec}})"


def spread(values: Sequence[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


def ratios(over: Sequence[float], under: Sequence[float]) -> list[float]:
    """One ratio a repetition, so that a slow minute of the machine slows both of its sides."""
    return [a / b for a, b in zip(over, under, strict=True)]


def in_turns(contestants: Mapping[Name, Callable[[int], Outcome]], repeats: int) -> dict[Name, list[Outcome]]:
    """What each contestant gave in each repetition. Every repetition runs all of them once, every second one backwards.

    A contestant is given the repetition's number, and should be warm: the first runs of a process are its slowest.
    """
    given: dict[Name, list[Outcome]] = {name: [] for name in contestants}
    for i in range(repeats):
        for name in list(contestants)[:: -1 if i % 2 else 1]:
            given[name].append(contestants[name](i))
    return given


def timed(work: Callable[[], Outcome]) -> tuple[float, Outcome]:
    """Seconds, and what came of them."""
    start = time.perf_counter()
    outcome = work()
    return time.perf_counter() - start, outcome


def whole_rounds(trace: sv.Trace, *, any_length: bool = False) -> list[sv.Round]:
    """The rounds that drafted all K, without the first, which reads the prompt, and one that the end of the text cut.

    any_length: also those that drafted fewer, as copying does.
    """
    rounds = [r for r in trace.rounds[1:] if r.final is not None]
    return rounds if any_length else [r for r in rounds if len(r.nodes) == trace.draft_length]


class Clock(NamedTuple):
    """A function whose time is taken: where it is looked up, under which name, and the part of a round it counts to.

    part: a name, or what gives one for the function's first argument.
    """

    owner: Any
    name: str
    part: str | Callable[[Any], str]


def wherever(function: Callable[..., Any], part: str) -> list[Clock]:
    """A clock for each module of the engine that looks the function up."""
    modules = [module for name, module in sorted(sys.modules.items()) if name.split(".")[0] == "specviz"]
    return [Clock(m, function.__name__, part) for m in modules if vars(m).get(function.__name__) is function]


class Clocks:
    """Seconds by part of the work, each function's own: without those of clocked functions that it calls.

    So the parts sum to the outermost function's time. now: the clock, by default the one on the wall.
    """

    def __init__(self, now: Callable[[], float] | None = None) -> None:
        self._now = now or time.perf_counter
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._inner = [0.0]  # of each clocked function under way, the seconds of those it called

    @contextmanager
    def around(self, *clocks: Clock) -> Iterator[Clocks]:
        """Take the time of these functions inside the block."""
        with ExitStack() as stack:
            for owner, name, part in clocks:
                stack.enter_context(patch.object(owner, name, self._clocked(getattr(owner, name), part)))
            yield self

    def take(self) -> dict[str, float]:
        """Seconds by part since the last time this was asked."""
        taken = dict(self._seconds)
        self._seconds.clear()
        return taken

    def _clocked(self, function: Callable[..., Any], part: str | Callable[[Any], str]) -> Callable[..., Any]:
        @wraps(function)
        def clocked(*args: Any, **options: Any) -> Any:
            start = self._now()
            self._inner.append(0.0)
            try:
                return function(*args, **options)
            finally:
                spent = self._now() - start
                self._seconds[part if isinstance(part, str) else part(args[0])] += spent - self._inner.pop()
                self._inner[-1] += spent

        return clocked


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell: the first to the left, numbers to the right."""
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in lines
    )


def options(told: str | None, *, repeats: int) -> argparse.ArgumentParser:
    """A parser with what every benchmark asks: threads and repetitions."""
    parser = argparse.ArgumentParser(description=told, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=positive, default=1, help="of every contestant (default: %(default)s)")
    parser.add_argument("--repeats", type=positive, default=repeats, help="default: %(default)s")
    return parser


def positive(text: str) -> int:
    """A whole number of at least 1, for a parser."""
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def machine() -> str:
    """Versions, processor and load, for the head of what is printed."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"torch {torch.__version__}, Python {platform.python_version()}, {os.cpu_count()} processors "
        f"({_processor()}){load}, {torch.get_num_threads()} thread(s) used"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
