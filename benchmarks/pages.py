"""How long the server works: on a page's first visit, and from an input that moves to the page drawn anew. Prints both.

    python -m benchmarks.pages

No browser: Streamlit's own test harness runs the pages, which adds a few milliseconds of its own to each run. A first
visit is made in a fresh process each, so that it pays for every import that Streamlit has not made already.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[1]
GOAL_MOVE_S, GOAL_FIRST_S = 0.150, 1.0
_FIRST = """
import sys, time
from streamlit.testing.v1 import AppTest
import streamlit as st, pandas
start = time.perf_counter()
at = AppTest.from_file(sys.argv[1], default_timeout=120).run()
print(time.perf_counter() - start)
assert not at.exception, at.exception
"""


def pages() -> list[str]:
    return sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py"))


def first_visit(page: str, repeats: int) -> list[float]:
    """Seconds of the first run of a page in a fresh process."""
    times = []
    for _ in range(repeats):
        command = [sys.executable, "-c", _FIRST, page]
        times.append(float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout))
    return times


def moves(page: str, repeats: int) -> tuple[str, list[float]]:
    """The slowest input of a page, and the seconds from each of its moves until the page was run anew."""
    at = AppTest.from_file(str(ROOT / page), default_timeout=120).run()
    slowest: tuple[str, list[float]] = ("nothing to move", [])
    for kind in ("slider", "number_input", "toggle", "button_group"):
        for index, widget in enumerate(at.get(kind)):
            times = []
            for turn in range(repeats + 1):
                there = at.get(kind)
                if index >= len(there) or there[index].disabled:
                    break
                _move(kind, there[index], turn)
                start = time.perf_counter()
                at.run()
                times.append(time.perf_counter() - start)
            if len(times) > 2 and (not slowest[1] or statistics.median(times[1:]) > statistics.median(slowest[1])):
                slowest = widget.label or kind, times[1:]
    return slowest


def _move(kind: str, widget: Any, turn: int) -> None:
    """Another value than the one it has, back and forth."""
    if kind in ("slider", "number_input"):
        step, least, most = widget.step, widget.min, widget.max
        if isinstance(widget.value, tuple):  # a span: its lower end moves
            low, high = widget.value
            widget.set_value((low + step if low == least else least, high))
            return
        up = widget.value + step <= (most if most is not None else float("inf"))
        down = widget.value - step >= (least if least is not None else float("-inf"))
        widget.set_value(widget.value + step if up and (turn % 2 == 0 or not down) else widget.value - step)
    elif kind == "toggle":
        widget.set_value(not widget.value)
    else:
        options = list(widget.options)
        widget.set_value(options[turn % len(options)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; milliseconds of server time, median (longest)")
    print(f"{'page':<14}{'first visit':>16}{'slowest input':>18}  which")
    for page in pages():
        cold = first_visit(page, max(1, options.repeats // 2))
        which, times = moves(page, options.repeats)
        moved = f"{_ms(statistics.median(times))} ({_ms(max(times))})" if times else "–"
        print(f"{Path(page).stem:<14}{_ms(statistics.median(cold)):>8} ({_ms(max(cold))}){moved:>18}  {which}")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f}"


if __name__ == "__main__":
    main()
