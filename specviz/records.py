"""What happened, as frozen records: one `Trace` is a run, its `Round`s hold every number that decided it.

    Trace ── Sampling
      └── Round ── Node ── Candidate      a drafted token, and the laws at its place
            ├───── Trial                  one judgement of one node
            ├───── FinalDraw ── Candidate the residual or bonus draw that ends the round
            └───── CacheWork              tokens reused, fed and dropped, per model

A round is a pure function of the two models' laws and its uniforms, and all uniforms are here: a trace replays from
its own record. p is the target's law and q the draft's, after the warp (`Sampling`), in float64.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from numbers import Integral, Real
from typing import IO, TYPE_CHECKING, Literal

from specviz.errors import ConfigError, brief

if TYPE_CHECKING:
    import os

    import pandas

SCHEMA_VERSION = 1

_WARP: tuple[tuple[str, type, float, float, str], ...] = (  # field, its type, least, most, what is allowed
    ("temperature", float, 0, sys.float_info.max, "be 0 (greedy) or a positive number"),
    ("top_k", int, 1, 2**63 - 1, "be a whole number of at least 1, or None for no limit"),
    ("top_p", float, math.ulp(0.0), 1, "lie in (0, 1], or be None for no limit"),
    ("min_p", float, 0, 1, "lie in [0, 1], or be None for no limit"),
    ("repetition_penalty", float, 1e-6, 1e6, "lie in [0.000001, 1000000], or be None for none"),
    ("presence_penalty", float, -1e6, 1e6, "lie in [-1000000, 1000000], or be None for none"),
    ("frequency_penalty", float, -1e6, 1e6, "lie in [-1000000, 1000000], or be None for none"),
    ("min_new_tokens", int, 0, 2**63 - 1, "be a whole number of at least 0, or None for no limit"),
)

Source = Literal["residual", "bonus"]
StopReason = Literal["eos", "length", "stop", "context", "cancelled"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """The warp that turns logits into a law, the same for both models.

    temperature: 0 or more; 0 is greedy (exact one-hot laws). top_k: at least 1. top_p: in (0, 1]. min_p: in [0, 1].
    Before these, by the text so far: repetition_penalty divides positive logits of tokens in prompt or output
    and multiplies negative ones; presence_penalty comes off the logit of each token in the output, frequency_penalty
    as often as it is there; min_new_tokens, before which no end token comes; bad_words, alone or after a blank.
    None leaves one out. Raises ConfigError when one is out of range.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    min_new_tokens: int | None = None
    bad_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        words = self.bad_words
        if not (isinstance(words, tuple | list) and all(isinstance(word, str) and word for word in words)):
            raise ConfigError(f"bad_words must be a list of non-empty texts, got {brief(words)}")
        object.__setattr__(self, "bad_words", tuple(words))
        for name, kind, least, most, allowed in _WARP:
            value = getattr(self, name)
            if value is None and name != "temperature":
                continue
            right_kind = is_whole(value) if kind is int else is_real(value)
            try:
                plain = kind(value) if right_kind else math.nan  # numpy's numbers become Python's
            except (OverflowError, ValueError):
                plain = math.nan
            if not least <= plain <= most:
                raise ConfigError(f"{name} must {allowed}, got {brief(value)}")
            object.__setattr__(self, name, plain)

    @property
    def greedy(self) -> bool:
        return self.temperature == 0

    @property
    def by_text(self) -> bool:
        """Whether the text so far changes the law."""
        asked = self.repetition_penalty, self.presence_penalty, self.frequency_penalty, self.min_new_tokens
        return any(asked) or bool(self.bad_words)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row of what a viewer sees at a position: a token and its probability under each law.

    residual_prob is its share of norm(max(0, p - q)). At the bonus position there is no draft law: draft_prob is 0
    and the residual is p itself.
    """

    token: int
    text: str
    target_prob: float
    draft_prob: float
    residual_prob: float


@dataclass(frozen=True, slots=True)
class Node:
    """One drafted token. A chain is the tree with one child per node: several drafts at one place fit the same record.

    parent: index of the node before it in `Round.nodes`, None at the first place. depth: 1..K.
    uniform: the number in [0, 1) it was drawn with. draft_prob: q(token) under the very law it was drawn from.
    below: that law's mass on smaller ids; the token's stretch of the cumulative law is [below, below + draft_prob).
    beta: Σ min(p, q) at its place, the probability that a draft from q is accepted there.
    target_gap: in greedy runs, the target's best logit less its second best (a near tie explains a difference).
    candidates: the most probable tokens of either law there, best target first; the drafted token is among them.
    """

    parent: int | None
    depth: int
    token: int
    text: str
    uniform: float
    below: float
    draft_prob: float
    beta: float
    target_gap: float | None
    candidates: tuple[Candidate, ...]

    @property
    def candidate(self) -> Candidate:
        """The drafted token's own row among the candidates."""
        return next(c for c in self.candidates if c.token == self.token)


