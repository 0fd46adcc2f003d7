"""transformers models as models of ours: caches, positions, padding rows, loading. Built from configs, no download."""

import copy
import json
import pickle
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    DynamicCache,
    GenerationConfig,
    LlamaConfig,
    MambaConfig,
    PreTrainedTokenizerFast,
    Qwen3Config,
    RobertaConfig,
)

import specviz as sv
from specviz.models import presets
from specviz.models.hf import HFModel
from specviz.models.lean import LeanCache, LeanLlama
from specviz.models.load import check_same_tokens
from specviz.models.presets import BUNDLED
from specviz.models.vocabulary import Vocabulary
from specviz.sampling import warp
from tests.families import table

SIZE = 2048  # the bundled tokenizer's
SMALL = {"vocab_size": SIZE, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
HEADS = {"intermediate_size": 64, "num_key_value_heads": 1, "max_position_embeddings": 256}
CONFIGS = {  # every family is in tests/families
    "llama": LlamaConfig(**SMALL, **HEADS),
    "qwen3": Qwen3Config(**SMALL, **HEADS, head_dim=16),
    "mamba": MambaConfig(vocab_size=SIZE, hidden_size=32, num_hidden_layers=2, state_size=8),
}


def build(config, seed: int = 0, vocabulary=None, scale: float = 6.0) -> HFModel:
    """A random model with laws sharp enough that argmax has no ties."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(scale if p.ndim > 1 else 1)
    return HFModel(model, vocabulary)


@pytest.mark.parametrize("halves", [True, False], ids=["float16 numbers", "others"])
def test_the_lean_pass_packs_weights_that_are_float16_numbers_and_rounds_none(pair, halves):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIGS["llama"]).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_((p * 6).half().float() if halves else p * 6)
    ours = HFModel(model, pair.tokenizer)
    packed = ours.lean.head.func.__name__ == "_times_packed"
    assert packed == (halves and "fbgemm" in torch.backends.quantized.supported_engines)
    counts = (5, 1, 2, 3, 4, 8, 9, 13, 1, 300, 2)  # the 300 go in parts
    tokens = np.random.default_rng(0).integers(1, SIZE, sum(counts)).tolist()
    with torch.no_grad():
        want = model(torch.tensor([tokens])).logits[0].numpy()
    for keep_all in (True, False):
        reader, end = ours.open(), 0
        for n in counts:
            end += n
            kept = n if keep_all else 1
            got = reader.logits(tokens[:end], kept)
            assert np.abs(got - want[end - kept : end]).max() < 2e-5 * np.abs(want).max()


def float16_llama():
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(CONFIGS["llama"]).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_((p * 6).half().float())
    return model


def test_the_lean_pass_follows_weights_that_are_changed_after_loading(pair):
    model = float16_llama()
    ours = HFModel(model, pair.tokenizer)
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1.5)
        want = model(torch.tensor([[5, 6, 7]])).logits[0].numpy()
    assert np.abs(ours.open().logits([5, 6, 7], 3) - want).max() < 1e-4 * np.abs(want).max()


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_model_with_packed_weights_can_be_copied_and_pickled(pair, twin):
    ours = HFModel(float16_llama(), pair.tokenizer)
    other = twin(ours)
    assert other.lean is not None
    np.testing.assert_array_equal(other.open().logits([5, 6, 7], 3), ours.open().logits([5, 6, 7], 3))


def test_a_llama_with_a_wrapped_projection_goes_the_general_way(pair):
    model = float16_llama()
    model.model.layers[0].self_attn.q_proj = torch.nn.Sequential(model.model.layers[0].self_attn.q_proj)
    assert HFModel(model, pair.tokenizer).lean is None


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_the_lean_pass_gives_transformers_logits_from_the_first_token_to_beyond_the_context(pair, kv_heads):
    config = LlamaConfig(**{**SMALL, "num_attention_heads": 4}, **{**HEADS, "num_key_value_heads": kv_heads})
    model = build(config, vocabulary=pair.tokenizer)
    tokens = np.random.default_rng(0).integers(1, SIZE, HEADS["max_position_embeddings"] + 44).tolist()
    with torch.no_grad():
        want = model.model(torch.tensor([tokens])).logits[0].numpy()
    reader = model.open()
    got = np.concatenate([reader.logits(tokens[:end], n) for end, n in ((1, 1), (100, 99), (101, 1), (300, 199))])
    np.testing.assert_allclose(got, want, atol=2e-4 * np.abs(want).max())  # worst seen 3e-6


@pytest.mark.parametrize("halves", [True, False], ids=["float16 numbers", "others"])
def test_the_lean_pass_stays_in_float32_inside_of_autocast(pair, halves):
    ours = HFModel(float16_llama(), pair.tokenizer) if halves else build(CONFIGS["llama"], vocabulary=pair.tokenizer)
    texts = [list(range(5, 5 + n)) for n in (1, 5, 40)]
    want = [ours.open().logits(text, 1) for text in texts]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = [ours.open().logits(text, 1) for text in texts]
    assert ours.lean is not None
    np.testing.assert_array_equal(got, want)


def test_a_lean_pass_that_differs_is_not_taken(pair, monkeypatch):
    passes = []

    def wrong(self, *rows, right=LeanLlama.__call__):
        passes.append(rows)
        return right(self, *rows) + np.arange(SIZE, dtype=np.float32) / SIZE

    monkeypatch.setattr(LeanLlama, "__call__", wrong)
    model = build(CONFIGS["llama"], vocabulary=pair.tokenizer)
    assert (model.lean, model.can_drop, model.takes_positions) == (None, True, True)
    assert passes


@pytest.mark.parametrize("off_by", [-1, 1])
def test_trap20_a_real_cache_cropped_one_too_many_or_too_few_is_caught(pair, monkeypatch, off_by):
    crop = DynamicCache.crop
    monkeypatch.setattr(DynamicCache, "crop", lambda self, n: crop(self, n + off_by))
    assert not build(CONFIGS["qwen3"], vocabulary=pair.tokenizer).can_drop


@pytest.mark.parametrize("off_by", [-1, 1])
def test_trap20_a_lean_cache_cropped_one_too_many_or_too_few_is_caught(pair, monkeypatch, off_by):
    crop = LeanCache.crop
    monkeypatch.setattr(LeanCache, "crop", lambda self, n: crop(self, n + off_by))
    assert build(CONFIGS["llama"], vocabulary=pair.tokenizer).lean is None


def test_a_cache_that_cannot_roll_back_is_recomputed_and_the_record_says_so(pair):
    model = build(CONFIGS["mamba"], vocabulary=pair.tokenizer)
    assert not model.can_drop
    trace = sv.speculate(sv.Pair(model, model, pair.tokenizer), [5, 6], max_new_tokens=8, seed=0)
    assert all(r.target_cache.reused == 0 for r in trace.rounds)
    assert trace.rounds[-1].target_cache.fed == trace.rounds[-1].start + len(trace.rounds[-1].nodes)


@pytest.mark.parametrize("rows", [SIZE + 64, SIZE - 8], ids=["padded rows", "fewer rows"])
def test_trap7_padding_rows_are_cut_and_missing_ones_never_come(pair, rows):
    model = build(LlamaConfig(**{**SMALL, "vocab_size": rows}, **HEADS), vocabulary=pair.tokenizer)
    logits = model.open().logits([1, 2, 3], 2)
    assert logits.shape == (2, SIZE)
    assert np.isneginf(logits[:, rows:]).all()
    trace = sv.speculate(sv.Pair(model, pair.draft, pair.tokenizer), [1], max_new_tokens=20, seed=0)
    assert max(trace.tokens) < min(rows, SIZE)


def test_a_model_that_sees_later_tokens_is_refused(pair):
    config = BertConfig(**SMALL, intermediate_size=64, max_position_embeddings=64)
    with pytest.raises(sv.LoadError, match="lets a token see those after it, so it is no decoder"):
        build(config, vocabulary=pair.tokenizer)


def test_trap17_a_model_with_positions_of_its_own_counts_them_itself(pair):
    config = RobertaConfig(
        **SMALL, intermediate_size=64, max_position_embeddings=64, is_decoder=True, pad_token_id=1
    )  # its positions begin at pad_token_id + 1
    model = build(config, vocabulary=pair.tokenizer)
    assert not model.takes_positions
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        want = model.model(ids).logits[0, -2:].numpy()
    reader = model.open()
    reader.logits([5, 6, 9], 1)
    np.testing.assert_allclose(reader.logits([5, 6, 7, 8], 2), want, atol=1e-4 * np.abs(want).max())


def test_a_token_without_a_row_gets_one_sentence(pair):
    model = build(LlamaConfig(**{**SMALL, "vocab_size": SIZE - 8}, **HEADS), vocabulary=pair.tokenizer)
    with pytest.raises(sv.PromptError, match=r"has no row for token 2047: its embedding ends at 2039"):
        sv.speculate(sv.Pair(model, model, pair.tokenizer), [SIZE - 1])


def test_a_draft_that_cannot_read_a_token_leaves_the_target_alone(pair):
    short = build(LlamaConfig(**{**SMALL, "vocab_size": 100}, **HEADS), vocabulary=pair.tokenizer)
    trace = sv.speculate(sv.Pair(pair.target, short, pair.tokenizer), [1, 2], max_new_tokens=20, seed=0)
    assert len(trace.tokens) == 20
    assert max(trace.tokens) >= 100
    assert not trace.rounds[-1].nodes


def test_trap15_the_context_of_a_model_with_positions_of_its_own_can_be_filled(pair):
    config = RobertaConfig(**SMALL, intermediate_size=64, max_position_embeddings=64, is_decoder=True, pad_token_id=1)
    model = build(config, vocabulary=pair.tokenizer)
    trace = sv.autoregress(sv.Pair(model, model, pair.tokenizer), [5] * 40, max_new_tokens=60, seed=0)
    assert (trace.stop_reason, len(trace.tokens)) == ("context", 23)


def test_trap7_an_id_that_the_tokenizer_does_not_know_is_never_emitted():
    t = Tokenizer(models.WordLevel({"a": 0, "b": 3}, unk_token="a"))
    model = build(LlamaConfig(**{**SMALL, "vocab_size": 4}, **HEADS), vocabulary=Vocabulary(wrap(t)))
    logits = model.open().logits([0, 3], 2)
    assert np.isneginf(logits[:, [1, 2]]).all()
    assert np.isfinite(logits[:, [0, 3]]).all()


def wrap(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


class TestVocabularies:
    def test_trap7_the_first_token_that_differs_is_named(self, tmp_path):
        shutil.copytree(BUNDLED / "draft", tmp_path / "d")
        path = tmp_path / "d" / "tokenizer.json"
        data = json.loads(path.read_text())
        vocab = data["model"]["vocab"]
        seven, eight = (next(t for t, i in vocab.items() if i == n) for n in (7, 8))
        vocab[seven], vocab[eight] = 8, 7
        path.write_text(json.dumps(data))
        with pytest.raises(
            sv.VocabularyError,
            match=r"do not share a vocabulary: token 7 is .* in the target's and is .* Choose two models",
        ):
            sv.load_pair(draft=tmp_path / "d")

    def test_trap7_a_token_that_one_lacks_is_named(self, pair):
        from transformers import AutoTokenizer

        more = AutoTokenizer.from_pretrained(BUNDLED / "draft")
        more.add_tokens(["<more>"])
        with pytest.raises(sv.VocabularyError, match=r"token 2048 does not exist in the target's and is '<more>'"):
            check_same_tokens(pair.tokenizer.tokenizer, more)
        check_same_tokens(more, more)


class TestLoading:
    def test_the_bundled_pair_is_a_target_and_a_draft_of_the_stated_sizes(self, pair):
        assert (pair.target.n_parameters, pair.draft.n_parameters) == (6_951_168, 1_297_344)
        assert [presets._MODELS[name][0] for name in (presets.TARGET, presets.DRAFT)] == [6_951_168, 1_297_344]
        assert pair.target.model.dtype == torch.float32
        assert (pair.target.can_drop, pair.target.context_length, pair.target.eos) == (True, 1024, {0})

    def test_named_drafts_and_folders_load_alike(self):
        named = sv.load_pair(draft="bundled/draft-weak")
        folder = sv.load_pair(BUNDLED / "target", str(BUNDLED / "draft-weak"))
        a, b = (sv.speculate(p, "Call me", max_new_tokens=12, seed=1).tokens for p in (named, folder))
        assert a == b

    def test_from_transformers_takes_loaded_models(self, pair):
        again = sv.Pair.from_transformers(pair.target.model, pair.draft.model, pair.tokenizer.tokenizer)
        a, b = (sv.speculate(p, "Call me", max_new_tokens=12, seed=1).tokens for p in (pair, again))
        assert a == b

    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("/no/such/folder", "there is no folder '/no/such/folder'"),
            ("./nothing", "there is no folder"),
            ("owner/model-that-is-nowhere", "owner/model-that-is-nowhere is not in the cache"),
            ("C:\\models\\x", "there is no folder"),
            ("nothing.gguf", "there is no file 'nothing.gguf'"),
            (" ", "there is no folder ' '"),
            ("", "there is no folder ''"),
            ("~nosuchuser/x", "cannot be a model's name"),
            ("x" * 5000, "cannot be a model's name"),
        ],
    )
    def test_a_name_that_is_no_model_gets_one_sentence(self, name, sentence):
        with pytest.raises(sv.LoadError, match=sentence) as caught:
            sv.load_pair(name)
        assert "\n" not in str(caught.value)

    def test_an_empty_folder_and_a_file_get_one_sentence(self, tmp_path):
        with pytest.raises(sv.LoadError, match=r"is a folder without a config\.json"):
            sv.load_pair(tmp_path)
        for name, sentence in (("model.bin", "is a file"), ("model.gguf", "is no GGUF file")):
            (tmp_path / name).write_text("x")
            with pytest.raises(sv.LoadError, match=sentence):
                sv.load_pair(tmp_path / name)

    def test_trap19_a_lost_weight_stops_with_an_error(self, tmp_path):
        shutil.copytree(BUNDLED / "draft", tmp_path / "d")
        weights = load_file(tmp_path / "d" / "model.safetensors")
        lost = next(name for name in weights if "mlp" in name)
        del weights[lost]
        save_file(weights, tmp_path / "d" / "model.safetensors", {"format": "pt"})
        with pytest.raises(sv.LoadError, match=f"lacks 1 of its weights \\({lost} first\\)"):
            sv.load_pair(draft=tmp_path / "d")

    def test_trap19_an_untied_head_without_its_weight_stops_with_an_error(self, tmp_path):
        shutil.copytree(BUNDLED / "draft", tmp_path / "d")
        config = json.loads((tmp_path / "d" / "config.json").read_text())
        (tmp_path / "d" / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
        with pytest.raises(sv.LoadError, match="lm_head"):
            sv.load_pair(draft=tmp_path / "d")

    def test_trap19_a_config_of_fewer_layers_than_the_weights_stops_with_an_error(self, tmp_path):
        shutil.copytree(BUNDLED / "draft", tmp_path / "d")
        config = json.loads((tmp_path / "d" / "config.json").read_text())
        (tmp_path / "d" / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1}))
        with pytest.raises(
            sv.LoadError, match=r"holds weights of layers that its config\.json does not tell of \(model"
        ):
            sv.load_pair(draft=tmp_path / "d")

    @pytest.mark.parametrize(
        ("family", "masks"),
        [
            ("GPT-2", ["attn.bias", "attn.masked_bias"]),
            ("GPT-Neo", ["attn.attention.bias", "attn.attention.masked_bias"]),
        ],
    )
    def test_masks_that_old_versions_saved_beside_the_weights_are_no_weights(self, tmp_path, family, masks):
        model = table.built(family).model
        model.save_pretrained(tmp_path)
        table.vocabulary().tokenizer.save_pretrained(tmp_path)
        weights = load_file(tmp_path / "model.safetensors")
        weights |= {f"transformer.h.{i}.{mask}": torch.ones(1) for i in range(2) for mask in masks}
        save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
        sv.load_pair(tmp_path, "lookup", device="cpu")
        weights["transformer.h.0.attn.more.weight"] = torch.ones(1)
        save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
        with pytest.raises(sv.LoadError, match=r"\(transformer\.h\.0\.attn\.more\.weight first\)"):
            sv.load_pair(tmp_path, "lookup", device="cpu")

    def test_code_that_comes_with_a_model_never_runs_and_nobody_is_asked(self, tmp_path, monkeypatch):
        folder, mark = tmp_path / "evil", tmp_path / "ran"
        shutil.copytree(BUNDLED / "draft", folder)
        config = json.loads((folder / "config.json").read_text())
        code = {"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.M"}
        (folder / "config.json").write_text(json.dumps({**config, "model_type": "evil", "auto_map": code}))
        (folder / "evil.py").write_text(f"open({str(mark)!r}, 'w').close()\nC = M = None\n")
        monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("nobody may be asked"))
        with pytest.raises(sv.LoadError, match="cannot load"):
            sv.load_pair(folder)
        assert not mark.exists()

    def test_pickled_weights_are_refused(self, tmp_path):
        shutil.copytree(BUNDLED / "draft", tmp_path / "d")
        torch.save(load_file(tmp_path / "d" / "model.safetensors"), tmp_path / "d" / "pytorch_model.bin")
        (tmp_path / "d" / "model.safetensors").unlink()
        with pytest.raises(sv.LoadError, match=r"has no model\.safetensors\. Only safetensors are read"):
            sv.load_pair(draft=tmp_path / "d")

    def test_a_torn_weights_file_gets_one_sentence(self, tmp_path):
        shutil.copytree(BUNDLED / "draft", tmp_path / "d")
        path = tmp_path / "d" / "model.safetensors"
        path.write_bytes(path.read_bytes()[:1000])
        with pytest.raises(sv.LoadError, match=r"model\.safetensors is torn or no safetensors file"):
            sv.load_pair(draft=tmp_path / "d")

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [({"dtype": "int3"}, "dtype must be auto"), ({"device": "toaster"}, "device 'toaster' cannot be used here")],
    )
    def test_bad_device_or_dtype_gets_one_sentence(self, options, sentence):
        with pytest.raises(sv.ConfigError, match=sentence):
            sv.load_pair(**options)

    def test_trap18_a_generation_config_does_not_change_the_run(self, pair, tmp_path):
        shutil.copytree(BUNDLED / "target", tmp_path / "t")
        GenerationConfig(
            do_sample=True, temperature=0.1, top_p=0.1, repetition_penalty=3.0, eos_token_id=[0], bos_token_id=0
        ).save_pretrained(tmp_path / "t")
        changed = sv.load_pair(tmp_path / "t")
        a, b = (sv.speculate(p, "Call me", max_new_tokens=24, seed=1) for p in (pair, changed))
        assert a.tokens == b.tokens
        first = a.rounds[0].nodes[0]
        with torch.no_grad():
            logits = pair.target.model(torch.tensor([a.prompt_tokens])).logits[0, -1]
        law = warp(logits.numpy(), sv.Sampling(temperature=1))  # what the user set is what ran
        assert first.candidate.target_prob == pytest.approx(law[first.token], abs=1e-4)

    def test_a_list_of_end_tokens_is_taken_whole(self, tmp_path):
        shutil.copytree(BUNDLED / "target", tmp_path / "t")
        GenerationConfig(eos_token_id=[0, 5], bos_token_id=0).save_pretrained(tmp_path / "t")
        assert sv.load_pair(tmp_path / "t").target.eos == {0, 5}

    def test_float16_weights_load_in_the_asked_dtype(self):
        assert sv.load_pair(dtype="bfloat16").target.model.dtype == torch.bfloat16
