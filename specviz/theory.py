"""What the formulas predict: acceptance, tokens per target pass, speed-up, the best draft length.

p is the target's law and q the draft's. alpha (α) is the acceptance rate, K the draft length, and c = T_p/T_q the cost
ratio: the time of a target pass over that of a draft pass. Leviathan's c is the inverse, T_q/T_p.

All but `alpha` and its neighbours assume that acceptances are independent with one rate, and that a pass over K + 1
positions costs what a pass over one does. Both are idealisations; `specviz.measure` shows the real run beside them.

Every function takes numbers or arrays, which broadcast, and answers with a Python number when all were numbers.
Each raises ConfigError when an argument is out of the range that its docstring states.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from specviz import sampling
from specviz.errors import ConfigError
from specviz.records import is_whole
from specviz.sampling import Floats

Bools = npt.NDArray[np.bool_]
Numbers: TypeAlias = Any  # a float for numbers, an array for arrays; Any, as numpy types its ufuncs: no cast needed

_TIE = 1 - 4 * sys.float_info.epsilon  # speed-ups closer than this are equal: they differ by rounding alone
_LEAST, _MOST = sys.float_info.min, sys.float_info.max
_RANGES = {  # name -> (least, most, what is allowed)
    "alpha": (0.0, 1.0, "must lie in [0, 1]"),
    "cost_ratio": (_LEAST, np.inf, "(c = T_p/T_q) must be positive"),
    "draft_length": (0.0, _MOST, "(K) must be finite and at least 0"),
    "target_s": (0.0, _MOST, "must be a finite number of seconds, at least 0"),
    "draft_s": (0.0, _MOST, "must be a finite number of seconds, at least 0"),
    "operation_ratio": (0.0, _MOST, "must be finite and at least 0"),
}

# s = σ + σ²/3 + σ³/36 - ... solves s - ln(1 + s) = σ²/2: put it in and compare powers. Highest power first, up to σ⁸.
_BRANCH_SERIES = (1 / 204120, -139 / 5443200, 1 / 17010, 1 / 4320, -1 / 270, 1 / 36, 1 / 3, 1.0, 0.0)


def alpha(target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> Numbers:
    """Σ min(p, q), the probability that a draft from q is accepted, in [0, 1]. [..., V], [..., V] -> [...].

    At one position it is the paper's β; its mean over positions is α.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.5 and Corollary 3.6.
    """
    p, q = check_laws(target_probs, draft_probs)
    return _plain(np.minimum(1.0, np.minimum(p, q).sum(axis=-1)))  # equal laws may sum to 1 + 2e-16


def residual(target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> Floats:
    """norm(max(0, p - q)), the law that replaces a rejected token; p where nothing is left. [..., V] -> [..., V].

    `sampling.residual`, the one that the decoder draws from, after a check of both laws.
    """
    return sampling.residual(*check_laws(target_probs, draft_probs))


def total_variation(target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> Numbers:
    """½ Σ |p - q| = 1 - alpha(p, q), in [0, 1]. [..., V], [..., V] -> [...].

    Source: Leviathan et al. 2023 (arXiv 2211.17192), Definition 3.2 and Lemma 3.3, where it is called D_LK.
    """
    p, q = check_laws(target_probs, draft_probs)
    return _plain(np.minimum(1.0, 0.5 * np.abs(p - q).sum(axis=-1)))


def kl_divergence(target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> Numbers:
    """KL(p ‖ q) = Σ p ln(p/q) in nats, in [0, inf]; infinite where q lacks a token of p. Shapes as in `alpha`."""
    p, q = check_laws(target_probs, draft_probs)
    with np.errstate(divide="ignore"):  # log 0 = -inf: a token that q never gives
        terms = p * (np.log(np.where(p > 0, p, 1.0)) - np.log(np.where(p > 0, q, 1.0)))
    return _plain(np.maximum(0.0, terms.sum(axis=-1)))


def expected_tokens(alpha: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """Mean tokens emitted per target pass, E[N], in [1, K + 1].

    (1 - α^(K+1)) / (1 - α), and K + 1 when α = 1. Accurate to rounding however near α is to either end.

    alpha: in [0, 1]. draft_length: K >= 0; between whole numbers it is the curve that the formula draws.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Eq. (1).
    """
    return _plain(_expected_tokens(*_read(alpha=alpha, draft_length=draft_length)))


def tokens_law(alpha: npt.ArrayLike, draft_length: int) -> Floats:
    """P(N = 1), ..., P(N = K + 1): the law of the tokens emitted per target pass. [...] -> [..., K + 1].

    A geometric law with a cap: α^(n-1) (1 - α) up to n = K, and α^K at n = K + 1. Its mean is `expected_tokens`.

    alpha: in [0, 1]. draft_length: one whole K >= 0.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), section 3.1.
    """
    (rate,) = _read(alpha=alpha)
    if not (is_whole(draft_length) and draft_length >= 0):
        raise ConfigError(f"draft_length (K) must be one whole number of at least 0, got {draft_length!r}")
    reached = rate[..., None] ** np.arange(int(draft_length) + 1)  # [..., K + 1], P(N >= n)
    reached[..., :-1] *= 1.0 - rate[..., None]
    return reached


def round_time(target_s: npt.ArrayLike, draft_s: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """T_p + K T_q: the seconds of one round, K draft passes and one target pass.

    target_s, draft_s: seconds of one pass, at least 0. draft_length: K >= 0.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), proof of Theorem 3.8.
    """
    target, draft, k = _read(target_s=target_s, draft_s=draft_s, draft_length=draft_length)
    return _plain(target + k * draft)


def speedup(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """Times faster than the target alone: E[N] c / (c + K).

    alpha: in [0, 1]. cost_ratio: c = T_p/T_q > 0 (Leviathan's c is 1/c); infinite for a draft that costs nothing.
    draft_length: K >= 0, not only whole.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8.
    """
    return _plain(_speedup(*_read(alpha=alpha, cost_ratio=cost_ratio, draft_length=draft_length)))


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
    (c,) = _read(cost_ratio=cost_ratio)
    return _plain(1.0 / c)


def operations(alpha: npt.ArrayLike, draft_length: npt.ArrayLike, operation_ratio: npt.ArrayLike = 0.0) -> Numbers:
    """Times more arithmetic than the target alone: (K ĉ + K + 1) / E[N], at least 1.

    alpha: in [0, 1]. draft_length: K >= 0. operation_ratio: ĉ >= 0, the draft's arithmetic per token over the target's.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.11.
    """
    rate, k, ratio = _read(alpha=alpha, draft_length=draft_length, operation_ratio=operation_ratio)
    return _plain((k * ratio + k + 1.0) / _expected_tokens(rate, k))


def best_draft_length(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike, limit: int = 64) -> Numbers:
    """The whole K in 1..limit with the greatest speed-up; the smallest of equals (to rounding). Whole numbers out.

    alpha: in [0, 1]. cost_ratio: c = T_p/T_q > 0. limit: a whole number of at least 1.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), section 3.5, which also searches the whole numbers.
    """
    rate, c = _read(alpha=alpha, cost_ratio=cost_ratio)
    if not (is_whole(limit) and limit >= 1):
        raise ConfigError(f"limit must be a whole number of at least 1, got {limit!r}")
    speedups = _speedup(rate[..., None], c[..., None], np.arange(1.0, int(limit) + 1))  # [..., limit]
    return _plain(1 + (speedups >= _TIE * speedups.max(axis=-1, keepdims=True)).argmax(axis=-1))


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
    return _plain(_with_ends(rate, c, inside, np.log1p(y_less_1) / loss))


def stationary_residual(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """α^(K+1) (1 + (c + K)L) - 1 with L = ln(1/α): 0 at K*, above it for a shorter draft and below for a longer one.

    alpha: in (0, 1]; at 1 it is 0 for every K. cost_ratio: c = T_p/T_q >= 1, finite. draft_length: real K >= -1.
    Source: the derivative of Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.8, set to 0.
    """
    k = _number("draft_length", draft_length)
    _require("draft_length", k, (k >= -1) & (k < np.inf), "(K) must be finite and at least -1")
    rate, c, _ = _between_ends(alpha, cost_ratio)
    _require("alpha", rate, rate > 0, "must lie in (0, 1]")
    _require("cost_ratio", c, c < np.inf, "(c = T_p/T_q) must be finite")
    rate, c, k = _broadcast(alpha=rate, cost_ratio=c, draft_length=k)
    loss = -np.log(rate)
    return _plain(np.expm1(np.log1p((c + k) * loss) - (k + 1.0) * loss))


def crude_draft_length(alpha: npt.ArrayLike, cost_ratio: npt.ArrayLike) -> Numbers:
    """ln(c)/ln(1/α) - 1: the rough rule that stops where one more draft gains less than it costs, α^(K+1) c = 1.

    A rule of thumb: far too long at high α (9.3 for K* = 5.8 at α = 0.8, c = 10), a little short at low α. The ends are
    those of `best_draft_length_continuous`.

    alpha: in [0, 1]. cost_ratio: c = T_p/T_q >= 1.
    """
    rate, c, inside = _between_ends(alpha, cost_ratio)
    return _plain(_with_ends(rate, c, inside, np.log(np.where(inside, c, 1.0)) / -np.log(np.where(inside, rate, 0.5))))


def check_laws(target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Both as float64 arrays of one shape, [..., V]. Raises ConfigError when either is no law, or they do not fit."""
    p, q = _law("target_probs", target_probs), _law("draft_probs", draft_probs)
    if p.shape[-1] != q.shape[-1]:
        raise ConfigError(f"target_probs and draft_probs must share a vocabulary, got shapes {p.shape} and {q.shape}")
    p, q = _broadcast(target_probs=p, draft_probs=q)
    return p, q


