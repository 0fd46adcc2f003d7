"""What traces show: acceptance with its interval, tokens per target pass, times, and what theory says of them.

Two numbers are both called "acceptance rate" in the field. Here `acceptance` is accepted / judged, and
`accepted_of_drafted` is accepted / drafted, which is lower since a rejection leaves later drafts unjudged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median, stdev

from specviz import theory
from specviz.errors import ConfigError, brief
from specviz.records import Node, Round, Trace, is_whole

LEVEL = 0.95  # of every interval here
Z = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True, slots=True)
class Rate:
    """successes out of trials, with the Wilson score interval at 95%. NaN when there were no trials."""

    successes: int
    trials: int

    @property
    def estimate(self) -> float:
        return self.successes / self.trials if self.trials else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """Source: Wilson 1927, J. Am. Stat. Assoc. 22(158)."""
        if not self.trials:
            return math.nan, math.nan
        n, p = self.trials, self.estimate
        centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        return max(0.0, centre - half), min(1.0, centre + half)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean of n values and its 95% interval, Student's, kept within what a single value can be, [least, most].

    NaN when there are too few values, or when all are equal, which tells nothing of their spread.
    """

    estimate: float
    n: int
    standard_error: float
    least: float
    most: float

    @property
    def interval(self) -> tuple[float, float]:
        if not self.standard_error > 0:
            return math.nan, math.nan
        half = student_t(self.n - 1) * self.standard_error
        return max(self.least, self.estimate - half), min(self.most, self.estimate + half)


@dataclass(frozen=True, slots=True)
class PositionRate:
    """Acceptance at one place of the draft, 1..K.

    conditional: accepted of those judged there. unconditional: accepted of all rounds that drafted there.
    """

    depth: int
    conditional: Rate
    unconditional: Rate


@dataclass(frozen=True, slots=True)
class Times:
    """Median seconds over rounds, warps and draws included, and tokens per second of the whole runs.

    draft_pass_s: one drafted token. verify_s: one target pass over K + 1 positions.
    """

    draft_pass_s: float
    verify_s: float
    round_s: float
    tokens_per_s: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A speculative run against a plain one of the same target.

    cost_ratio: plain target pass over draft pass (c). pass_ratio: target pass over K + 1 positions over a plain one.
    speedup: tokens per second of the whole speculative run over plain's; at an equal number of tokens that is plain's
    time over the speculative one's.
    predicted: theory.speedup at the measured α and c, which takes pass_ratio to be 1.
    """

    draft_length: int
    alpha: float
    cost_ratio: float
    pass_ratio: float
    speedup: float
    predicted: float
    best_draft_length: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where two runs emitted different tokens.

    target_gap: how close the target's best two logits were there, in greedy runs: a near tie is rounding's to decide.
    """

    position: int
    tokens: tuple[int | None, int | None]
    target_gap: float | None


