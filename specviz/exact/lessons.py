"""Laws, drafts and small pairs to try the rules on, each fixed by a seed or by a number."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from specviz import theory
from specviz.errors import ConfigError, brief
from specviz.models.base import Pair
from specviz.models.toy import TableModel
from specviz.records import is_real, is_whole
from specviz.sampling import Floats
from specviz.theory.checks import one, whole

Worst = Literal["uniform", "upside_down"]


def random_laws(seed: int, size: int, concentration: float = 1.0) -> tuple[Floats, Floats]:
    """p and q over `size` tokens, each drawn from the symmetric Dirichlet law. Two of [V].

    seed: at least 0. size: V >= 1. concentration: above 0; small ones give laws with few likely tokens, great ones
    nearly uniform laws. Raises ConfigError when one is out of range.
    """
    whole_numbers = is_whole(seed) and seed >= 0 and is_whole(size) and size >= 1
    if not (whole_numbers and is_real(concentration) and 1e-3 <= concentration <= 1e6):
        raise ConfigError(
            "random_laws needs a seed of at least 0, a size of at least 1 and a concentration from 0.001 to 1,000,000; "
            f"got {brief(seed)}, {brief(size)} and {brief(concentration)}"
        )
    seed, size = whole("seed", seed, 0, 2**63 - 1), whole("size", size, 1)
    p, q = np.random.default_rng(seed).dirichlet(np.full(size, float(concentration)), 2)
    return p, q


def random_pair(seed: int, vocab_size: int = 3, likeness: float = 0.5) -> Pair:
    """Two table models whose laws depend on the last two tokens, fixed by the seed.

    likeness: in [0, 1], the target's share in the draft's law: 1 makes them equal, 0 independent.
    """
    rng, vocab_size = np.random.default_rng(whole("seed", seed, 0, 2**63 - 1)), whole("vocab_size", vocab_size, 1, 100)
    if not (is_real(likeness) and 0 <= likeness <= 1):
        raise ConfigError(f"likeness must lie in [0, 1], got {brief(likeness)}")
    target = rng.dirichlet(np.ones(vocab_size), (vocab_size, vocab_size))  # [V, V, V]: a row per two last tokens
    draft = likeness * target + (1 - likeness) * rng.dirichlet(np.ones(vocab_size), (vocab_size, vocab_size))
    return Pair(
        target=TableModel(lambda tokens: target[tokens[-2:][0], tokens[-1]], vocab_size, name="target"),
        draft=TableModel(lambda tokens: draft[tokens[-2:][0], tokens[-1]], vocab_size, name="draft"),
    )


def worse_draft(
    target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike, share: float, worst: Worst = "uniform"
) -> Floats:
    """(1 - share) q + share w: the draft mixed with a bad one. [V], [V] -> [V].

    share: in [0, 1]. worst: w is the uniform law, or p upside down: p's most probable token gets the least of its
    probabilities, and so on. Raises ConfigError on what is no law or no share.
    """
    p, q = theory.check_laws(target_probs, draft_probs)
    if p.ndim != 1:
        raise ConfigError(f"worse_draft takes the two laws of one position, [V], got shape {p.shape}")
    if not isinstance(worst, str) or worst not in ("uniform", "upside_down"):
        raise ConfigError(f"worst must be uniform or upside_down, got {brief(worst)}")
    (share,) = one(share=share)
    bad = np.full(p.shape, 1 / p.shape[-1])
    if worst == "upside_down":
        bad[np.argsort(p, kind="stable")] = np.sort(p)[::-1]
    return (1 - share) * q + share * bad
