"""What a visitor asked for: the widgets of the Watch page as one record, and the runs that it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import specviz as sv
from specviz import drafters
from specviz.ui import pairs


@dataclass(frozen=True, slots=True)
class Settings:
    """What the widgets said when Run was pressed. The engine judges them, so that there is one judge.

    sampling: fields of `Sampling` by their names, which judges them when the run starts.
    chat: the prompt goes through the models' own chat template, after a system prompt where one is given.
    """

    prompt: str
    models: pairs.Choice
    draft_length: int
    max_new_tokens: int
    seed: int | None
    sampling: Mapping[str, Any]
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
            sampling=sv.Sampling(**self.sampling),
            seed=self.seed,
        )

    def start_alone(self, pair: sv.Pair, speculative: sv.Trace) -> sv.Run:
        """The target alone on the same prompt, for as many tokens."""
        n = len(speculative.tokens)
        return sv.Run(pair, self._asked(pair), 0, n, speculative.sampling, speculative.seed, ())

    def _asked(self, pair: sv.Pair) -> str | sv.Chat:
        return sv.Chat(self.prompt, self.system) if self.chat and pairs.chats(pair) else self.prompt
