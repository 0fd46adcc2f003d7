"""What a visitor asked for: the widgets of the Watch page as one record, and the runs that it starts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import specviz as sv
from specviz import drafters
from specviz.ui import pairs


@dataclass(frozen=True, slots=True)
class Settings:
    """What the widgets said when Run was pressed. The engine judges them, so that there is one judge.

    chat: the prompt goes through the models' own chat template, after a system prompt where one is given.
    """

    prompt: str
    models: pairs.Choice
    draft_length: int
    max_new_tokens: int
    seed: int | None
    temperature: float
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    min_new_tokens: int | None = None
    bad_words: tuple[str, ...] = ()
    pace: str = "fixed"  # of drafters.PACES
    chat: bool = False
    system: str = ""

    def start(self, pair: sv.Pair) -> sv.Run:
        """Raises SpecvizError when a setting is out of range."""
        return sv.stream(
            replace(pair, draft=drafters.paced(pair.draft, self.pace)),
            self._asked(pair),
            draft_length=self.draft_length,
            max_new_tokens=self.max_new_tokens,
            sampling=self.sampling,
            seed=self.seed,
        )

    def start_alone(self, pair: sv.Pair, speculative: sv.Trace) -> sv.Run:
        """The target alone on the same prompt, for as many tokens."""
        return sv.Run(pair, self._asked(pair), 0, len(speculative.tokens), self.sampling, speculative.seed, ())

    @property
    def sampling(self) -> sv.Sampling:
        return sv.Sampling(
            self.temperature,
            self.top_k,
            self.top_p,
            self.min_p,
            repetition_penalty=self.repetition_penalty,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            min_new_tokens=self.min_new_tokens,
            bad_words=self.bad_words,
        )

    def _asked(self, pair: sv.Pair) -> str | sv.Chat:
        return sv.Chat(self.prompt, self.system) if self.chat and pairs.chats(pair) else self.prompt
