"""Files that are no traces, or not quite: refused with the place in the file, or good for every view."""

import copy
import functools
import io
import json
import math
from pathlib import PurePath

import pytest
from hypothesis import strategies as st

import specviz as sv
from specviz import export
from tests.fuzz.entries import run, toys
from tests.fuzz.harness import fuzz, tried
from tests.fuzz.views import seen_everywhere
from tests.fuzz.wrong import HUGE, TEXTS, texts

NOT_JSON = [float("nan"), float("inf"), -float("inf")]
VALUES = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    0.5,
    -0.0,
    1e308,
    5e-324,
    *HUGE[:6],
    *NOT_JSON,
    *TEXTS[:16],
    [],
    {},
    [[]],
    [None],
]


@functools.cache
def kept(draft_length, greedy):
    pair = toys()
    sampling = sv.Sampling(0 if greedy else 0.9, bad_words=())
    options = {"max_new_tokens": 8, "seed": 3, "sampling": sampling}
    trace = (
        sv.speculate(pair, [0, 1], draft_length=3, **options) if draft_length else sv.autoregress(pair, [0], **options)
    )
    return json.loads(trace.to_json())


def places(raw, before=()):
    """The way to every part of the file."""
    found = [before]
    for key, value in raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ():
        found += places(value, (*before, key))
    return found


def changed(data, raw):
    """One part of the file is another value, lost, doubled, moved, or has company."""
    *way, key = data.draw(st.sampled_from(places(raw)[1:]))
    holder = functools.reduce(lambda part, step: part[step], way, raw)
    value = holder[key]
    what = data.draw(st.sampled_from(["value", "value", "near", "lost", "extra", "swapped", "twice"]))
    if what == "near" and isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = data.draw(st.sampled_from([value + 1, value - 1, -value, value * 2, value / 2, value + 1e-12]))
    elif what == "lost":
        del holder[key]
    elif what == "extra" and isinstance(holder, dict):
        holder[data.draw(texts())] = copy.deepcopy(value)
    elif what == "swapped":
        other = data.draw(st.sampled_from(sorted(map(str, holder)) if isinstance(holder, dict) else range(len(holder))))
        holder[key], holder[other] = holder[other], holder[key]
    elif what == "twice" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(value))
    else:
        holder[key] = data.draw(st.sampled_from(VALUES) | st.lists(st.sampled_from(VALUES), max_size=2))


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("draft_length", [0, 3])
@fuzz(450, data=st.data())
def test_a_changed_trace_is_refused_or_shown(draft_length, greedy, data):
    raw = copy.deepcopy(kept(draft_length, greedy))
    for _ in range(data.draw(st.integers(1, 2))):
        changed(data, raw)
    text = json.dumps(raw, ensure_ascii=data.draw(st.booleans()))
    answered, trace = tried(sv.Trace.from_json, io.StringIO(text))
    if answered:
        seen_everywhere(trace)


@fuzz(400, data=st.data())
def test_torn_bytes_are_refused_or_shown(data):
    whole = json.dumps(kept(3, False)).encode()
    at = data.draw(st.integers(0, len(whole)))
    odd = data.draw(
        st.binary(max_size=4) | st.sampled_from([b"\xff", b"\0", b"[" * 3000, b'{"a":' * 3000, b"9" * 5000])
    )
    torn = data.draw(
        st.sampled_from([whole[:at], whole[:at] + odd + whole[at:], whole[:at] + odd + whole[at + len(odd) :]])
    )
    answered, trace = tried(export.from_json, io.BytesIO(torn))
    if answered:
        seen_everywhere(trace)


@fuzz(200, text=texts() | st.binary(max_size=30))
def test_anything_else_is_no_trace(text):
    assert not tried(export.from_json, io.BytesIO(text) if isinstance(text, bytes) else io.StringIO(text))[0]


PATHS = [
    *(
        "",
        ".",
        "..",
        "/",
        "a\0b",
        "\0",
        "\ud800.json",
        "~nosuch/x.json",
        "~",
        "x" * 300,
        "a/" * 3000,
        "CON",
        "nul.json",
    ),
    *(
        "no/such/folder/x.json",
        "a\nb.json",
        "file.json/x",
        "/dev/null/x",
        "folder",
        "folder/",
        "file.csv.nosuch",
        "x.zip",
    ),
    *("{", "http://localhost/x.json", "s3://bucket/x", "*", "?", "-", " ", "C:\\x.json", "x.gz/", "x.csv.bz2"),
]


@pytest.fixture
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.json").write_text("{}", encoding="utf-8")


@pytest.mark.parametrize("way", ["from_json", "to_json", "to_csv", "to_html"])
@fuzz(
    150,
    path=st.sampled_from(PATHS).flatmap(lambda p: st.sampled_from([p, f"{p}x", f"folder/{p}", f"{p}/{p}"])) | texts(),
)
def test_any_path_is_written_read_or_refused(inside, way, path):  # noqa: ARG001 - the folder to write in
    if PurePath(path).is_absolute():  # nothing outside the folder is written
        path = "a\0" + path
    trace = run()
    if way == "from_json":
        tried(sv.Trace.from_json, path)
    elif tried(getattr(trace, way), path)[0] and way == "to_json" and not path.lstrip().startswith("{"):
        assert tried(sv.Trace.from_json, path)[1] == trace


def test_a_gap_of_infinity_stays_one():
    raw = kept(3, True)
    raw = copy.deepcopy(raw)
    raw["rounds"][0]["final"]["target_gap"] = "Infinity"
    trace = sv.Trace.from_json(io.StringIO(json.dumps(raw)))
    assert trace.rounds[0].final.target_gap == math.inf
    seen_everywhere(trace)
