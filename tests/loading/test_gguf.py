"""A GGUF file written from the bundled target: the same model again, tokenizer and all."""

import importlib.util
import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

import specviz as sv
from specviz.models import weights
from specviz.models.presets import BUNDLED

gguf = pytest.importorskip("gguf")

NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
TEMPLATE = "{% for m in messages %}<|endoftext|>{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def write(path) -> None:
    """What llama.cpp's converter makes of a Llama: its names for weights, and rotary halves interleaved."""
    config = json.loads((BUNDLED / "target" / "config.json").read_text())
    tokenizer = json.loads((BUNDLED / "target" / "tokenizer.json").read_text())
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    vocab = {i: token for token, i in tokenizer["model"]["vocab"].items()}
    vocab |= {t["id"]: t["content"] for t in tokenizer["added_tokens"]}
    special = {t["id"] for t in tokenizer["added_tokens"] if t["special"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([vocab[i] for i in sorted(vocab)])
    writer.add_token_types([3 if i in special else 1 for i in sorted(vocab)])  # control, normal
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_chat_template(TEMPLATE)
    for name, value in load_file(BUNDLED / "target" / "model.safetensors").items():
        tensor = value.astype(np.float32)
        if name == "model.embed_tokens.weight":
            new = "token_embd.weight"
        elif name == "model.norm.weight":
            new = "output_norm.weight"
        elif name == "lm_head.weight":
            new = "output.weight"
        else:
            _model, _layers, i, rest = name.split(".", 3)
            new = f"blk.{i}.{NAMES[rest.removesuffix('.weight')]}.weight"
            n = {"attn_q": heads, "attn_k": kv_heads}.get(NAMES[rest.removesuffix(".weight")])
            if n:
                halves = tensor.reshape(n, 2, tensor.shape[0] // n // 2, tensor.shape[1])
                tensor = halves.swapaxes(1, 2).reshape(tensor.shape)
        writer.add_tensor(new, np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "bundled.gguf"
    write(path)
    return path


@pytest.fixture(scope="module")
def loaded(file):
    """The pair of the file with the bundled draft, and what was told meanwhile."""
    told: list[sv.Progress] = []
    # Beside a GGUF nothing else is read: trap 18.
    (file.parent / "generation_config.json").write_text('{"do_sample": true, "top_k": 1, "eos_token_id": [5, 6, 7]}')
    return sv.load_pair(file, "bundled/draft", progress=told.append), told


def test_a_gguf_file_is_the_same_model_as_its_safetensors(loaded, pair):
    again, _told = loaded
    tokens = pair.tokenizer.encode("It is a truth universally acknowledged")
    assert again.tokenizer.encode("It is a truth universally acknowledged") == tokens
    want, got = (p.target.open().logits(tokens, len(tokens)) for p in (pair, again))
    np.testing.assert_allclose(got, want, atol=1e-3)
    for sampling in (sv.Sampling(0), sv.Sampling(0.8)):
        a, b = (sv.speculate(p, "Call me", max_new_tokens=32, sampling=sampling, seed=3) for p in (pair, again))
        assert a.tokens == b.tokens


def test_trap18_what_lies_beside_a_gguf_does_not_change_the_run(loaded):
    assert loaded[0].target.eos == {0}


def test_reading_a_gguf_is_told_and_silent(file, capfd):
    told: list[sv.Progress] = []
    sv.load_pair(file, "lookup", progress=told.append)
    assert capfd.readouterr() == ("", "")
    assert {p.file for p in told} == {"bundled.gguf"}
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert (told[0].done, told[-1].done) == (0, told[-1].total)
    assert len(told) > 20


def test_a_chat_template_comes_with_the_gguf(loaded):
    trace = sv.speculate(loaded[0], sv.Chat("Who are you?", "Be brief."), max_new_tokens=4, seed=0)
    assert trace.prompt == "<|endoftext|>system: Be brief.\n<|endoftext|>user: Who are you?\nassistant:"
    assert trace.prompt_tokens.count(0) == 2


def test_a_gguf_without_the_libraries_says_what_to_install(file, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None if name == "gguf" else find(name))
    with pytest.raises(sv.LoadError, match=r"^a \.gguf file needs gguf: pip install gguf$"):
        sv.load_pair(file)


def test_a_gguf_and_quantize_do_not_go_together(file, monkeypatch):
    monkeypatch.setattr(weights.Place, "options", lambda _place: {})
    with pytest.raises(sv.LoadError, match=r"is dequantised when it is read, so quantize='4bit' needs safetensors"):
        sv.load_pair(file, "lookup", quantize="4bit")


def test_a_torn_gguf_gets_one_sentence(file, tmp_path):
    shutil.copy(file, tmp_path / "torn.gguf")
    for size in (4, 50_000, file.stat().st_size // 2):
        with (tmp_path / "torn.gguf").open("r+b") as torn:
            torn.truncate(size)
        with pytest.raises(sv.LoadError, match=r"torn\.gguf") as caught:
            sv.load_pair(tmp_path / "torn.gguf", "lookup")
        assert "\n" not in str(caught.value)
        shutil.copy(file, tmp_path / "torn.gguf")
