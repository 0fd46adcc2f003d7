"""Two laws at one position: their overlap, their distance, and what replaces a rejected token."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specviz import sampling
from specviz.errors import ConfigError, brief
from specviz.records import Sampling
from specviz.sampling import Floats
from specviz.theory.checks import Numbers, check_laws, numbers, plain


class Normalised(NamedTuple):
    """A law made of weights: each was divided by their total, in which n_cleared of them count as 0."""

    probs: Floats  # [V]
    n_cleared: int
    total: float


def normalised(weights: npt.ArrayLike) -> Normalised:
    """The law that is proportional to the weights, [V]; the uniform law where all of them are 0.

    A weight below 0, infinite or NaN counts as 0. Raises ConfigError where there is no weight at all.
    """
    values = numbers("weights", weights)
    if values.ndim != 1 or not values.size:
        raise ConfigError(f"weights must be a list of at least one number, got shape {values.shape}")
    kept = np.where(np.isfinite(values) & (values >= 0), values, 0.0)
    most = float(kept.max())
    if most == 0:
        return Normalised(np.full(len(kept), 1 / len(kept)), int((kept != values).sum()), 0.0)
    scaled = kept / most  # so that the sum of great weights stays finite
    total = most * float(scaled.sum())
    return Normalised(scaled / scaled.sum(), int((kept != values).sum()), total)


def warped(probs: npt.ArrayLike, settings: Sampling) -> Floats:
    """The law that temperature, top-k, top-p and min-p make of a law: `sampling.warp` of its logarithm. [V] -> [V].

    Raises ConfigError when the settings ask for something that depends on a text (`Sampling.by_text`).
    """
    if not isinstance(settings, Sampling):
        raise ConfigError(f"settings must be a Sampling, got {brief(settings)}")
    if settings.by_text:
        raise ConfigError("penalties, bad words and a least length depend on a text, and one law has none")
    law, _ = check_laws(probs, probs)
    with np.errstate(divide="ignore"):  # log 0 = -inf: still a token that cannot come
        return sampling.warp(np.log(law), settings)


def alpha(target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> Numbers:
    """Σ min(p, q), the probability that a draft from q is accepted, in [0, 1]. [..., V], [..., V] -> [...].

    At one position it is the paper's β; its mean over positions is α.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Theorem 3.5 and Corollary 3.6.
    """
    p, q = check_laws(target_probs, draft_probs)
    return plain(np.minimum(1.0, np.minimum(p, q).sum(axis=-1)))  # equal laws may sum to 1 + 2e-16


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
    return plain(np.minimum(1.0, 0.5 * np.abs(p - q).sum(axis=-1)))


def kl_divergence(target_probs: npt.ArrayLike, draft_probs: npt.ArrayLike) -> Numbers:
    """KL(p ‖ q) = Σ p ln(p/q) in nats, in [0, inf]; infinite where q lacks a token of p. Shapes as in `alpha`."""
    p, q = check_laws(target_probs, draft_probs)
    with np.errstate(divide="ignore"):  # log 0 = -inf: a token that q never gives
        terms = p * (np.log(np.where(p > 0, p, 1.0)) - np.log(np.where(p > 0, q, 1.0)))
    return plain(np.maximum(0.0, terms.sum(axis=-1)))
