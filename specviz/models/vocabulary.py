"""Text to ids and back, token by token, for the fast tokenizers of transformers.

A token may be half a character. Its label then shows its bytes, and the text waits until the character is whole.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from specviz.errors import LoadError, PromptError, VocabularyError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Vocabulary:
    """A tokenizer, seen from the decoder: encode a prompt, label a token, grow a text.

    size: ids are 0 .. size - 1. unknown: ids in that range that the tokenizer does not know; they are never emitted.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        if getattr(tokenizer, "backend_tokenizer", None) is None:
            raise LoadError(
                f"{type(tokenizer).__name__} is a tokenizer without a fast backend, whose tokens cannot be told apart "
                "byte by byte. Choose a model with a tokenizer.json."
            )
        self.tokenizer = tokenizer
        ids = tokenizer.get_vocab()
        self.tokens = {i: token for token, i in ids.items()}
        self.size = max(self.tokens, default=-1) + 1
        self.unknown = tuple(i for i in range(self.size) if i not in self.tokens)
        self.bos: int | None = tokenizer.bos_token_id
        self.eos: int | None = tokenizer.eos_token_id
        self._special = set(tokenizer.all_special_ids)
        self._added = {i: t.content for i, t in tokenizer.added_tokens_decoder.items()}
        self._special |= {i for i, t in tokenizer.added_tokens_decoder.items() if t.special}
        self._bytes: dict[int, bytes] = {}
        self._labels: dict[int, str] = {}
        decoder = repr(tokenizer.backend_tokenizer.decoder)
        self._byte_level = "ByteLevel" in decoder
        self._sentence_piece = not self._byte_level and ("ByteFallback" in decoder or "▁" in decoder)

    def encode(self, text: str, *, closed: bool = False) -> list[int]:
        """The prompt's ids, with BOS once where the tokenizer adds one, and without a trailing EOS that it adds.

        closed: with that EOS, as an encoder reads it.

        Raises PromptError for text that is no Unicode, and for an empty one when the tokenizer has no BOS.
        """
        _refuse_surrogates(text)
        whole = list(self.tokenizer(text)["input_ids"])
        plain = self.encode_plain(text)
        starts = (i for i in range(len(whole) - len(plain) + 1) if whole[i : i + len(plain)] == plain)
        start = next(starts, 0)
        before = whole[:start]  # what the tokenizer puts before the text; what it puts after is left out
        after = whole[start + len(plain) :] if closed else []
        if plain[:1] == before[-1:] == [self.bos]:
            before = before[:-1]  # the text came with its BOS
        ids = before + plain + after
        if not ids and self.bos is not None:
            ids = [self.bos]
        if not ids:
            raise PromptError(
                "the prompt is empty and this model has no begin-of-text token. Type at least one character."
            )
        return ids

    def chat(self, user: str, system: str = "") -> str:
        """The chat in the form that the model was trained on, up to where its answer begins; BOS is in it if need be.

        Raises PromptError for a tokenizer without a template, for one that does not take a system prompt, and for text
        that is no Unicode.
        """
        _refuse_surrogates(system + user)
        if not self.tokenizer.chat_template:
            raise PromptError("this model has no chat template, so it was not made to chat. Give the prompt as text.")
        messages = [{"role": "user", "content": user}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        try:
            text = str(self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        except Exception as error:  # whatever a template of somebody else's raises
            told = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            step = _NO_SYSTEM if system else " Give the prompt as text."
            raise PromptError(f"the model's chat template does not take this chat ({told[:120]}).{step}") from None
        if system.strip() not in text:
            raise PromptError(f"the model's chat template has no place for a system prompt.{_NO_SYSTEM}")
        return text

    def encode_plain(self, text: str) -> list[int]:
        """The ids of a text alone, with nothing put before or after it."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def label(self, token: int) -> str:
        """The token as people read it; its bytes in hexadecimal, ⟨E2 80⟩, when it is part of a character."""
        if token not in self._labels:
            data = self.tokens.get(token, f"⟨{token}⟩").encode() if token in self._special else self.to_bytes(token)
            try:
                self._labels[token] = data.decode("utf-8")
            except UnicodeDecodeError:
                self._labels[token] = f"⟨{data.hex(' ').upper()}⟩"
        return self._labels[token]

    def to_bytes(self, token: int) -> bytes:
        """What the token adds to the text, in UTF-8; nothing for special tokens."""
        if token not in self._bytes:
            self._bytes[token] = self._find_bytes(token)
        return self._bytes[token]

    def _find_bytes(self, token: int) -> bytes:
        if token in self._special or token not in self.tokens:
            return b""
        if token in self._added:
            return self._added[token].encode()
        name = self.tokens[token]
        if self._byte_level and all(character in _byte_alphabet() for character in name):
            return bytes(_byte_alphabet()[character] for character in name)
        if self._sentence_piece:
            is_byte = len(name) == 6 and name.startswith("<0x") and name.endswith(">")
            return bytes([int(name[3:5], 16)]) if is_byte else name.replace("▁", " ").encode()
        before = self.tokenizer.decode([token])  # other kinds (WordPiece): what the token adds to itself
        return self.tokenizer.decode([token, token])[len(before) :].encode()


_NO_SYSTEM = " Put what the system prompt says into the user's text."


def _refuse_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise PromptError(
            f"the prompt holds half of a surrogate pair at character {error.start}, which is not text. Remove it."
        ) from None


def check_same_tokens(target: PreTrainedTokenizerBase, draft: PreTrainedTokenizerBase) -> None:
    """Raises VocabularyError with the first token that differs, added and special ones among them.

    What must agree is what an id means, since the target's tokenizer makes the ids that both models see. So merges,
    normalizer and pre-tokenizer may differ, as may the roles: a base model and its chat variant name other tokens as
    begin, end and padding. An added token that one tokenizer reads whole and the other in pieces, or that is control
    for one and text for the other, means other things to the two models and is refused. Rows of the output layer
    beyond the tokenizer do not matter.
    """
    ours, theirs = ({i: token for token, i in t.get_vocab().items()} for t in (target, draft))
    for i in sorted(ours.keys() | theirs.keys()):
        pair = ours.get(i), theirs.get(i)
        if pair[0] != pair[1]:
            raise _differ(f"{i}", [f"is {token!r}" if token is not None else "does not exist" for token in pair])
    added = [t.added_tokens_decoder for t in (target, draft)]
    for i in sorted(added[0].keys() & added[1].keys()):
        control = [tokens[i].special for tokens in added]
        if control[0] != control[1]:
            raise _differ(f"{i} ({ours[i]!r})", ["is control" if special else "is text" for special in control])
    for i in sorted(added[0].keys() | added[1].keys()):
        whole = [i in t(ours[i], add_special_tokens=False)["input_ids"] for t in (target, draft)]
        if whole[0] != whole[1]:
            raise _differ(f"{i} ({ours[i]!r})", ["is read whole" if one else "is read in pieces" for one in whole])


def _differ(token: str, told: list[str]) -> VocabularyError:
    return VocabularyError(
        f"draft and target do not share a vocabulary: token {token} {told[0]} in the target's and {told[1]} in the "
        "draft's. Choose two models of one family."
    )


class GrowingText:
    """A text that grows by tokens: `add` returns what each one adds, "" while a character is incomplete."""

    def __init__(self, vocabulary: Vocabulary | None, before: Iterable[int] = ()) -> None:
        self._vocabulary = vocabulary
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for token in before:
            self.add(token)

    def add(self, token: int) -> str:
        return "" if self._vocabulary is None else self._decoder.decode(self._vocabulary.to_bytes(token))


@cache
def _byte_alphabet() -> dict[str, int]:
    """The character that stands for each byte in byte-level BPE: itself where it prints, else one from U+0100 on."""
    prints = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in prints]
    return {chr(byte): byte for byte in prints} | {chr(256 + i): byte for i, byte in enumerate(others)}
