"""How many tokens one target pass gives, when acceptances are independent with one rate."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specviz.errors import ConfigError
from specviz.records import is_whole
from specviz.sampling import Floats
from specviz.theory.checks import Numbers, plain, read


def expected_tokens(alpha: npt.ArrayLike, draft_length: npt.ArrayLike) -> Numbers:
    """Mean tokens emitted per target pass, E[N], in [1, K + 1].

    (1 - α^(K+1)) / (1 - α), and K + 1 when α = 1. Accurate to rounding however near α is to either end.

    alpha: in [0, 1]. draft_length: K >= 0; between whole numbers it is the curve that the formula draws.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Eq. (1).
    """
    return plain(tokens_of(*read(alpha=alpha, draft_length=draft_length)))


def tokens_law(alpha: npt.ArrayLike, draft_length: int) -> Floats:
    """P(N = 1), ..., P(N = K + 1): the law of the tokens emitted per target pass. [...] -> [..., K + 1].

    A geometric law with a cap: α^(n-1) (1 - α) up to n = K, and α^K at n = K + 1. Its mean is `expected_tokens`.

    alpha: in [0, 1]. draft_length: one whole K >= 0.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), section 3.1.
    """
    (rate,) = read(alpha=alpha)
    if not (is_whole(draft_length) and draft_length >= 0):
        raise ConfigError(f"draft_length (K) must be one whole number of at least 0, got {draft_length!r}")
    reached = rate[..., None] ** np.arange(int(draft_length) + 1)  # [..., K + 1], P(N >= n)
    reached[..., :-1] *= 1.0 - rate[..., None]
    return reached


def tokens_of(rate: Floats, k: Floats) -> Floats:
    """`expected_tokens` of arguments that were checked and broadcast already."""
    rejected = 1.0 - rate
    with np.errstate(divide="ignore"):  # log 0 = -inf, and then 1 - α^(K+1) is 1, as it should be
        ended = -np.expm1((k + 1.0) * np.log(rate))  # 1 - α^(K+1), without cancellation near α = 1
    return np.where(rejected > 0, ended / np.where(rejected > 0, rejected, 1.0), k + 1.0)
