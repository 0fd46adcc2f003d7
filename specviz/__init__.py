"""Speculative decoding that can be watched, measured and trusted.

    import specviz as sv

    pair = sv.load_pair()
    trace = sv.speculate(pair, "It is a truth universally acknowledged", draft_length=4, seed=0)
    print(trace.text, trace.to_frame())

Everything is loaded on first use: `import specviz`, the theory and a replay never import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from specviz.errors import (
    ConfigError,
    LoadError,
    LogitsError,
    ModelError,
    PromptError,
    SpecvizError,
    TraceError,
    VocabularyError,
)
from specviz.records import CacheWork, Candidate, FinalDraw, Node, Round, Sampling, Trace, Trial

if TYPE_CHECKING:
    from specviz import exact, measure, models, theory
    from specviz.decoding import Run, autoregress, speculate, speculate_many, stream
    from specviz.drafters.base import Draft, Drafter, Proposal
    from specviz.drafters.lookup import PromptLookup
    from specviz.drafters.pace import AdaptiveLength, EarlyStop
    from specviz.drafters.skipped import SkippedLayers
    from specviz.drafters.uniform import UniformDraft
    from specviz.models.base import Model, Pair, Reader
    from specviz.models.load import load_pair
    from specviz.models.progress import Progress
    from specviz.models.vocabulary import Vocabulary
    from specviz.prompts import Chat
    from specviz.sampling import Verdict, verify

__version__ = "0.1.0"

_HOMES = {
    "Run": "specviz.decoding",
    "autoregress": "specviz.decoding",
    "speculate": "specviz.decoding",
    "speculate_many": "specviz.decoding",
    "stream": "specviz.decoding",
    "AdaptiveLength": "specviz.drafters.pace",
    "Draft": "specviz.drafters.base",
    "Drafter": "specviz.drafters.base",
    "EarlyStop": "specviz.drafters.pace",
    "PromptLookup": "specviz.drafters.lookup",
    "SkippedLayers": "specviz.drafters.skipped",
    "UniformDraft": "specviz.drafters.uniform",
    "Proposal": "specviz.drafters.base",
    "Chat": "specviz.prompts",
    "Progress": "specviz.models.progress",
    "Vocabulary": "specviz.models.vocabulary",
    "Model": "specviz.models.base",
    "Pair": "specviz.models.base",
    "Reader": "specviz.models.base",
    "load_pair": "specviz.models.load",
    "Verdict": "specviz.sampling",
    "verify": "specviz.sampling",
}
_MODULES = ("exact", "measure", "models", "theory")

__all__ = [
    "AdaptiveLength",
    "CacheWork",
    "Candidate",
    "Chat",
    "ConfigError",
    "Draft",
    "Drafter",
    "EarlyStop",
    "FinalDraw",
    "LoadError",
    "LogitsError",
    "Model",
    "ModelError",
    "Node",
    "Pair",
    "Progress",
    "PromptError",
    "PromptLookup",
    "Proposal",
    "Reader",
    "Round",
    "Run",
    "Sampling",
    "SkippedLayers",
    "SpecvizError",
    "Trace",
    "TraceError",
    "Trial",
    "UniformDraft",
    "Verdict",
    "Vocabulary",
    "VocabularyError",
    "autoregress",
    "exact",
    "load_pair",
    "measure",
    "models",
    "speculate",
    "speculate_many",
    "stream",
    "theory",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"specviz.{name}")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'specviz' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES, *_MODULES])
