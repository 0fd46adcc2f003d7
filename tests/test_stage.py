"""What is sent to the stage, the page that holds it, and its code; what a browser makes of it is in `tests/stage/`.

The pure parts of its code run in node. Without one they are skipped, unless SPECVIZ_REQUIRE_BROWSER=1 is set.
"""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from html import unescape
from pathlib import Path

import pytest

import specviz as sv
from specviz import replay, timeline
from specviz.figures.style import PALETTES
from specviz.replay.words import words
from tests.stage.shows import HOSTILE, first_rounds, hostile_trace, missing

ROOT = Path(__file__).parents[1]
STAGE = ROOT / "specviz" / "ui" / "stage"


def wire(trace):
    return json.dumps(replay.payload(trace), ensure_ascii=False, separators=(",", ":")).encode()


# What is sent


def test_the_payload_says_what_the_timeline_says(trace):
    rounds = replay.payload(trace)["rounds"]
    texts = replay.payload(trace)["texts"]

    def whole(packed):
        parts = texts[packed[0]].split("\0")
        gaps = [*packed[1:], *[""] * (len(parts) - len(packed[1:]))]
        return "".join(part + gap for part, gap in zip(parts, gaps, strict=True))

    told = [(s["k"], *(whole(s[name]) for name in "tcf")) for r in rounds for s in r["steps"]]
    assert told == [(s.kind, s.title, s.caption, s.formula.text) for s in timeline.steps(trace)]
    assert "".join(text for r in rounds for text, *_ in r["spans"]) == trace.text
    for step in timeline.steps(trace):
        passes, tokens, _, _, judged = rounds[step.round]["steps"][step.index]["y"]
        assert (passes, tokens) == (str(step.tally.rounds), str(step.tally.tokens))
        assert judged == f"{step.tally.accepted} of {step.tally.judged}"


def test_two_hundred_rounds_cost_less_than_200_kilobytes_compressed(long_trace):
    """As the server's websocket compresses: raw deflate with a window of 4 KB and little memory, JSON in ASCII."""
    rounds = first_rounds(long_trace, 200)
    assert len(rounds.rounds) == 200
    sent = json.dumps(replay.payload(rounds)).encode()
    deflate = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -12, 5)
    assert len(deflate.compress(sent) + deflate.flush()) < 200_000


def test_a_page_of_thirty_rounds_is_smaller_than_300_kilobytes(long_trace):
    assert len(first_rounds(long_trace, 30).to_html().encode()) < 300_000


def test_rounds_that_were_sent_do_not_change_when_more_come(trace):
    whole = replay.payload(trace)
    for n in range(len(trace.rounds)):
        part = replay.payload(first_rounds(trace, n))
        assert part["rounds"] == whole["rounds"][:n]
        assert part["run"] == whole["run"] or n == 0


def test_another_run_of_the_same_settings_is_another_run(trace):
    again = dataclasses.replace(trace, rounds=(dataclasses.replace(trace.rounds[0], round_s=9.9), *trace.rounds[1:]))
    assert replay.payload(again)["run"] != replay.payload(trace)["run"]


def test_greedy_and_plain_runs_and_empty_ones_have_payloads(pair):
    greedy = sv.speculate(pair, "It is", max_new_tokens=12, sampling=sv.Sampling(0), seed=0)
    assert {s["u"] for r in replay.payload(greedy)["rounds"] for s in r["steps"] if "u" in s} == {None}
    plain = sv.autoregress(pair, "It is", max_new_tokens=3, seed=0)
    assert [[s["k"] for s in r["steps"]] for r in replay.payload(plain)["rounds"]] == [["verify", "bonus", "emit"]] * 3
    assert all(len(r["steps"][0]["cache"]) == 1 for r in replay.payload(plain)["rounds"])
    assert replay.payload(first_rounds(plain, 0))["rounds"] == []


def test_the_uniform_falls_on_the_drawn_tokens_stretch(trace):
    """Where the stretch begins is recorded: what is drawn before it is that, to the four decimals that are sent."""
    told, probs = replay.payload(trace)["rounds"], {"draft": "draft_prob", "residual": "residual_prob"}
    seen = set()
    for step in timeline.steps(trace):
        if step.kind in ("draft", "residual", "bonus"):
            law, sent = step.law, told[step.round]["steps"][step.index]
            of = {c.token: getattr(c, probs.get(step.kind, "target_prob")) for c in law.rows}
            before = sent["b"] + sum(of[token] for token, *_ in sent["rows"] if token < law.token)
            assert before == pytest.approx(law.below, abs=5e-5 + 1e-12)
            assert law.below <= law.uniform < law.below + of[law.token] + 1e-12
            seen.add(step.kind)
    assert seen == {"draft", "residual", "bonus"}


def test_rows_hold_the_whole_law_and_the_tokens_that_matter(trace):
    for told, round_ in zip(replay.payload(trace)["rounds"], trace.rounds, strict=True):
        for step in told["steps"]:
            if "rows" in step:
                assert len(step["rows"]) <= 7
                assert step["rows"][step["d"]][1]
            if step["k"] == "residual":
                rejected = round_.nodes[round_.trials[-1].node].token
                assert rejected in [row[0] for row in step["rows"]]


