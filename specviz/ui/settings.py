"""What a visitor asked for: the widgets of the Watch page as one record, and the runs that it starts."""

from __future__ import annotations

from dataclasses import dataclass

import specviz as sv
from specviz.ui import pairs


@dataclass(frozen=True, slots=True)
class Settings:
    """What the widgets said when Run was pressed. The engine judges them, so that there is one judge."""

    prompt: str
    draft: str
    draft_length: int
    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None
    seed: int | None
    max_new_tokens: int

    def start(self) -> sv.Run:
        """Raises SpecvizError when a setting is out of range or the models cannot be loaded."""
        return sv.stream(
            pairs.load(self.draft),
            self.prompt,
            draft_length=self.draft_length,
            max_new_tokens=self.max_new_tokens,
            sampling=self.sampling,
            seed=self.seed,
        )

    def start_alone(self, speculative: sv.Trace) -> sv.Run:
        """The target alone on the same prompt, for as many tokens."""
        n = len(speculative.tokens)
        return sv.Run(pairs.load(self.draft), self.prompt, 0, n, self.sampling, speculative.seed, ())

    @property
    def sampling(self) -> sv.Sampling:
        return sv.Sampling(self.temperature, self.top_k, self.top_p, self.min_p)