@dataclass(frozen=True, slots=True)
class Trial:
    """One judgement: accepted exactly when r < accept_prob = min(1, p/q). A node without a trial was never judged."""

    node: int
    target_prob: float
    accept_prob: float
    r: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class FinalDraw:
    """The draw that ends a round: from the residual after a rejection, from p itself (the bonus) otherwise.

    prob: the token's probability under the law it was drawn from. below: that law's mass on smaller ids.
    candidates: as in `Node`; the rejected token that it replaces is among them too.
    """

    token: int
    text: str
    source: Source
    uniform: float
    below: float
    prob: float
    target_gap: float | None
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class CacheWork:
    """Tokens that a model's KV cache reused, was fed, and dropped."""

    reused: int = 0
    fed: int = 0
    dropped: int = 0

    def __sub__(self, other: CacheWork) -> CacheWork:
        return CacheWork(self.reused - other.reused, self.fed - other.fed, self.dropped - other.dropped)


@dataclass(frozen=True, slots=True)
class Round:
    """Draft K tokens, verify them in one target pass, accept from the left, draw one more.

    start: how many tokens (prompt included) stood before the round.
    final: None when the text ended inside the accepted block (an end token or a stop string).
    pieces: what each emitted token added to the text; a token that is half a character adds nothing yet. A stop string
    is still in them (it may begin rounds before it is complete); `Trace.text` ends before it.
    draft_s, verify_s: seconds until the drafts stood (K passes, their warps and draws) and until the target's laws did
    (one pass, its warp); round_s: the whole round, this record included.
    nodes: fewer than K near the end of the text, and none where the draft's own context is full.
    """

    index: int
    start: int
    nodes: tuple[Node, ...]
    trials: tuple[Trial, ...]
    final: FinalDraw | None
    pieces: tuple[str, ...]
    draft_cache: CacheWork
    target_cache: CacheWork
    draft_s: float
    verify_s: float
    round_s: float

    @property
    def accepted(self) -> tuple[int, ...]:
        """Ids of the accepted drafts, in order."""
        return tuple(self.nodes[t.node].token for t in self.trials if t.accepted)

    @property
    def emitted(self) -> tuple[int, ...]:
        """Ids that the round added: the accepted drafts, then the final draw."""
        return self.accepted if self.final is None else (*self.accepted, self.final.token)


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole run. `draft` is None and `draft_length` 0 when the target decoded alone.

    tokens: the new ids, the ending EOS included; text leaves it out, and stops before a stop string.
    stop_reason: "eos" | "length" | "stop" (a stop string) | "context" (the model's context is full) | "cancelled".
    """

    target: str
    draft: str | None
    sampling: Sampling
    draft_length: int
    max_new_tokens: int
    seed: int
    stop: tuple[str, ...]
    prompt: str
    prompt_tokens: tuple[int, ...]
    rounds: tuple[Round, ...]
    text: str
    stop_reason: StopReason
    total_s: float
    schema_version: int = SCHEMA_VERSION

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(token for round_ in self.rounds for token in round_.emitted)

    @property
    def n_drafted(self) -> int:
        return sum(len(r.nodes) for r in self.rounds)

    @property
    def n_judged(self) -> int:
        return sum(len(r.trials) for r in self.rounds)

    @property
    def n_accepted(self) -> int:
        return sum(len(r.accepted) for r in self.rounds)

    def to_frame(self) -> pandas.DataFrame:
        """One row per drafted position and one per final draw; see `specviz.export.to_frame` for the columns."""
        from specviz import export

        return export.to_frame(self)

    def to_csv(self, path_or_buffer: str | os.PathLike[str] | IO[str] | None = None) -> str | None:
        """Write `to_frame()` as CSV; without an argument return it as text."""
        from specviz import export

        return export.to_csv(self, path_or_buffer)

    def to_json(self, path_or_buffer: str | os.PathLike[str] | IO[str] | None = None) -> str | None:
        """Write the whole trace as JSON; without an argument return it as text. `Trace.from_json` reads it back."""
        from specviz import export

        return export.to_json(self, path_or_buffer)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write one HTML page that replays the trace with no server and no network; without a path return it."""
        from specviz import replay

        return replay.to_html(self, path)

    def _repr_html_(self) -> str:
        """The replay, in a notebook."""
        from specviz import replay

        return replay.frame(self)

    @staticmethod
    def from_json(path_or_buffer: str | os.PathLike[str] | IO[str] | IO[bytes]) -> Trace:
        """Read what `to_json` wrote: a path, an open file, or the text. Raises TraceError when it is no trace."""
        from specviz import export

        return export.from_json(path_or_buffer)


def is_whole(value: object) -> bool:
    """True for whole numbers, numpy's too, that are no booleans."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: object) -> bool:
    """True for numbers, numpy's too, that are no booleans."""
    return isinstance(value, Real) and not isinstance(value, bool)
