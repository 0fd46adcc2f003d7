"""Chats: the model's own template, BOS once, and an answer that ends at every end token of the model's files."""

import json
import shutil

import pytest
from transformers import GenerationConfig

import specviz as sv
from specviz.cli import main
from specviz.models.presets import BUNDLED

PLAIN = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}>{% endif %}"
)
TEMPLATES = {
    "plain": PLAIN,
    "with BOS": "{{ bos_token }}" + PLAIN,
    "no system": "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    + PLAIN,
    "system dropped": "{% for m in messages if m['role'] == 'user' %}{{ m['content'] }}{% endfor %}",
    "broken": "{{ messages[7].content.lower() }}",
    "empty": "{# #}",
}


@pytest.fixture(scope="module")
def chatty(tmp_path_factory):
    """Folders of the bundled target with a template, loaded once each."""
    loaded: dict[str, sv.Pair] = {}

    def load(template: str) -> sv.Pair:
        if template not in loaded:
            folder = tmp_path_factory.mktemp("chat") / "model"
            shutil.copytree(BUNDLED / "target", folder)
            settings = json.loads((folder / "tokenizer_config.json").read_text())
            settings["chat_template"] = TEMPLATES[template]
            (folder / "tokenizer_config.json").write_text(json.dumps(settings))
            loaded[template] = sv.load_pair(folder, "bundled/draft")
        return loaded[template]

    return load


def test_a_chat_goes_through_the_template_and_the_trace_holds_what_the_models_read(chatty):
    pair = chatty("plain")
    trace = sv.speculate(pair, sv.Chat("Hello", system="Be brief"), max_new_tokens=4, seed=0)
    assert trace.prompt == "<system>Be brief\n<user>Hello\n>"
    assert list(trace.prompt_tokens) == pair.tokenizer.encode_plain(trace.prompt)
    again = sv.speculate(pair, list(trace.prompt_tokens), max_new_tokens=4, seed=0)
    assert again.tokens == trace.tokens


def test_trap16_a_template_that_writes_bos_has_it_once(chatty):
    tokens = sv.speculate(chatty("with BOS"), sv.Chat("Hello"), max_new_tokens=1, seed=0).prompt_tokens
    assert tokens.count(0) == 1
    assert tokens[0] == 0


def test_trap16_a_template_without_bos_gets_none_though_the_tokenizer_adds_one(chatty):
    tokenizer = chatty("plain").tokenizer
    assert 0 not in sv.speculate(chatty("plain"), sv.Chat("Hello"), max_new_tokens=1, seed=0).prompt_tokens
    assert tokenizer.chat("Hello") == "<user>Hello\n>"


@pytest.mark.parametrize(
    ("template", "chat", "sentence"),
    [
        (
            "no system",
            sv.Chat("a", "b"),
            r"does not take this chat \(System role not supported\)\. Put what the system",
        ),
        ("system dropped", sv.Chat("a", "b"), "has no place for a system prompt"),
        ("broken", sv.Chat("a"), r"does not take this chat \(.*\)\. Give the prompt as text\.$"),
        ("empty", sv.Chat("a"), "makes no token of this chat"),
        ("plain", sv.Chat("a\ud800"), "half of a surrogate pair"),
    ],
)
def test_a_chat_that_the_model_cannot_hold_gets_one_sentence(chatty, template, chat, sentence):
    with pytest.raises(sv.PromptError, match=sentence) as caught:
        sv.speculate(chatty(template), chat)
    assert "\n" not in str(caught.value)


def test_a_template_without_a_system_role_takes_a_user_alone(chatty):
    assert sv.speculate(chatty("no system"), sv.Chat("a"), max_new_tokens=1, seed=0).prompt == "<user>a\n>"


def test_a_model_without_a_template_says_so(pair):
    with pytest.raises(sv.PromptError, match="has no chat template"):
        sv.speculate(pair, sv.Chat("Hello"))


def test_a_chat_takes_text():
    with pytest.raises(sv.PromptError, match="takes text for user and system, got int"):
        sv.Chat(5)  # type: ignore[arg-type]


def test_an_answer_ends_at_every_end_token_of_the_models_files(chatty, tmp_path):
    whole = sv.autoregress(chatty("plain"), sv.Chat("Hello"), max_new_tokens=24, seed=1)
    ends = [0, *whole.tokens[9:11]]  # as <|endoftext|>, <|im_end|> and <|eom_id|> in a real one
    shutil.copytree(BUNDLED / "target", tmp_path / "t")
    (tmp_path / "t" / "chat_template.jinja").write_text(PLAIN)
    GenerationConfig(eos_token_id=ends, bos_token_id=0).save_pretrained(tmp_path / "t")
    ending = sv.load_pair(tmp_path / "t", "bundled/draft")
    first = next(i for i, token in enumerate(whole.tokens) if token in ends)
    trace = sv.autoregress(ending, sv.Chat("Hello"), max_new_tokens=24, seed=1)
    assert (trace.stop_reason, trace.tokens) == ("eos", whole.tokens[: first + 1])
    for seed in range(6):
        trace = sv.speculate(ending, sv.Chat("Hello"), max_new_tokens=24, seed=seed)
        assert not set(trace.tokens[:-1]) & set(ends)


def test_the_command_line_chats(chatty, capsys):
    folder = chatty("plain").target.name
    asked = ["decode", "Hello", "--target", folder, "--draft", "lookup", "--max-new-tokens", "4", "--seed", "1"]
    assert main([*asked, "--chat", "--system", "Be brief", "--draft-device", "cpu", "--dtype", "float32"]) == 0
    assert "  <system>Be brief\n  <user>Hello\n  >" in capsys.readouterr().out
    assert main([*asked, "--system", "Be brief"]) == 2
    assert "--system needs --chat" in capsys.readouterr().err
