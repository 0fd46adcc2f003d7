"""How one token is drawn and judged. The accept rule is `verify`; the decoder calls it, and so do the labs.

p is the target's law and q the draft's. Laws are float64 numpy arrays over the vocabulary. Every draw is inverse-CDF
from a uniform that the caller hands in, so each function here is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specviz.errors import ConfigError, LogitsError, brief
from specviz.records import Sampling, Source, is_real, is_whole

Floats = npt.NDArray[np.float64]


class Verdict(NamedTuple):
    """What one target pass decides: how many drafts stand, the token after them, and the law it came from."""

    n_accepted: int
    token: int
    source: Source


def warp(logits: npt.ArrayLike, sampling: Sampling) -> Floats:
    """The law that the sampling settings make of the logits. [..., V] -> [..., V], float64, each row sums to 1.

    Temperature first, then top-k, top-p, min-p, each on what the one before it left. Temperature 0 gives an exact
    one-hot at the best logit (the first of equals). -inf is a legal logit: the token has probability 0.
    Raises LogitsError on NaN, on +inf, and where no token has a finite logit.
    """
    values = np.asarray(logits)
    best = values.max(axis=-1, keepdims=True)  # NaN and +inf both show in it
    if not np.isfinite(best).all():
        raise LogitsError(_not_a_law(best))
    if sampling.greedy:
        law = np.zeros(values.shape)
        law.reshape(-1, values.shape[-1])[np.arange(best.size), values.argmax(axis=-1).ravel()] = 1.0
        return law
    with np.errstate(over="ignore"):  # a temperature near 0 sends far logits to -inf, which is their right place
        probs = np.subtract(values, best, dtype=np.float64)
        probs /= sampling.temperature
    if sampling.top_k is not None and sampling.top_k < values.shape[-1]:
        kept = _best(values, sampling.top_k)  # the others' exp, the dearest step, would be thrown away
        probs = np.exp(probs, out=np.zeros_like(probs), where=kept)
    else:
        np.exp(probs, out=probs)
    probs /= probs.sum(axis=-1, keepdims=True)
    if sampling.top_p is not None and sampling.top_p < 1:
        probs = _normalised(np.where(_nucleus(probs, values.astype(np.float64), sampling.top_p), probs, 0.0))
    if sampling.min_p is not None and sampling.min_p > 0:
        probs = _normalised(np.where(probs >= sampling.min_p * probs.max(axis=-1, keepdims=True), probs, 0.0))
    return probs


def draw(probs: Floats, u: float) -> int:
    """The token whose stretch of the cumulative law holds u. [V], u in [0, 1). Never a token of probability 0."""
    cumulative = probs.cumsum()
    token = int(cumulative.searchsorted(u * cumulative[-1], side="right"))
    return token if token < len(probs) else int(np.flatnonzero(probs)[-1])  # u * total may round up to total


def accept_prob(target_prob: float, draft_prob: float) -> float:
    """min(1, p/q), and 0 where p is 0. Source: Leviathan et al. 2023 (arXiv 2211.17192), section 2.3."""
    return 1.0 if target_prob >= draft_prob and target_prob > 0 else float(target_prob / (draft_prob or 1.0))


def residual(target_probs: Floats, draft_probs: Floats) -> Floats:
    """norm(max(0, p - q)): the law of the token that replaces a rejected one. [..., V] -> [..., V].

    Where nothing is left (p equals q up to rounding) it is p itself, so a rejection there still emits from the target.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), section 2.3 and appendix A.1.
    """
    left = np.maximum(target_probs - draft_probs, 0.0)
    mass = left.sum(axis=-1, keepdims=True)
    if (mass > 0).all():
        return left / mass
    return np.where(mass > 0, left / np.where(mass > 0, mass, 1.0), target_probs)


def verify(
    target_probs: npt.ArrayLike,
    draft_probs: npt.ArrayLike,
    draft_tokens: Sequence[int] | npt.NDArray[np.integer],
    r: npt.ArrayLike,
    u: float,
) -> Verdict:
    """Judge K drafted tokens from the left and draw the token that follows. The accept rule of this project.

    Token i stands when r[i] < min(1, p/q). At the first that does not, the residual law gives its replacement;
    when all stand, p at position K + 1 gives the bonus token.

    target_probs: [K + 1, V]. draft_probs: [K, V], the laws the tokens were drawn from. draft_tokens: [K].
    r: [K] uniforms in [0, 1). u: the final draw's uniform in [0, 1). K may be 0.
    Raises ConfigError when the shapes do not fit, or a row is no law, or a uniform lies outside [0, 1).
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1; strict "<" since r can be exactly 0.
    """
    try:
        p, q, r = (np.asarray(a, dtype=np.float64) for a in (target_probs, draft_probs, r))
        n_drafts = len(draft_tokens)
    except Exception:  # no numbers, a ragged list, or whatever something that is no array raises
        raise ConfigError("verify needs arrays of numbers: laws, token ids and uniforms") from None
    if (
        p.ndim != 2
        or len(p) != n_drafts + 1
        or r.shape != (n_drafts,)
        or (n_drafts and q.shape != (n_drafts, p.shape[1]))
    ):
        raise ConfigError(
            f"verify needs target_probs [K + 1, V], draft_probs [K, V], draft_tokens [K] and r [K]; "
            f"got {p.shape}, {q.shape}, ({n_drafts},) and {r.shape}"
        )
    if not (_are_laws(p) and _are_laws(q) and ((r >= 0) & (r < 1)).all() and is_real(u) and 0 <= u < 1):
        raise ConfigError("verify needs laws that sum to 1, and uniforms r and u in [0, 1)")
    for i, token in enumerate(draft_tokens):
        if not (is_whole(token) and 0 <= token < p.shape[1]):
            raise ConfigError(f"draft_tokens must be ids from 0 to {p.shape[1] - 1}, got {brief(token)}")
        if not r[i] < accept_prob(p[i, token], q[i, token]):
            return Verdict(i, draw(residual(p[i], q[i]), u), "residual")
    return Verdict(n_drafts, draw(p[n_drafts], u), "bonus")


def top2_gap(logits: npt.ArrayLike) -> Floats:
    """The best logit less the second best, [..., V] -> [...]. Near 0 it is a tie that rounding may turn over."""
    values = np.array(logits, dtype=np.float64)
    top = values.argmax(axis=-1, keepdims=True)
    best = np.take_along_axis(values, top, axis=-1)
    np.put_along_axis(values, top, -np.inf, axis=-1)
    return (best - values.max(axis=-1, keepdims=True))[..., 0]


def _best(values: Floats, k: int) -> npt.NDArray[np.bool_]:
    """Where the k greatest values of each row are; equals by id. A partition: sorting a large vocabulary is slow."""
    least = np.partition(values, -k, axis=-1)[..., -k, None]
    above, equal = values > least, values == least
    return above | (equal & (equal.cumsum(axis=-1) <= k - above.sum(axis=-1, keepdims=True)))


def _nucleus(probs: Floats, values: Floats, top_p: float) -> npt.NDArray[np.bool_]:
    """Where the smallest set of best tokens is whose mass reaches top_p; equals by id.

    Tokens below (1 - top_p) / V hold less than 1 - top_p together, so the set is full before them: they are not sorted.
    """
    kept = np.zeros(probs.shape, dtype=bool)
    for row in np.ndindex(probs.shape[:-1]):
        tokens = np.flatnonzero(probs[row] >= (1 - top_p) / probs.shape[-1])
        tokens = tokens[np.argsort(-values[row][tokens], kind="stable")]
        mass = probs[row][tokens]
        kept[row][tokens[mass.cumsum() - mass < top_p]] = True
    return kept


def _are_laws(probs: Floats) -> bool:
    sums = probs.sum(axis=-1)
    return bool((np.abs(sums - 1.0) < 1e-6).all() and probs.min(initial=0.0) >= 0)  # False for NaN


def _not_a_law(best: Floats) -> str:
    row = int(np.flatnonzero(~np.isfinite(best.ravel()))[0])
    value = best.ravel()[row]
    what = "NaN" if np.isnan(value) else "+infinity" if value > 0 else "no possible token (all -infinity)"
    return f"the logits of row {row} hold {what}, which is no law"


def _normalised(weights: Floats) -> Floats:
    return weights / weights.sum(axis=-1, keepdims=True)
