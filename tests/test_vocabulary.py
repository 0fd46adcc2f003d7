"""Text to ids and back, on tokenizers of three kinds made in the test and on the bundled one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

import specviz as sv
from specviz.models.vocabulary import GrowingText, Vocabulary

TEXTS = ["It is a truth — universally “acknowledged”.", "naïve café 😀 日本語", "a\tb\n\n  c", "=1+1", "<img onerror>"]


def byte_level(**special) -> PreTrainedTokenizerFast:
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    )
    return PreTrainedTokenizerFast(tokenizer_object=t, **special)


def sentence_piece() -> PreTrainedTokenizerFast:
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), "▁", "a", "b", "▁a", "▁ab"]
    t = Tokenizer(models.BPE({p: i for i, p in enumerate(pieces)}, [("▁", "a"), ("▁a", "b")][:1], byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    t.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    t.add_special_tokens(["<s>", "</s>"])
    return PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def word_piece() -> PreTrainedTokenizerFast:
    t = Tokenizer(models.WordPiece({"[UNK]": 0, "play": 1, "##ing": 2, "now": 3}, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.decoder = decoders.WordPiece(cleanup=False)
    return PreTrainedTokenizerFast(tokenizer_object=t, unk_token="[UNK]")


def grown(vocabulary: Vocabulary, ids) -> list[str]:
    text = GrowingText(vocabulary)
    return [text.add(i) for i in ids]


@pytest.mark.parametrize("text", TEXTS)
def test_trap14_growing_token_by_token_gives_the_text(text):
    vocabulary = Vocabulary(byte_level())
    assert "".join(grown(vocabulary, vocabulary.encode(text))) == text


@given(st.text(min_size=1))
def test_trap14_any_text_grows_back_on_the_bundled_tokenizer(pair, text):
    if "<|endoftext|>" not in text:
        assert "".join(grown(pair.tokenizer, pair.tokenizer.encode(text))) == text


def test_trap14_half_a_character_shows_its_bytes_and_waits_in_the_text(pair):
    ids = pair.tokenizer.encode("😀")
    assert len(ids) > 1
    pieces = grown(pair.tokenizer, ids)
    assert pieces[:-1] == [""] * (len(ids) - 1)
    assert pieces[-1] == "😀"
    assert pair.tokenizer.label(ids[0]).startswith("⟨F0")
    assert not any("\ufffd" in pair.tokenizer.label(i) for i in range(pair.tokenizer.size))


def test_sentence_piece_tokens_keep_their_space_and_their_bytes():
    vocabulary = Vocabulary(sentence_piece())
    ids = vocabulary.encode("a é")
    assert ids[0] == 1
    assert "".join(grown(vocabulary, ids)) == " a é"
    assert vocabulary.label(vocabulary.tokenizer.convert_tokens_to_ids("<0xC3>")) == "⟨C3⟩"


def test_word_pieces_join_and_words_keep_their_space():
    vocabulary = Vocabulary(word_piece())
    assert "".join(grown(vocabulary, vocabulary.encode("play playing now"))) == " play playing now"


def test_special_tokens_have_a_label_and_no_text(pair):
    assert pair.tokenizer.label(0) == "<|endoftext|>"
    assert pair.tokenizer.to_bytes(0) == b""


def test_added_tokens_that_are_not_special_are_text():
    tokenizer = byte_level()
    tokenizer.add_tokens([AddedToken("naïve", special=False)])
    vocabulary = Vocabulary(tokenizer)
    assert vocabulary.to_bytes(len(tokenizer) - 1) == "naïve".encode()


def test_trap16_bos_is_added_once():
    vocabulary = Vocabulary(sentence_piece())
    assert vocabulary.encode("<s>a").count(1) == 1
    assert vocabulary.encode("a").count(1) == 1


@pytest.mark.parametrize("template", ["$A <|endoftext|>", "<|endoftext|> $A <|endoftext|>", "<|endoftext|> $A"])
def test_trap16_an_end_token_that_the_tokenizer_appends_is_left_out(pair, template):
    t = Tokenizer.from_str(pair.tokenizer.tokenizer.backend_tokenizer.to_str())
    t.post_processor = processors.TemplateProcessing(single=template, special_tokens=[("<|endoftext|>", 0)])
    end = "<|endoftext|>"
    vocabulary = Vocabulary(PreTrainedTokenizerFast(tokenizer_object=t, bos_token=end, eos_token=end))
    before = [0] if template.startswith("<") else []
    plain = pair.tokenizer.encode("It is")
    assert vocabulary.encode("It is") == before + plain
    assert vocabulary.encode("It is" + end) == [*before, *plain, 0]  # this one the user typed
    after = [0] if template.endswith(">") else []
    assert vocabulary.encode("It is", closed=True) == [*before, *plain, *after]  # as an encoder reads it
    assert vocabulary.encode(end + "It is") == [0, *plain]


def test_trap15_an_empty_prompt_starts_from_bos_or_is_refused(pair):
    assert pair.tokenizer.encode("") == [0]
    with pytest.raises(sv.PromptError, match=r"the prompt is empty and this model has no begin-of-text token"):
        Vocabulary(byte_level()).encode("")


def test_half_a_surrogate_pair_gets_one_sentence(pair):
    with pytest.raises(sv.PromptError, match="half of a surrogate pair at character 1"):
        pair.tokenizer.encode("a\ud800")


def test_ids_that_the_tokenizer_does_not_know_are_listed():
    t = Tokenizer(models.WordLevel({"a": 0, "b": 3}, unk_token="a"))
    assert Vocabulary(PreTrainedTokenizerFast(tokenizer_object=t)).unknown == (1, 2)
