"""Opened files are data: whatever they hold, the answer is a trace or one sentence, soon and in little memory."""

import dataclasses
import io
import json
import math
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import specviz as sv
from specviz.ui import hosting, runs
from specviz.ui.player import places

ROOT = Path(__file__).parents[2]
GOLDEN = (ROOT / "tests" / "golden" / "trace_v1.json").read_bytes()
HEAD = b'{"schema_version": 1, "rounds": '
HOSTILE = {
    "lists in lists": HEAD + b"[" * 500_000 + b"]" * 500_000 + b"}",
    "objects in objects": b'{"schema_version":1,"a":' * 200_000,
    "a million empty lists": HEAD + b"[" + b"[]," * 1_000_000 + b"[]]}",
    "a million empty objects where nobody looks": b'{"schema_version":1,"x":[' + b"{}," * 1_000_000 + b"{}]}",
    "a number of a million digits": GOLDEN.replace(b'"seed":', b'"seed":' + b"9" * 1_000_000, 1),
    "a version of a million digits": b'{"schema_version": ' + b"1" * 1_000_000 + b"}",
    "an exponent of a million digits": GOLDEN.replace(b'"total_s":', b'"total_s":1e' + b"9" * 1_000_000, 1),
    "NaN": GOLDEN.replace(b'"total_s":', b'"total_s":NaN,"x":', 1),
    "Infinity": GOLDEN.replace(b'"total_s":', b'"total_s":Infinity,"x":', 1),
    "no UTF-8": GOLDEN.replace(b"whale", b"\xff\xfe", 1),
    "half a surrogate": GOLDEN.replace(b"whale", rb"\ud800", 1),
    "the version twice": GOLDEN.rstrip()[:-1] + b',"schema_version":2}',
    "rounds twice": GOLDEN.rstrip()[:-1] + b',"rounds":[]}',
    "something behind": GOLDEN + b"{}",
    "a pickle": b"\x80\x04\x95\x1f\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x8c\x06system\x93\x8c\x04true\x85R.",
    "nothing": b"",
}


def opened(data: bytes) -> runs.Shown | str:
    """What the page shows, or the sentence that it says."""
    try:
        return runs.open_file(io.BytesIO(data))
    except sv.TraceError as error:
        return str(error)


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_gets_one_sentence_and_little_memory(case):
    data = HOSTILE[case]
    tracemalloc.start()
    try:
        told = opened(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert isinstance(told, str)
    assert len(told) < 400
    assert "\n" not in told
    assert peak < 8 * len(data) + 2e6  # a plain reader takes 60 bytes for each of a million empty lists


def test_memory_of_a_plain_reader_would_be_caught():
    data = HEAD + b"[" + b"[]," * 200_000 + b"[]]}"
    tracemalloc.start()
    json.loads(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak > 8 * len(data) + 2e6


def leaves(value, path=()):
    """The path of every number and text in a JSON value."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path


LEAVES = list(leaves(json.loads(GOLDEN)))
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.text(max_size=20),
    st.just([]),
    st.just({}),
    st.recursive(st.integers(0, 9), lambda inner: st.lists(inner, max_size=3), max_leaves=8),
)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(LEAVES), ODD), min_size=1, max_size=3))
def test_a_trace_with_other_values_in_it_is_whole_or_refused(changes):
    raw = json.loads(GOLDEN)
    for path, value in changes:
        at = raw
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = value
    told = opened(json.dumps(raw).encode("utf-8", "surrogatepass"))
    if isinstance(told, runs.Shown):  # then it can be shown, and written again
        assert sv.Trace.from_json(told.trace.to_json()) == told.trace
        assert told.trace.to_csv()


@settings(max_examples=100)
@given(st.integers(0, len(GOLDEN) - 1), st.binary(max_size=4), st.integers(0, 40))
def test_a_trace_with_bytes_changed_is_whole_or_refused(at, bytes_, removed):
    opened(GOLDEN[:at] + bytes_ + GOLDEN[at + removed :])


def test_a_gap_that_looks_infinite_in_a_text_stays_a_text():
    trace = sv.Trace.from_json(io.BytesIO(GOLDEN))
    said = '"target_gap": "Infinity"'
    trace = dataclasses.replace(trace, prompt=said)
    assert sv.Trace.from_json(trace.to_json()).prompt == said
    first = trace.rounds[0]
    node = dataclasses.replace(first.nodes[0], target_gap=math.inf)
    trace = dataclasses.replace(
        trace, rounds=(dataclasses.replace(first, nodes=(node, *first.nodes[1:])), *trace.rounds[1:])
    )
    assert sv.Trace.from_json(trace.to_json()) == trace


def test_a_file_over_a_limit_is_refused_with_the_limit(monkeypatch):
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, upload_bytes=2**20))
    assert opened(GOLDEN + b" " * 2**20) == "the file has 1.0 MB, and this server opens 1 MB at most."
    n = places(sv.Trace.from_json(io.BytesIO(GOLDEN)))
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, places=n - 1))
    assert opened(GOLDEN) == f"the file holds {n} drafts and final draws, and this server shows {n - 1} at most."


def test_an_endless_file_is_no_trace():
    with pytest.raises(sv.TraceError, match="more than 256 MB"):
        sv.Trace.from_json("/dev/zero")


def test_what_is_kept_is_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(hosting, "LIMITS", dataclasses.replace(hosting.LIMITS, kept_bytes=40 * len(GOLDEN)))
    ids = [opened(GOLDEN).id for _ in range(5)]
    assert [runs.find(id) is not None for id in ids] == [False, False, True, True, True]  # 12 bytes for each of a file


def test_the_bytes_of_a_run_are_not_underestimated():
    data = sv.examples.load("prose").to_json()
    tracemalloc.start()
    trace = sv.Trace.from_json(data)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert used < 3000 * places(trace)


NEVER = re.compile(
    r"import pickle|\bpickle\.\w|torch\.load|allow_pickle=True|\bmarshal\.|\bshelve\b|joblib|yaml\.load"
    r"|(?<![\w.])(?:eval|exec)\("
)


def never(files) -> list[str]:
    return [f"{path}: {found.group()}" for path in files for found in NEVER.finditer(path.read_text(encoding="utf-8"))]


def test_nothing_in_the_package_can_run_what_it_reads(tmp_path):
    assert never([*(ROOT / "specviz").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]) == []
    (tmp_path / "bad.py").write_text("import pickle\nnp.load(f, allow_pickle=True)\neval(text)\nmodel.eval()\n")
    assert len(never([tmp_path / "bad.py"])) == 3
