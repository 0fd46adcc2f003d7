"""One round of given numbers: two laws, the drafted tokens, the r's and the last u. Played as the decoder plays one.

The verdict is `sampling.verify`'s and the record the decoder's own `Recorder`'s, so that what is worked out by hand
is shown, exported and replayed as a real round is. The laws are the same at every place, as in a lesson on paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import cast

import numpy as np

from specviz import theory
from specviz.errors import ConfigError, brief
from specviz.models.vocabulary import Vocabulary
from specviz.prompts import is_unicode
from specviz.recording import Recorder
from specviz.records import CacheWork, Round, Sampling, Trace, is_real, is_whole
from specviz.sampling import Floats, residual, verify

MOST_TOKENS, MOST_DRAFTS = 8, 8
DRAFT_PASS_S = (
    0.001  # a draft pass by hand takes no time; the record holds 1 ms for it, and c times that for a target pass
)


_DEAREST = 10**9  # c


@dataclass(frozen=True, slots=True)
class Given:
    """What a round is made of. names: the tokens. target_probs, draft_probs: p and q over them, the same at each place.

    draft: the drafted tokens' ids, 1 to MOST_DRAFTS, each with q > 0. r: one for each, in [0, 1). u: the final draw's,
    in [0, 1). cost_ratio: c = T_p/T_q > 0.
    Raises ConfigError where one of these does not hold.
    """

    names: tuple[str, ...]
    target_probs: tuple[float, ...]
    draft_probs: tuple[float, ...]
    draft: tuple[int, ...]
    r: tuple[float, ...]
    u: float
    cost_ratio: float

    def __post_init__(self) -> None:
        for name in ("names", "target_probs", "draft_probs", "draft", "r"):
            if not isinstance(getattr(self, name), list | tuple):
                raise ConfigError(f"{name} must be a list, got {brief(getattr(self, name))}")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        n, k = len(self.names), len(self.draft)
        texts = all(isinstance(name, str) and name and is_unicode(name) for name in self.names)
        if not (1 <= n <= MOST_TOKENS and texts and len(set(self.names)) == n):
            raise ConfigError(f"names must be 1 to {MOST_TOKENS} different texts, got {brief(self.names)}")
        if not len(self.target_probs) == len(self.draft_probs) == n:
            raise ConfigError(
                f"target_probs and draft_probs must hold one probability for each of the {n} tokens, "
                f"got {len(self.target_probs)} and {len(self.draft_probs)}"
            )
        theory.check_laws(self.target_probs, self.draft_probs)
        if not (1 <= k <= MOST_DRAFTS and len(self.r) == k):
            raise ConfigError(
                f"a round takes 1 to {MOST_DRAFTS} draft tokens and one r for each, got {k}, {len(self.r)}"
            )
        for token in self.draft:
            if not (is_whole(token) and 0 <= token < n and self.draft_probs[token] > 0):
                raise ConfigError(f"draft must hold ids of tokens with q > 0, got {brief(token)}")
        if not all(is_real(uniform) and 0 <= uniform < 1 for uniform in (*self.r, self.u)):
            raise ConfigError(f"r and u must lie in [0, 1), got {brief(self.r)} and {brief(self.u)}")
        if not (is_real(self.cost_ratio) and self.cost_ratio <= _DEAREST):
            raise ConfigError(f"cost_ratio (c) must be a number up to {_DEAREST:,}, got {brief(self.cost_ratio)}")
        theory.speedup(0.5, self.cost_ratio, k)

    @property
    def draft_length(self) -> int:
        return len(self.draft)

    def label(self, token: int) -> str:
        return self.names[token]

    def to_bytes(self, token: int) -> bytes:
        return self.names[token].encode()


@dataclass(frozen=True, slots=True)
class Worked:
    """The round, played, and what the formulas say of it.

    alpha: Σ min(p, q). residual: norm(max(0, p - q)), p itself where nothing is left. expected_tokens: E[N].
    speedup: E[N] c / (c + K).
    """

    given: Given
    trace: Trace
    alpha: float
    residual: tuple[float, ...]
    expected_tokens: float
    speedup: float

    @property
    def round(self) -> Round:
        return self.trace.rounds[0]

    @property
    def left(self) -> tuple[float, ...]:
        """max(0, p - q), the residual before it is scaled. It sums to 1 - α, and to 0 where the laws are equal."""
        given = self.given
        return tuple(max(0.0, p - q) for p, q in zip(given.target_probs, given.draft_probs, strict=True))

    @property
    def rejected(self) -> bool:
        """Whether a draft was rejected, so that the final draw came from the residual."""
        return not self.round.trials[-1].accepted

    @property
    def final_law(self) -> tuple[float, ...]:
        """The law that the final draw came from: the residual, or p after all drafts were accepted."""
        return self.residual if self.rejected else self.given.target_probs


@lru_cache(maxsize=64)
def work(given: Given) -> Worked:
    """Play the round and take the formulas' numbers.

    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1, Corollary 3.6, Eq. (1) and Theorem 3.8.
    """
    p, q, k = given.target_probs, given.draft_probs, given.draft_length
    alpha = theory.alpha(p, q)
    return Worked(
        given=given,
        trace=play(given),
        alpha=alpha,
        residual=tuple(theory.residual(p, q).tolist()),
        expected_tokens=theory.expected_tokens(alpha, k),
        speedup=theory.speedup(alpha, given.cost_ratio, k),
    )


def play(given: Given) -> Trace:
    """The round as a trace of one round, cut there.

    Each draft's own uniform is the middle of its token's stretch of q. The text before the round is left out: no
    prompt, and the caches' work is that of the round's K drafts. Times are in units: DRAFT_PASS_S for a draft pass and
    c times that for the target's.
    """
    p, q = np.asarray(given.target_probs), np.asarray(given.draft_probs)
    k, draft = given.draft_length, list(given.draft)
    target_probs, draft_probs = np.tile(p, (k + 1, 1)), np.tile(q, (k, 1))
    r = np.asarray(given.r, dtype=np.float64)
    recorder = Recorder(cast(Vocabulary, given), (), (), frozenset())
    draft_s, verify_s = k * DRAFT_PASS_S, given.cost_ratio * DRAFT_PASS_S
    played = recorder.record(
        logits=None,
        target_probs=target_probs,
        draft_probs=draft_probs,
        drafts=draft,
        draft_uniforms=[middle(q, token) for token in draft],
        verdict=verify(target_probs, draft_probs, draft, r, given.u),
        r=r,
        u=given.u,
        draft_cache=CacheWork(fed=k - 1),
        target_cache=CacheWork(fed=k),
        clock=(0.0, draft_s, draft_s + verify_s),
    ).round
    round_ = replace(played, draft_s=draft_s, verify_s=verify_s, round_s=draft_s + verify_s)
    return Trace(
        target="p",
        draft="q",
        sampling=Sampling(),
        draft_length=k,
        max_new_tokens=k + 1,
        seed=0,
        stop=(),
        prompt="",
        prompt_tokens=(),
        rounds=(round_,),
        text=recorder.text,
        stop_reason="length" if len(round_.emitted) == k + 1 else "cancelled",
        total_s=round_.round_s,
    )


def middle(law: Floats, token: int) -> float:
    """The uniform in the middle of the token's stretch of the cumulative law, so that it is the one drawn. [V]"""
    return float(law[:token].sum() + law[token] / 2)


def final_law(given: Given) -> Floats:
    """The law that the final draw comes from, which the r's decide: the residual, or p. [V]"""
    p, q = np.asarray(given.target_probs), np.asarray(given.draft_probs)
    k = given.draft_length
    verdict = verify(np.tile(p, (k + 1, 1)), np.tile(q, (k, 1)), given.draft, given.r, 0.0)
    return residual(p, q) if verdict.source == "residual" else p
