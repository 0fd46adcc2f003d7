"""Who proposes tokens.

base     the protocol: a `Draft` is shared, its `Drafter` drafts for one request
model    drafts with another model                lookup   copies what followed before: no model at all
skipped  the target itself with layers left out    uniform  knows nothing
pace     around another one: stops early, or learns how far to draft
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specviz.errors import ConfigError, brief

if TYPE_CHECKING:
    from specviz.drafters.base import Draft
    from specviz.models.base import Model

NAMES = ("lookup", "skipped", "uniform")
PACES = ("fixed", "early", "adaptive")  # how far a round drafts: K, until it is unsure, as far as the last one stood


def named(name: str) -> Draft | None:
    """The way to draft of this name, with its usual settings; None for another name, such as a model's."""
    name = name.lower()
    if name == "lookup":
        from specviz.drafters.lookup import PromptLookup

        return PromptLookup()
    if name == "skipped":
        from specviz.drafters.skipped import SkippedLayers

        return SkippedLayers()
    if name == "uniform":
        from specviz.drafters.uniform import UniformDraft

        return UniformDraft()
    return None


def paced(draft: Model | Draft, pace: str) -> Model | Draft:
    """The draft at a pace of `PACES`, with its usual settings. Raises ConfigError for another word."""
    from specviz.drafters.pace import AdaptiveLength, EarlyStop

    if pace not in PACES:
        raise ConfigError(f"pace must be one of {', '.join(PACES)}, got {brief(pace)}")
    if pace == "fixed":
        return draft
    return EarlyStop(draft) if pace == "early" else AdaptiveLength(draft)
