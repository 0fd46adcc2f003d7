"""Rounds on a clock: speed-up over the target alone, and the draft length that is best for it."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from specviz.errors import ConfigError, brief
from specviz.sampling import Floats
from specviz.theory.checks import Bools, Numbers, broadcast, numbers, one, plain, read, require, whole
from specviz.theory.tokens import tokens_of

_HIGH, _FLAT = 0.8, 0.03  # the notes' third rule: at an α this high, two guesses too many or too few lose less
_TIE = 1 - 4 * sys.float_info.epsilon  # speed-ups closer than this are equal: they differ by rounding alone

# s = σ + σ²/3 + σ³/36 - ... solves s - ln(1 + s) = σ²/2: put it in and compare powers. Highest power first, up to σ⁸.
_BRANCH_SERIES = (1 / 204120, -139 / 5443200, 1 / 17010, 1 / 4320, -1 / 270, 1 / 36, 1 / 3, 1.0, 0.0)


def round_time(target_s: npt.ArrayLike, draft_s: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """T_p + K T_q: the seconds of one round, K draft passes and one target pass.

    target_s, draft_s: seconds of one pass, at least 0. draft_length: K >= 0.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), proof of Theorem 3.8.
    """
    target, draft, k = read(target_s=target_s, draft_s=draft_s, draft_length=draft_length)
    with np.errstate(over="ignore"):  # beyond every double: infinite
        return plain(target + k * draft)


def speedup(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """Times faster than the target alone: E[N] c / (c + K).

    alpha: in [0, 1]. cost_ratio: c = T_p/T_q > 0 (Leviathan's c is 1/c); infinite for a draft that costs nothing.
    draft_length: K >= 0, not only whole.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8.
    """
    return plain(_speedup(*read(alpha=alpha, cost_ratio=cost_ratio, draft_length=draft_length)))


def with_surcharge(cost_ratio: npt.ArrayLike, surcharge: npt.ArrayLike) -> Numbers:
    """c / (1 + c s), a cost ratio c' with 1/c' = 1/c + s: what the formulas take when a longer target pass costs more.

    Where the target's pass over K + 1 positions takes T_p (1 + s K), a round takes T_p (1 + K (1/c + s)). So a dearer
    check acts exactly as a dearer draft does: speed-up, K* and the break-even α are those of c'.

    cost_ratio: c = T_p/T_q > 0, infinite for a draft that costs nothing. surcharge: s >= 0, the share of a plain target
    pass that each further position costs; (pass_ratio - 1) / K of `measure.compare`.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), proof of Theorem 3.8, with T_p(L + K) in the place of T_p.
    """
    c, s = read(cost_ratio=cost_ratio, surcharge=surcharge)
    with np.errstate(divide="ignore"):  # a draft and a check that cost nothing: c' is infinite
        return plain(1.0 / (1.0 / c + s))


def marginal_gain(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """speedup(K + 1) - speedup(K): what one more guess adds, above 0 exactly below K*. Arguments as in `speedup`."""
    rate, c, k = read(alpha=alpha, cost_ratio=cost_ratio, draft_length=draft_length)
    return plain(_speedup(rate, c, k + 1.0) - _speedup(rate, c, k))


def guaranteed_speedup(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike) -> Numbers:
    """(1 + α) c / (1 + c): what K = 1 gives, so the best K gives at least this. Above 1 exactly when α > 1/c.

    alpha: in [0, 1]. cost_ratio: c = T_p/T_q > 0. In Leviathan's inverse c it reads (1 + α) / (1 + c).
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Corollary 3.9.
    """
    return speedup(alpha, cost_ratio, 1)


def break_even_alpha(cost_ratio: npt.ArrayLike) -> Numbers:
    """1/c: speculation can pay exactly when α is above it. Above 1 (no α will do) for a draft slower than the target.

    cost_ratio: c = T_p/T_q > 0. In Leviathan's inverse c the condition reads α > c.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Corollary 3.9.
    """
    (c,) = read(cost_ratio=cost_ratio)
    return plain(1.0 / c)


def operations(alpha: npt.ArrayLike, draft_length: npt.ArrayLike, operation_ratio: npt.ArrayLike = 0.0) -> Numbers:
    """Times more arithmetic than the target alone: (K ĉ + K + 1) / E[N], at least 1.

    alpha: in [0, 1]. draft_length: K >= 0. operation_ratio: ĉ >= 0, the draft's arithmetic per token over the target's.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.11.
    """
    rate, k, ratio = read(alpha=alpha, draft_length=draft_length, operation_ratio=operation_ratio)
    with np.errstate(over="ignore"):  # beyond every double: infinite
        return plain((k * ratio + k + 1.0) / tokens_of(rate, k))


def best_draft_length(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike, limit: int = 64) -> Numbers:
    """The whole K in 1..limit with the greatest speed-up; the smallest of equals (to rounding). Whole numbers out.

    alpha: in [0, 1]. cost_ratio: c = T_p/T_q > 0. limit: a whole number of at least 1.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), section 3.5, which also searches the whole numbers.
    """
    rate, c = read(alpha=alpha, cost_ratio=cost_ratio)
    limit = whole("limit", limit, 1)
    speedups = _speedup(rate[..., None], c[..., None], np.arange(1.0, limit + 1))  # [..., limit]
    return plain(1 + (speedups >= _TIE * speedups.max(axis=-1, keepdims=True)).argmax(axis=-1))


def peak(alpha: float, cost_ratio: float) -> tuple[float, float]:
    """The best whole K of all, without a limit, and its speed-up; the smallest of equals (to rounding).

    Where each further guess gains (α = 1 and c > 1, or a draft that costs nothing and α > 0) K is infinite, and the
    speed-up is what it tends to. Arguments as in `speedup`.
    """
    alpha, cost_ratio = one(alpha=alpha, cost_ratio=cost_ratio)
    real = best_draft_length_continuous(alpha, cost_ratio) if cost_ratio >= 1 else -1.0
    if math.isinf(real):
        return real, cost_ratio if alpha == 1 else 1 / (1 - alpha)
    around = np.arange(max(1, math.floor(real) - 1), max(1, math.ceil(real) + 1) + 1)  # there is one peak: no search
    speedups = np.asarray(speedup(alpha, cost_ratio, around))
    at = int((speedups >= _TIE * speedups.max()).argmax())
    return int(around[at]), float(speedups[at])


def plateau(alpha: float, cost_ratio: float, within: float, limit: int = 64) -> tuple[int, int]:
    """The least and the greatest whole K in 1..limit whose speed-up is at least 1 - within of the best one's.

    All between them are too, for the speed-up has one peak. within: in [0, 1]; else as in `best_draft_length`.
    """
    alpha, cost_ratio, share = one(alpha=alpha, cost_ratio=cost_ratio, within=within)
    best = best_draft_length(alpha, cost_ratio, limit)
    speedups = speedup(alpha, cost_ratio, np.arange(1, int(limit) + 1))
    near = np.flatnonzero(speedups >= _TIE * (1 - share) * speedups[best - 1])
    return int(near[0]) + 1, int(near[-1]) + 1


@dataclass(frozen=True, slots=True)
class LengthLaws:
    """Three rules about K*, each judged at every pair of a grid of α and c.

    n_pairs: of the grid. n_falls: steps to the next higher α, or c, at which K* falls.
    n_high: pairs with α >= 0.8. n_flat: those of them where K* - 2 and K* + 2 both lose less than 3%. worst_loss: the
    most that one of the two loses there, at worst_at = (α, c).
    n_both: pairs with K* >= 3. n_longer: those of them where K* + 2 is at least as fast as K* - 2.
    """

    n_pairs: int
    n_falls_alpha: int
    n_falls_cost_ratio: int
    n_high: int
    n_flat: int
    worst_loss: float
    worst_at: tuple[float, float]
    n_both: int
    n_longer: int


def length_laws(alphas: npt.ArrayLike, cost_ratios: npt.ArrayLike, limit: int = 128) -> LengthLaws:
    """Judge the rules on the grid of alphas, [A] ascending, some of them at least 0.8, and cost_ratios, [C] ascending.

    limit: above every K* of the grid by 2 at least, or the rules meet the limit instead of the law.
    """
    (rates,), (ratios,) = read(alpha=alphas), read(cost_ratio=cost_ratios)
    if not (rates.ndim == ratios.ndim == 1 and rates.size and ratios.size):
        raise ConfigError(f"alphas and cost_ratios must be lists of numbers, got {brief(alphas)}, {brief(cost_ratios)}")
    rate, c = rates[:, None], ratios[None, :]
    best = best_draft_length(rate, c, limit)  # [A, C]
    peak, shorter, longer = (speedup(rate, c, np.maximum(1, best + step)) for step in (0, -2, 2))
    loss = np.where(rate >= _HIGH, 1 - np.minimum(shorter, longer) / peak, -1.0)
    high, worst = loss >= 0, np.unravel_index(loss.argmax(), loss.shape)
    both = best >= 3
    return LengthLaws(
        n_pairs=best.size,
        n_falls_alpha=int((np.diff(best, axis=0) < 0).sum()),
        n_falls_cost_ratio=int((np.diff(best, axis=1) < 0).sum()),
        n_high=int(high.sum()),
        n_flat=int((high & (loss < _FLAT)).sum()),
        worst_loss=float(loss.max()),
        worst_at=(float(rate[worst[0], 0]), float(c[0, worst[1]])),
        n_both=int(both.sum()),
        n_longer=int((both & (longer >= _TIE * shorter)).sum()),
    )


def best_draft_length_continuous(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike) -> Numbers:
    """The real K* at which the speed-up is stationary, in [-1, inf], by the lower branch of Lambert's W.

    K* = (-W₋₁(-exp(-1 - L(c - 1))) - 1)/L - c with L = ln(1/α). It is not clamped: the best whole K is one of its two
    neighbours, or 1 where K* < 1. The ends are -1 (α = 0, or c = 1) and infinity (α = 1 or c infinite, with c > 1).

    alpha: in [0, 1]. cost_ratio: c = T_p/T_q >= 1; a draft slower than the target has no stationary point.
    Source: our solution of d/dK ln speedup = 0 for Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8.
    """
    rate, c, inside = _between_ends(alpha, cost_ratio)
    loss = -np.log(np.where(inside, rate, 0.5))  # L
    # With y = -W₋₁ = 1 + (c + K)L the equation is y - ln y = 1 + L(c - 1), and K = ln(y)/L - 1 without cancellation.
    y_less_1 = _above_one(loss * np.where(inside, c - 1.0, 1.0))
    return plain(_with_ends(rate, c, inside, np.log1p(y_less_1) / loss))


def stationary_residual(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """α^(K+1) (1 + (c + K)L) - 1 with L = ln(1/α): 0 at K*, above it for a shorter draft and below for a longer one.

    alpha: in (0, 1]; at 1 it is 0 for every K. cost_ratio: c = T_p/T_q >= 1, finite. draft_length: real K >= -1.
    Source: the derivative of Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8, set to 0.
    """
    k = numbers("draft_length", draft_length)
    require("draft_length", k, (k >= -1) & (k < np.inf), "(K) must be finite and at least -1")
    rate, c, _ = _between_ends(alpha, cost_ratio)
    require("alpha", rate, rate > 0, "must lie in (0, 1]")
    require("cost_ratio", c, c < np.inf, "(c = T_p/T_q) must be finite")
    rate, c, k = broadcast(alpha=rate, cost_ratio=c, draft_length=k)
    loss = -np.log(rate)
    return plain(np.expm1(np.log1p((c + k) * loss) - (k + 1.0) * loss))


def crude_draft_length(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike) -> Numbers:
    """ln(c)/ln(1/α) - 1: the rough rule that stops where one more draft gains less than it costs, α^(K+1) c = 1.

    A rule of thumb: far too long at high α (9.3 for K* = 5.8 at α = 0.8, c = 10), a little short at low α. The ends are
    those of `best_draft_length_continuous`.

    alpha: in [0, 1]. cost_ratio: c = T_p/T_q >= 1.
    """
    rate, c, inside = _between_ends(alpha, cost_ratio)
    return plain(_with_ends(rate, c, inside, np.log(np.where(inside, c, 1.0)) / -np.log(np.where(inside, rate, 0.5))))


def _speedup(rate: Floats, c: Floats, k: Floats) -> Floats:
    with np.errstate(over="ignore"):  # a draft that takes for ever: K/c is infinite and the speed-up 0
        return tokens_of(rate, k) / (1.0 + k / c)


def _above_one(t: Floats) -> Floats:
    """y - 1 for the y >= 1 with y - ln y = 1 + t, t >= 0. So -y = W₋₁(-exp(-1 - t)), but no exp can underflow here."""
    sigma = np.sqrt(2.0 * t)
    small = sigma < 0.1  # there the equation cancels and the series is exact to rounding
    s = np.where(small, 1.0, sigma + t)  # an upper bound of s; the equation is convex, so Newton falls to the root
    for _ in range(5):  # it squares the error each time: rounding is reached after 4 for every t
        s = (np.log1p(s) + t) * (1.0 + 1.0 / s) - 1.0
    return np.where(small, np.polyval(_BRANCH_SERIES, np.where(small, sigma, 0.0)), s)


def _between_ends(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike) -> tuple[Floats, Floats, Bools]:
    """α and c >= 1, and where neither is at an end of its range."""
    rate, c = read(alpha=alpha, cost_ratio=cost_ratio)
    require("cost_ratio", c, c >= 1, "(c = T_p/T_q) must be at least 1: a draft slower than the target never pays")
    return rate, c, (rate > 0) & (rate < 1) & (c > 1) & (c < np.inf)


def _with_ends(rate: Floats, c: Floats, inside: Bools, exponent: Floats) -> Floats:
    """exponent - 1 where both are inside their ranges; -1 at α = 0 and at c = 1, infinity at the other ends."""
    return np.where(inside, exponent, np.where((rate == 0) | (c == 1), 0.0, np.inf)) - 1.0
