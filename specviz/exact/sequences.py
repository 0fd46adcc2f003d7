"""Whole sequences by enumeration: the law of the text that speculation writes, round after round."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from specviz.errors import ConfigError, PromptError, brief
from specviz.exact.position import Place, known_rule, known_temperature, place, some_mass
from specviz.laws import Laws
from specviz.models.base import Pair
from specviz.records import Sampling, is_real, is_whole
from specviz.sampling import Floats

if TYPE_CHECKING:
    from specviz.models.base import Model

Text = tuple[int, ...]
SequenceLaw = dict[Text, float]

_MOST_SEQUENCES = 1_000_000


def sequence_law(
    pair: Pair,
    prompt: Sequence[int],
    length: int,
    draft_length: int,
    *,
    sampling: Sampling | None = None,
    rule: str = "exact",
    draft_temperature: float = 0.5,
) -> SequenceLaw:
    """The law of the first `length` new tokens (fewer where an end token ends them) that speculation emits.

    Rounds are followed as the decoder plays them: K cut to what is still wanted less one, drafting stopped at an end
    token, judgement from the left, a residual or bonus draw, then the next round. Drafts behind a rejection are never
    judged, so they are not branched over. Sequences of probability 0 are left out. The models' contexts are taken to
    be long enough.

    prompt: ids, at least one. length, draft_length (K): whole numbers of at least 1; V**length at most 1,000,000.
    sampling: of both models, without bad words. rule: of `RULES`; the bonus always comes from p.
    draft_temperature: as in `emitted_law`. Raises ConfigError, PromptError.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), Algorithm 1.
    """
    _check_size(pair, length)
    if not (is_whole(draft_length) and draft_length >= 1):
        raise ConfigError(f"draft_length (K) must be a whole number of at least 1, got {brief(draft_length)}")
    target, draft = (
        _text_law(model, prompt, Sampling() if sampling is None else sampling, pair.target.eos)
        for model in (pair.target, pair.draft_model)
    )
    rule, temperature, eos = known_rule(rule), known_temperature(draft_temperature), pair.target.eos

    @cache
    def placed(text: Text, first: bool) -> Place:
        return place(target(text), draft(text), rule, first, temperature)

    def blocks(text: Text, drafts: Text, left: int) -> Iterator[tuple[Text, float]]:
        """What a round adds when `drafts` stand and `left` more are to be drafted: a block and its probability."""
        if drafts and drafts[-1] in eos:
            yield drafts, 1.0
        elif left == 0:
            yield from (((*drafts, token), prob) for token, prob in _support(target(text + drafts)))
        else:
            here = placed(text + drafts, not drafts)
            for token, stands in _support(here.drafted * here.accept):
                yield from ((block, stands * prob) for block, prob in blocks(text, (*drafts, token), left - 1))
            falls = float((here.drafted * (1.0 - here.accept)).sum())
            if here.replacement is None:
                yield drafts, falls
            elif falls > 0:
                yield from (((*drafts, token), falls * prob) for token, prob in _support(here.replacement))

    reached: list[SequenceLaw] = [defaultdict(float) for _ in range(length)]  # the texts of n tokens that start a round
    ended: SequenceLaw = defaultdict(float)
    reached[0][()] = 1.0
    for n in range(length):
        for text, mass in reached[n].items():
            for block, prob in _added(blocks(text, (), min(int(draft_length), length - n - 1))).items():
                longer = text + block
                after = ended if len(longer) == length or longer[-1] in eos else reached[len(longer)]
                after[longer] += mass * prob
    return {text: mass for text, mass in ended.items() if mass > 0}


def target_sequence_law(
    pair: Pair, prompt: Sequence[int], length: int, *, sampling: Sampling | None = None
) -> SequenceLaw:
    """The law of the first `length` new tokens of the target alone: the product of its laws. As in `sequence_law`."""
    _check_size(pair, length)
    target = _text_law(pair.target, prompt, Sampling() if sampling is None else sampling, pair.target.eos)
    ended: SequenceLaw = {}
    reached: SequenceLaw = {(): 1.0}
    while reached:
        longer = {(*text, t): mass * prob for text, mass in reached.items() for t, prob in _support(target(text))}
        reached = {
            text: mass for text, mass in longer.items() if len(text) < length and text[-1] not in pair.target.eos
        }
        ended |= {text: mass for text, mass in longer.items() if text not in reached and mass > 0}
    return ended


def sequence_total_variation(law: SequenceLaw, other: SequenceLaw) -> float:
    """½ Σ |P(x) - Q(x)| over all sequences of either law, in [0, 1]."""
    for one in (law, other):
        if not (isinstance(one, dict) and all(is_real(prob) and 0 <= prob <= 1 for prob in one.values())):
            raise ConfigError(f"a law of sequences is a dict of their probabilities, got {brief(one)}")
    return 0.5 * math.fsum(abs(law.get(text, 0.0) - other.get(text, 0.0)) for text in law.keys() | other.keys())


def _text_law(model: Model, prompt: Sequence[int], sampling: Sampling, eos: frozenset[int]) -> Callable[[Text], Floats]:
    """The model's warped law after the prompt and a text."""
    try:
        start = list(prompt)
    except Exception:  # no list, or one that cannot be read
        start = []
    if not start or not all(is_whole(i) and 0 <= i < model.vocab_size for i in start):
        raise PromptError(
            f"the prompt must be token ids from 0 to {model.vocab_size - 1}, at least one; got {brief(prompt)}"
        )
    if not isinstance(sampling, Sampling):
        raise ConfigError(f"sampling must be a Sampling, as in Sampling(temperature=0.8), got {brief(sampling)}")
    if sampling.bad_words:
        raise ConfigError("bad words are texts, and an enumeration is over ids; leave them out")
    reader, laws = model.open(start), Laws(sampling, len(start), eos)

    @cache
    def law(text: Text) -> Floats:
        return laws(reader.logits([*start, *text], 1), [*start, *text])[0]

    return law


def _added(blocks: Iterator[tuple[Text, float]]) -> SequenceLaw:
    """The law of a round's block. A round that adds nothing is played again until it adds something."""
    law: SequenceLaw = defaultdict(float)
    for block, prob in blocks:
        law[block] += prob
    if law.pop((), 0.0) > 0:
        total = some_mass(math.fsum(law.values()))
        return {block: prob / total for block, prob in law.items()}
    return law


def _support(law: Floats) -> Iterator[tuple[int, float]]:
    return ((token, prob) for token, prob in enumerate(law.tolist()) if prob > 0)


def _check_size(pair: Pair, length: int) -> None:
    if not isinstance(pair, Pair):
        raise ConfigError(f"pair must be a Pair of two models, got {brief(pair)}")
    if not (is_whole(length) and length >= 1):
        raise ConfigError(f"length must be a whole number of at least 1, got {brief(length)}")
    if max(2, pair.target.vocab_size) ** min(int(length), 64) > _MOST_SEQUENCES:
        raise ConfigError(
            f"{pair.target.vocab_size}^{brief(length)} sequences are too many to enumerate "
            f"(at most {_MOST_SEQUENCES:,}). Take a shorter length or a model over fewer tokens."
        )
