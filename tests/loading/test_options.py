"""Where the models go and as what, a watcher on local files, and names that can only be paths."""

import importlib.util
import json
import shutil
import struct
import threading

import pytest
import torch
from transformers import AutoModelForCausalLM

import specviz as sv
from specviz.cli import main
from specviz.models import load, progress, weights
from specviz.models.presets import BUNDLED


def test_each_model_has_its_own_type_and_one_word_is_for_both(pair):
    two = sv.load_pair(dtype=("bfloat16", "float32"), device=("cpu", "auto"))
    assert (two.target.model.dtype, two.draft_model.model.dtype) == (torch.bfloat16, torch.float32)
    both = sv.load_pair(dtype="float32", device="cpu")
    a, b = (sv.speculate(p, "Call me", max_new_tokens=8, seed=0).tokens for p in (pair, both))
    assert a == b
    assert sv.load_pair(draft="lookup", dtype=("bfloat16", "float32")).target.model.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"device": ("cpu",)}, r"device must be one for both models or \(target's, draft's\), got \('cpu',\)"),
        ({"device": ("cpu", "toaster")}, "device 'toaster' cannot be used here"),
        ({"dtype": ("float32", "int3")}, "dtype must be auto, float32, float16, bfloat16, got 'int3'"),
        ({"quantize": "3bit"}, "quantize must be None, '4bit' or '8bit', got '3bit'"),
        ({"device_map": "balanced"}, "device_map must be None or 'auto', got 'balanced'"),
        ({"device_map": "auto", "device": "cpu"}, "over all devices: device must be auto, got 'cpu'"),
    ],
)
def test_settings_that_make_no_sense_get_one_sentence(options, sentence):
    with pytest.raises(sv.ConfigError, match=sentence):
        sv.load_pair(**options)


@pytest.mark.parametrize("option", ["--device", "--draft-device"])
def test_a_device_on_the_command_line_is_not_dropped_for_a_device_map(capsys, option):
    assert main(["decode", "a", option, "cpu", "--device-map", "auto"]) == 2
    assert "device_map='auto' spreads a model over all devices: device must be auto, got " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"quantize": "4bit"},
            r"^quantize='4bit' needs bitsandbytes and accelerate: pip install bitsandbytes accelerate$",
        ),
        ({"device_map": "auto"}, r"^device_map='auto' needs accelerate: pip install accelerate$"),
    ],
)
def test_libraries_that_are_not_here_are_named_with_their_command(monkeypatch, options, sentence):
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(sv.LoadError, match=sentence):
        sv.load_pair(**options)


@pytest.mark.parametrize(("quantize", "bits"), [("4bit", "load_in_4bit"), ("8bit", "load_in_8bit")])
def test_bits_are_asked_of_transformers_with_the_device(monkeypatch, quantize, bits):
    """Without bitsandbytes here: what would reach it."""
    monkeypatch.setattr(weights, "need", lambda *_libraries, **_what: None)
    monkeypatch.setattr(weights.BitsAndBytesConfig, "post_init", lambda _self: None)
    options = weights.Place(torch.device("cpu"), torch.bfloat16, quantize).options()
    assert getattr(options["quantization_config"], bits)
    assert options["device_map"] == {"": torch.device("cpu")}


@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="needs accelerate")
def test_a_spread_pair_decodes_the_same(pair):
    spread = sv.load_pair(device_map="auto", dtype="float32")
    a, b = (sv.speculate(p, "Call me", max_new_tokens=16, sampling=sv.Sampling(0)).tokens for p in (pair, spread))
    assert a == b


def test_reading_shards_is_told_by_file_in_bytes(tmp_path):
    model = AutoModelForCausalLM.from_pretrained(BUNDLED / "target")
    model.save_pretrained(tmp_path, max_shard_size="4MB")
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(BUNDLED / "target" / file, tmp_path)
    told: list[sv.Progress] = []
    sv.load_pair(tmp_path, "lookup", progress=told.append)
    shards = sorted(path.name for path in tmp_path.glob("*.safetensors"))
    assert len(shards) > 2
    assert sorted({p.file for p in told}) == shards
    for shard in shards:
        of_it = [p for p in told if p.file == shard]
        assert [p.done for p in of_it] == sorted(p.done for p in of_it)
        assert (of_it[0].done, of_it[-1].done) == (0, of_it[-1].total)
        header = struct.unpack("<Q", (tmp_path / shard).read_bytes()[:8])[0]
        assert of_it[-1].total == (tmp_path / shard).stat().st_size - 8 - header
    (tmp_path / shards[1]).unlink()
    with pytest.raises(sv.LoadError, match=f"has no {shards[1]}"):
        sv.load_pair(tmp_path, "lookup")


@pytest.mark.parametrize(
    "header",
    [b"", b"\x02\0\0\0\0\0\0\0[]", struct.pack("<Q", 2**62) + b"{}", b"<!DOCTYPE html><html>too many requests</html>"],
    ids=["empty", "a list", "huge", "a page"],
)
def test_a_wrong_safetensors_header_gets_one_sentence(tmp_path, header):
    shutil.copytree(BUNDLED / "draft", tmp_path / "d")
    (tmp_path / "d" / "model.safetensors").write_bytes(header)
    with pytest.raises(sv.LoadError, match=r"model\.safetensors is torn or no safetensors file") as caught:
        sv.load_pair(draft=tmp_path / "d")
    assert "\n" not in str(caught.value)


def test_a_second_load_waits_and_can_be_stopped_meanwhile():
    class EnoughError(Exception):
        pass

    def stop(told: sv.Progress) -> None:
        assert told == sv.Progress("bundled/target", "", 0, None)
        raise EnoughError

    raised = []

    def second() -> None:
        try:
            sv.load_pair(progress=stop)
        except EnoughError as error:
            raised.append(error)

    with progress.reading("another", {}, lambda _told: None):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert len(raised) == 1


@pytest.mark.parametrize(
    "name", [r"C:\models\x", "C:/models/x", r"models\x", r".\x", "/models/x", "~/x", "a/b/c", "x.gguf", "a/b.gguf"]
)
def test_what_can_only_be_a_path_is_never_asked_of_a_hub(monkeypatch, name):
    monkeypatch.setattr(load.hub, "find", lambda *_: pytest.fail("asked a hub"))
    with pytest.raises(sv.LoadError, match=r"there is no (folder|file)"):
        sv.load_pair(name)


def test_a_folder_may_have_any_name(tmp_path):
    folder = tmp_path / "x y (größe) 😀"
    shutil.copytree(BUNDLED / "draft", folder)
    config = json.loads((folder / "config.json").read_text())
    assert sv.load_pair(folder, "lookup").target.context_length == config["max_position_embeddings"]
