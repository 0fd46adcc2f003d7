"""How long the server works: on a page's first visit, and from an input that moves to the page drawn anew.

A part of `python -m benchmarks.app`. No browser: Streamlit's own test harness runs the pages, which adds a few
milliseconds of its own to each run. A first visit is made in a fresh process each, so that it pays for every import
that Streamlit has not made already. An input never moves to where it was before: a page may keep what it computed; and
it moves once the models are there that a page loads beside its first visit. A page of parts is timed part by part.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from specviz.ui import state

ROOT = Path(__file__).parents[1]
GOAL_MOVE_S, GOAL_FIRST_S = 0.150, 1.0
PARTED = {"pages/lossless.py": state.PROOF}  # pages that show a part at a time, and the input that chooses it
_NUMBERS = ("slider", "number_input")
_FIRST = """
import sys, time
from streamlit.testing.v1 import AppTest
import streamlit as st, pandas
start = time.perf_counter()
at = AppTest.from_file(sys.argv[1], default_timeout=120)
for key, value in [given.split("=") for given in sys.argv[2:]]:
    at.query_params[key] = value
at.run()
print(time.perf_counter() - start)
assert not at.exception, at.exception
"""


def pages() -> list[str]:
    return sorted(f"pages/{path.name}" for path in (ROOT / "pages").glob("*.py"))


def parts(page: str) -> list[str]:
    """The parts of a page, as its reader chooses them; one without a name where there is nothing to choose."""
    return list(_chooser(_open(page), page).options) if page in PARTED else [""]


def first_visit(page: str, part: str, repeats: int) -> list[float]:
    """Seconds of the first run of a page in a fresh process."""
    times = []
    for _ in range(repeats):
        command = [sys.executable, "-c", _FIRST, page, *([f"{PARTED[page]}={part}"] if part else [])]
        times.append(float(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout))
    return times


def moves(page: str, part: str, repeats: int) -> tuple[str, list[float]]:
    """The slowest input of a part, its choice among them, and the seconds of each move until the page was run anew."""
    at, found = _open(page), list[tuple[str, list[float]]]()
    if part:
        at.run()  # the first run of a session has more to do than its next ones
        chooser = _chooser(at, page)
        if part != chooser.options[0]:  # which is there already
            chooser.set_value(part)
            found.append((chooser.label, [_timed(at)]))
    for kind in (*_NUMBERS, "toggle", "button_group", "selectbox"):
        widgets: Any = at.get(kind)
        for index, widget in enumerate(widgets):
            if widget.disabled or widget.key == PARTED.get(page):
                continue
            times = []
            for value in islice(others(kind, widget), repeats):
                there: Any = at.get(kind)
                if index >= len(there) or there[index].disabled:
                    break
                there[index].set_value(value)
                times.append(_timed(at))
            if times:
                found.append((widget.label or kind, times))
    return max(found, key=lambda one: statistics.median(one[1]), default=("nothing to move", []))


def others(kind: str, widget: Any) -> Iterator[Any]:
    """The values that an input can move to, the nearest ones first: each once, and not the one that it has."""
    if kind in _NUMBERS:
        if isinstance(widget.value, tuple):  # a span: its lower end moves
            low, high = widget.value
            yield from ((end, high) for end in chain(_steps(widget, low, 1, high), _steps(widget, low, -1, high)))
        else:
            value = widget.value if widget.value is not None else widget.min or 0  # an empty box
            yield from chain(_steps(widget, value, 1, widget.max), _steps(widget, value, -1, widget.max))
    elif kind == "toggle":
        yield not widget.value
    elif kind == "button_group" or widget.index is not None:  # the harness cannot choose where nothing is chosen yet
        chosen = widget.indices if kind == "button_group" else [widget.index]
        yield from (option for i, option in enumerate(widget.options) if i not in chosen)


def _steps(widget: Any, value: float, sign: int, most: float | None) -> Iterator[float]:
    """From a value step by step to an end, without the value itself."""
    for i in range(1, 1000):
        there = value + sign * i * widget.step
        if isinstance(there, float):
            there = round(there, 9)  # 0.1 + 2 · 0.1 is no 0.3
        if (most is not None and there > most) or (widget.min is not None and there < widget.min):
            return
        yield there


def _open(page: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / page), default_timeout=120).run()
    for thread in threading.enumerate():
        if thread.name.startswith("load "):
            thread.join()
    return at


def _chooser(at: AppTest, page: str) -> Any:
    return next(widget for widget in at.get("button_group") if widget.key == PARTED[page])


def _timed(at: AppTest) -> float:
    start = time.perf_counter()
    at.run()
    seconds = time.perf_counter() - start
    assert not at.exception, at.exception
    return seconds


def lines(repeats: int) -> Iterator[str]:
    """A table of all pages and their parts, line by line as it is measured."""
    yield "milliseconds of server time, median (longest)"
    yield f"goals: a first visit in {_ms(GOAL_FIRST_S)}, an input in {_ms(GOAL_MOVE_S)}; ! is over it"
    yield f"{'page':<26}{'first visit':>18}{'slowest input':>18}  which"
    kept = []
    for page, part in [(path, part) for path in pages() for part in parts(path)]:
        cold = first_visit(page, part, max(1, repeats // 2))
        which, times = moves(page, part, repeats)
        name = f"{Path(page).stem}: {part}" if part else Path(page).stem
        kept.append(meets(cold, times))
        first, moved = told(cold, GOAL_FIRST_S), told(times, GOAL_MOVE_S)
        yield f"{name:<26}{first:>18}{moved:>18}  {which}: {'meets both' if kept[-1] else 'misses'}"
    yield f"{sum(kept)} of {len(kept)} meet both goals"


def meets(cold: list[float], times: list[float]) -> bool:
    """Whether the medians of a first visit and of the slowest input are within their goals; no input is within."""
    return statistics.median(cold) <= GOAL_FIRST_S and (not times or statistics.median(times) <= GOAL_MOVE_S)


def told(times: list[float], goal: float) -> str:
    """The median and the longest of the times, with a mark where the median is over the goal."""
    if not times:
        return "–"
    middle = statistics.median(times)
    return f"{_ms(middle)} ({_ms(max(times))}){'!' if middle > goal else ' '}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f}"
