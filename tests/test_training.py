"""The recipe of the bundled pair, offline and tiny: texts, tokenizer, training, what is written, what is measured."""

from __future__ import annotations

import contextlib
import io
import json
import math
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from transformers import LlamaForCausalLM

import specviz as sv
from specviz.models.toy import TableModel
from training import corpus, measure, texts, train
from training.corpus import CorpusError, plain, standard_library, unwrap, write_corpus
from training.loop import make_llama, overlap_loss, rate_factor, text_loss
from training.muon import Muon
from training.own import PROMPT, write_texts
from training.rds import RdsError, read_rds
from training.recipe import Recipe, Run, Shape
from training.widen import widen

RUN = Run(tokens=5_000, batch=4, length=64, muon_lr=0.02, adam_lr=6e-3, warmup_steps=4)
TINY = Recipe(
    vocab_size=320,
    context=128,
    target=Shape(hidden=32, layers=2, heads=2, intermediate=64),
    target_run=RUN,
    draft=Shape(hidden=16, layers=1, heads=1, intermediate=32),
    draft_runs=(RUN, replace(RUN, seed=2)),
    wide_draft=Shape(hidden=32, layers=1, heads=2, intermediate=48),
    wide_draft_run=replace(RUN, seed=3),
    own_texts=64,
    weak_draft=Shape(hidden=16, layers=1, heads=1, intermediate=32),
    weak_draft_run=RUN,
    text_limit=40_000,
)


# R's serialisation, built by hand ------------------------------------------------------------------------------------


def header(version: int = 2) -> bytes:
    native = struct.pack(">i", 5) + b"UTF-8" if version == 3 else b""
    return b"X\n" + struct.pack(">3i", version, 0x40000, 0x20300) + native