def _law(name: str, value: npt.ArrayLike) -> Floats:
    probs = _number(name, value)
    if probs.ndim == 0 or probs.size == 0:
        raise ConfigError(f"{name} must hold at least one probability along its last axis, got shape {probs.shape}")
    _require(name, probs, probs >= 0, "must be probabilities of at least 0")
    totals = probs.sum(axis=-1)
    _require(name, totals, np.abs(totals - 1.0) <= 1e-6, "must sum to 1 (to 1e-6) along its last axis")
    return probs


def _expected_tokens(rate: Floats, k: Floats) -> Floats:
    rejected = 1.0 - rate
    with np.errstate(divide="ignore"):  # log 0 = -inf, and then 1 - α^(K+1) is 1, as it should be
        ended = -np.expm1((k + 1.0) * np.log(rate))  # 1 - α^(K+1), without cancellation near α = 1
    return np.where(rejected > 0, ended / np.where(rejected > 0, rejected, 1.0), k + 1.0)


def _speedup(rate: Floats, c: Floats, k: Floats) -> Floats:
    with np.errstate(over="ignore"):  # a draft that takes for ever: K/c is infinite and the speed-up 0
        return _expected_tokens(rate, k) / (1.0 + k / c)


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
    rate, c = _read(alpha=alpha, cost_ratio=cost_ratio)
    _require("cost_ratio", c, c >= 1, "(c = T_p/T_q) must be at least 1: a draft slower than the target never pays")
    return rate, c, (rate > 0) & (rate < 1) & (c > 1) & (c < np.inf)


