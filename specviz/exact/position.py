"""One drafted position: what an accept rule emits there, followed with its probability, draft by draft.

By the very `accept_prob` and `residual` that the decoder uses. The broken rules stand beside the exact one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specviz import theory
from specviz.errors import ConfigError, brief
from specviz.records import Sampling, is_real
from specviz.sampling import Floats, accept_prob, residual, warp

RULES = (
    "exact",
    "always_accept",
    "first_token_unseen",
    "drop_without_resampling",
    "resample_from_target",
    "argmax_verification",
    "mismatched_temperature",
)


class Place(NamedTuple):
    """How one drafted position is decided. replacement None: a rejected token is dropped and nothing drawn for it."""

    drafted: Floats  # [V], the law that the token is drawn from
    accept: Floats  # [V], the probability that it stands
    replacement: Floats | None  # [V]

    @property
    def kept(self) -> Floats:
        """The mass of drafts that stand, by token. [V]"""
        return self.drafted * self.accept

    @property
    def resampled(self) -> Floats:
        """The mass drawn in place of rejected drafts, by token; 0 everywhere where nothing is drawn for them. [V]"""
        if self.replacement is None:
            return np.zeros_like(self.kept)
        return (self.drafted * (1.0 - self.accept)).sum() * self.replacement

    @property
    def emitted(self) -> Floats:
        """The law of the token that leaves the position, played again where a rejection leaves nothing. [V]"""
        if self.replacement is None:
            return self.kept / some_mass(self.kept.sum())
        return self.kept + self.resampled


def emitted_law(
    target_probs: npt.ArrayLike,
    draft_probs: npt.ArrayLike,
    rule: str = "exact",
    *,
    draft_temperature: float = 0.5,
) -> Floats:
    """The law of the token that leaves the first drafted position under a rule of `RULES`. [V], [V] -> [V].

    draft_temperature: for "mismatched_temperature" alone, 0 or more: tokens are drafted from the law ∝ q^(1/T).
    Raises ConfigError on an unknown rule, on what is no law, and where "drop_without_resampling" would never emit.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), appendix A.1, carried out with numbers.
    """
    p, q = theory.check_laws(target_probs, draft_probs)
    if p.ndim != 1:
        raise ConfigError(f"emitted_law takes the two laws of one position, [V], got shape {p.shape}")
    return place(p, q, known_rule(rule), True, known_temperature(draft_temperature)).emitted


def judged_law(drafted_probs: npt.ArrayLike, target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> Floats:
    """The emitted law of the exact rule when tokens are drafted from another law than the q it is told. 3 x [V] -> [V].

    Any mismatch of warps is of this kind: another temperature, a top-k that only the draft's sampler applies.
    Raises ConfigError on what is no law.
    """
    p, q = theory.check_laws(target_probs, draft_probs)
    drafted, p = theory.check_laws(drafted_probs, p)
    if p.ndim != 1:
        raise ConfigError(f"judged_law takes the three laws of one position, [V], got shape {p.shape}")
    return Place(drafted, accept_probs(p, q), residual(p, q)).emitted


def accept_probs(p: Floats, q: Floats) -> Floats:
    """`accept_prob` of each token. [V], [V] -> [V]."""
    return np.array([accept_prob(target_prob, draft_prob) for target_prob, draft_prob in zip(p, q, strict=True)])


def place(p: Floats, q: Floats, rule: str, first: bool, draft_temperature: float) -> Place:
    """first: whether the round judges its first draft here."""
    exact = Place(q, accept_probs(p, q), residual(p, q))
    if rule == "always_accept" or (rule == "first_token_unseen" and first):
        return exact._replace(accept=np.ones_like(q))
    if rule == "drop_without_resampling":
        return exact._replace(replacement=None)
    if rule == "resample_from_target":
        return exact._replace(replacement=p)
    if rule == "argmax_verification":
        best = np.zeros_like(p)
        best[p.argmax()] = 1.0
        return exact._replace(accept=best, replacement=best)
    if rule == "mismatched_temperature":
        with np.errstate(divide="ignore"):  # log 0 = -inf: still a token that cannot come
            return exact._replace(drafted=warp(np.log(q), Sampling(temperature=draft_temperature)))
    return exact


def known_rule(rule: str) -> str:
    if not (isinstance(rule, str) and rule in RULES):
        raise ConfigError(f"rule must be one of {', '.join(RULES)}; got {brief(rule)}")
    return rule


def known_temperature(value: float) -> float:
    try:
        plain = float(value) if is_real(value) else math.nan
    except OverflowError:  # a whole number beyond every double
        plain = math.inf
    if not 0 <= plain < math.inf:
        raise ConfigError(f"draft_temperature must be 0 (greedy) or a positive number, got {brief(value)}")
    return plain


def some_mass(mass: float) -> float:
    if mass == 0:
        raise ConfigError(
            "drop_without_resampling never emits here: the two laws share no token, so every draft is dropped. "
            "Choose laws that overlap."
        )
    return mass