def ints(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def characters(text: str | None) -> bytes:
    return ints(9, -1) if text is None else ints(9, len(text.encode())) + text.encode()


def strings(*values: str | None, flags: int = 16) -> bytes:
    return ints(flags, len(values)) + b"".join(characters(v) for v in values)


def test_a_character_vector_is_read_with_its_missing_strings() -> None:
    assert read_rds(header() + strings("Sense", None, "naïve", "")) == ["Sense", None, "naïve", ""]


def test_version_3_says_its_encoding_first() -> None:
    assert read_rds(header(3) + strings("Emma")) == ["Emma"]


def test_lists_integers_and_nothing_are_read() -> None:
    assert read_rds(header() + ints(19, 3) + strings("a") + ints(13, 2, 7, -7) + ints(254)) == [["a"], [7, -7], None]


def test_attributes_are_passed_over_and_symbols_are_remembered() -> None:
    has_attributes, has_tag = 1 << 9, 1 << 10
    names, end = ints(1) + characters("names"), ints(254)
    again = ints(255 | 1 << 8)  # a reference to the first symbol
    first = strings("x", flags=16 | has_attributes) + ints(2 | has_tag) + names + strings("n") + end
    second = strings("y", flags=16 | has_attributes) + ints(2 | has_tag) + again + strings("m") + end
    assert read_rds(header() + ints(19, 2) + first + second) == [["x"], ["y"]]


def test_a_pair_list_keeps_its_tags() -> None:
    has_tag = 1 << 10
    data = ints(2 | has_tag, 1) + characters("title") + strings("Emma") + ints(2) + strings("untagged") + ints(254)
    assert read_rds(header() + data) == [("title", ["Emma"]), (None, ["untagged"])]


def test_what_is_no_r_data_is_named() -> None:
    with pytest.raises(RdsError, match=r"begins with b'X\\n', got b'RD'"):
        read_rds(b"RDX3")
    with pytest.raises(RdsError, match="item type 3 is not read here"):
        read_rds(header() + ints(3))


@pytest.mark.parametrize("kept", [4, 17, 21, 25, 28])
def test_cut_off_r_data_is_named(kept: int) -> None:
    with pytest.raises(RdsError, match=f"ends in the middle of an item, after {kept} bytes"):
        read_rds((header() + strings("Persuasion"))[:kept])


# Texts ---------------------------------------------------------------------------------------------------------------


def test_unwrapping_keeps_paragraphs_and_joins_lines() -> None:
    assert unwrap("\n\nCall me\nIshmael.  Some\n  years ago\n \n\nnever mind\n") == (
        "Call me Ishmael. Some years ago\n\nnever mind"
    )


def test_plain_text_has_ascii_quotes_and_dashes() -> None:
    assert plain("“It’s _so_,” she said—1811–13\r\n") == '"It\'s so," she said--1811-13\n'


def test_the_standard_library_text_is_ascii_and_the_same_each_time() -> None:
    text = standard_library(limit=50_000)
    assert len(text) == 50_000
    assert text.isascii()
    assert text == standard_library(limit=50_000)


def test_offline_writes_the_standard_library_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus.main([str(tmp_path / "new" / "folder"), "--offline"])
    assert [p.name for p in (tmp_path / "new" / "folder").iterdir()] == ["pystdlib.txt"]
    assert capsys.readouterr().out.startswith("pystdlib.txt: 900,000 characters")


def test_a_missing_tool_is_named_and_the_other_texts_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    errors = write_corpus(tmp_path, ["austen", "mobydick", "pystdlib"], say=lambda _: None)
    assert [str(e) for e in errors] == [
        "apt-get is not on this machine: run `apt-get update` on Debian or Ubuntu and try again, "
        "or go on without it by --offline.",
        "npm is not on this machine: install npm, check the network and try again, or go on without it by --offline.",
    ]
    assert (tmp_path / "pystdlib.txt").is_file()


def test_missing_package_lists_are_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "apt-get"
    tool.write_text("#!/bin/sh\necho 'W: unsandboxed' >&2; echo 'E: Unable to locate package' >&2; exit 100\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(corpus, "SOURCES", {"austen": corpus.austen})
    with pytest.raises(SystemExit) as stop:
        corpus.main([str(tmp_path)])
    assert stop.value.code == (
        "`apt-get download r-cran-janeaustenr` failed (E: Unable to locate package): "
        "run `apt-get update` on Debian or Ubuntu and try again, or go on without it by --offline."
    )


def test_no_texts_say_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"holds none of austen.txt.*python -m training.corpus"):
        texts.read_texts(tmp_path)


def test_documents_end_at_chapters_and_the_last_part_is_held_out(tmp_path: Path) -> None:
    body = "word " * 400
    (tmp_path / "austen.txt").write_text(f"Emma\n\nCHAPTER I\n\n{body}\n\nChapter 2\n\n{body}")
    (text,) = texts.read_texts(tmp_path)
    assert text.training.startswith(f"Emma\n\n{texts.END}CHAPTER I\n\nword")
    assert text.training.count(texts.END) == 2
    assert len(text.held_out) == pytest.approx(0.015 * len(text.training + text.held_out), abs=1)
    assert texts.missing([text]) == ["mobydick", "pystdlib"]


def test_encoding_gives_the_text_back_with_an_end_after_each_document() -> None:
    text = texts.Text("pystdlib", standard_library(limit=30_000), "")
    tokenizer = texts.make_tokenizer([text], 300)
    ids = texts.encode(tokenizer, f"def é():\n{texts.END}    pass")
    assert len(tokenizer) == 300
    assert tokenizer.decode(ids) == f"def é():\n{texts.END}    pass{texts.END}"


# Training ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """What `python -m training.train DIR OUT --quick` leaves with the tiny recipe: DIR, OUT and what it printed."""
    folder = tmp_path_factory.mktemp("training")
    (folder / "texts").mkdir()
    (folder / "texts" / "pystdlib.txt").write_text(standard_library(limit=60_000))
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(train, "QUICK", TINY)
        train.main([str(folder / "texts"), str(folder / "out"), "--quick"])
    return folder / "texts", folder / "out", printed.getvalue()


def load(made: tuple[Path, Path, str], draft: str = train.DRAFT) -> sv.Pair:
    return sv.load_pair(made[1] / train.TARGET, made[1] / draft, device="cpu", dtype="float32")


def test_training_says_which_texts_are_missing_and_decodes_at_the_end(made: tuple[Path, Path, str]) -> None:
    printed = made[2]
    assert f"austen.txt is missing in {made[0]}: training goes on without it." in printed
    assert "mobydick.txt is missing" in printed
    assert "loaded target and draft: 48 tokens" in printed
    assert "loaded target and draft-weak: 48 tokens" in printed


def test_three_folders_hold_float16_weights_and_one_tokenizer(made: tuple[Path, Path, str]) -> None:
    folders = [made[1] / name for name in (train.TARGET, train.DRAFT, train.WEAK_DRAFT)]
    assert len({(folder / "tokenizer.json").read_bytes() for folder in folders}) == 1
    for folder in folders:
        assert json.loads((folder / "config.json").read_text())["dtype"] == "float16"
        with safe_open(folder / "model.safetensors", "pt") as weights:
            assert {weights.get_slice(name).get_dtype() for name in weights.keys()} == {"F16"}  # noqa: SIM118


@pytest.mark.parametrize("draft", [train.DRAFT, train.WEAK_DRAFT])
def test_greedy_speculation_on_the_trained_pair_is_plain_greedy(made: tuple[Path, Path, str], draft: str) -> None:
    pair, greedy = load(made, draft), sv.Sampling(temperature=0)
    for prompt in ("def ", "import os"):
        speculated = sv.speculate(pair, prompt, draft_length=3, max_new_tokens=32, sampling=greedy, seed=0)
        assert speculated.tokens == sv.autoregress(pair, prompt, max_new_tokens=32, sampling=greedy, seed=0).tokens


def test_training_learns_and_distilling_brings_the_draft_nearer(made: tuple[Path, Path, str]) -> None:
    pair, weak = load(made), load(made, train.WEAK_DRAFT)
    read = texts.read_texts(made[0])
    assert pair.tokenizer is not None
    target, draft, weak_draft = (
        measure.losses(model, pair.target, read, pair.tokenizer)[0] for model in (pair.target, pair.draft, weak.draft)
    )
    assert target.held_out < 0.9 * math.log(TINY.vocab_size)  # the loss of the uniform law
    assert target.held_out_kl == 0
    assert draft.held_out_kl < weak_draft.held_out_kl


def test_training_does_not_write_over_a_pair(made: tuple[Path, Path, str]) -> None:
    with pytest.raises(SystemExit) as stop:
        train.main([str(made[0]), str(made[1]), "--quick"])
    assert stop.value.code == f"{made[1]} holds a pair already. Choose another folder, or remove it first."


def test_texts_shorter_than_a_window_are_named(tmp_path: Path) -> None:
    text = texts.Text("pystdlib", "import os", "")
    with pytest.raises(CorpusError, match=r"but windows are 65\. Give longer texts"):
        train.train_pair([text], TINY, tmp_path, say=lambda _: None)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0), (torch.float32, 2e-3)])
