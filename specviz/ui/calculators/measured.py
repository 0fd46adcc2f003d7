"""The bundled pair's two drafts, decoded on this machine: their α̂, c and speed-up, as a job."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import specviz as sv
from specviz import examples, measure
from specviz.i18n import _
from specviz.measure import Comparison, Mean
from specviz.models import presets
from specviz.ui import pairs

DRAFT_LENGTH, TOKENS, TEMPERATURE = 4, 64, 0.6
PROMPTS = tuple(dict.fromkeys(example.prompt for example in examples.EXAMPLES))


@dataclass(frozen=True, slots=True)
class Measured:
    """One draft against the target alone, over all prompts. tokens: emitted with the draft."""

    label: str
    alpha: Mean
    comparison: Comparison
    tokens: int


def steps() -> Generator[tuple[float, tuple[Measured, ...]], None, None]:
    """The target alone, then each draft, over the same prompts and seeds; the drafts that are done so far.

    Runs take turns with the runs of other sessions, round by round. Raises SpecvizError when a model does not load.
    """
    drafts = {presets.DRAFT: _("Draft, 0.7M"), presets.WEAK_DRAFT: _("Weak draft, 0.5M")}
    done: tuple[Measured, ...] = ()
    alone: list[sv.Trace] = []
    for part, draft in enumerate([None, *drafts]):
        traces = []
        for i, prompt in enumerate(PROMPTS):
            run = _start(draft, prompt, seed=i)
            for _round in pairs.in_turn(run):
                share = (i + len(run.trace.tokens) / TOKENS) / len(PROMPTS)
                yield (part + share) / (1 + len(drafts)), done
            traces.append(run.trace)
        if draft is None:
            alone = traces
        else:
            tokens = sum(len(trace.tokens) for trace in traces)
            found = Measured(drafts[draft], measure.alpha(traces), measure.compare(traces, alone), tokens)
            done = (*done, found)
    yield 1.0, done


def _start(draft: str | None, prompt: str, seed: int) -> sv.Run:
    pair = pairs.load(pairs.Choice(draft=draft or presets.DRAFT))
    return sv.Run(pair, prompt, DRAFT_LENGTH if draft else 0, TOKENS, sv.Sampling(TEMPERATURE), seed, ())
