"""Five recorded runs of the bundled pair, to show before anything is decoded: no model, no torch.

Each is what its settings give, and beside it stands the target alone with the same settings. The seeds were chosen, so
the examples show what can happen and not what happens on average; `EXAMPLES` says what each was chosen for.
`python -m specviz.examples` decodes them anew, times included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from specviz.errors import ConfigError
from specviz.i18n import _
from specviz.records import Sampling, Trace


@dataclass(frozen=True, slots=True)
class Example:
    """The settings of one example; arguments of `speculate`. draft: a name of `specviz.models.presets`."""

    name: str
    prompt: str
    draft: str
    draft_length: int
    max_new_tokens: int
    sampling: Sampling
    seed: int


EXAMPLES = (
    # Of 6000 and of 1800 seeds, for a beginner's first two rounds: round 1 accepts a draft, rejects one, draws what the
    # draft underrated; round 2 accepts all four; no p or q judged there is below 0.02. Then for a text that reads.
    Example("prose", "It is a truth universally acknowledged", "bundled/draft", 4, 55, Sampling(0.6), 1933),
    Example("code", "def main(argv=None):\n    ", "bundled/draft", 4, 38, Sampling(0.6), 657),
    # Of 300 seeds: fewer than one round in six adds more than one token.
    Example("hopeless", "def main(argv=None):\n    ", "bundled/draft-weak", 4, 27, Sampling(0.6), 12),
    # No seed matters; of 20 prompts, one that greedy decoding does not at once repeat itself after.
    Example(
        "greedy", "The family of Dashwood had long been settled in Sussex.", "bundled/draft", 4, 48, Sampling(0), 0
    ),
    # Of 25 seeds, two temperatures and 10 prompts: most rounds that end with a bonus.
    Example(
        "full",
        "The family of Dashwood had long been settled in Sussex.",
        "bundled/draft",
        3,
        42,
        Sampling(0.3),
        7,
    ),
)
NAMES = tuple(example.name for example in EXAMPLES)


def title(name: str) -> str:
    """What a list of examples calls it."""
    titles = {
        "prose": _("Prose"),
        "code": _("Python code"),
        "hopeless": _("A hopeless draft"),
        "greedy": _("Greedy, temperature 0"),
        "full": _("One full acceptance after another"),
    }
    return titles[_known(name)]


def told(name: str) -> str:
    """What to look at in it, in one sentence."""
    sentences = {
        "prose": _(
            "Round 1 rejects a draft and draws its replacement; round 2 accepts all four and adds a bonus token."
        ),
        "code": _("What surely follows comes five tokens to a pass; what could be anything comes one by one."),
        "hopeless": _("Nearly every first draft is rejected: a pass adds one token, as it would without a draft."),
        "greedy": _("Nothing is random here: a draft is accepted exactly when it is the target's best token."),
        "full": _("Nearly every round keeps all three drafts: with the bonus, four tokens for one pass."),
    }
    return sentences[_known(name)]


@cache
def load(name: str) -> Trace:
    """The recorded run. Raises ConfigError when there is no example of this name."""
    return Trace.from_json(path(name))


@cache
def alone(name: str) -> Trace:
    """The target alone on the same prompt with the same settings, recorded in the same session."""
    return Trace.from_json(path(name, alone=True))


def path(name: str, *, alone: bool = False) -> Path:
    """Where a recorded run is kept."""
    return Path(__file__).parent / f"{_known(name)}{'-alone' if alone else ''}.json"


def _known(name: str) -> str:
    if name not in NAMES:
        raise ConfigError(f"there is no example {name!r:.80}. Choose one of {', '.join(NAMES)}.")
    return name