def test_muon_is_that_of_torch(dtype: torch.dtype, tolerance: float) -> None:
    # In float32 it differs from torch's bfloat16: by 7e-4 at most, over five steps of 0.02.
    start = [torch.randn(shape, generator=torch.Generator().manual_seed(0)) for shape in ((24, 16), (16, 24), (8, 8))]
    ours, theirs = ([torch.nn.Parameter(s.clone()) for s in start] for _ in range(2))
    optimizers = (
        Muon(ours, lr=0.02, weight_decay=0.01, momentum=0.95, dtype=dtype),
        torch.optim.Muon(theirs, lr=0.02, weight_decay=0.01, momentum=0.95),
    )
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        for a, b in zip(ours, theirs, strict=True):
            a.grad = torch.randn(a.shape, generator=generator)
            b.grad = a.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=tolerance)


def test_rates_warm_up_stay_and_fall() -> None:
    run = replace(RUN, warmup_steps=10, decay=0.4)
    assert [rate_factor(run, step, done) for step, done in ((0, 0.0), (9, 0.1), (50, 0.5))] == [0.1, 1.0, 1.0]
    assert rate_factor(run, 80, 0.8) == pytest.approx(0.52)
    assert rate_factor(run, 99, 1.0) == pytest.approx(0.02)


@pytest.fixture
def narrow() -> LlamaForCausalLM:
    model = make_llama(TINY.draft, TINY)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0.0, 0.4, generator=torch.Generator().manual_seed(weight.numel()))
    return model


