"""How many tokens one target pass gives, when acceptances are independent with one rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specviz.errors import ConfigError, brief
from specviz.sampling import Floats
from specviz.theory.checks import Numbers, numbers, one, plain, read, require, whole


def expected_tokens(alpha: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """Mean tokens emitted per target pass, E[N], in [1, K + 1].

    (1 - α^(K+1)) / (1 - α), and K + 1 when α = 1. Accurate to rounding however near α is to either end.

    alpha: in [0, 1]. draft_length: K >= 0; between whole numbers it is the curve that the formula draws.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Eq. (1).
    """
    return plain(tokens_of(*read(alpha=alpha, draft_length=draft_length)))


def tokens_law(alpha: npt.ArrayLike, draft_length: int) -> Floats:
    """P(N = 1), ..., P(N = K + 1): the law of the tokens emitted per target pass. [...] -> [..., K + 1].

    A geometric law with a cap: α^(n-1) (1 - α) up to n = K, and α^K at n = K + 1. Its mean is `expected_tokens`.

    alpha: in [0, 1]. draft_length: one whole K >= 0.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), section 3.1.
    """
    (rate,) = read(alpha=alpha)
    k = whole("draft_length (K)", draft_length)
    law = rate[..., None] ** np.arange(k + 1)  # [..., K + 1], P(N >= n)
    law[..., :-1] *= 1.0 - rate[..., None]
    return law


@dataclass(frozen=True, slots=True)
class TwoRates:
    """Two kinds of places: a share of them accepts at the rate easy, the others at hard; alpha is their mean.

    persistence: the chance that the next place is of the same kind because nothing changed; otherwise its kind is drawn
    anew. 0: the kinds of places are independent. 1: a round keeps the kind that it began with. It is also the
    correlation of the rates at neighbouring places.
    """

    easy: float
    hard: float
    share: float
    persistence: float

    def __post_init__(self) -> None:
        one(share=self.share, persistence=self.persistence)
        for rate in (self.easy, self.hard):
            one(alpha=rate)

    @property
    def alpha(self) -> float:
        return self.share * self.easy + (1 - self.share) * self.hard


def two_rates(alpha: float, share: float, spread: float, persistence: float) -> TwoRates:
    """Two rates whose mean is alpha.

    alpha, share (of the easy places), persistence: in [0, 1]. spread: in [0, 1], how far apart the rates are as a part
    of the farthest that alpha and share allow, which is where one of them reaches 0 or 1.
    """
    rate, easy_share, apart, kept = one(alpha=alpha, share=share, spread=spread, persistence=persistence)
    if easy_share in (0, 1):  # there is one kind of place only
        return TwoRates(rate, rate, easy_share, kept)
    distance = apart * min((1 - rate) / (1 - easy_share), rate / easy_share)
    easy, hard = rate + (1 - easy_share) * distance, rate - easy_share * distance
    return TwoRates(min(1.0, easy), max(0.0, hard), easy_share, kept)


def reached(rates: TwoRates, draft_length: int, *, start: float | None = None) -> Floats:
    """P(N >= 1), ..., P(N >= K + 1): that the first 0, ..., K guesses all stand. [K + 1]; its sum is E[N], exactly.

    A two-state Markov chain of places. Differences are the law of N, and reached[n] / reached[n - 1] is the acceptance
    rate at place n among the rounds that get there. At persistence 0 this is α^n: the acceptances are independent.
    At 1 it is the mean of the two rates' powers, which is more from the second place on, as x^n is convex.

    draft_length: one whole K >= 0. start: the share of rounds whose first place is easy, in [0, 1]; that of all places
    unless given.
    Source: ours; Leviathan et al. 2023 (arXiv 2211.17192), section 3.1, takes the β of all places for independent and
    identically distributed, which is persistence 0.
    """
    k, rates = whole("draft_length (K)", draft_length), _known(rates)
    (easy,) = one(share=rates.share if start is None else start)
    at = np.array([easy, 1 - easy])  # [2], P(a place of this kind, and all guesses before it stand)
    found = np.ones(k + 1)
    for n in range(1, found.size):
        stands = at * (rates.easy, rates.hard)
        found[n] = stands.sum()
        at = _next_place(stands, rates)
    return found


def rate_by_place(reached: npt.ArrayLike) -> Floats:
    """Acceptance at place 1, ..., K among the rounds that get there; NaN where none does. [K + 1] -> [K].

    reached: P(N >= 1), ..., P(N >= K + 1), or the shares of rounds that were drawn.
    """
    stood = _stood(reached)
    return np.divide(stood[1:], stood[:-1], out=np.full(stood.size - 1, np.nan), where=stood[:-1] > 0)


def start_in_text(rates: TwoRates, draft_length: int) -> float:
    """The share of rounds whose first place is easy when rounds follow one another through one text, in [0, 1].

    Hard places end rounds, and the next round begins beside them: where kinds persist, the share is below that of the
    easy places. With `reached` this makes E[N] less than the formula's at the mean rate. At persistence 1 it is the
    limit of ever longer stretches: a stretch has rounds in proportion to its places over the E[N] there.

    draft_length: one whole K >= 0.
    """
    return float(_starts_in_text(_known(rates), whole("draft_length (K)", draft_length))[-1])


def tokens_in_text(rates: TwoRates, longest: int) -> Floats:
    """E[N] at K = 0, ..., longest of rounds that follow one another through one text, [longest + 1]."""
    longest, rates = whole("longest (K)", longest), _known(rates)
    easy, hard = (reached(rates, longest, start=start).cumsum() for start in (1, 0))
    starts = _starts_in_text(rates, longest)
    return starts * easy + (1 - starts) * hard


def _starts_in_text(rates: TwoRates, longest: int) -> Floats:
    """`start_in_text` at K = 0, ..., longest."""
    if rates.persistence == 1:
        lengths = np.arange(longest + 1)
        easy, hard = (expected_tokens(rate, lengths) for rate in (rates.easy, rates.hard))
        rounds = rates.share / easy
        return np.asarray(rounds / (rounds + (1 - rates.share) / hard))
    rate, starts = np.array([rates.easy, rates.hard]), np.empty(longest + 1)
    at, after = np.eye(2), np.zeros((2, 2))  # [kind of the round's first place, kind of this or of the next round's]
    for k in range(longest + 1):
        moves = after + _next_place(at, rates)  # after K that all stand, the bonus is the round's last place
        starts[k] = moves[1, 0] / (moves[1, 0] + moves[0, 1])
        after += _next_place(at * (1 - rate), rates)  # after a rejection its place is
        at = _next_place(at * rate, rates)
    return starts


def _next_place(at: Floats, rates: TwoRates) -> Floats:
    """The kinds of the next places, [..., 2] -> [..., 2]."""
    kinds = np.array([rates.share, 1 - rates.share])
    return np.asarray(rates.persistence * at + (1 - rates.persistence) * at.sum(axis=-1, keepdims=True) * kinds)


def judged_alpha(reached: npt.ArrayLike) -> float:
    """Accepted of judged guesses, in expectation over rounds: the α̂ that a long run of such rounds measures.

    reached: P(N >= 1), ..., P(N >= K + 1), K >= 1. Where all places share one rate it is that rate; where rates persist
    it is above their mean, for a round of the easier kind has more of its guesses judged.
    """
    stood = _stood(reached)
    return float(stood[1:].sum() / stood[:-1].sum())


def tokens_of(rate: Floats, k: Floats) -> Floats:
    """`expected_tokens` of arguments that were checked and broadcast already."""
    rejected = 1.0 - rate
    with np.errstate(divide="ignore"):  # log 0 = -inf, and then 1 - α^(K+1) is 1, as it should be
        ended = -np.expm1((k + 1.0) * np.log(rate))  # 1 - α^(K+1), without cancellation near α = 1
    return np.where(rejected > 0, ended / np.where(rejected > 0, rejected, 1.0), k + 1.0)


def _stood(reached: npt.ArrayLike) -> Floats:
    stood = numbers("reached", reached)
    if stood.ndim != 1 or stood.size < 2:
        raise ConfigError(f"reached must hold P(N >= 1), ..., P(N >= K + 1) with K >= 1, got shape {stood.shape}")
    require("reached", stood, (stood >= 0) & (stood <= 1), "must hold probabilities")
    require("reached", stood[0], stood[0] > 0, "must begin with P(N >= 1), which is above 0")
    return stood


def _known(rates: TwoRates) -> TwoRates:
    if not isinstance(rates, TwoRates):
        raise ConfigError(f"rates must be what two_rates gives, got {brief(rates)}")
    return rates
