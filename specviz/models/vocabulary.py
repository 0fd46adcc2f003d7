"""Text to ids and back, token by token, for the fast tokenizers of transformers.

A token may be half a character. Its label then shows its bytes, and the text waits until the character is whole.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from specviz.errors import LoadError, PromptError

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

    def encode(self, text: str) -> list[int]:
        """The prompt's ids, with BOS once where the tokenizer adds one, and without a trailing EOS that it adds.

        Raises PromptError for text that is no Unicode, and for an empty one when the tokenizer has no BOS.
        """
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise PromptError(
                f"the prompt holds half of a surrogate pair at character {error.start}, which is not text. Remove it."
            ) from None
        whole = list(self.tokenizer(text)["input_ids"])
        plain = self.encode_plain(text)
        starts = (i for i in range(len(whole) - len(plain) + 1) if whole[i : i + len(plain)] == plain)
        before = whole[: next(starts, 0)]  # what the tokenizer puts before the text; what it puts after is left out
        if plain[:1] == before[-1:] == [self.bos]:
            before = before[:-1]  # the text came with its BOS
        ids = before + plain
        if not ids and self.bos is not None:
            ids = [self.bos]
        if not ids:
            raise PromptError(
                "the prompt is empty and this model has no begin-of-text token. Type at least one character."
            )
        return ids

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
