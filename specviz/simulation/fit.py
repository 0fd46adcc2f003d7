"""Do counts fit a law? Pearson's chi-square test, its power against another law, and the samples that it needs.

scipy.special is imported where a tail is asked for: it takes some 0.4 s, and the pages open without it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from specviz import theory
from specviz.errors import ConfigError, brief
from specviz.records import is_real
from specviz.sampling import Floats
from specviz.simulation.laws import Integers
from specviz.theory.checks import numbers, require, whole

LEVEL = 0.01  # how often a fair test raises a false alarm
POWER = 0.99  # how often it is to see a law that is not the target's
LEAST_EXPECTED = 5.0  # of a cell; the chi-square law is an approximation that fails below

_CERTAIN_COUNT = 2**62  # as many as an integer holds
_CERTAIN = 1e4  # a noncentrality at which every test here is certain
_SAME = 1e-13  # total variation: what the rounding of float64 leaves between equal laws


class Fit(NamedTuple):
    """The statistic Σ (O - E)²/E over n_cells cells, and how often chance alone gives one as great.

    impossible: whether a token of probability 0 came, which no chance explains. p_value: 1 where one cell is left.
    """

    statistic: float
    n_cells: int
    p_value: float
    impossible: bool


def chi_square(counts: npt.ArrayLike, probs: npt.ArrayLike) -> Fit:
    """Pearson's test of counts against a law. [V], [V].

    Tokens of which fewer than LEAST_EXPECTED are expected share one cell. Raises ConfigError on what is no law, or
    where the shapes differ. Source: Pearson 1900, Philosophical Magazine 50(302); the rule of five: Cochran 1954,
    Biometrics 10(4).
    """
    seen = numbers("counts", counts)
    law, _ = theory.check_laws(probs, probs)
    if seen.shape != law.shape or seen.ndim != 1:
        raise ConfigError(f"chi_square takes counts and a law of one shape, [V]; got {seen.shape} and {law.shape}")
    require("counts", seen, (seen >= 0) & (seen <= _CERTAIN_COUNT), "must be counts, at least 0")
    n = int(seen.sum())
    if seen[law == 0].any():
        return Fit(math.inf, int((law > 0).sum()), 0.0, True)
    cells = _cells(law, n)
    observed, expected = _pooled(seen, cells), n * _pooled(law, cells)
    if len(observed) < 2:
        return Fit(0.0, len(observed), 1.0, False)
    from scipy.special import chdtrc

    statistic = float(((observed - expected) ** 2 / expected).sum())
    return Fit(statistic, len(observed), float(chdtrc(len(observed) - 1, statistic)), False)


def power(law: npt.ArrayLike, probs: npt.ArrayLike, n: int, level: float = LEVEL) -> float:
    """How often the test at that level sees, in n samples from `law`, that they are not from `probs`: in [0, 1].

    1 - F(x; cells - 1, λ) with F the noncentral chi-square law, λ = n Σ (law - probs)²/probs and x the test's critical
    value. The first order in the difference of the two laws: accurate for small ones. A token that `probs` never gives
    is seen at once. Source: Patnaik 1949, Biometrika 36(1/2), section 6.
    """
    from scipy.special import chdtri, chndtr

    given, expected = theory.check_laws(law, probs)
    if given.ndim != 1:
        raise ConfigError(f"power takes two laws of one position, [V], got shape {given.shape}")
    whole("n", n, 0, _CERTAIN_COUNT)
    _check_chances(level)
    unseen = float(np.exp(n * np.log1p(-min(1 - 1e-16, given[expected == 0].sum()))))
    cells = _cells(expected, n)
    got, told = _pooled(given, cells), _pooled(expected, cells)
    if len(told) < 2:
        return 1.0 - unseen
    noncentrality = min(_CERTAIN, float(n * ((got - told) ** 2 / told).sum()))
    critical = chdtri(len(told) - 1, level)
    return 1.0 - unseen * float(chndtr(critical, len(told) - 1, noncentrality))


def samples_needed(law: npt.ArrayLike, probs: npt.ArrayLike, *, level: float = LEVEL, wanted: float = POWER) -> float:
    """How many samples from `law` the test at that level needs to see the difference so often; inf for equal laws.

    Solves power(n) = wanted, that is n = λ / Σ (law - probs)²/probs with the λ at which the noncentral chi-square law
    leaves 1 - wanted below the critical value; cells are pooled as the test itself would pool them at that n.
    """
    _check_chances(level, wanted)
    given, _ = theory.check_laws(law, probs)
    if given.ndim != 1:
        raise ConfigError(f"samples_needed takes two laws of one position, [V], got shape {given.shape}")
    if theory.total_variation(law, probs) <= _SAME:
        return math.inf
    enough = 1
    while power(law, probs, enough, level) < wanted:
        enough *= 2
        if enough > 1e18:
            return math.inf
    too_few = enough // 2
    while enough - too_few > max(1, enough // 2000):
        middle = (too_few + enough) // 2
        if power(law, probs, middle, level) < wanted:
            too_few = middle
        else:
            enough = middle
    return float(enough)


def noncentrality(n_cells: int, *, level: float = LEVEL, wanted: float = POWER) -> float:
    """λ at which the noncentral chi-square law leaves 1 - wanted below the test's critical value. n_cells: 2 or more.

    n Σ (law - probs)²/probs = λ then gives the samples needed, all cells being large enough. Source: as in `power`.
    """
    whole("n_cells", n_cells, 2)
    _check_chances(level, wanted)
    from scipy.special import chdtri, chndtrinc

    return float(chndtrinc(chdtri(n_cells - 1, level), n_cells - 1, 1.0 - wanted))


def expected_divergence(size: int, n: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """(V - 1)/(2 n): the mean of KL(empirical ‖ law) over n samples from a law with V tokens, to first order in 1/n.

    2 n KL is the likelihood-ratio statistic, whose limit is chi-square with V - 1 degrees of freedom.
    Source: Wilks 1938, Annals of Mathematical Statistics 9(1).
    """
    samples = numbers("n", n)
    require("n", samples, samples >= 1, "must be at least 1")
    return np.asarray((whole("size", size, 1) - 1) / 2 / samples)


def divergence(counts: Integers, probs: npt.ArrayLike) -> float:
    """KL(empirical ‖ law) in nats; infinite where a token came that the law never gives, NaN for no counts."""
    seen = numbers("counts", counts)
    if seen.ndim != 1:
        raise ConfigError(f"divergence takes the counts of one law, [V], got shape {seen.shape}")
    require("counts", seen, (seen >= 0) & (seen <= _CERTAIN_COUNT), "must be counts, at least 0")
    n = seen.sum()
    return float(theory.kl_divergence(seen / n, probs)) if n else math.nan


def _check_chances(*chances: float) -> None:
    for chance in chances:
        if not (is_real(chance) and 0 < chance < 1):
            raise ConfigError(f"level and wanted must lie in (0, 1), got {brief(chance)}")


def _cells(law: Floats, n: int) -> Integers:
    """The cell of each token, [V]: -1 where it cannot come, 0 for all rare ones together where there are any."""
    cells = np.full(len(law), -1, dtype=np.int64)
    order = np.argsort(law, kind="stable")
    order = order[law[order] > 0]
    rare = int((n * law[order] < LEAST_EXPECTED).sum())
    while 0 < rare < len(order) and n * law[order[:rare]].sum() < LEAST_EXPECTED:
        rare += 1
    cells[order] = np.maximum(0, np.arange(len(order)) - max(rare - 1, 0))
    return cells


def _pooled(values: npt.NDArray[Any], cells: Integers) -> Floats:
    return np.bincount(cells[cells >= 0], weights=values[cells >= 0]).astype(np.float64)
