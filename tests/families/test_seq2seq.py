"""Encoder-decoder pairs: transformers' own decoding is the judge, and the prompt is read once per request."""

import pytest
import torch
from transformers import EncoderDecoderCache, GenerationConfig, T5Config

import specviz as sv
from specviz.models.seq2seq import Seq2SeqModel
from specviz.records import CacheWork
from tests.families.table import T5, built, random_model, vocabulary
from tests.families.test_families import GREEDY, PROMPT

KINDS = {"T5": {}, "T5 v1.1": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}}


def sized(kind: str, **sizes: int) -> Seq2SeqModel:
    return Seq2SeqModel(random_model(T5Config(**{**T5, **KINDS[kind], **sizes})), vocabulary(), kind)


@pytest.fixture(scope="module", params=KINDS)
def pair(request) -> sv.Pair:
    """A target of three layers and a draft of one, narrower, as Leviathan et al. pair T5-XXL with T5-small."""
    draft = sized(request.param, d_model=16, d_ff=32, num_layers=1, num_decoder_layers=1)
    return sv.Pair(sized(request.param, num_layers=3), draft, vocabulary())


def generated(model: Seq2SeqModel, prompt, n: int) -> tuple[int, ...]:
    plain = GenerationConfig(
        do_sample=False, max_new_tokens=n, pad_token_id=0, eos_token_id=sorted(model.eos), decoder_start_token_id=0
    )
    return tuple(model.model.generate(torch.tensor([prompt]), generation_config=plain)[0, 1:].tolist())


def test_greedy_speculation_is_what_transformers_generates(pair):
    wanted = {prompt: generated(pair.target, prompt, 14) for prompt in (PROMPT, (7,), tuple(range(30, 10, -1)))}
    assert len(set(wanted.values())) == 3  # what the encoder reads decides
    for draft in (pair.draft, sv.SkippedLayers([1]), sv.PromptLookup()):
        duo = sv.Pair(pair.target, draft, vocabulary())
        for prompt, want in wanted.items():
            assert sv.speculate(duo, prompt, max_new_tokens=14, sampling=GREEDY).tokens == want, draft.name


def test_the_prompt_is_read_once_by_either_model(pair, monkeypatch):
    read = []
    for model in (pair.target, pair.draft):
        encoder = model.model.get_encoder()

        def forward(*args, model=model, encode=encoder.forward, **options):
            read.append((model.name, options["input_ids"].tolist()[0]))
            return encode(*args, **options)

        monkeypatch.setattr(encoder, "forward", forward)
    trace = sv.speculate(pair, PROMPT, max_new_tokens=12, sampling=GREEDY)
    assert len(trace.rounds) > 2
    assert read == [(pair.draft.name, list(PROMPT)), (pair.target.name, list(PROMPT))]


def test_the_counts_are_those_of_a_text_of_prompt_and_output(pair):
    trace = sv.speculate(sv.Pair(pair.target, pair.target, vocabulary()), PROMPT, max_new_tokens=8, sampling=GREEDY)
    n = len(PROMPT)
    assert trace.rounds[0].target_cache == CacheWork(0, n + len(trace.rounds[0].nodes), 0)
    assert trace.rounds[1].start == n + len(trace.rounds[0].emitted)


@pytest.mark.parametrize("off_by", [-1, 1])
def test_trap20_a_decoders_cache_cropped_one_too_many_or_too_few_is_caught(pair, monkeypatch, off_by):
    crop = EncoderDecoderCache.crop
    monkeypatch.setattr(EncoderDecoderCache, "crop", lambda self, n: crop(self, n + off_by))
    assert not Seq2SeqModel(pair.target.model, vocabulary()).can_drop


def test_the_decoders_layers_are_found_beside_others():
    """A pictures' part with as many layers comes first in the model."""
    target = built("Gemma 3 with eyes")
    texts = [model.open(PROMPT).logits(PROMPT, 1) for model in (target, target.without([1]))]
    assert abs(texts[0] - texts[1]).max() > 0.1


def test_only_the_decoders_layers_are_skipped(pair):
    twin = pair.target.without([1])
    assert len(twin.model.decoder.block) == 2
    assert twin.model.encoder is pair.target.model.encoder
    with pytest.raises(sv.ConfigError, match=r"has layers 1 to 2 that can be skipped, got \[3\]"):
        pair.target.without([3])


def test_a_model_without_an_encoder_is_no_partner(pair):
    sentence = "the {} is an encoder-decoder model and the {} is not, so they read a prompt in different ways"
    with pytest.raises(sv.ConfigError, match=sentence.format("target", "draft")):
        sv.Pair(pair.target, built("Llama"), vocabulary())
    with pytest.raises(sv.ConfigError, match=sentence.format("draft", "target")):
        sv.Pair(built("Llama"), sv.EarlyStop(pair.draft), vocabulary())


def test_laws_inside_the_prompt_or_after_another_one_are_refused(pair):
    for prompt, text, n in ((PROMPT, PROMPT, 2), (PROMPT, [1, *PROMPT], 1), ((), PROMPT, 1), (PROMPT, PROMPT[:3], 1)):
        with pytest.raises(sv.ModelError, match="has laws only after the prompt it is opened with"):
            pair.target.open(prompt).logits(text, n)


def test_a_decoder_that_starts_with_no_known_token_is_refused():
    config = T5Config(**{**T5, "decoder_start_token_id": None})
    with pytest.raises(sv.LoadError, match="does not say with which token its decoder starts"):
        Seq2SeqModel(random_model(config), vocabulary(), "T5")


def test_a_pair_is_loaded_from_folders(pair, tmp_path):
    for name, model in (("target", pair.target), ("draft", pair.draft)):
        model.model.save_pretrained(tmp_path / name)
        vocabulary().tokenizer.save_pretrained(tmp_path / name)
    loaded = sv.load_pair(tmp_path / "target", tmp_path / "draft", device="cpu")
    assert isinstance(loaded.target, Seq2SeqModel)
    want = sv.speculate(pair, PROMPT, max_new_tokens=8, seed=3)
    assert sv.speculate(loaded, PROMPT, max_new_tokens=8, seed=3).tokens == want.tokens


def test_loaded_models_make_a_pair(pair):
    again = sv.Pair.from_transformers(pair.target.model, pair.draft.model, vocabulary().tokenizer)
    assert isinstance(again.target, Seq2SeqModel)
    assert isinstance(again.draft, Seq2SeqModel)
