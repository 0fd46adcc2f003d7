"""The chi-square law and the noncentral one, for whole degrees of freedom, in closed form and sums.

scipy.special has them too; to import it takes as long as a whole page does, and three pages need no more of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from specviz.sampling import Floats

_SPREAD = 12.0  # standard deviations of a Poisson law beyond which nothing is left of it in float64
_ENDS = 100.0  # and the terms more for a law whose mean is small
_HALVINGS = 200  # at most, until two ends are neighbours in float64


def above(x: float, df: int) -> float:
    """1 - F(x; df), in [0, 1]: how often a chi-square variable is greater than x. df >= 1.

    With h = x/2 it is e^-h Σ h^k/k! over k < df/2 for even df, and erfc(√h) + e^-h Σ h^(k-1/2)/Γ(k+1/2) over
    1 <= k <= (df-1)/2 for odd df. All terms are positive, so small tails are as accurate as large ones.
    Source: Abramowitz and Stegun 1964, 26.4.4 and 26.4.5.
    """
    if x <= 0:
        return 1.0
    h, odd = x / 2, df % 2
    if math.isinf(h):
        return 0.0
    n = df // 2
    terms = _terms(h, n, 0.5 if odd else 0.0)
    return min(1.0, float(terms.sum()) + (math.erfc(math.sqrt(h)) if odd else 0.0))


@lru_cache(maxsize=256)
def critical(level: float, df: int) -> float:
    """x with above(x, df) = level in (0, 1)."""
    most = df + 10.0
    while above(most, df) > level:
        most *= 2
    return _fallen(lambda x: above(x, df) <= level, 0.0, most)


def below(x: float, df: int, noncentrality: float) -> float:
    """F(x; df, λ), the noncentral chi-square law: how often a variable is at most x. Absolute error below 1e-10.

    Σ of the Poisson law of mean λ/2 at j, times F(x; df + 2 j). Source: Abramowitz and Stegun 1964, 26.4.25.
    """
    if x <= 0:
        return 0.0
    mean = noncentrality / 2
    n = math.ceil(mean + _SPREAD * math.sqrt(mean) + _ENDS)
    central = 1 - above(x, df) - np.concatenate([[0.0], np.cumsum(_terms(x / 2, n, df / 2))])  # F(x; df + 2 j), [n + 1]
    weights = _terms(mean, n + 1, 0.0) if mean else np.eye(1, n + 1)[0]
    return min(1.0, max(0.0, float((weights * central.clip(0.0)).sum())))


def noncentrality(below_x: float, x: float, df: int) -> float:
    """λ with below(x, df, λ) = below_x, for a below_x under F(x; df)."""
    most = 1.0
    while below(x, df, most) > below_x:
        most *= 2
    return _fallen(lambda value: below(x, df, value) <= below_x, 0.0, most)


def _terms(h: float, n: int, start: float) -> Floats:
    """e^-h h^(k + start) / Γ(k + start + 1) for k from 0 to n - 1, by their logarithms. [n]"""
    steps = np.log(h) - np.log(np.arange(1, n) + start) if n > 1 else np.zeros(0)
    first = start * math.log(h) - math.lgamma(start + 1) - h
    return np.exp(first + np.concatenate([[0.0], np.cumsum(steps)]))[:n]


def _fallen(fell: Callable[[float], bool], low: float, high: float) -> float:
    """The least x between two ends at which something that falls once has fallen, to the last digits."""
    for _halving in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if fell(middle):
            high = middle
        else:
            low = middle
    return high
