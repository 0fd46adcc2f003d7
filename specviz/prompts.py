"""What a request begins with: a prompt, as text, as a chat or as token ids, made into the ids that both models see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from specviz.errors import ConfigError, PromptError, brief
from specviz.models.base import Pair
from specviz.models.vocabulary import GrowingText
from specviz.records import Sampling, is_whole


@dataclass(frozen=True, slots=True)
class Chat:
    """What a user says to a chat model, and what the system tells it first; the model's own template puts it in form.

    Control tokens that are written in either text are read as such, as in any prompt.
    """

    user: str
    system: str = ""

    def __post_init__(self) -> None:
        for text in (self.user, self.system):
            if not isinstance(text, str):
                raise PromptError(f"a Chat takes text for user and system, got {type(text).__name__}")


Prompt = str | Chat | Sequence[int]


@dataclass(frozen=True, slots=True)
class Opening:
    """A prompt as the models see it. text: as it was written, or as the chat template put it."""

    tokens: list[int]
    text: str


def opening(pair: Pair, prompt: Prompt) -> Opening:
    """The prompt's ids and text. Raises PromptError for what cannot be decoded from."""
    if isinstance(prompt, str | Chat):
        if pair.tokenizer is None:
            raise PromptError("this pair has no tokenizer, so the prompt must be token ids, not text")
        if isinstance(prompt, Chat):
            text = pair.tokenizer.chat(prompt.user, prompt.system)
            ids = pair.tokenizer.encode_plain(text)  # a template writes BOS itself where the model wants it
        else:
            text = prompt
            closed = {"closed": True} if getattr(pair.target, "has_encoder", False) else {}
            ids = pair.tokenizer.encode(text, **closed)
    else:
        ids = _given_ids(pair, prompt)
        text = text_of(pair, ids)
    if not ids:
        raise PromptError("the model's chat template makes no token of this chat. Give the prompt as text.")
    context = pair.target.context_length
    if context is not None and len(ids) > context:
        raise PromptError(f"the prompt has {len(ids)} tokens and the target's context holds {context}. Shorten it.")
    return Opening(ids, text)


def _given_ids(pair: Pair, prompt: Sequence[int]) -> list[int]:
    if not isinstance(prompt, Iterable) or isinstance(prompt, bytes | bytearray | Mapping | set):
        kind = type(prompt).__name__
        raise PromptError(f"the prompt must be text or a list of token ids (input_ids[0]), got {kind}")
    try:
        given = prompt.tolist() if hasattr(prompt, "tolist") else list(prompt)  # an array or a tensor
    except Exception:  # whatever something that cannot be read raises
        raise PromptError(f"the prompt cannot be read as token ids, got {brief(prompt)}") from None
    given = given if isinstance(given, list) else [given]
    given = given[0] if len(given) == 1 and isinstance(given[0], list) else given  # a batch of one
    if any(isinstance(i, list | tuple) for i in given):
        raise PromptError("the prompt must be one list of token ids, got several. Pass one row: batch[0]")
    ids = [int(i) if is_whole(i) else -1 for i in given]
    if not ids:
        raise PromptError("the prompt holds no token ids; give at least one")
    for what, i in zip(given, ids, strict=True):
        if not 0 <= i < pair.target.vocab_size:
            raise PromptError(f"the prompt holds {brief(what)}, but ids run from 0 to {pair.target.vocab_size - 1}")
    return ids


def bad_words(pair: Pair, sampling: Sampling) -> list[tuple[int, ...]]:
    """Each bad word as ids: as the tokenizer writes it alone, and as it does after a blank."""
    if sampling.bad_words and pair.tokenizer is None:
        raise ConfigError("this pair has no tokenizer, so bad words cannot be told apart")
    found = []
    for written in (form for word in sampling.bad_words for form in (word, f" {word}")):
        ids = tuple(pair.tokenizer.encode_plain(written)) if pair.tokenizer and is_unicode(written) else ()
        if not ids:
            raise ConfigError(f"bad_words: the tokenizer makes no token of {brief(written)}, so it cannot be kept out")
        found.append(ids)
    return found


def is_unicode(text: str) -> bool:
    """Whether no half of a surrogate pair is in it."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def text_of(pair: Pair, tokens: Sequence[int]) -> str:
    growing = GrowingText(pair.tokenizer)
    return "".join(growing.add(token) for token in tokens)
