"""Two runs on one clock, as records: when each token stood, and what each run was busy with. `ui.race` draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from specviz import measure
from specviz.measure import Comparison
from specviz.records import Trace
from specviz.timeline import Outcome, spans

Share = Literal["draft", "verify", "rest"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A token, what it added to the text and how it came; at_s: seconds from the run's start until it stood.

    The tokens of a round stand together, when the round is over.
    """

    at_s: float
    round: int
    text: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Segment:
    """A share of a round's time: K draft passes, the target pass, or the rest (judging, drawing, the record)."""

    share: Share
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One run. total_s: all of it, the little between two rounds included."""

    draft_length: int
    moments: tuple[Moment, ...]
    segments: tuple[Segment, ...]
    total_s: float


@dataclass(frozen=True, slots=True)
class Race:
    """A speculative run and a plain one of the same target, from one start.

    measured: its speedup is in tokens per second of the whole runs, reading the prompt included. At an equal number of
    tokens that is the ratio of the two total times, the ends of the lanes; runs that end at different lengths differ.
    differ: the runs emitted different tokens somewhere; sampled runs do, greedy ones only by rounding.
    """

    prompt: str
    speculative: Lane
    plain: Lane
    measured: Comparison
    greedy: bool
    differ: bool

    @property
    def total_s(self) -> float:
        """The clock that both lanes share: until the slower one ends."""
        return max(self.speculative.total_s, self.plain.total_s)

    @property
    def same_length(self) -> bool:
        return len(self.speculative.moments) == len(self.plain.moments)


def race(speculative: Trace, plain: Trace) -> Race:
    """Both runs on one clock, beside what the formula predicts. Works on runs under way.

    Raises ConfigError when the first run drafted nothing or the second one did.
    """
    difference = measure.first_difference(speculative, plain)
    return Race(
        prompt=speculative.prompt,
        speculative=_lane(speculative),
        plain=_lane(plain),
        measured=measure.compare(speculative, plain),
        greedy=speculative.sampling.greedy,
        differ=difference is not None and None not in difference.tokens,
    )


def _lane(trace: Trace) -> Lane:
    segments: list[Segment] = []
    ends: dict[int, float] = {}
    now = 0.0
    for round_ in trace.rounds:
        drafted = now + (round_.draft_s if round_.nodes else 0.0)
        verified = now + round_.draft_s + round_.verify_s
        end = max(verified, now + round_.round_s)
        stretches: tuple[tuple[Share, float, float], ...] = (
            ("draft", now, drafted),
            ("verify", now + round_.draft_s, verified),
            ("rest", verified, end),
        )
        segments += [Segment(share, a, b) for share, a, b in stretches if b > a]
        ends[round_.index] = now = end
    moments = tuple(Moment(ends[s.round], s.round, s.text, s.outcome) for s in spans(trace))
    return Lane(trace.draft_length, moments, tuple(segments), max(trace.total_s, now))
