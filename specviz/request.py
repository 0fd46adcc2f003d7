"""One request: what was asked, the text so far, and a round of it, `Turn`. Who plays the rounds is in `decoding`.

Every draw is inverse-CDF from a uniform of the request's own generator, taken in this order each round: one per drafted
token, then K for the judgements, then one for the final draw. So the same seed gives the same trace.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from specviz.drafters.base import Drafter, Proposal
from specviz.drafters.model import Guess, ModelDrafter, finish, start
from specviz.errors import ConfigError, LogitsError, brief
from specviz.laws import Laws
from specviz.models.base import Ask, Pair, Reader, check_shape, read
from specviz.prompts import Prompt, bad_words, is_unicode, opening
from specviz.recording import Recorder
from specviz.records import CacheWork, Round, Sampling, StopReason, Trace, is_whole
from specviz.sampling import verify, warp


class Request:
    """What was asked, checked, and what became of it so far. draft_length: 0 decodes with the target alone.

    Raises ConfigError, PromptError.
    """

    def __init__(
        self,
        pair: Pair,
        prompt: Prompt,
        draft_length: int,
        max_new_tokens: int,
        sampling: Sampling | None,
        seed: int | None,
        stop: Sequence[str],
    ) -> None:
        if not isinstance(pair, Pair):
            raise ConfigError(f"pair must be a Pair, as load_pair() gives, got {type(pair).__name__}")
        if not (is_whole(draft_length) and draft_length >= 0):
            raise ConfigError(f"draft_length (K) must be a whole number of at least 1, got {brief(draft_length)}")
        if not (sampling is None or isinstance(sampling, Sampling)):
            raise ConfigError(f"sampling must be a Sampling, as in Sampling(temperature=0.8), got {brief(sampling)}")
        if not (is_whole(max_new_tokens) and max_new_tokens >= 1):
            raise ConfigError(f"max_new_tokens must be a whole number of at least 1, got {brief(max_new_tokens)}")
        for name, number in (("draft_length (K)", draft_length), ("max_new_tokens", max_new_tokens)):
            if number >= 2**63:
                raise ConfigError(f"{name} must be below 2^63, got {brief(number)}")
        if seed is not None and not (is_whole(seed) and 0 <= seed < 2**63):
            raise ConfigError(f"seed must be a whole number from 0 to 2^63 - 1, or None, got {brief(seed)}")
        strings = tuple(stop) if isinstance(stop, list | tuple | set | frozenset) else (None,)
        if not all(isinstance(s, str) and s and is_unicode(s) for s in strings):
            raise ConfigError(f"stop must be a list of non-empty strings, got {brief(stop)}")
        if strings and pair.tokenizer is None:
            raise ConfigError("this pair has no tokenizer, so there is no text in which a stop string could be found")
        self.pair = pair
        self.draft_length = int(draft_length)
        self.max_new_tokens = int(max_new_tokens)
        self.sampling = Sampling() if sampling is None else sampling
        self.seed = secrets.randbits(32) if seed is None else int(seed)
        self.stop = tuple(s for s in strings if s)
        begin = opening(pair, prompt)
        self.prompt, self.prompt_text = begin.tokens, begin.text
        self.laws = Laws(self.sampling, len(self.prompt), pair.target.eos, bad_words(pair, self.sampling))
        self.rng = np.random.default_rng(self.seed)
        self.recorder = Recorder(pair.tokenizer, self.prompt, self.stop, pair.target.eos)
        self.tokens = list(self.prompt)
        self.rounds: list[Round] = []
        self.stop_reason: StopReason | None = None
        self.total_s = 0.0

    def open(self) -> tuple[Reader, Drafter | None]:
        """Its own way through the target, and its own drafter. They hold the caches."""
        return self.pair.target.open(self.prompt), start(
            self.pair.draft, self.pair.target
        ) if self.draft_length else None

    @property
    def left(self) -> int:
        """How many tokens may follow."""
        return self.max_new_tokens - (len(self.tokens) - len(self.prompt))

    @property
    def trace(self) -> Trace:
        """The rounds so far."""
        pair, drafts = self.pair, self.draft_length > 0
        return Trace(
            target=pair.target.name,
            draft=pair.draft.name if drafts else None,
            sampling=self.sampling,
            draft_length=self.draft_length,
            max_new_tokens=self.max_new_tokens,
            seed=self.seed,
            stop=self.stop,
            prompt=self.prompt_text,
            prompt_tokens=tuple(self.prompt),
            rounds=tuple(self.rounds),
            text=self.recorder.text,
            stop_reason=self.stop_reason or "cancelled",
            total_s=self.total_s,
        )


class Turn:
    """A round of a request: how many to draft, what was drafted, and the judgement."""

    def __init__(self, request: Request, reader: Reader, drafter: Drafter | None) -> None:
        self.request, self._reader, self._drafter = request, reader, drafter
        self._work = drafter.work if drafter else CacheWork(), reader.work
        self._drafts: Proposal | None = None
        self._text = request.tokens  # with the drafts
        self._began = self._drafted = time.perf_counter()
        # K cut so that neither max_new_tokens nor the context is passed: the final draw takes a place too.
        context, n_tokens = request.pair.target.context_length, len(request.tokens)
        room = request.left - 1 if context is None else min(request.left - 1, context - n_tokens)
        self.draft_length = min(request.draft_length, room)

    def guess(self) -> Guess | None:
        """The draft to come where it is a model's, None where it comes another way or there is no room for any."""
        if self.draft_length <= 0 or type(self._drafter) is not ModelDrafter:
            return None
        request = self.request
        return Guess(
            self._drafter,
            request.tokens,
            self.draft_length,
            laws=request.laws,
            rng=request.rng,
            eos=request.pair.target.eos,
        )

    def draft(self, guess: Guess | None) -> None:
        """Draft, or take what a finished guess of this turn has drafted."""
        request = self.request
        if guess is not None:
            self._drafts = guess.proposal
        elif self._drafter is not None and self.draft_length > 0:
            self._drafts = self._drafter.propose(
                request.tokens, self.draft_length, laws=request.laws, rng=request.rng, eos=request.pair.target.eos
            )
        drafts = self._drafts.tokens if self._drafts else ()
        self._text = [*request.tokens, *drafts]
        self._drafted = time.perf_counter()

    @property
    def ask(self) -> Ask:
        """What the verify pass needs: the laws at the K + 1 places. Asked for after `draft`."""
        return Ask(self._reader, self._text, len(self._text) - len(self.request.tokens) + 1)

    def verify(self, logits: npt.NDArray[np.floating]) -> None:
        """The laws at the K + 1 places. logits: the answer to `ask`, [K + 1, V]."""
        request, target = self.request, self.request.pair.target
        try:
            logits = request.laws.logits(check_shape(logits, self.ask.n, target.vocab_size), self._text)
            self._logits, self._target_probs = logits, warp(logits, request.sampling)
        except LogitsError as error:
            raise LogitsError(f"target {target.name!r} after {len(request.tokens)} tokens: {error}") from None
        self._verified = time.perf_counter()

    def judge(self) -> Round:
        """Accept from the left, draw the final token, write the round down."""
        request, proposal, target_probs = self.request, self._drafts, self._target_probs
        target, drafts = request.pair.target, proposal.tokens if proposal else ()
        # Accept from the left; the final draw comes from the residual or, as the bonus, from the target.
        r, u = request.rng.random(len(drafts)), float(request.rng.random())
        draft_probs = proposal.probs if proposal else target_probs[:0]
        verdict = verify(target_probs, draft_probs, drafts, r, u)
        drafter_work, reader_work = self._work
        round_, request.stop_reason = request.recorder.record(
            logits=self._logits if request.sampling.greedy else None,
            target_probs=target_probs,
            draft_probs=draft_probs,
            drafts=drafts,
            draft_uniforms=proposal.uniforms if proposal else (),
            verdict=verdict,
            r=r,
            u=u,
            draft_cache=self._drafter.work - drafter_work if self._drafter else CacheWork(),
            target_cache=self._reader.work - reader_work,
            clock=(self._began, self._drafted, self._verified),
        )
        request.tokens += round_.emitted
        request.rounds.append(round_)
        if request.stop_reason is None and request.left == 0:
            request.stop_reason = "length"
        if request.stop_reason is None and target.context_length is not None:
            request.stop_reason = "context" if len(request.tokens) > target.context_length else None
        return round_


def play(turns: Sequence[Turn]) -> list[Round]:
    """Draft, verify, judge: a pass of the draft gives every turn a token, a pass of the target gives all their laws."""
    guesses = [(turn, turn.guess()) for turn in turns]
    by_model: dict[int, list[Guess]] = {}
    for _turn, guess in guesses:
        if guess is not None:
            by_model.setdefault(id(guess.model), []).append(guess)
    for group in by_model.values():
        finish(group)
    for turn, guess in guesses:
        turn.draft(guess)
    for turn, logits in zip(turns, read([turn.ask for turn in turns]), strict=True):
        turn.verify(logits)  # all of them before the first judgement, so that their times do not hold another's
    return [turn.judge() for turn in turns]
