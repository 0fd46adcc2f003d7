"""The prompt of a run decoded anew, as jobs: greedy against sampling, and under several draft lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import specviz as sv
from specviz.models import presets
from specviz.ui import pairs

LENGTHS = (1, 2, 4, 8, 16)
MOST = 128  # new tokens of one run
_WARM = sv.Sampling(0.6)  # where the run itself was greedy


@dataclass(frozen=True, slots=True)
class Setting:
    """What is decoded anew. own: by the models of the run itself; otherwise they are not here, and the bundled pair is.

    tokens: as many as the run emitted, at most MOST.
    """

    prompt: str
    draft: str
    own: bool
    draft_length: int
    tokens: int
    sampling: sv.Sampling
    seed: int

    @property
    def warm(self) -> sv.Sampling:
        """The run's own warp, unless that is greedy."""
        return _WARM if self.sampling.greedy else self.sampling


def setting(trace: sv.Trace) -> Setting:
    own = trace.target == presets.TARGET and trace.draft in presets.NAMED
    return Setting(
        prompt=trace.prompt,
        draft=trace.draft if own and trace.draft else presets.DRAFT,
        own=own,
        draft_length=trace.draft_length or 4,
        tokens=max(1, min(len(trace.tokens), MOST)),
        sampling=trace.sampling,
        seed=trace.seed,
    )


def greedy(asked: Setting) -> Iterator[tuple[float, tuple[sv.Trace, ...]]]:
    """Greedy with the draft, greedy alone, and sampled with the draft; those that are done.

    Raises SpecvizError when a model does not load or cannot read the prompt.
    """
    best = sv.Sampling(0.0)
    return _runs(asked, [(asked.draft_length, best), (0, best), (asked.draft_length, asked.warm)])


def several(asked: Setting) -> Iterator[tuple[float, tuple[sv.Trace, ...]]]:
    """With each K of LENGTHS, at one seed; those that are done. Raises as `greedy`."""
    return _runs(asked, [(k, asked.sampling) for k in LENGTHS])


def _runs(asked: Setting, wanted: list[tuple[int, sv.Sampling]]) -> Iterator[tuple[float, tuple[sv.Trace, ...]]]:
    done: tuple[sv.Trace, ...] = ()
    for part, (k, sampling) in enumerate(wanted):
        run = sv.Run(pairs.load(asked.draft), asked.prompt, k, asked.tokens, sampling, asked.seed, ())
        for _round in pairs.in_turn(run):
            yield (part + len(run.trace.tokens) / asked.tokens) / len(wanted), done
        done = (*done, run.trace)
    yield 1.0, done
