"""Plays rounds: draft, verify, accept, final draw. `speculate` and `autoregress` run to the end, `stream` by rounds,
`speculate_many` several requests at once. A round is in `request.Turn`, the accept rule in `sampling.verify`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterator, Sequence
from types import TracebackType

from specviz.errors import ConfigError, SpecvizError, brief
from specviz.models.base import Pair
from specviz.prompts import Prompt
from specviz.records import Round, Sampling, Trace, is_whole
from specviz.request import Request, Turn, play


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


def speculate_many(
    pair: Pair,
    prompts: Sequence[Prompt],
    *,
    draft_length: int = 4,
    max_new_tokens: int = 64,
    sampling: Sampling | None = None,
    seeds: Sequence[int] | None = None,
    stop: Sequence[str] = (),
) -> list[Trace]:
    """Decode several requests at once: a verify pass judges the drafts of all, a pass of the draft drafts for all.

    Each request has its own generator and accepts its own number of drafts, so trace i is that of
    `speculate(pair, prompts[i], seed=seeds[i], ...)`: the same law, and the same tokens as far as the models' logits do
    not change with what else is in a pass (float rounding). Its times are those of the passes it shared.

    Small Llamas on a CPU read all rows in one pass, without padding (see `models.lean`); models that take another way
    are asked one after another. A draft that is a model drafts for all at once, other ways to draft one by one.
    seeds: one for each prompt; None takes fresh ones. Other arguments as in `speculate`. What fails for one request
    ends all of them. Raises ConfigError, PromptError, LogitsError.
    """
    if isinstance(prompts, str) or not isinstance(prompts, Sequence):
        raise ConfigError(f"prompts must be a list of prompts, got {brief(prompts)}")
    if seeds is not None and not (isinstance(seeds, Sequence) and len(seeds) == len(prompts)):
        raise ConfigError(
            f"seeds must be a list of {len(prompts)} whole numbers, one for each prompt, got {brief(seeds)}"
        )
    _check_drafts(draft_length)
    start = time.perf_counter()
    each: Sequence[int | None] = [None] * len(prompts) if seeds is None else seeds
    requests = []
    for i, (prompt, seed) in enumerate(zip(prompts, each, strict=True)):
        try:
            requests.append(Request(pair, prompt, draft_length, max_new_tokens, sampling, seed, stop))
        except SpecvizError as error:
            raise type(error)(f"prompt {i + 1} of {len(prompts)}: {error}") from None
    going = [(request, *request.open()) for request in requests]  # with their caches
    while going:
        play([Turn(*one) for one in going])
        for request, _reader, _drafter in going:
            request.total_s = time.perf_counter() - start
        going = [one for one in going if one[0].stop_reason is None]
    return [request.trace for request in requests]


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
    _check_drafts(draft_length)
    return Run(pair, prompt, draft_length, max_new_tokens, sampling, seed, stop)


def _check_drafts(draft_length: int) -> None:
    if is_whole(draft_length) and draft_length == 0:
        raise ConfigError("draft_length (K) must be a whole number of at least 1, got 0; autoregress decodes without")


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
        self._request = Request(pair, prompt, draft_length, max_new_tokens, sampling, seed, stop)
        self._closed = False
        self._generator = self._play()

    def __iter__(self) -> Run:
        return self

    def __next__(self) -> Round:
        if self._closed:
            self._generator.close()
        start = time.perf_counter()
        round_ = next(self._generator)
        self._request.total_s += time.perf_counter() - start
        if self._closed:  # by another thread, meanwhile
            self._generator.close()
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
        return self._request.trace

    def _play(self) -> Generator[Round, None, None]:
        request = self._request
        reader, drafter = request.open()
        while request.stop_reason is None:
            yield play([Turn(request, reader, drafter)])[0]
