"""The command line: what it prints, what it saves, how it fails, and that no model's text can drive a terminal."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import specviz as sv
from specviz import cli, decoding
from specviz.cli import terminal
from specviz.figures import style
from specviz.models import load
from specviz.models.toy import TableModel

ROOT = Path(__file__).parent.parent
GOLDEN = str(ROOT / "tests" / "golden" / "trace_v1.json")
HOSTILE = ["\x1b[2J", "\r", "\x9b31m", "\u202e", "\n", "漢字" * 20, "\x1b]0;title\x07", "e\u0301", "\x7f", "ok"]


class Words:
    """A tokenizer whose token i reads words[i]; every prompt is tokens 0 and 1."""

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def encode(self, _text: str) -> list[int]:
        return [0, 1]

    def label(self, token: int) -> str:
        return self.words[token]

    def to_bytes(self, token: int) -> bytes:
        return self.words[token].encode()


def toy_pair(words: list[str], interrupt_after: int | None = None) -> sv.Pair:
    """Two random laws; the target's raises KeyboardInterrupt at its so-manieth answer."""
    answers = 0

    def law(salt: int):
        def of(tokens: tuple[int, ...]) -> np.ndarray:
            nonlocal answers
            answers += salt
            if interrupt_after is not None and answers > interrupt_after:
                raise KeyboardInterrupt
            weights = np.random.default_rng([salt, *tokens]).random(len(words))
            return weights / weights.sum()

        return of

    models = [TableModel(law(salt), len(words), name=f"toy{salt}\x1b[0m") for salt in (1, 0)]
    return sv.Pair(*models, Words(words))


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command on a toy pair: exit code, standard output, standard error."""

    def command(*argv: str, words: list[str] = HOSTILE, interrupt_after: int | None = None):
        monkeypatch.setattr(load, "load_pair", lambda *_args, **_options: toy_pair(words, interrupt_after))
        code = cli.main(list(argv))
        out, err = capsys.readouterr()
        return code, out, err

    return command


def python(*argv: str, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8", **(env or {})}
    command = [sys.executable, "-m", "specviz", *argv]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=300, **options)


def test_replay_shows_every_round_as_it_was(run):
    code, out, err = run("replay", GOLDEN)
    assert (code, err) == (0, "")
    assert out.startswith("target bundled/target, draft bundled/draft, K = 4\ntemperature 0.8, top_p 0.95, seed 6\n")
    lines = out.splitlines()
    assert sum(line.startswith("round ") for line in lines) == 4
    rows = [line for line in lines if re.match(r" +\d  [✓✕↻★–] ", line)]
    assert len(rows) == 17
    assert [line.split()[1] for line in rows[5:10]] == ["✕", "–", "–", "–", "↻"]
    assert " ".join(rows[2].split()) == "3 ✓ ␣ex p 0.00354 q 0.00525 p/q 0.675 r 0.674 < 0.675 accepted"
    assert " ".join(rows[5].split()) == "1 ✕ . p 0.0137 q 0.109 p/q 0.126 r 0.979 ≥ 0.126 rejected"
    assert len({line.index(" p ") for line in rows}) == 1  # aligned
    assert " of the existence of whalemen, that\nended by: length" in out
    assert "accepted of judged      0.750 (6 of 8; 95% interval 0.409 to 0.929)" in out
    assert "E[N] at α̂ and K = 4   2.75" in out


@pytest.mark.parametrize("color", ["always", "never"])
def test_no_token_reaches_the_terminal_as_a_command(run, tmp_path, color):
    path = tmp_path / "t.json"
    code, out, _ = run("decode", "a\x1b[31mb", "--seed", "1", "--color", color, "--json", str(path))
    assert code == 0
    ours = re.compile(r"\x1b\[38;(2;0;0;0;48;2;\d+;\d+;\d+|5;16;48;5;\d+)m|\x1b\[0m")
    assert bool(ours.search(out)) == (color == "always")
    rest = ours.sub("", out)
    assert [c for c in rest if not (c.isprintable() or c == "\n")] == []
    emitted = {HOSTILE[token] for token in sv.Trace.from_json(path).tokens}
    assert {"\x1b[2J", "\r", "\x9b31m", "\u202e"} <= emitted  # or the test shows nothing
    assert r"a\x1b[31mb" in out
    assert r"toy1\x1b[0m" in out


def test_a_text_cannot_pass_for_a_line_of_ours(run):
    _, out, _ = run("decode", "x\nround 7: faked", "--seed", "1", words=["\nround 9: faked", "b"])
    assert "round 9: faked" in out
    assert not re.search(r"^round \d+: faked", out, re.MULTILINE)


def test_columns_stay_aligned_with_wide_and_combining_characters(run):
    _, out, _ = run("decode", "x", "--seed", "3", words=["漢字" * 20, "e\u0301", "שלום", "a" * 50])
    rows = [line for line in out.splitlines() if re.match(r" +\d  [✓✕↻★–] ", line)]
    assert len({terminal._cells(line[: line.index(" p ")]) for line in rows}) == 1
    assert any("漢字" in line for line in rows)


def test_the_marks_speak_without_colour_and_the_colours_are_the_palette_s(run, monkeypatch):
    monkeypatch.setenv("COLORTERM", "truecolor")
    _, plain, _ = run("replay", GOLDEN, "--color", "never")
    _, painted, _ = run("replay", GOLDEN, "--color", "always")
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == plain
    dark = style.PALETTES["dark"]
    used = {tuple(map(int, rgb)) for rgb in re.findall(r"48;2;(\d+);(\d+);(\d+)m", painted)}
    assert used == {tuple(bytes.fromhex(c[1:])) for c in (dark.accepted, dark.rejected, dark.resampled, dark.target)}
    monkeypatch.setenv("COLORTERM", "")
    _, painted, _ = run("replay", GOLDEN, "--color", "always")
    assert set(re.findall(r"\x1b\[(38;.)", painted)) == {"38;5"}


@pytest.mark.parametrize(
    ("tty", "no_color", "term", "option", "colored"),
    [
        (True, "", "xterm", "auto", True),
        (True, "1", "xterm", "auto", False),
        (True, "", "dumb", "auto", False),
        (False, "", "xterm", "auto", False),
        (False, "1", "xterm", "always", True),
        (True, "", "xterm", "never", False),
    ],
)
def test_colour_is_for_terminals_that_want_it(run, monkeypatch, tty, no_color, term, option, colored):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty, raising=False)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)
    _, out, _ = run("replay", GOLDEN, "--color", option)
    assert ("\x1b[" in out) == colored


def test_decode_prints_saves_and_compares(run, tmp_path):
    csv, js = tmp_path / "t.csv", tmp_path / "t.json"
    options = ["-k", "3", "--temperature", "0.8", "--top-k", "9", "--top-p", "0.99", "--min-p", "0.01", "--seed", "5"]
    code, out, err = run("decode", "hi", *options, "--max-new-tokens", "12", "--csv", str(csv), "--json", str(js))
    assert (code, err) == (0, "")
    trace = sv.Trace.from_json(js)
    assert trace.sampling == sv.Sampling(0.8, 9, 0.99, 0.01)
    assert (trace.draft_length, trace.seed, len(trace.tokens)) == (3, 5, 12)
    pd.testing.assert_frame_equal(pd.read_csv(csv), trace.to_frame(), check_exact=True)
    for told in ("accepted of judged", "α̂", "tokens per target pass", "E[N] at α̂ and K = 3", "time of plain decoding"):
        assert told in out
    assert re.search(r"speed-up over plain decoding  [\d.]+× measured, [\d.]+× predicted at α̂ and c = ", out)
    _, replayed, _ = run("replay", str(js))
    assert replayed.split("\n\n  accepted of judged")[0] == out.split("\n\nDecoding without")[0]


def test_the_same_seed_prints_the_same_tokens(run):
    first, second = (run("decode", "x", "--seed", "9")[1] for _ in range(2))
    strip = re.compile(r"(?m)^round.*$|ended by(?s:.*)")
    assert strip.sub("", first) == strip.sub("", second)


def test_plain_decoding_is_compared_at_the_same_seed(run, monkeypatch, tmp_path):
    seeds: list[int] = []
    real = decoding.autoregress
    monkeypatch.setattr(
        decoding, "autoregress", lambda *a, **options: seeds.append(options["seed"]) or real(*a, **options)
    )
    run("decode", "x", "--json", str(tmp_path / "t.json"))
    assert seeds == [sv.Trace.from_json(tmp_path / "t.json").seed]


def test_stop_strings_can_be_given_again_and_end_the_text(run, tmp_path):
    path = tmp_path / "t.json"
    run("decode", "x", "--seed", "0", "--stop", "zz", "--stop", "b", "--json", str(path), words=["a", "b"])
    trace = sv.Trace.from_json(path)
    assert trace.stop == ("zz", "b")
    assert trace.stop_reason == "stop"
    assert "b" not in trace.text


def test_plain_decodes_with_the_target_alone(run, tmp_path):
    path = tmp_path / "t.json"
    code, out, _ = run("decode", "x", "--plain", "--seed", "0", "--max-new-tokens", "3", "--json", str(path))
    assert code == 0
    assert sv.Trace.from_json(path).draft is None
    assert ", alone\n" in out
    assert out.count("next token") == 3
    assert "speed-up" not in out
    assert "accepted" not in out


def test_greedy_decoding_says_whether_it_equals_plain_decoding(run):
    _, out, _ = run("decode", "x", "--temperature", "0")
    assert re.search(r"greedy +the same tokens as plain decoding", out)


def test_a_difference_from_plain_decoding_is_told_with_the_gap():
    greedy = {"max_new_tokens": 6, "sampling": sv.Sampling(0), "seed": 0}
    one = sv.speculate(toy_pair(["a", "b"]), [0], **greedy)
    other = sv.autoregress(toy_pair(["a", "b", "c"]), [0], **greedy)
    told = dict(terminal.measured([one], [other]))["greedy"]
    assert re.fullmatch(
        r"other tokens than plain decoding from token \d on; the target's best two logits are [\d.]+ apart there", told
    )


def test_an_interrupt_prints_and_saves_what_is_done(run, tmp_path):
    path = tmp_path / "t.json"
    code, out, _ = run("decode", "x", "--seed", "1", "--json", str(path), interrupt_after=14)
    assert code == 130
    trace = sv.Trace.from_json(path)
    assert trace.stop_reason == "cancelled"
    assert 1 <= len(trace.rounds) < 10
    assert out.count("\nround ") == len(trace.rounds)
    assert "ended by: cancelled" in out
    assert "accepted of judged" in out
    assert "without the draft" not in out


def test_an_interrupt_of_the_comparison_keeps_the_run(run, monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(decoding, "autoregress", interrupted)
    code, out, _ = run("decode", "x", "--seed", "1", "--max-new-tokens", "5")
    assert code == 130
    assert "ended by: length" in out
    assert "accepted of judged" in out
    assert "speed-up" not in out


def test_an_interrupt_elsewhere_is_quiet(run, monkeypatch):
    def interrupted(_path):
        raise KeyboardInterrupt

    monkeypatch.setattr(sv.Trace, "from_json", interrupted)
    assert run("replay", GOLDEN) == (130, "", "")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["decode", "x", "-k", "0"], "draft_length (K) must be a whole number of at least 1, got 0"),
        (["decode", "x", "--temperature", "-1"], "temperature must be 0 (greedy) or a positive number, got -1.0"),
        (["decode", "x", "--top-p", "2"], "top_p must lie in (0, 1], or be None for no limit, got 2.0"),
        (["decode", "x", "--stop", ""], "stop must be a list of non-empty strings"),
        (["decode", "x", "--json", "nowhere/t.json"], "there is no folder for nowhere/t.json. Make it first."),
        (["decode", "x", "--csv", "."], "Is a directory"),
        (["replay", "nowhere.json"], "nowhere.json cannot be read (No such file or directory)"),
        (["replay", "\x1b[31m.json"], r"\x1b[31m.json cannot be read"),
        (["measure", GOLDEN, str(ROOT / "README.md")], "README.md is not JSON"),
        (["theory", "--alpha", "1.5", "--cost-ratio", "10"], "alpha must lie in [0, 1], got 1.5"),
        (["theory", "--alpha", "0.5", "--cost-ratio", "0"], "cost_ratio (c = T_p/T_q) must be positive, got 0.0"),
    ],
)
def test_an_error_is_one_sentence_on_standard_error(run, argv, told):
    code, _, err = run(*argv)
    assert code == 2
    assert err.startswith("specviz: ")
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("argv", [[], ["decode"], ["fly"], ["decode", "x", "-k", "two"], ["theory", "--alpha", "0.5"]])
def test_a_wrong_command_line_is_told_by_argparse(argv, capsys):
    with pytest.raises(SystemExit) as exit_:
        cli.main(argv)
    assert exit_.value.code == 2
    assert "usage: specviz" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["decode", "replay", "measure", "theory", "serve"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        cli.main([command, "--help"])
    assert exit_.value.code == 0
    assert f"usage: specviz {command}" in capsys.readouterr().out


def test_a_prompt_can_come_from_standard_input(run, monkeypatch, tmp_path):
    path = tmp_path / "t.json"
    monkeypatch.setattr(sys, "stdin", io.StringIO("two\nlines\n"))
    run("decode", "-", "--max-new-tokens", "2", "--json", str(path))
    assert sv.Trace.from_json(path).prompt == "two\nlines"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9"), encoding="utf-8"))
    code, _, err = run("decode", "-")
    assert (code, err) == (2, "specviz: standard input is no utf-8 text (byte 3). Convert it first.\n")


def test_theory_prints_what_the_formulas_say(run):
    code, out, _ = run("theory", "--alpha", "0.8", "--cost-ratio", "10", "-k", "4")
    assert code == 0
    assert [line.split("  ")[-1].strip() for line in out.splitlines()] == [
        "3.36 tokens per target pass",
        "2.40×",
        "6 (speed-up 2.47×)",
        "5.76",
        "0.100",
    ]
    assert "E[N] at K = 6" in run("theory", "--alpha", "0.8", "--cost-ratio", "10")[1]
    assert "none, the draft is slower than the target" in run("theory", "--alpha", "0.8", "--cost-ratio", "0.5")[1]
    assert "∞" in run("theory", "--alpha", "1", "--cost-ratio", "10")[1]


def test_measure_takes_traces_of_one_draft_length_together(run, tmp_path):
    paths = [str(tmp_path / f"{i}.json") for i in range(4)]
    for path, options in zip(paths, (["-k", "2"], ["-k", "2"], ["-k", "3"], ["--plain"]), strict=True):
        run("decode", "x", "--seed", "1", "--max-new-tokens", "20", *options, "--json", path)
    code, out, _ = run("measure", *paths)
    assert code == 0
    assert [line.split(" (")[0] for line in out.splitlines() if line[0] != " "] == ["without a draft", "K = 2", "K = 3"]
    assert "K = 2 (traces 2, rounds" in out
    assert out.count("tokens per target pass") == 2
    assert out.count("speed-up over plain decoding") == 2
    assert out.count("    position ") == 5


@pytest.mark.parametrize(
    "argv", [["theory", "--alpha", "0.8", "--cost-ratio", "10"], ["replay", GOLDEN], ["measure", GOLDEN]]
)
def test_theory_replay_and_measure_import_neither_torch_nor_plotly(argv):
    code = (
        f"import sys; from specviz.cli import main; main({argv!r}); "
        "sys.exit(str({'torch', 'transformers', 'plotly', 'streamlit', 'pandas'} & set(sys.modules) or 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stderr == "0\n"


def test_a_reader_that_goes_away_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "specviz", "replay", GOLDEN]
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, timeout=300)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_an_output_that_knows_only_ascii_does_not_crash_it():
    done = python("replay", GOLDEN, env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"never judged" in done.stdout
    assert done.stdout.isascii()


def test_the_bundled_pair_decodes_from_the_command_line(tmp_path):
    path = tmp_path / "t.json"
    done = python("decode", "-", "--seed", "1", "--max-new-tokens", "8", "--json", str(path), input=b"It was\n")
    assert (done.returncode, done.stderr) == (0, b"")
    out = done.stdout.decode()
    assert out.startswith("target bundled/target, draft bundled/draft, K = 4\ntemperature 1.0, seed 1\n  It was\n")
    assert len(sv.Trace.from_json(path).tokens) == 8
    assert "speed-up over plain decoding" in out


def test_serve_starts_streamlit_on_the_app(monkeypatch):
    started: list[tuple[list[str], Path]] = []
    monkeypatch.setattr(subprocess, "call", lambda command, cwd: started.append((command, cwd)) or 0)
    monkeypatch.setattr(Path, "is_file", lambda _self: True)
    assert cli.main(["serve", "--port", "9000"]) == 0
    ((command, cwd),) = started
    assert command == [
        *(sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")),
        *("--server.address", "localhost", "--server.port", "9000"),
    ]
    assert cwd == ROOT
    monkeypatch.setattr(Path, "is_file", lambda _self: False)
    assert cli.main(["serve"]) == 2
