"""A generator that hands out given uniforms and fails on a missing or a left-over one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import specviz as sv


class ScriptedGenerator:
    """Stands in for numpy's Generator in `Run._play`."""

    def __init__(self, uniforms: Iterable[float]) -> None:
        self._left = list(uniforms)

    def random(self, size: int | None = None) -> Any:
        n = 1 if size is None else size
        assert len(self._left) >= n, "the script has no uniform left"
        taken, self._left = self._left[:n], self._left[n:]
        return taken[0] if size is None else np.array(taken, dtype=np.float64)

    def close(self) -> None:
        assert not self._left, f"{len(self._left)} uniforms of the script were never drawn"


def play(run: sv.Run, uniforms: Iterable[float]) -> sv.Trace:
    """Play a run that has not begun with these uniforms, all of them."""
    script = ScriptedGenerator(uniforms)
    run._request.rng = script  # type: ignore[assignment]
    trace = run.finish()
    script.close()
    return trace


def recorded_uniforms(trace: sv.Trace) -> list[float]:
    """The script that a trace replays from. Judgements that never happened, and final draws that the text's end made
    needless, are drawn but decide nothing: 0 stands for them."""
    script: list[float] = []
    for round_ in trace.rounds:
        script += [node.uniform for node in round_.nodes]
        r = [0.0] * len(round_.nodes)
        for trial in round_.trials:
            r[trial.node] = trial.r
        script += [*r, round_.final.uniform if round_.final else 0.0]
    return script
