"""Rounds played by the hundred thousand where every position has the same two laws, and what they emitted.

A round takes its uniforms in the decoder's order: K for the drafts, K for the judgements, one for the final draw. Fed
the same uniforms, the exact rule here emits what `sampling.verify` does, token for token.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specviz import exact, theory
from specviz.errors import ConfigError, brief
from specviz.exact.position import Place, place
from specviz.records import is_whole
from specviz.sampling import Floats
from specviz.theory import checks

Integers = npt.NDArray[np.int64]

_NUMBERS = 1 << 21  # uniforms at a time: 16 MiB
_MOST_ROUNDS = 10**9  # minutes of work
_PER_DECADE = 8  # looks at the tally between 10ⁿ and 10ⁿ⁺¹ rounds


@dataclass(frozen=True, slots=True)
class Tally:
    """What n_rounds rounds emitted. counts: by token. first_counts: of the first token of each round that had one.

    squares: Σ N², for the spread of N.
    """

    n_rounds: int
    counts: Integers  # [V]
    first_counts: Integers  # [V]
    squares: int

    @property
    def n_tokens(self) -> int:
        return int(self.counts.sum())

    @property
    def mean_tokens(self) -> float:
        """Tokens per round."""
        return self.n_tokens / self.n_rounds

    @property
    def standard_error(self) -> float:
        """Of `mean_tokens`; NaN after a single round."""
        if self.n_rounds < 2:
            return math.nan
        spread = max(0.0, self.squares / self.n_rounds - self.mean_tokens**2)
        return math.sqrt(spread / (self.n_rounds - 1))

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.n_rounds + other.n_rounds,
            self.counts + other.counts,
            self.first_counts + other.first_counts,
            self.squares + other.squares,
        )


class Emitted(NamedTuple):
    """tokens: what each round emitted, from the left; what stands behind its length was never emitted."""

    tokens: Integers  # [R, K + 1]
    lengths: Integers  # [R]


def play(
    target_probs: npt.ArrayLike,
    draft_probs: npt.ArrayLike,
    uniforms: npt.ArrayLike,
    rule: str = "exact",
    *,
    draft_temperature: float = 0.5,
) -> Emitted:
    """Play one round per row of uniforms, in [0, 1): [R, 2 K + 1], K >= 1.

    Laws [V], rules and draft_temperature as in `exact.emitted_law`. A round of "drop_without_resampling" whose first
    draft falls emits nothing. Raises ConfigError.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1.
    """
    numbers = checks.numbers("uniforms", uniforms)
    if numbers.ndim != 2 or numbers.shape[1] < 3 or numbers.shape[1] % 2 == 0:
        raise ConfigError(f"uniforms must have shape [R, 2 K + 1] with K of at least 1, got {numbers.shape}")
    checks.require("uniforms", numbers, (numbers >= 0) & (numbers < 1), "must lie in [0, 1)")
    p, q = theory.check_laws(target_probs, draft_probs)
    never = isinstance(rule, str) and rule == "drop_without_resampling"
    exact.emitted_law(p, q, "exact" if never else rule, draft_temperature=draft_temperature)
    places = [place(p, q, rule, first, draft_temperature) for first in (True, False)]
    return _play(p, places, numbers)


def tallies(
    target_probs: npt.ArrayLike,
    draft_probs: npt.ArrayLike,
    draft_length: int,
    n_rounds: int,
    *,
    seed: int,
    rule: str = "exact",
    draft_temperature: float = 0.5,
) -> Iterator[Tally]:
    """Everything so far, again and again on the way to n_rounds: the last is the whole. Seeded.

    draft_length: K >= 1. n_rounds: at least 1. The rest as in `play`. Raises ConfigError, before the first round.
    """
    if not all(is_whole(n) and n >= 1 for n in (draft_length, n_rounds)) or not (is_whole(seed) and seed >= 0):
        raise ConfigError(
            "tallies needs whole numbers: a draft_length and n_rounds of at least 1 and a seed of at least 0; "
            f"got {brief(draft_length)}, {brief(n_rounds)} and {brief(seed)}"
        )
    checks.whole("draft_length (K)", draft_length, 1)
    checks.whole("n_rounds", n_rounds, 1, _MOST_ROUNDS)
    p, q = theory.check_laws(target_probs, draft_probs)
    play(p, q, np.zeros((1, 3)), rule, draft_temperature=draft_temperature)  # refuses what it cannot play
    places = [place(p, q, rule, first, draft_temperature) for first in (True, False)]
    return _tallies(p, places, int(draft_length), int(n_rounds), np.random.default_rng(seed))


def _tallies(p: Floats, places: list[Place], k: int, n_rounds: int, rng: np.random.Generator) -> Iterator[Tally]:
    none = np.zeros(len(p), dtype=np.int64)
    so_far = Tally(0, none, none, 0)
    for stop in _looks(n_rounds):
        while so_far.n_rounds < stop:
            n = min(stop - so_far.n_rounds, max(1, _NUMBERS // (2 * k + 1)))
            so_far += _count(_play(p, places, rng.random((n, 2 * k + 1))), len(p))
            yield so_far


def _looks(n_rounds: int) -> list[int]:
    """Round numbers evenly apart on a logarithmic axis, the last of them n_rounds."""
    steps = range(_PER_DECADE, math.ceil(_PER_DECADE * math.log10(max(10, n_rounds))) + 1)
    return [*sorted({n for i in steps if (n := round(10 ** (i / _PER_DECADE))) < n_rounds}), n_rounds]


def _play(p: Floats, places: list[Place], uniforms: Floats) -> Emitted:
    """places: how the first position of a round is decided, and how the others are."""
    n_rounds, k = len(uniforms), uniforms.shape[1] // 2
    rows, by_position = np.arange(n_rounds), (places[0], *(places[1] for _ in range(k - 1)))
    tokens = np.empty((n_rounds, k + 1), dtype=np.int64)
    accepted, standing = np.zeros(n_rounds, dtype=np.int64), np.ones(n_rounds, dtype=bool)
    for i, here in enumerate(by_position):
        tokens[:, i] = _draws(here.drafted, uniforms[:, i])
        standing &= uniforms[:, k + i] < here.accept[tokens[:, i]]
        accepted += standing
    last = uniforms[:, -1]
    final = _draws(p, last)  # the bonus
    for here, fell in ((places[0], accepted == 0), (places[1], (accepted > 0) & (accepted < k))):
        if here.replacement is not None:
            final[fell] = _draws(here.replacement, last[fell])
    tokens[rows, accepted] = final
    dropped = np.zeros(n_rounds, dtype=bool) if places[1].replacement is not None else accepted < k
    return Emitted(tokens, accepted + 1 - dropped)


def _draws(probs: Floats, u: Floats) -> Integers:
    """`sampling.draw` for an array of uniforms. [V], [R] -> [R]."""
    cumulative = probs.cumsum()
    last = np.flatnonzero(probs)[-1]
    return np.minimum(cumulative.searchsorted(u * cumulative[-1], side="right"), last)


def _count(emitted: Emitted, size: int) -> Tally:
    tokens, lengths = emitted
    real = np.arange(tokens.shape[1]) < lengths[:, None]
    return Tally(
        len(lengths),
        np.bincount(tokens[real], minlength=size),
        np.bincount(tokens[lengths > 0, 0], minlength=size),
        int((lengths * lengths).sum()),
    )