def test_a_widened_model_says_the_same_and_every_new_weight_can_learn(narrow: LlamaForCausalLM) -> None:
    wide, ids = widen(narrow, TINY.wide_draft, TINY), torch.arange(40)[None]
    want = narrow(ids).logits.detach()
    torch.testing.assert_close(wide(ids).logits, want, rtol=0, atol=1e-4 * float(want.abs().max()))
    assert wide.config.hidden_size == 32
    optimizer = torch.optim.SGD(wide.parameters(), lr=0.1)
    for _ in range(2):  # what is read by zeros alone learns from the second step on
        optimizer.zero_grad()
        torch.autograd.backward(text_loss(wide, ids))
        optimizer.step()
    for name, weight in wide.named_parameters():
        assert weight.grad is not None
        learns = weight.grad != 0
        assert learns.any(0).all(), name
        assert learns.ndim == 1 or "embed" in name or learns.any(1).all(), name  # not every token is in the text


@pytest.mark.parametrize("shape", [Shape(8, 1, 1, 32), Shape(32, 1, 1, 48), Shape(32, 1, 2, 16), Shape(32, 2, 2, 48)])
def test_a_model_is_not_made_narrower_nor_deeper_nor_its_heads_larger(narrow: LlamaForCausalLM, shape: Shape) -> None:
    with pytest.raises(ValueError, match="cannot be widened"):
        widen(narrow, shape, TINY)


def test_the_targets_own_texts_follow_their_prompts_and_have_one_length(made: tuple[Path, Path, str]) -> None:
    pair = load(made)
    assert pair.tokenizer is not None
    (text,) = texts.read_texts(made[0])
    ids = torch.tensor(texts.encode(pair.tokenizer.tokenizer, text.training))
    own = write_texts(pair.target.model, [ids], 100, 40, lambda _: None).view(-1, 40)
    assert len(own) == 128  # two batches
    known = {tuple(window.tolist()) for window in ids.unfold(0, PROMPT, 1)}
    assert all(tuple(prompt.tolist()) in known for prompt in own[:, :PROMPT])
    assert len({tuple(row.tolist()) for row in own[:, PROMPT:]}) > 100


def test_prompts_come_from_texts_that_are_longer_than_one(made: tuple[Path, Path, str]) -> None:
    model, ids = load(made).target.model, torch.arange(300)
    for parts in ([ids[:5], ids], [ids[:20], ids[20:40]]):
        own = write_texts(model, parts, 1, 40, lambda _: None).view(-1, 40)
        assert (own[:, 1:PROMPT] - own[:, : PROMPT - 1] == 1).all()


def test_the_overlap_loss_is_half_the_divergence_and_the_share_of_rejections(narrow: LlamaForCausalLM) -> None:
    teacher, ids = make_llama(TINY.target, TINY), torch.arange(30).view(2, 15)
    with torch.no_grad():
        found = float(overlap_loss(teacher)(narrow, ids))
        p, q = (model(ids[:, :-1]).logits.double().softmax(-1) for model in (teacher, narrow))
    divergence = (p * (p / q).log()).sum(-1).mean()
    assert found == pytest.approx(float(divergence / 2 + 1 - torch.minimum(p, q).sum(-1).mean()), rel=1e-5)


# Measuring -----------------------------------------------------------------------------------------------------------


def test_measured_acceptance_is_the_mean_overlap_of_the_laws() -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    pair = sv.Pair(TableModel(lambda _: p, 3), TableModel(lambda _: q, 3))
    sampled = [(0,) * measure.PROMPT + (0, 1, 2), (1,) * measure.PROMPT + (2, 2)]
    found = measure.acceptance(pair, "toy", 1.0, sampled)
    assert found.alpha == pytest.approx(0.6, abs=1e-12)
    assert (found.std, found.error) == pytest.approx((0, 0), abs=1e-12)
    assert measure.acceptance(pair, "toy", 0.0, sampled).alpha == 0  # their best tokens differ
    assert measure.acceptance(sv.Pair(pair.target, pair.target), "toy", 0.7, sampled).alpha == pytest.approx(1)


def test_the_report_holds_a_row_for_every_draft(
    made: tuple[Path, Path, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("PLACES", 2), ("NEW", 8), ("ROWS", 2), ("TIMED", 2)):
        monkeypatch.setattr(measure, name, value)
    measure.main([str(made[1]), str(made[0])])
    printed = capsys.readouterr().out
    assert printed.startswith("austen.txt is missing")
    assert "| parameters | " in printed
    for row in ("pystdlib, held out: loss (KL)", "pystdlib, draft", "pystdlib, draft-weak"):
        assert f"\n| {row} | " in printed
