"""Rounds that can be worked out by hand: laws of one decimal, r's and u of two, none of them near a threshold."""

from __future__ import annotations

import string

import numpy as np

from specviz.byhand import Given, work
from specviz.errors import ConfigError, brief
from specviz.records import is_whole
from specviz.sampling import accept_prob, draw

MOST_SEED = 9999
_COST_RATIOS = (4.0, 5.0, 8.0, 10.0, 20.0)
_NEAR = 0.02  # of a threshold: which side a number falls on must be plain to see
_TRIES = 1000  # a try in four is a good round


def random_round(seed: int) -> Given:
    """The exercise of this number, the same on every machine.

    3 or 4 tokens, q at least 0.1 for each; K = 2 to 4; α from 0.4 to 0.9, so that there is something to reject.
    """
    if not (is_whole(seed) and seed >= 0):
        raise ConfigError(f"seed must be a whole number of at least 0, got {brief(seed)}")
    rng = np.random.default_rng(seed)
    for _ in range(_TRIES):
        n, k = int(rng.integers(3, 5)), int(rng.integers(2, 5))
        q = (1 + rng.multinomial(10 - n, np.full(n, 1 / n))) / 10
        p = rng.multinomial(10, np.full(n, 1 / n)) / 10
        draft = tuple(draw(q, float(u)) for u in rng.random(k))
        r = tuple(float(x) for x in rng.integers(1, 100, k) / 100)
        given = Given(
            names=tuple(string.ascii_uppercase[:n]),
            target_probs=tuple(p.tolist()),
            draft_probs=tuple(q.tolist()),
            draft=draft,
            r=r,
            u=int(rng.integers(1, 100)) / 100,
            cost_ratio=float(rng.choice(_COST_RATIOS)),
        )
        if _is_good(given):
            return given
    raise AssertionError("no good round was found")  # one in four is


def _is_good(given: Given) -> bool:
    worked = work(given)
    tests = [
        abs(r - accept_prob(given.target_probs[t], given.draft_probs[t]))
        for t, r in zip(given.draft, given.r, strict=True)
    ]
    ends = np.abs(np.cumsum(worked.final_law) - given.u)
    return 0.39 < worked.alpha < 0.91 and min(tests) > _NEAR and float(ends.min()) > _NEAR
