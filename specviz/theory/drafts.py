"""Which draft is worth taking: candidates with their α and c, each at its own best draft length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specviz.errors import ConfigError
from specviz.sampling import Floats
from specviz.theory.checks import Bools, Numbers, broadcast, numbers, plain, read, require, whole
from specviz.theory.speed import best_draft_length, peak, speedup
from specviz.theory.tokens import tokens_of

_HALVINGS = 54  # of [0, 1]: the last one is narrower than the rounding of a float64 near 1


@dataclass(frozen=True, slots=True)
class Standing:
    """One candidate among the others. index: its place in what was given.

    draft_length: its best K. speedup: what that gives.
    tie_alpha: the α at which its speed-up would equal the best of the others, the target alone included. It wins above
    and loses below; 0 when it wins with any α, NaN when it wins with none.
    peak_length, peak_speedup: its best K of all and what that gives, as in `peak`: more where K is beyond the limit.
    """

    index: int
    alpha: float
    cost_ratio: float
    draft_length: int
    speedup: float
    tie_alpha: float
    peak_length: float
    peak_speedup: float


def best_speedup(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike, limit: int = 64) -> Numbers:
    """The speed-up at the best whole K in 1..limit: `speedup` at `best_draft_length`. It rises with α and with c.

    alpha: in [0, 1]. cost_ratio: c = T_p/T_q > 0. limit: a whole number of at least 1.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8.
    """
    return speedup(alpha, cost_ratio, best_draft_length(alpha, cost_ratio, limit))


def cost_ratio_for_speedup(speedup: npt.ArrayLike, alpha: npt.ArrayLike, limit: int = 64) -> Numbers:
    """The least c at which the best K in 1..limit gives this speed-up, min over K of s K / (E[N] - s).

    Infinite where no c does, since even a draft that costs nothing gives only E[N] <= s. At s = 1 it is 1/α, the break
    even of Corollary 3.9.

    speedup: s > 0, finite. alpha: in [0, 1]. limit: a whole number of at least 1.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8 solved for c.
    """
    aim, (rate,) = _aim(speedup), read(alpha=alpha)
    aim, rate = broadcast(speedup=aim, alpha=rate)
    k = np.arange(1.0, whole("limit", limit, 1) + 1)
    over = tokens_of(rate[..., None], k) - aim[..., None]  # [..., limit], E[N] - s
    with np.errstate(over="ignore"):  # beyond every double: infinite, as it nearly is
        ratios = np.where(over > 0, aim[..., None] * k / np.where(over > 0, over, 1.0), np.inf)
    return plain(ratios.min(axis=-1))


def alpha_for_speedup(speedup: npt.ArrayLike, cost_ratio: npt.ArrayLike, limit: int = 64) -> Numbers:
    """The α at which the best K in 1..limit gives this speed-up; `best_speedup` rises with α, so there is one.

    0 where even α = 0 gives more, and NaN where even α = 1 gives less. Found by bisection, to rounding.

    speedup: s > 0, finite. cost_ratio: c = T_p/T_q > 0. limit: a whole number of at least 1.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8 solved for α.
    """
    aim, (c,) = _aim(speedup), read(cost_ratio=cost_ratio)
    aim, c = broadcast(speedup=aim, cost_ratio=c)
    k = np.arange(1.0, whole("limit", limit, 1) + 1)
    costs = 1.0 + k / c[..., None]  # [..., limit], of a round over that of a target pass

    def gives(rate: Floats) -> Bools:
        return np.asarray((tokens_of(rate[..., None], k) / costs).max(axis=-1) >= aim)

    low, high = np.zeros(aim.shape), np.ones(aim.shape)
    none, any_ = ~gives(high), gives(low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = gives(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return plain(np.where(none, np.nan, np.where(any_, 0.0, high)))


def rank_drafts(alpha: Sequence[float], cost_ratio: Sequence[float], limit: int = 64) -> tuple[Standing, ...]:
    """The candidates, fastest first, each at its best K in 1..limit; equals stay in the order given. None give none.

    alpha, cost_ratio: one number per candidate, as in `best_speedup`.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8.
    """
    rates, ratios = read(alpha=alpha, cost_ratio=cost_ratio)
    if rates.ndim != 1:
        raise ConfigError(f"alpha and cost_ratio must hold one number for each candidate, got shape {rates.shape}")
    lengths = np.atleast_1d(best_draft_length(rates, ratios, limit))
    speeds = np.atleast_1d(speedup(rates, ratios, lengths))
    order = np.argsort(-speeds, kind="stable").tolist()
    if not order:
        return ()
    others = [max([1.0, *(float(speeds[j]) for j in order[:2] if j != i)]) for i in range(len(order))]
    ties = alpha_for_speedup(others, ratios, limit)
    peaks = [peak(*each) for each in zip(rates.tolist(), ratios.tolist(), strict=True)]
    return tuple(
        Standing(i, float(rates[i]), float(ratios[i]), int(lengths[i]), float(speeds[i]), float(ties[i]), *peaks[i])
        for i in order
    )


def _aim(speedup: npt.ArrayLike) -> Floats:
    aim = numbers("speedup", speedup)
    require("speedup", aim, (aim > 0) & (aim < np.inf), "must be positive and finite")
    return aim
