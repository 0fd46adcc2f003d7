"""The prompt of a run decoded anew, as jobs: greedy against sampling, and under several draft lengths."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import specviz as sv
from specviz import drafters
from specviz.models import presets
from specviz.ui import pairs

LENGTHS = (1, 2, 4, 8, 16)
MOST = 128  # new tokens of one run
_WARM = sv.Sampling(0.6)  # where the run itself was greedy


@dataclass(frozen=True, slots=True)
class Setting:
    """What is decoded anew. own: by the models of the run itself; otherwise they are not here, and the bundled pair is.

    prompt: ids where the models are the reader's own, since the text may come from a chat's template.
    tokens: as many as the run emitted, at most MOST.
    """

    prompt: str | tuple[int, ...]
    models: pairs.Choice
    own: bool
    draft_length: int
    tokens: int
    sampling: sv.Sampling
    seed: int

    @property
    def warm(self) -> sv.Sampling:
        """The run's own warp, unless that is greedy."""
        return _WARM if self.sampling.greedy else self.sampling


def setting(trace: sv.Trace, chosen: pairs.Choice) -> Setting:
    """chosen: the models that the reader decodes with now, which may be those of the run."""
    names = (*presets.NAMED, *drafters.NAMES)
    found = next((one for one in (chosen, *map(_bundled, names)) if one.made(trace)), None)
    return Setting(
        prompt=trace.prompt if found is None or found.bundled else trace.prompt_tokens,
        models=found or pairs.Choice(),
        own=found is not None,
        draft_length=trace.draft_length or 4,
        tokens=max(1, min(len(trace.tokens), MOST)),
        sampling=trace.sampling,
        seed=trace.seed,
    )


def _bundled(draft: str) -> pairs.Choice:
    return pairs.Choice(draft=draft)


def greedy(asked: Setting) -> Generator[tuple[float, tuple[sv.Trace, ...]], None, None]:
    """Greedy with the draft, greedy alone, and sampled with the draft; those that are done.

    Raises SpecvizError when a model does not load or cannot read the prompt.
    """
    best = sv.Sampling(0.0)
    return _runs(asked, [(asked.draft_length, best), (0, best), (asked.draft_length, asked.warm)])


def several(asked: Setting) -> Generator[tuple[float, tuple[sv.Trace, ...]], None, None]:
    """With each K of LENGTHS, at one seed; those that are done. Raises as `greedy`."""
    return _runs(asked, [(k, asked.sampling) for k in LENGTHS])


def _runs(
    asked: Setting, wanted: list[tuple[int, sv.Sampling]]
) -> Generator[tuple[float, tuple[sv.Trace, ...]], None, None]:
    done: tuple[sv.Trace, ...] = ()
    for part, (k, sampling) in enumerate(wanted):
        run = sv.Run(pairs.load(asked.models), asked.prompt, k, asked.tokens, sampling, asked.seed, ())
        for _round in pairs.in_turn(run):
            yield (part + len(run.trace.tokens) / asked.tokens) / len(wanted), done
        done = (*done, run.trace)
    yield 1.0, done
