"""The chi-square tails beside scipy's, over laws that the pages and more than they use."""

import math

import numpy as np
import pytest
from scipy import special

from specviz.simulation import tails

DEGREES = (1, 2, 3, 4, 5, 10, 23, 24, 63, 200, 1001)
NONCENTRALITIES = (0.0, 1e-3, 0.5, 3.0, 40.0, 700.0, 1e4)


@pytest.mark.parametrize("df", DEGREES)
def test_a_tail_is_that_of_scipy_however_small(df):
    for x in df * np.geomspace(0.01, 20, 60):
        expected = float(special.chdtrc(df, x))
        if expected > 1e-290:  # nearer to 0 a float has fewer digits
            assert tails.above(float(x), df) == pytest.approx(expected, rel=1e-11)  # the worst measured: 2e-12


def test_a_tail_begins_at_1_and_ends_at_0():
    for df in DEGREES:
        assert tails.above(0.0, df) == 1.0
        assert tails.above(math.inf, df) == 0.0
        assert 0.0 <= tails.above(1e-300, df) <= 1.0


@pytest.mark.parametrize("df", DEGREES)
def test_the_critical_value_is_that_of_scipy(df):
    for level in (0.9, 0.5, 0.05, 0.01, 1e-6):
        assert tails.critical(level, df) == pytest.approx(float(special.chdtri(df, level)), rel=1e-12)


@pytest.mark.parametrize("df", DEGREES)
def test_the_noncentral_law_is_that_of_scipy(df):
    for noncentrality in NONCENTRALITIES:
        for x in (df + noncentrality) * np.array([0.3, 0.9, 1.0, 1.1, 2.0]):
            expected = float(special.chndtr(x, df, noncentrality))
            assert tails.below(float(x), df, noncentrality) == pytest.approx(expected, abs=1e-10)  # measured: 2e-11
    assert tails.below(0.0, df, 1.0) == 0.0


@pytest.mark.parametrize("df", DEGREES)
def test_the_noncentrality_of_a_chance_is_that_of_scipy(df):
    x = tails.critical(0.01, df)
    for wanted in (0.05, 0.5, 0.99):
        expected = float(special.chndtrinc(x, df, 1 - wanted))
        assert tails.noncentrality(1 - wanted, x, df) == pytest.approx(expected, rel=1e-9)
