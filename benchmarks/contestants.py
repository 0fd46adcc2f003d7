"""Who is timed on the bundled pair: our loops, transformers' generate and flashspec's. `peers` prints the ratios."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from transformers import GenerationConfig

import specviz as sv
from benchmarks.timing import TEXTS, timed
from specviz.models.hf import HFModel

PLAIN = "ours, plain"


class Ran(NamedTuple):
    """A contestant's run. trace: ours alone has one."""

    seconds: float
    tokens: tuple[int, ...]
    trace: sv.Trace | None = None


@dataclass(frozen=True)
class Case:
    """What all contestants decode: a kind of text, so many tokens of it, at a temperature."""

    text: str
    temperature: float
    n_tokens: int

    @property
    def law(self) -> str:
        return f"T = {self.temperature:g}" if self.temperature else "greedy"

    def prompt(self, i: int) -> str:
        return TEXTS[self.text][i % len(TEXTS[self.text])]


class Contest:
    """The bundled pair, where no token ends a text, for us and for the others."""

    def __init__(self) -> None:
        self.pair = sv.load_pair()
        self.target, self.draft = self._endless(self.pair.target), self._endless(self.pair.draft_model)

    @staticmethod
    def _endless(model: object) -> HFModel:
        assert isinstance(model, HFModel)
        model.eos = frozenset()
        model.model.generation_config.eos_token_id = None
        return model

    def ids(self, prompt: str) -> torch.Tensor:
        assert self.pair.tokenizer is not None
        return torch.tensor([self.pair.tokenizer.encode(prompt)])

    def ours(self, case: Case, k: int, i: int) -> Ran:
        """k: 0 decodes without a draft."""
        asked: dict[str, Any] = {
            "max_new_tokens": case.n_tokens,
            "sampling": sv.Sampling(case.temperature),
            "seed": i,
        }
        work = partial(sv.speculate, draft_length=k) if k else sv.autoregress
        seconds, trace = timed(lambda: work(self.pair, case.prompt(i), **asked))
        return Ran(seconds, trace.tokens, trace)

    def theirs(self, case: Case, assisted: Mapping[str, Any] | None, i: int) -> Ran:
        """transformers' generate. assisted: settings of the draft's side, or None for generate without a draft."""
        sampling = {"temperature": case.temperature, "top_k": 0, "top_p": 1.0} if case.temperature else {}
        settings = GenerationConfig(
            do_sample=case.temperature > 0, max_new_tokens=case.n_tokens, pad_token_id=0, **sampling
        )
        # Anew for each run, since assisted generation moves the threshold in it.
        self.draft.model.generation_config = GenerationConfig(pad_token_id=0, **(assisted or {}))
        options = {} if assisted is None else {"assistant_model": self.draft.model}
        ids = self.ids(case.prompt(i))
        torch.manual_seed(i)
        seconds, out = timed(
            lambda: self.target.model.generate(
                ids, attention_mask=torch.ones_like(ids), generation_config=settings, **options
            )
        )
        return Ran(seconds, tuple(out[0, ids.shape[1] :].tolist()))

    def flashspec(self, case: Case, k: int, i: int) -> Ran:
        """k: 0 leaves how to draft, and how far, to its defaults."""
        engine = self._engine(case.temperature, k)
        ids = self.ids(case.prompt(i))
        torch.manual_seed(i)
        seconds, result = timed(lambda: engine.generate(ids, max_new_tokens=case.n_tokens))
        return Ran(seconds, tuple(result.output_ids[0].tolist()))

    @cache  # noqa: B019 - one contest for the process
    def _engine(self, temperature: float, k: int) -> Any:
        import flashspec
        from flashspec.engine import HuggingFaceDrafter, TargetModel

        logging.getLogger("flashspec.engine.speculative").setLevel(logging.ERROR)
        device, kind = torch.device("cpu"), torch.float32
        settings: dict[str, Any] = {"sampling": flashspec.SamplingConfig(temperature=temperature)}
        if k:
            settings = {
                "sampling": flashspec.SamplingConfig(temperature=temperature, gamma=k),
                "drafter_strategy": "bandit",  # its name for: the draft model each round, gamma tokens
                "bandit": flashspec.BanditConfig(n_arms=1),
            }
        drafter = HuggingFaceDrafter(self.draft.name, device, kind, model=self.draft.model)
        if temperature:
            drafter.set_temperature(temperature)
        return flashspec.SpeculativeEngine(
            flashspec.FlashSpecConfig(device="cpu", dtype="float32", **settings),
            [drafter],
            TargetModel(self.target.name, device, kind, model=self.target.model),
        )


class Peer(NamedTuple):
    """Who is raced against. run: of a contest, a case, K and the repetition; K is left out where it changes nothing."""

    name: str
    run: Callable[[Contest, Case, int, int], Ran]
    at_k: bool


def _assisted(contest: Contest, case: Case, k: int, i: int) -> Ran:
    at_k = {
        "num_assistant_tokens": k,
        "num_assistant_tokens_schedule": "constant",
        "assistant_confidence_threshold": 0.0,
    }
    return contest.theirs(case, at_k if k else {}, i)


def peers() -> list[Peer]:
    """Those that are installed."""
    found = [
        Peer("transformers", lambda contest, case, _k, i: contest.theirs(case, None, i), at_k=False),
        Peer("assisted, defaults", _assisted, at_k=False),
        Peer("assisted, our K", _assisted, at_k=True),
    ]
    if importlib.util.find_spec("flashspec"):
        found += [
            Peer("flashspec, defaults", Contest.flashspec, at_k=False),
            Peer("flashspec, our K", Contest.flashspec, at_k=True),
        ]
    return [*found, Peer(PLAIN, Contest.ours, at_k=False)]
