"""Texts to token ids: where documents end, what is held out, the tokenizer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

from training.corpus import SOURCES, CorpusError

END, END_ID = "<|endoftext|>", 0
HELD_OUT = 0.015  # the last share of each text's characters
CHUNK = 50_000  # characters that the tokenizer is handed at once


@dataclass(frozen=True, slots=True)
class Text:
    """A text with END where a document ends. held_out: its last part, never trained on."""

    name: str
    training: str
    held_out: str


def read_texts(folder: Path) -> list[Text]:
    """Those of the three texts that the folder holds. Raises CorpusError when it holds none."""
    texts = []
    for name in SOURCES:
        path = folder / f"{name}.txt"
        if path.is_file():
            text = DOCUMENTS[name](path.read_text(encoding="utf-8"))
            cut = int(len(text) * (1 - HELD_OUT))
            texts.append(Text(name, text[:cut], text[cut:]))
    if not texts:
        names = ", ".join(f"{name}.txt" for name in SOURCES)
        raise CorpusError(f"{folder} holds none of {names}. Make them: python -m training.corpus {folder}")
    return texts


def missing(texts: Sequence[Text]) -> list[str]:
    """Names of the texts of the recipe that are not among these."""
    return [name for name in SOURCES if name not in {text.name for text in texts}]


def make_tokenizer(texts: Sequence[Text], vocab_size: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE, trained on what is not held out. vocab_size: at least 257, the bytes and END."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    chunks = (chunk for text in texts for chunk in _chunks(text.training.replace(END, ""), 2 * CHUNK))
    tokenizer.train_from_iterator(chunks, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END, pad_token=END)


def encode(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """The ids of a text, END_ID after each document."""
    ids: list[int] = []
    for document in text.split(END):
        for chunk in _chunks(document, CHUNK):
            ids += tokenizer.backend_tokenizer.encode(chunk).ids
        ids.append(END_ID)
    return ids


def _chunks(text: str, size: int) -> Iterable[str]:
    return (text[i : i + size] for i in range(0, len(text), size))


def _novels(text: str) -> str:
    return re.sub(r"\n\n(?=(?:CHAPTER|Chapter|VOLUME|Volume) )", "\n\n" + END, text)


def _whale(text: str) -> str:
    return re.sub(r"\n\n(?=CHAPTER )", "\n\n" + END, text)


def _code(text: str) -> str:
    return text.replace('\n\n\n"""', "\n\n\n" + END + '"""')


# How each text is cut into documents: at chapters, and at modules that begin with a docstring.
DOCUMENTS: dict[str, Callable[[str], str]] = {"austen": _novels, "mobydick": _whale, "pystdlib": _code}
