"""Our decoder beside transformers' on the bundled pair, as ratios of alternating runs. `make bench` prints the table.

Same pair, same prompts, same K, greedy, same threads. Each repetition runs every contestant once; a ratio is taken
within a repetition, so that a slow minute of the machine slows both sides of it.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time

import torch
from transformers import DynamicCache, GenerationConfig, PreTrainedModel

import specviz as sv
from specviz.models.hf import HFModel
from specviz.recording import Recorder

PROMPTS = (
    "It is a truth universally acknowledged",
    "def __init__(self, name, value):\n        self.name = name",
)
GREEDY = sv.Sampling(temperature=0)


class Contest:
    """The contestants on one pair. Each returns seconds for all prompts; `ours` also keeps its traces."""

    def __init__(self, draft_length: int, n_tokens: int) -> None:
        self.pair = sv.load_pair()
        self.draft_length, self.n_tokens = draft_length, n_tokens
        assert isinstance(self.pair.target, HFModel)
        assert isinstance(self.pair.draft, HFModel)
        self.target: PreTrainedModel = self.pair.target.model
        self.draft: PreTrainedModel = self.pair.draft.model
        self.traces: list[sv.Trace] = []
        self._settings = GenerationConfig(
            do_sample=False, max_new_tokens=n_tokens, eos_token_id=0, bos_token_id=0, pad_token_id=0
        )

    def ours(self) -> float:
        start = time.perf_counter()
        self.traces = [
            sv.speculate(
                self.pair, p, draft_length=self.draft_length, max_new_tokens=self.n_tokens, sampling=GREEDY, seed=0
            )
            for p in PROMPTS
        ]
        return time.perf_counter() - start

    def ours_plain(self) -> float:
        start = time.perf_counter()
        for p in PROMPTS:
            sv.autoregress(self.pair, p, max_new_tokens=self.n_tokens, sampling=GREEDY, seed=0)
        return time.perf_counter() - start

    def transformers_assisted(self) -> float:
        config = self.draft.generation_config
        config.num_assistant_tokens = self.draft_length
        config.num_assistant_tokens_schedule = "constant"
        config.assistant_confidence_threshold = 0.0
        return self._generate(assistant_model=self.draft)

    def transformers_plain(self) -> float:
        return self._generate()

    def _generate(self, **options: object) -> float:
        assert self.pair.tokenizer is not None
        seconds = 0.0
        for p in PROMPTS:
            ids = torch.tensor([self.pair.tokenizer.encode(p)])
            mask = torch.ones_like(ids)
            start = time.perf_counter()
            out = self.target.generate(ids, attention_mask=mask, generation_config=self._settings, **options)
            seconds += time.perf_counter() - start
            same = tuple(out[0, ids.shape[1] :].tolist())
            want = next((t.tokens for t in self.traces if t.prompt == p), same)
            assert same == want, "transformers' greedy text differs from ours"
        return seconds

    def bare_round(self) -> float:
        """Median over contexts of K one-token draft passes and one (K + 1)-token target pass, caches in place."""
        seconds = []
        for trace in self.traces:
            tokens = [*trace.prompt_tokens, *trace.tokens]
            starts = [r.start for r in trace.rounds[1:] if len(r.nodes) == self.draft_length]
            caches = [DynamicCache(), DynamicCache()]
            filled = 0
            for start in starts:
                for model, cache in zip((self.draft, self.target), caches, strict=True):
                    _forward(model, cache, tokens[filled : start - 1], filled)
                filled = start - 1
                window = (tokens[filled : filled + self.draft_length + 1] + [1] * self.draft_length)[
                    : self.draft_length + 1
                ]
                steps = [_inputs([token], filled + i) for i, token in enumerate(window[:-1])]
                verify = _inputs(window, filled)
                begin = time.perf_counter()
                with torch.inference_mode():
                    for step in steps:
                        self.draft(cache=caches[0], use_cache=True, **step)
                    self.target(cache=caches[1], use_cache=True, **verify)
                seconds.append(time.perf_counter() - begin)
                caches[0].crop(-self.draft_length)
                caches[1].crop(-(self.draft_length + 1))
        return statistics.median(seconds)

    def our_round(self) -> float:
        """Median seconds of our rounds that drafted all K, recording included, in the last `ours`."""
        return statistics.median(
            r.round_s for t in self.traces for r in t.rounds[1:] if len(r.nodes) == self.draft_length
        )

    def recording_share(self) -> float:
        """Share of a run's time that goes into recording, measured by a clock around the recorder."""
        record, spent = Recorder.record, 0.0

        def timed(self: Recorder, **facts: object) -> object:
            nonlocal spent
            start = time.perf_counter()
            outcome = record(self, **facts)  # type: ignore[arg-type]
            spent += time.perf_counter() - start
            return outcome

        Recorder.record = timed  # type: ignore[method-assign,assignment]
        try:
            total = self.ours()
        finally:
            Recorder.record = record  # type: ignore[method-assign]
        return spent / total


def _inputs(tokens: list[int], start: int) -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.tensor([tokens]),
        "position_ids": torch.arange(start, start + len(tokens))[None],
    }


@torch.inference_mode()
def _forward(model: PreTrainedModel, cache: DynamicCache, tokens: list[int], start: int) -> None:
    if tokens:
        model(cache=cache, use_cache=True, **_inputs(tokens, start))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", "--draft-length", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    contest = Contest(options.draft_length, options.tokens)
    contest.ours()
    contest.transformers_assisted()

    ratios: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        ratios.setdefault(name, []).append(value)

    for _ in range(options.repeats):
        ours = contest.ours()
        round_s = contest.our_round()
        note("round / bare transformers forwards", round_s / contest.bare_round())
        note("speed / transformers assisted, same K", contest.transformers_assisted() / ours)
        note("speed / transformers plain", contest.transformers_plain() / ours)
        note("speed / our plain", contest.ours_plain() / ours)
        note("recording share of the run", contest.recording_share())

    n = sum(len(t.tokens) for t in contest.traces)
    print(
        f"bundled pair, greedy, K = {options.draft_length}, {len(PROMPTS)} prompts x {options.tokens} tokens ({n}), "
        f"{options.threads} threads, {options.repeats} alternating repetitions"
    )
    print(f"torch {torch.__version__}, Python {platform.python_version()}, {_processor()}")
    print(f"{'ratio':<40}{'median':>9}{'lowest':>9}{'highest':>9}")
    for name, values in ratios.items():
        print(f"{name:<40}{statistics.median(values):>9.3f}{min(values):>9.3f}{max(values):>9.3f}")


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    main()