def student_t(freedom: int) -> float:
    """How many standard errors a 95% interval reaches: Student's t, which is wider than the normal one for few values.

    freedom: degrees of freedom, n - 1 >= 1. Exact at 1 and 2; beyond, too low by 0.12% at 3 and by less after that.
    Source: Abramowitz & Stegun 1964, 26.7.5, an expansion around the normal quantile.
    """
    if not (is_whole(freedom) and 1 <= freedom < 2**63):
        raise ConfigError(f"freedom must be a whole number of at least 1, got {brief(freedom)}")
    if freedom == 1:
        return math.tan(math.pi * LEVEL / 2)
    if freedom == 2:
        return LEVEL * math.sqrt(2 / (1 - LEVEL**2))
    terms = (
        (Z**3 + Z) / 4,
        (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
        (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
        (79 * Z**9 + 776 * Z**7 + 1482 * Z**5 - 1920 * Z**3 - 945 * Z) / 92160,
    )
    return Z + sum(term / int(freedom) ** i for i, term in enumerate(terms, 1))


def acceptance(traces: Trace | Sequence[Trace]) -> Rate:
    """Accepted of judged drafts."""
    trials = [t.accepted for r in _rounds(traces) for t in r.trials]
    return Rate(sum(trials), len(trials))


def accepted_of_drafted(traces: Trace | Sequence[Trace]) -> Rate:
    """Accepted of all drafts, those never judged included."""
    rounds = _rounds(traces)
    return Rate(sum(len(r.accepted) for r in rounds), sum(len(r.nodes) for r in rounds))


def acceptance_by_position(traces: Trace | Sequence[Trace]) -> tuple[PositionRate, ...]:
    """Acceptance at each place of the draft, first place first."""
    drafted: Counter[int] = Counter()
    judged: Counter[int] = Counter()
    accepted: Counter[int] = Counter()
    for round_ in _rounds(traces):
        drafted.update(node.depth for node in round_.nodes)
        judged.update(round_.nodes[t.node].depth for t in round_.trials)
        accepted.update(round_.nodes[t.node].depth for t in round_.trials if t.accepted)
    return tuple(PositionRate(d, Rate(accepted[d], judged[d]), Rate(accepted[d], drafted[d])) for d in sorted(drafted))


def alpha(traces: Trace | Sequence[Trace]) -> Mean:
    """α̂: the mean of beta = Σ min(p, q) over judged places.

    Each beta is the exact chance of acceptance at its place, so this estimates the same rate as `acceptance` without
    the noise of the r's. Its interval takes the places as independent; they are not quite.
    """
    return _mean([r.nodes[t.node].beta for r in _rounds(traces) for t in r.trials], 0.0, 1.0)


def alpha_by_round(trace: Trace) -> tuple[Mean, ...]:
    """α̂ as it stood after each round: the mean of beta over all places judged so far. The last one is `alpha(trace)`.

    One pass over the run. Source: Welford 1962, Technometrics 4(3), for the running sum of squares.
    """
    n, mean, squares, so_far = 0, math.nan, 0.0, []
    _check(trace)
    for round_ in trace.rounds:
        for trial in round_.trials:
            beta, n = round_.nodes[trial.node].beta, n + 1
            before = mean if n > 1 else beta
            mean = before + (beta - before) / n
            squares += (beta - before) * (beta - mean)
        error = math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan
        so_far.append(Mean(mean, n, error, 0.0, 1.0))
    return tuple(so_far)


def tokens_per_round(traces: Trace | Sequence[Trace]) -> Mean:
    """Tokens per target pass, rounds cut short at the end of the text included."""
    return _mean([len(r.emitted) for r in _rounds(traces)], 1.0, math.inf)


def round_lengths(traces: Trace | Sequence[Trace]) -> Counter[int]:
    """How many rounds emitted 1, 2, .. K + 1 tokens, among those that drafted all K and that no end of text cut."""
    lengths: Counter[int] = Counter()
    for trace in _several(traces):
        lengths.update(
            len(r.emitted) for r in trace.rounds if len(r.nodes) == trace.draft_length and r.final is not None
        )
    return lengths


def times(traces: Trace | Sequence[Trace]) -> Times:
    """Median times; a run's first round, which reads the prompt, is left out when there are others."""
    several = _several(traces)
    rounds = [r for t in several for r in (t.rounds[1:] or t.rounds)]
    drafting = [r.draft_s / len(r.nodes) for r in rounds if r.nodes]
    seconds = sum(t.total_s for t in several)
    return Times(
        draft_pass_s=median(drafting) if drafting else math.nan,
        verify_s=median(r.verify_s for r in rounds) if rounds else math.nan,
        round_s=median(r.round_s for r in rounds) if rounds else math.nan,
        tokens_per_s=sum(len(t.tokens) for t in several) / seconds if seconds else math.nan,
    )


def compare(speculative: Trace | Sequence[Trace], plain: Trace | Sequence[Trace]) -> Comparison:
    """Speed-up over plain decoding, beside what the measured α and c predict.

    Raises ConfigError when the first runs drafted nothing or the second ones did.
    """
    lengths = {t.draft_length for t in _several(speculative)}
    if lengths == {0} or len(lengths) != 1 or any(t.draft_length for t in _several(plain)):
        raise ConfigError("compare needs speculative runs of one draft length, and plain runs of the same target")
    with_draft, alone = times(speculative), times(plain)
    draft_length, rate = lengths.pop(), alpha(speculative).estimate
    cost_ratio = _ratio(alone.verify_s, with_draft.draft_pass_s)
    known = not math.isnan(rate) and 0 < cost_ratio < math.inf
    return Comparison(
        draft_length=draft_length,
        alpha=rate,
        cost_ratio=cost_ratio,
        pass_ratio=_ratio(with_draft.verify_s, alone.verify_s),
        speedup=_ratio(with_draft.tokens_per_s, alone.tokens_per_s),
        predicted=theory.speedup(rate, cost_ratio, draft_length) if known else math.nan,
        best_draft_length=theory.best_draft_length(rate, cost_ratio) if known else 0,
    )


def first_difference(one: Trace, other: Trace) -> Difference | None:
    """Where two runs part, or None: for greedy runs, which must not part unless rounding turned a near tie."""
    _check(one)
    _check(other)
    a, b = one.tokens, other.tokens
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    if at == len(a) == len(b):
        return None
    gaps = [_gap_at(t, at) for t in (one, other)]
    return Difference(
        position=at,
        tokens=(a[at] if at < len(a) else None, b[at] if at < len(b) else None),
        target_gap=min((g for g in gaps if g is not None), default=None),
    )


def _gap_at(trace: Trace, position: int) -> float | None:
    for round_ in trace.rounds:
        if position < len(round_.emitted):
            node: Node | None = round_.nodes[position] if position < len(round_.nodes) else None
            return node.target_gap if node else round_.final.target_gap if round_.final else None
        position -= len(round_.emitted)
    return None


def _ratio(one: float, other: float) -> float:
    return one / other if other else math.nan


def _several(traces: Trace | Sequence[Trace]) -> Sequence[Trace]:
    several = [traces] if isinstance(traces, Trace) else traces
    for trace in several if isinstance(several, list | tuple) else [several]:
        _check(trace)
    return several


def _check(trace: object) -> None:
    if not isinstance(trace, Trace):
        raise ConfigError(f"a Trace is measured, as speculate gives, and this is none: {brief(trace)}")


def _rounds(traces: Trace | Sequence[Trace]) -> list[Round]:
    return [r for t in _several(traces) for r in t.rounds]


def _mean(values: Sequence[float], least: float, most: float) -> Mean:
    n = len(values)
    return Mean(
        estimate=fmean(values) if n else math.nan,
        n=n,
        standard_error=stdev(values) / math.sqrt(n) if n > 1 else math.nan,
        least=least,
        most=most,
    )