def _with_ends(rate: Floats, c: Floats, inside: Bools, exponent: Floats) -> Floats:
    """exponent - 1 where both are inside their ranges; -1 at α = 0 and at c = 1, infinity at the other ends."""
    return np.where(inside, exponent, np.where((rate == 0) | (c == 1), 0.0, np.inf)) - 1.0


def _read(**given: npt.ArrayLike) -> tuple[Floats, ...]:
    """The arguments as float64 arrays of one shape, each checked against `_RANGES`."""
    checked = {}
    for name, value in given.items():
        least, most, allowed = _RANGES[name]
        checked[name] = values = _number(name, value)
        _require(name, values, (values >= least) & (values <= most), allowed)
    return _broadcast(**checked)


def _number(name: str, value: npt.ArrayLike) -> Floats:
    try:
        values = np.asarray(value)
    except ValueError:  # a ragged list
        values = np.asarray(None)
    if values.dtype.kind not in "iuf":
        raise ConfigError(f"{name} must be a number or an array of numbers, got {value!r}")
    return values.astype(np.float64)


def _require(name: str, values: Floats, fits: Bools, allowed: str) -> None:
    if not np.all(fits):
        raise ConfigError(f"{name} {allowed}, got {float(values[~fits].flat[0])!r}")


def _broadcast(**given: Floats) -> tuple[Floats, ...]:
    try:
        return tuple(np.broadcast_arrays(*given.values()))
    except ValueError:
        shapes = " and ".join(f"{name} {values.shape}" for name, values in given.items())
        raise ConfigError(f"the shapes do not broadcast: {shapes}") from None


def _plain(values: npt.NDArray[Any]) -> Numbers:
    return values.item() if values.ndim == 0 else values
