"""Rounds where every position has the same two laws: what a round adds on average, token by token."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from specviz import theory
from specviz.errors import ConfigError, brief
from specviz.exact.position import known_rule, known_temperature, place, some_mass
from specviz.records import is_whole
from specviz.sampling import Floats
from specviz.theory.checks import whole


def round_counts(
    target_probs: npt.ArrayLike,
    draft_probs: npt.ArrayLike,
    draft_length: int,
    rule: str = "exact",
    *,
    draft_temperature: float = 0.5,
) -> Floats:
    """How many of each token a round adds on average, [V]: their sum is E[N] under that rule. [V], [V] -> [V].

    Position i is reached when all before it stood; it keeps its draft or draws the replacement, and behind K drafts
    that stand comes the bonus from p. "first_token_unseen" spares the first position alone. draft_length: K >= 1.
    draft_temperature: as in `emitted_law`. Raises ConfigError.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1, with one law at all positions.
    """
    p, q = theory.check_laws(target_probs, draft_probs)
    if p.ndim != 1 or not (is_whole(draft_length) and draft_length >= 1):
        raise ConfigError(
            f"round_counts takes laws of shape [V] and a whole K of at least 1, got {p.shape} and {brief(draft_length)}"
        )
    draft_length = whole("draft_length (K)", draft_length, 1)
    first, later = (place(p, q, known_rule(rule), i, known_temperature(draft_temperature)) for i in (True, False))
    counts, reached = np.zeros_like(p), 1.0
    for here in (first, *(later for _ in range(draft_length - 1))):
        counts += reached * (here.kept + here.resampled)
        reached *= float(here.kept.sum())
    return counts + reached * p


def text_law(
    target_probs: npt.ArrayLike,
    draft_probs: npt.ArrayLike,
    draft_length: int,
    rule: str = "exact",
    *,
    draft_temperature: float = 0.5,
) -> Floats:
    """The law of a token picked blindly from a long text of such rounds: `round_counts` over their sum. [V]

    Arguments as in `round_counts`. Raises ConfigError also where "drop_without_resampling" never emits.
    """
    counts = round_counts(target_probs, draft_probs, draft_length, rule, draft_temperature=draft_temperature)
    return counts / some_mass(float(counts.sum()))
