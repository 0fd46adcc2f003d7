"""Where the emitted law comes from: what was accepted, and what was resampled after a rejection."""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from specviz import theory
from specviz.errors import ConfigError
from specviz.exact.position import place
from specviz.sampling import Floats


class Parts(NamedTuple):
    """Per token: min(1, p/q), the mass q · min(1, p/q) that is accepted, and the mass that is resampled."""

    accept_prob: Floats  # [V]
    accepted: Floats  # [V]
    resampled: Floats  # [V]


def emitted_parts(target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> Parts:
    """The two masses of each token under the exact rule; they sum to p to rounding, whatever q is. [V], [V] -> 3 x [V].

    Followed draft by draft, as `emitted_law` is. Raises ConfigError on what is no law of one position.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), appendix A.1, carried out with numbers.
    """
    p, q = theory.check_laws(target_probs, draft_probs)
    if p.ndim != 1:
        raise ConfigError(f"emitted_parts takes the two laws of one position, [V], got shape {p.shape}")
    here = place(p, q, "exact", True, 1.0)
    return Parts(here.accept, here.kept, here.resampled)
