"""Trap 7: which two tokenizers name the same tokens, and which only seem to."""

import json
import shutil

import numpy as np
import pytest
import torch
from tokenizers import AddedToken, Tokenizer, normalizers
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import specviz as sv
from specviz.models.load import check_same_tokens
from specviz.models.presets import BUNDLED

GREEDY = sv.Sampling(temperature=0)


def tokenizer(*added: AddedToken, **roles: str) -> PreTrainedTokenizerFast:
    """The bundled one with more tokens, and other roles."""
    made = AutoTokenizer.from_pretrained(BUNDLED / "draft")
    made.add_tokens(list(added))
    for role, token in roles.items():
        setattr(made, role, token)
    return made


def im(content: str, **flags: bool) -> AddedToken:
    return AddedToken(content, special=flags.pop("special", True), **flags)


CHAT = (im("<|im_start|>"), im("<|im_end|>"), im("<think>", special=False))


@pytest.mark.parametrize(
    ("draft", "sentence"),
    [
        (tokenizer(*CHAT[:2]), "token 2050 is '<think>' in the target's and does not exist in the draft's"),
        (tokenizer(CHAT[1], CHAT[0], CHAT[2]), r"token 2048 is '<\|im_start\|>' in the target's and is '<\|im_end\|>'"),
        (tokenizer(*CHAT[:2], im("<thinks>")), "token 2050 is '<think>' in the target's and is '<thinks>'"),
        (
            tokenizer(*CHAT[:2], im("<think>")),
            r"token 2050 \('<think>'\) is text in the target's and is control in the draft's",
        ),
    ],
    ids=["one is missing", "two are exchanged", "another content", "text and control"],
)
def test_added_tokens_that_differ_are_named(draft, sentence):
    target = tokenizer(*CHAT)
    with pytest.raises(sv.VocabularyError, match=sentence):
        check_same_tokens(target, draft)
    check_same_tokens(target, tokenizer(*CHAT))


def test_an_added_token_that_one_of_them_reads_in_pieces_is_named():
    """It has the same id and letters in both, but for one it is a row of the table that no merge leads to."""
    target = tokenizer(*CHAT)
    data = json.loads(target.backend_tokenizer.to_str())
    data["model"]["vocab"] |= {token["content"]: token["id"] for token in data["added_tokens"]}
    assert data["added_tokens"].pop()["content"] == "<think>"
    draft = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(data)))
    assert draft.get_vocab() == target.get_vocab()
    with pytest.raises(
        sv.VocabularyError, match=r"token 2050 \('<think>'\) is read whole in the target's and is read in"
    ):
        check_same_tokens(target, draft)


def test_merges_normalizers_and_roles_may_differ_since_the_targets_tokenizer_makes_all_ids():
    """A base model ends with <|endoftext|> and its chat variant with <|im_end|>, over one vocabulary."""
    base = tokenizer(*CHAT)
    chat = tokenizer(*CHAT, bos_token="<|im_start|>", eos_token="<|im_end|>", pad_token="<|im_end|>")
    assert base.eos_token != chat.eos_token
    check_same_tokens(base, chat)
    chat.backend_tokenizer.normalizer = normalizers.NFC()
    check_same_tokens(chat, base)


@pytest.fixture(scope="module")
def padded(tmp_path_factory):
    """Two tiny random models over one tokenizer, their output layers padded to 2,176 and 2,112 rows, as Qwen2.5's."""
    folders = []
    for seed, (rows, roles) in enumerate([(2176, {"eos_token": "<|im_end|>"}), (2112, {})]):
        torch.manual_seed(seed)
        heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 256}
        config = LlamaConfig(vocab_size=rows, hidden_size=32, intermediate_size=64, num_hidden_layers=2, **heads)
        model = LlamaForCausalLM(config)
        with torch.no_grad():
            for p in model.parameters():
                p.mul_(6 if p.ndim > 1 else 1)
            model.lm_head.weight[2051:] *= 50  # padding rows that would win, were they not cut
        folder = tmp_path_factory.mktemp("padded")
        model.save_pretrained(folder)
        tokenizer(*CHAT, **roles).save_pretrained(folder)
        folders.append(folder)
    return folders


@pytest.mark.parametrize("turned", [False, True])
def test_padding_rows_of_different_number_are_cut_and_greedy_is_the_targets(padded, turned):
    pair = sv.load_pair(*(reversed(padded) if turned else padded))
    assert pair.target.vocab_size == pair.draft_model.vocab_size == 2051
    assert pair.target.model.get_output_embeddings().weight.shape[0] == (2112 if turned else 2176)
    for prompt in ("Call me", "<|im_start|>It is a truth"):
        plain = sv.autoregress(pair, prompt, max_new_tokens=24, sampling=GREEDY)
        for k in (1, 4):
            trace = sv.speculate(pair, prompt, draft_length=k, max_new_tokens=24, sampling=GREEDY)
            assert trace.tokens == plain.tokens
            assert max(trace.tokens) < 2051
    logits = pair.target.model(torch.tensor([pair.tokenizer.encode("Call me")])).logits[0, -1].detach().numpy()
    assert np.argmax(logits) >= 2051  # uncut, it would have been a token that the tokenizer does not know


def test_a_draft_of_another_tokenizer_is_refused_before_any_weights_are_read(padded, tmp_path):
    shutil.copytree(padded[1], tmp_path / "d")
    path = tmp_path / "d" / "tokenizer.json"
    data = json.loads(path.read_text())
    data["added_tokens"][-1]["content"] = "<thought>"
    path.write_text(json.dumps(data))
    (tmp_path / "d" / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    told: list[sv.Progress] = []
    with pytest.raises(sv.VocabularyError, match="token 2050 is '<think>' in the target's and is '<thought>'"):
        sv.load_pair(padded[0], tmp_path / "d", progress=told.append)
    assert told == []
