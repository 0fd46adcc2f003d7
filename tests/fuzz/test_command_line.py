"""The command line with whatever comes after it: done, an error of one line, or argparse's usage."""

import pytest
from hypothesis import strategies as st

import specviz as sv
from specviz import cli
from tests.fuzz.entries import toys
from tests.fuzz.harness import fuzz, watched
from tests.fuzz.wrong import TEXTS

WORDS = [
    *("decode", "replay", "measure", "theory", "presets", "text", "-", "--", "-k", "--draft-length", "--temperature"),
    *("--top-k", "--top-p", "--min-p", "--repetition-penalty", "--presence-penalty", "--frequency-penalty"),
    *("--min-new-tokens", "--bad-word", "--seed", "--max-new-tokens", "--stop", "--csv", "--json", "--plain", "--chat"),
    *("--system", "--color", "always", "--alpha", "--cost-ratio", "--dtype", "--device", "--quantize", "4bit"),
    *("0", "1", "-1", "4", "0.5", "nan", "inf", "-inf", "1e999", "9" * 30, "9" * 5000, "١", "0x10", "1_000", ""),
    *("run.json", "no/such.json", "folder", "~nosuch/x", "a\0b", "--help", "--version", "--target", "--draft"),
]
VALID = [
    ["decode", "text", "--max-new-tokens", "3", "--seed", "1"],
    ["decode", "text", "--plain", "--json", "run.json"],
    ["decode", "text", "-k", "2", "--temperature", "0", "--csv", "rows.csv"],
    ["replay", "run.json"],
    ["measure", "run.json", "run.json"],
    ["theory", "--alpha", "0.8", "--cost-ratio", "10"],
    ["presets"],
]


@pytest.fixture(scope="module")
def spoken(pair):
    """A pair that answers at once: tables for models, the bundled tokenizer for the text."""
    size = pair.tokenizer.size
    law = [1 / size] * size
    model = sv.models.toy.TableModel(lambda _: law, size, 0, context_length=12)
    return sv.Pair(model, model, pair.tokenizer)


@pytest.fixture
def at_hand(tmp_path, monkeypatch, spoken):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sv, "load_pair", lambda *_, **__: spoken)
    monkeypatch.setattr("sys.stdin", None)
    (tmp_path / "folder").mkdir()
    sv.speculate(toys(), [0], max_new_tokens=4, seed=1).to_json("run.json")


@fuzz(400, data=st.data())
def test_any_words_end_with_a_code_and_at_most_a_line(at_hand, capsys, data):  # noqa: ARG001
    words = list(data.draw(st.sampled_from(VALID)))
    word = st.sampled_from(WORDS) | st.sampled_from(TEXTS)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(words)))
        words[at : at + data.draw(st.integers(0, 1))] = [data.draw(word)]
    with watched():
        try:
            code = cli.main(words)
        except SystemExit as end:  # argparse: the usage, the help or the version
            code = end.code
            capsys.readouterr()
    told = capsys.readouterr().err
    assert code in (0, 2), words
    assert "Traceback" not in told
    assert len(told.splitlines()) <= 1, told
