"""How many tokens rounds give, drawn at random in bulk: to stand beside `theory.tokens_law` and `theory.reached`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specviz import theory
from specviz.errors import ConfigError, brief
from specviz.sampling import Floats
from specviz.theory.checks import one, whole

_MOST_ROUNDS = 10**8  # held at once
_Z = 1.959963984540054  # of a normal law's 95% interval; rounds come by the thousand


@dataclass(frozen=True, slots=True, eq=False)
class Lengths:
    """How many rounds gave 1, ..., K + 1 tokens. counts: [K + 1], whole numbers."""

    counts: npt.NDArray[np.int64]

    @property
    def n_rounds(self) -> int:
        return int(self.counts.sum())

    @property
    def shares(self) -> Floats:
        return self.counts / self.n_rounds

    @property
    def mean(self) -> float:
        """Tokens per round."""
        return float(self.shares @ self._lengths)

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return math.sqrt(self.shares @ (self._lengths - self.mean) ** 2 / self.n_rounds)

    @property
    def interval(self) -> tuple[float, float]:
        """The mean's 95% interval, normal."""
        return self.mean - _Z * self.standard_error, self.mean + _Z * self.standard_error

    @property
    def reached(self) -> Floats:
        """The share of rounds with at least 1, ..., K + 1 tokens: what `theory.reached` is the law of. [K + 1]."""
        return self.counts[::-1].cumsum()[::-1] / self.n_rounds

    @property
    def _lengths(self) -> Floats:
        return np.arange(1.0, self.counts.size + 1)


def draw_lengths(alpha: float, draft_length: int, n_rounds: int, rng: np.random.Generator) -> Lengths:
    """n_rounds rounds whose acceptances are independent with one rate, alpha in [0, 1].

    One uniform each, by the inverse of the law: N > n exactly when u < α^n, so N = 1 + ⌊ln u / ln α⌋, at most K + 1.
    draft_length: one whole K >= 0.
    """
    _check(draft_length, n_rounds, rng)
    (alpha,) = one(alpha=alpha)
    if 0 < alpha < 1:
        stood = np.log(1.0 - rng.random(n_rounds))  # of u in (0, 1]
        stood /= math.log(alpha)
        return _counted(np.minimum(stood, draft_length, out=stood).astype(np.int64), draft_length)
    return _counted(np.full(n_rounds, draft_length if alpha == 1 else 0), draft_length)


def draw_two_rates(
    rates: theory.TwoRates, draft_length: int, n_rounds: int, rng: np.random.Generator, *, start: float | None = None
) -> Lengths:
    """n_rounds rounds through places of two kinds: guess for guess, all rounds at once, until each has its rejection.

    It knows nothing of the formulas: a kind for each place and a trial for each guess. draft_length: one whole K >= 0.
    start: the share of rounds whose first place is easy; that of all places unless given.
    """
    _check(draft_length, n_rounds, rng)
    theory.reached(rates, 0, start=start)  # refuses what is no rates and no share
    easy = rng.random(n_rounds) < (rates.share if start is None else start)
    stood = [n_rounds]  # rounds whose first 0, 1, ... guesses all stand
    for _ in range(draft_length):
        easy = easy[rng.random(easy.size) < np.where(easy, rates.easy, rates.hard)]
        stood.append(easy.size)
        easy = next_kinds(easy, rates, rng)
    return Lengths(np.array(stood) - np.array([*stood[1:], 0]))


def next_kinds(easy: npt.NDArray[np.bool_], rates: theory.TwoRates, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Whether the place after each is easy: kept with the chance `persistence`, and otherwise drawn anew."""
    u = rng.random(easy.size)
    anew = (u - rates.persistence) < rates.share * (1.0 - rates.persistence)
    return np.where(u < rates.persistence, easy, anew)


def _counted(stood: npt.NDArray[np.int64], draft_length: int) -> Lengths:
    return Lengths(np.bincount(stood, minlength=draft_length + 1))


def _check(draft_length: int, n_rounds: int, rng: np.random.Generator) -> None:
    if not isinstance(rng, np.random.Generator):
        raise ConfigError(f"rng must be a generator, as numpy.random.default_rng() gives, got {brief(rng)}")
    whole("draft_length (K)", draft_length)
    whole("n_rounds", n_rounds, 1, _MOST_ROUNDS)