def test_payload_numbers_are_plain_json(trace):
    assert json.loads(wire(trace)) == replay.payload(trace)
    assert json.loads(wire(hostile_trace()))["prompt"].startswith("<img")


# The page


def test_the_page_is_whole_and_forbids_the_network(trace, tmp_path):
    path = tmp_path / "run.html"
    assert trace.to_html(path) is None
    page = path.read_text(encoding="utf-8")
    assert page == trace.to_html()
    assert re.findall(r"""(?:src|href)\s*=\s*["']""", page.split('id="trace">')[0]) == []
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy
    assert "unsafe" not in policy


def test_no_text_of_a_token_leaves_its_script_element():
    page = hostile_trace().to_html()
    data = re.search(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)[1]
    assert not set("<>&\u2028\u2029") & set(data)
    assert json.loads(data)["payload"]["prompt"] == HOSTILE[0] + HOSTILE[1]
    assert page.count("<script") == 2
    assert "<title>Speculative decoding: &lt;img" in page


def test_half_a_surrogate_pair_does_not_break_the_page(trace, tmp_path):
    dataclasses.replace(trace, prompt="\ud83d").to_html(tmp_path / "half.html")


def test_the_page_is_written_whole_or_not_at_all(trace, tmp_path, monkeypatch):
    path = tmp_path / "run.html"
    path.write_text("old")
    monkeypatch.setattr(
        Path, "write_text", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(sv.errors.TraceError, match=r"run.html cannot be written \(No space left on device\)"):
        trace.to_html(path)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["run.html"]
    assert path.read_text() == "old"
    with pytest.raises(sv.errors.TraceError, match=r"cannot be written \(No such file or directory\)"):
        trace.to_html(tmp_path / "nowhere" / "run.html")


def test_the_page_names_the_language_of_its_words(trace, tmp_path):
    assert '<html lang="en" ' in trace.to_html()
    catalogue = tmp_path / "pt_BR" / "LC_MESSAGES" / "specviz.mo"
    catalogue.parent.mkdir(parents=True)
    catalogue.touch()
    code = "from pathlib import Path\nfrom specviz import i18n\ni18n._LOCALE = Path({!r})\nprint(i18n.language())"
    for chosen, told in (("pt_BR.UTF-8", "pt-BR"), ("de", "en")):
        done = subprocess.run(
            [sys.executable, "-c", code.format(str(tmp_path))],
            env=os.environ | {"LANGUAGE": chosen}, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == told


def test_a_notebook_shows_the_page_in_a_frame_that_may_do_nothing_else(trace):
    frame = trace._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    inner = unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert inner == trace.to_html()


# The code


def test_the_stage_has_the_colours_of_the_figures():
    sheet = replay.style()
    for name in (
        "draft",
        "target",
        "accepted",
        "rejected",
        "resampled",
        "background",
        "surface",
        "text",
        "muted",
        "line",
    ):
        pair = ", ".join(getattr(PALETTES[theme], name) for theme in ("light", "dark"))
        assert f"--{name}: light-dark({pair});" in sheet


def test_no_file_of_the_stage_is_longer_than_300_lines():
    for path in STAGE.iterdir():
        if path.is_file():
            assert len(path.read_text(encoding="utf-8").splitlines()) <= 300, path


def test_the_joined_scripts_have_every_module_once_and_no_name_twice():
    sources = {path.stem: path.read_text(encoding="utf-8") for path in STAGE.glob("*.mjs")}
    needed = set(re.findall(r'from "\./([a-z]+)\.mjs"', "".join(sources.values())))
    joined = set()
    for entry in sources.keys() - needed:
        script = replay.script(entry)
        assert not re.search(r"^(import|export) ", script, re.MULTILINE)
        names = re.findall(r"^(?:async )?(?:const|let|function|class) (\w+)", script, re.MULTILINE)
        assert len(names) == len(set(names)), entry
        joined |= set(names)
    assert "main" in sources.keys() - needed
    for name, source in sources.items():
        first = re.search(r"^export (?:async )?(?:const|function|class) (\w+)", source, re.MULTILINE)
        assert first[1] in joined, name


def test_the_code_never_makes_markup_of_text():
    for path in STAGE.glob("*.mjs"):
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", path.read_text()), path


def test_every_word_that_the_code_names_is_there():
    code = "".join(path.read_text(encoding="utf-8") for path in STAGE.glob("*.mjs"))
    assert set(re.findall(r"\bw\.(\w+)", code)) <= set(words())


def test_every_icon_is_used():
    code = {path.stem: path.read_text(encoding="utf-8") for path in STAGE.glob("*.mjs")}
    icons = re.findall(r"^  (\w+): \"M", code["dom"], re.MULTILINE)
    assert len(icons) > 10
    for name in icons:
        assert any(f'"{name}"' in text for text in code.values()), name


def test_pure_parts_in_node():
    node = shutil.which("node") or missing("node")
    tests = sorted(map(str, (ROOT / "tests" / "stage").glob("*.test.mjs")))
    done = subprocess.run([node, "--test", *tests], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:]
