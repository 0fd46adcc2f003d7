"""Models of a hub: fetched by file, kept, cancelled, and each way that it fails said in a sentence."""

import errno
import gc
import os
import shutil
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants, file_download

import specviz as sv
from specviz.models.presets import BUNDLED
from tests.loading.hub import Hub, serving

SMALL, LARGE = "owner/small", "owner/large"


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A hub that holds the bundled models, and an empty cache."""
    with serving(Hub({SMALL: BUNDLED / "draft", LARGE: BUNDLED / "target"})) as hub:
        asks(hub.address, tmp_path / "cache", monkeypatch)
        yield hub


def asks(address: str, cache: Path, monkeypatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def refusal(target: str = LARGE, draft: str = SMALL) -> str:
    """The one sentence that the load ends with."""
    with pytest.raises(sv.LoadError) as caught:
        sv.load_pair(target, draft)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_pair_is_fetched_file_by_file_and_the_second_time_needs_no_network(hub, capfd, monkeypatch, pair):
    told: list[sv.Progress] = []
    first = sv.load_pair(LARGE, SMALL, progress=told.append)
    whole = (BUNDLED / "target" / "model.safetensors").stat().st_size
    weights = [(p.done, p.total) for p in told if (p.model, p.file) == (LARGE, "model.safetensors")]
    assert weights[0] == (0, whole)
    assert (whole, whole) in weights  # downloaded; then its tensors are read
    fetched = [line.split("/")[-1] for line in hub.asked if line.startswith("GET") and "resolve" in line]
    assert set(fetched) == {p.name for p in (BUNDLED / "draft").iterdir()}
    assert len(fetched) == 2 * len(set(fetched))
    hub.asked.clear()
    sv.load_pair(LARGE, SMALL)
    assert [line.split(" ")[0] for line in hub.asked] == ["GET", "GET"]  # one question for each model
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    second = sv.load_pair(LARGE, SMALL)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    third = sv.load_pair(LARGE, SMALL)
    runs = [sv.speculate(p, "Call me", max_new_tokens=8, seed=1).tokens for p in (pair, first, second, third)]
    assert runs == [runs[0]] * 4
    assert capfd.readouterr() == ("", "")


def test_the_environment_names_the_hub_and_nothing_is_printed(hub, tmp_path):
    code = f"import specviz as sv; p = sv.load_pair({LARGE!r}, 'lookup'); assert p.target.name == {LARGE!r}"
    asked = os.environ | {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


class EnoughError(Exception):
    """What a watcher raises."""


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize("what", ["a download", "reading the draft"])
def test_what_the_watcher_raises_stops_the_load_and_nothing_is_left(tmp_path, what):
    enough, why = EnoughError(), ValueError()

    def stop(told: sv.Progress) -> None:
        half = told.total is not None and 0 < told.done < told.total and told.file == "model.safetensors"
        downloading = not any(tmp_path.rglob("model.safetensors"))
        if half and (downloading if what == "a download" else told.model == SMALL):
            alive.extend(weakref.ref(t) for t in gc.get_objects() if type(t) is torch.nn.Parameter)
            raise enough from why

    gc.collect()
    before = {id(t) for t in gc.get_objects() if type(t) is torch.nn.Parameter}
    alive: list[weakref.ref] = []
    with pytest.raises(EnoughError) as caught:
        sv.load_pair(LARGE, SMALL, progress=stop)
    assert caught.value is enough  # kept here, and with it all of its frames
    assert enough.__cause__ is why
    if what == "reading the draft":
        assert len(alive) > len(before) + 20
    left = [t for t in (ref() for ref in alive) if t is not None and id(t) not in before]
    assert left == []
    assert not list(tmp_path.rglob("*.incomplete"))
    assert sv.load_pair(LARGE, SMALL)  # nothing stands in the way of another try


def test_the_check_for_leftovers_catches_a_model_that_somebody_holds():
    alive = []

    def stop(told: sv.Progress) -> None:
        if told.model == "bundled/draft" and told.done:
            alive.extend(t for t in gc.get_objects() if type(t) is torch.nn.Parameter)
            raise EnoughError

    with pytest.raises(EnoughError):
        sv.load_pair(progress=stop)
    assert len(alive) > 20


@pytest.mark.usefixtures("hub")
def test_a_model_that_is_not_there():
    assert refusal("owner/nothing").startswith("there is no model owner/nothing on the hub, and no folder")
    assert refusal(LARGE, "owner/nothing").startswith("there is no model owner/nothing")


def test_a_name_that_no_hub_takes(hub):
    for name in ("owner/--x", "a b", "x.y..z", "https:name"):
        assert "neither a folder here nor a hub id" in refusal(name)
    assert hub.asked == []


@pytest.mark.parametrize("where", [SMALL, "model.safetensors", "tokenizer.json"])
def test_a_gated_model_says_where_to_ask(hub, where):
    hub.statuses[where] = 403
    told = refusal(SMALL, "lookup")
    assert told.startswith("owner/small is gated")
    assert f"{hub.address}/owner/small" in told
    assert "HF_TOKEN" in told


def test_a_token_that_the_hub_refuses_is_not_called_a_missing_model(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_of_last_year")
    hub.statuses[SMALL] = 401
    told = refusal(SMALL, "lookup")
    assert "refused the token" in told
    assert "hf_of_last_year" not in told


def test_a_hub_that_fails_is_asked_once(hub):
    hub.statuses[SMALL] = 503
    assert "the hub answered 503 when asked for owner/small" in refusal(SMALL, "lookup")
    assert len(hub.asked) == 1


@pytest.mark.usefixtures("hub")
def test_a_hub_that_cannot_be_reached(monkeypatch, capfd):
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert refusal(SMALL).startswith("cannot reach the hub (http://127.0.0.1:9) for owner/small")
    assert capfd.readouterr() == ("", "")


def test_a_connection_that_breaks_off(hub, monkeypatch, capfd):
    hub.cut.add("model.safetensors")
    monkeypatch.setattr(file_download.time, "sleep", lambda _s: None)
    assert "the download of model.safetensors of owner/small was cut off" in refusal(SMALL, "lookup")
    assert capfd.readouterr() == ("", "")
    hub.cut.clear()
    assert sv.load_pair(SMALL, "lookup")


@pytest.mark.usefixtures("hub")
def test_a_full_disk(monkeypatch):
    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(file_download, "http_get", full)
    assert refusal(SMALL, "lookup").startswith("the disk is full, so generation_config.json of owner/small did not fit")


@pytest.mark.parametrize(
    ("lost", "sentence"),
    [("model.safetensors", "has no model.safetensors, and no other format is read"), ("config.json", "no config.json")],
)
def test_a_model_without_what_is_needed(hub, tmp_path, lost, sentence):
    shutil.copytree(BUNDLED / "draft", tmp_path / "model")
    (tmp_path / "model" / lost).rename(tmp_path / "model" / "pytorch_model.bin")
    hub.models["owner/odd"] = tmp_path / "model"
    assert sentence in refusal("owner/odd", "lookup")
    assert not any("pytorch_model.bin" in line for line in hub.asked)
    (tmp_path / "model" / "pytorch_model.bin").rename(tmp_path / "model" / "model.gguf")
    assert ("Download one of its .gguf files" in refusal("owner/odd", "lookup")) == (lost == "config.json")


def test_a_shard_that_the_index_lists_elsewhere_is_refused(hub, tmp_path):
    shutil.copytree(BUNDLED / "draft", tmp_path / "model")
    (tmp_path / "model" / "model.safetensors").unlink()
    (tmp_path / "model" / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../../x.bin"}}')
    hub.models["owner/odd"] = tmp_path / "model"
    assert "lists files that are no safetensors beside it" in refusal("owner/odd", "lookup")
