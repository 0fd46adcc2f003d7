"""Many visitors at once on the bundled pair of a public server. Prints errors, cross-talk, memory, waits and speed.

    python -m benchmarks.hosted --sessions 20 --minutes 5

Each visitor is a connection of its own that does what the Watch page does (`benchmarks.visitor`): it presses Run with
its own prompt and a seed, waits for the end, and presses again. Every text must be the one that `specviz.speculate`
gives alone for that prompt and seed. Memory is that of the server's process, from when every visitor has had a run;
"flat" means that the median of the last third is within 5% of the first third's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import specviz as sv
from benchmarks.browser import server
from benchmarks.visitor import Visitor
from specviz.ui import state

PROMPTS = ("It was a bright morning and", "The captain said", "Once upon a time", "My dear Elizabeth,", "He had never")
SEEDS, TOKENS, TEMPERATURE, DRAFT_LENGTH = 3, 32, 0.6, 4
FLAT = 0.05
Asked = tuple[str, int]


@dataclass
class Seen:
    """What all visitors saw. waits: seconds from pressing Run to its first round. lined_up: runs told their place."""

    errors: list[str] = field(default_factory=list)
    texts: list[tuple[Asked, str]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    lined_up: int = 0
    memory: list[float] = field(default_factory=list)


def prompt_of(visitor: int) -> str:
    return f"{PROMPTS[visitor % len(PROMPTS)]} {visitor}"


def alone(seen: Seen) -> dict[Asked, sv.Trace]:
    """What each prompt and seed that was asked for gives by itself."""
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # before torch is there: as the server does, whose passes are as small
    pair, sampling = sv.load_pair(), sv.Sampling(TEMPERATURE)
    return {
        (prompt, seed): sv.speculate(
            pair, prompt, draft_length=DRAFT_LENGTH, max_new_tokens=TOKENS, sampling=sampling, seed=seed
        )
        for prompt, seed in {asked for asked, _text in seen.texts}
    }


def wrong(seen: Seen, expected: dict[Asked, sv.Trace]) -> list[Asked]:
    """Which texts are not those of the run alone."""
    return [asked for asked, text in seen.texts if text != expected[asked].text]


def visit(address: str, i: int, end: float, seen: Seen, runs: int = 10**9) -> None:
    """One visitor: a run, and more until the time is over or it has had so many."""
    try:
        visitor = Visitor(address)
        for turn in range(runs):
            asked = prompt_of(i), turn % SEEDS
            for key, value in (
                (state.PROMPT, asked[0]),
                (state.SEED, float(asked[1])),
                (state.MAX_NEW_TOKENS, float(TOKENS)),
                (state.TEMPERATURE, TEMPERATURE),
                (state.DRAFT_LENGTH, float(DRAFT_LENGTH)),
            ):
                visitor.fill(key, value)
            before, visitor.waited = visitor.run, ""
            visitor.press("run_button")
            seen.waits.append(visitor.until(lambda before=before: visitor.run != before))  # type: ignore[misc]
            visitor.until(lambda: not visitor.stoppable and not visitor.live)
            seen.lined_up += "in line" in visitor.waited
            seen.texts.append((asked, visitor.text))
            if time.monotonic() > end:
                break
        seen.errors += visitor.errors
        visitor.close()
    except Exception as error:  # whatever it is, it is what the benchmark looks for
        seen.errors.append(f"visitor {i}: {type(error).__name__}: {error}")


def megabytes(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def growth(memory: list[float]) -> float:
    """How much more the last third takes than the first, as a share."""
    third = max(1, len(memory) // 3)
    return statistics.median(memory[-third:]) / statistics.median(memory[:third]) - 1


def load(address: str, pid: int, sessions: int, seconds: float, *, every_s: float = 2.0, warm_up: bool = True) -> Seen:
    """All visitors of a server at once; what they saw after the warm-up. pid: the server's process."""
    if warm_up:
        _all(sessions, lambda i: visit(address, i, float("inf"), Seen(), runs=1))
    seen, end = Seen(), time.monotonic() + seconds
    watch = threading.Thread(target=_weigh, args=(pid, end, every_s, seen), daemon=True)
    watch.start()
    _all(sessions, lambda i: visit(address, i, end, seen))
    watch.join()
    return seen


def _all(sessions: int, work: object) -> None:
    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(sessions)]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
        time.sleep(0.1)
    for thread in threads:
        thread.join()


def _weigh(pid: int, end: float, every_s: float, seen: Seen) -> None:
    while time.monotonic() < end:
        seen.memory.append(megabytes(pid))
        time.sleep(every_s)


def report(seen: Seen, expected: dict[Asked, sv.Trace], seconds: float) -> list[str]:
    waits = sorted(seen.waits)
    grown = growth(seen.memory)
    parts = [statistics.median(part) for part in _fifths(seen.memory)]
    n, tokens = len(seen.texts), sum(len(expected[asked].tokens) for asked, _text in seen.texts)
    return [
        f"runs        {n}, each with its race; {seen.lined_up} were told their place in line",
        f"errors      {len(seen.errors)}",
        f"cross-talk  {len(wrong(seen, expected))} of {n} texts differ from the run alone",
        f"wait        {statistics.median(waits):.1f} s to the first round in the middle, "
        f"{waits[int(0.95 * (len(waits) - 1))]:.1f} s for 19 of 20",
        f"speed       {tokens / seconds:.0f} tokens per second of all visitors together, races not counted",
        f"memory      {', '.join(f'{part:.0f}' for part in parts)} MB over the time: "
        f"{grown:+.1%}{'' if abs(grown) <= FLAT else ' (NOT FLAT)'}",
    ]


def _fifths(values: list[float]) -> list[list[float]]:
    size = max(1, len(values) // 5)
    return [values[i : i + size] for i in range(0, len(values), size)][:5]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=5.0)
    options = parser.parse_args()
    start = os.getloadavg()[0]
    with server(environ={"SPECVIZ_HOSTED": "1"}) as (address, process):
        seen = load(address, process.pid, options.sessions, options.minutes * 60)
    print(f"{options.sessions} sessions for {options.minutes:g} minutes; {os.cpu_count()} processors, load {start:.1f} "
          f"before and {os.getloadavg()[0]:.1f} after")  # fmt: skip
    expected = alone(seen)
    print("\n".join(report(seen, expected, options.minutes * 60)))
    for error in seen.errors[:10]:
        print(error)
    sys.exit(1 if seen.errors or wrong(seen, expected) or abs(growth(seen.memory)) > FLAT else 0)


if __name__ == "__main__":
    main()
