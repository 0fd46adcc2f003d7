"""Plays rounds: draft, verify, accept, final draw. `speculate` and `autoregress` run to the end, `stream` by rounds.

Every draw is inverse-CDF from a uniform of the request's own generator, taken in this order each round: one per drafted
token, then K for the judgements, then one for the final draw. So the same seed gives the same trace.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Generator, Iterator, Sequence
from types import TracebackType

import numpy as np

from specviz.drafters.base import Drafter
from specviz.drafters.model import start
from specviz.errors import ConfigError, LogitsError, brief
from specviz.laws import Laws
from specviz.models.base import Pair, check_shape
from specviz.prompts import Prompt, bad_words, is_unicode, opening
from specviz.recording import Recorder
from specviz.records import CacheWork, Round, Sampling, StopReason, Trace, is_whole
from specviz.sampling import verify, warp


def speculate(
    pair: Pair,
    prompt: Prompt,
    *,
    draft_length: int = 4,
    max_new_tokens: int = 64,
    sampling: Sampling | None = None,
    seed: int | None = None,
    stop: Sequence[str] = (),
) -> Trace:
    """Decode with speculation: the target's own law, fewer target passes.

    prompt: text, a `Chat`, or token ids. draft_length: K >= 1, drafted each round. max_new_tokens: never exceeded.
    sampling: the warp of both models (default: temperature 1). seed: None takes a fresh one; the trace holds it.
    stop: strings that end the text where they begin; they may span tokens and rounds.
    Raises ConfigError, PromptError, LogitsError.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1.
    """
    with stream(
        pair,
        prompt,
        draft_length=draft_length,
        max_new_tokens=max_new_tokens,
        sampling=sampling,
        seed=seed,
        stop=stop,
    ) as run:
        return run.finish()


def autoregress(
    pair: Pair,
    prompt: Prompt,
    *,
    max_new_tokens: int = 64,
    sampling: Sampling | None = None,
    seed: int | None = None,
    stop: Sequence[str] = (),
) -> Trace:
    """Decode with the target alone, one token a pass: a run of rounds without drafts. Arguments as in `speculate`."""
    with Run(pair, prompt, 0, max_new_tokens, sampling, seed, stop) as run:
        return run.finish()


def stream(
    pair: Pair,
    prompt: Prompt,
    *,
    draft_length: int = 4,
    max_new_tokens: int = 64,
    sampling: Sampling | None = None,
    seed: int | None = None,
    stop: Sequence[str] = (),
) -> Run:
    """Decode round by round: iterate over the `Run` for `Round`s as they come; its `trace` holds those so far.

    Nothing runs between two rounds, so leaving the loop stops the work; `close()` frees the caches too.
    Arguments as in `speculate`.
    """
    if is_whole(draft_length) and draft_length == 0:
        raise ConfigError("draft_length (K) must be a whole number of at least 1, got 0; autoregress decodes without")
    return Run(pair, prompt, draft_length, max_new_tokens, sampling, seed, stop)


class Run(Iterator[Round]):
    """One request under way. Iterate for rounds, `close()` to stop, `trace` for everything so far."""

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
        self._pair = pair
        self._draft_length = int(draft_length)
        self._max_new_tokens = int(max_new_tokens)
        self._sampling = Sampling() if sampling is None else sampling
        self._seed = secrets.randbits(32) if seed is None else int(seed)
        self._stop = tuple(s for s in strings if s)
        begin = opening(pair, prompt)
        self._prompt, self._prompt_text = begin.tokens, begin.text
        self._laws = Laws(self._sampling, len(self._prompt), pair.target.eos, bad_words(pair, self._sampling))
        self._rounds: list[Round] = []
        self._stop_reason: StopReason = "cancelled"
        self._total_s = 0.0
        self._closed = False
        self._recorder = Recorder(pair.tokenizer, self._prompt, self._stop, pair.target.eos)
        self._generator = self._play(np.random.default_rng(self._seed))

    def __iter__(self) -> Run:
        return self

    def __next__(self) -> Round:
        if self._closed:
            self._generator.close()
        start = time.perf_counter()
        round_ = next(self._generator)
        self._total_s += time.perf_counter() - start
        return round_

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the work and free the caches. The trace so far stays; its stop_reason is "cancelled" if it was cut.

        From another thread than the one that iterates, the round under way is the last.
        """
        self._closed = True
        with contextlib.suppress(ValueError):  # that thread is inside a round
            self._generator.close()

    def finish(self) -> Trace:
        """Play all rounds that are left and return the trace."""
        for _ in self:
            pass
        return self.trace

    @property
    def trace(self) -> Trace:
        """The rounds so far as a `Trace`; stop_reason is "cancelled" until the run has ended by itself."""
        pair, drafts = self._pair, self._draft_length > 0
        return Trace(
            target=pair.target.name,
            draft=pair.draft.name if drafts else None,
            sampling=self._sampling,
            draft_length=self._draft_length,
            max_new_tokens=self._max_new_tokens,
            seed=self._seed,
            stop=self._stop,
            prompt=self._prompt_text,
            prompt_tokens=tuple(self._prompt),
            rounds=tuple(self._rounds),
            text=self._recorder.text,
            stop_reason=self._stop_reason,
            total_s=self._total_s,
        )

    def _play(self, rng: np.random.Generator) -> Generator[Round, None, None]:
        pair, target = self._pair, self._pair.target
        reader = target.open(self._prompt)
        drafter: Drafter | None = start(pair.draft, target) if self._draft_length else None
        tokens = list(self._prompt)
        left = self._max_new_tokens
        reason: StopReason | None = None
        while reason is None:
            began = time.perf_counter()
            drafter_work, reader_work = drafter.work if drafter else CacheWork(), reader.work
            room = left - 1 if target.context_length is None else min(left - 1, target.context_length - len(tokens))

            # Draft: K one-token passes of the draft, K cut so that neither max_new_tokens nor the context is passed.
            proposal = None
            if drafter is not None and room > 0:
                n = min(self._draft_length, room)
                proposal = drafter.propose(tokens, n, laws=self._laws, rng=rng, eos=target.eos)
            drafts = proposal.tokens if proposal else ()
            drafted = time.perf_counter()

            # Verify: one target pass over the K + 1 positions.
            text = [*tokens, *drafts]
            logits = reader.logits(text, len(drafts) + 1)  # [K + 1, V]
            try:
                logits = self._laws.logits(check_shape(logits, len(drafts) + 1, target.vocab_size), text)
                target_probs = warp(logits, self._sampling)
            except LogitsError as error:
                raise LogitsError(f"target {target.name!r} after {len(tokens)} tokens: {error}") from None
            verified = time.perf_counter()

            # Accept from the left; the final draw comes from the residual or, as the bonus, from the target.
            r, u = rng.random(len(drafts)), float(rng.random())
            draft_probs = proposal.probs if proposal else target_probs[:0]
            verdict = verify(target_probs, draft_probs, drafts, r, u)

            outcome = self._recorder.record(
                logits=logits if self._sampling.greedy else None,
                target_probs=target_probs,
                draft_probs=draft_probs,
                drafts=drafts,
                draft_uniforms=proposal.uniforms if proposal else (),
                verdict=verdict,
                r=r,
                u=u,
                draft_cache=drafter.work - drafter_work if drafter else CacheWork(),
                target_cache=reader.work - reader_work,
                clock=(began, drafted, verified),
            )
            tokens += outcome.round.emitted
            left -= len(outcome.round.emitted)
            reason = outcome.stop_reason
            if reason is None and left == 0:
                reason = "length"
            if reason is None and target.context_length is not None and len(tokens) > target.context_length:
                reason = "context"
            self._rounds.append(outcome.round)
            if reason is not None:
                self._stop_reason = reason
            yield outcome.round
