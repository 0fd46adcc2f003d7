"""Traces as files: a table (`to_frame`, `to_csv`) and the whole record (`to_json`, `from_json`).

Both are exact: every number reads back as the same double. A file that `from_json` accepts is a trace whose parts fit
each other, so that whatever shows it needs no check of its own.
"""

from __future__ import annotations

import codecs
import dataclasses
import json
import math
import os
import reprlib
from collections.abc import Callable, Iterator
from operator import le, lt
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from specviz import timeline
from specviz.errors import TraceError
from specviz.files import save, why
from specviz.records import SCHEMA_VERSION, Node, Round, Trace

if TYPE_CHECKING:
    import pandas

    from specviz.files import Target

COLUMNS = {
    "round": "int64",
    "position": "int64",
    "kind": "str",
    "outcome": "str",
    "token": "int64",
    "token_text": "str",
    "uniform": "float64",
    "below": "float64",
    "target_prob": "float64",
    "draft_prob": "float64",
    "residual_prob": "float64",
    "ratio": "float64",
    "accept_prob": "float64",
    "r": "float64",
    "beta": "float64",
    "text_length": "int64",
    "draft_s": "float64",
    "verify_s": "float64",
    "round_s": "float64",
}
_INFINITE = "Infinity"  # how JSON, which has no infinite numbers, spells target_gap where no second token is possible
_RANGES: dict[str, tuple[float, Callable[[Any, Any], bool], float, str]] = {  # by field: least, < or <=, most, in words
    **dict.fromkeys(
        ("target_prob", "draft_prob", "residual_prob", "accept_prob", "prob", "below", "beta"), (0, le, 1, "[0, 1]")
    ),
    **dict.fromkeys(("uniform", "r"), (0, lt, 1, "[0, 1)")),
    **dict.fromkeys(("draft_s", "verify_s", "round_s", "total_s"), (0, lt, math.inf, "[0, inf) seconds")),
    **dict.fromkeys(
        ("token", "prompt_tokens", "seed", "draft_length", "reused", "fed", "dropped"), (0, lt, 2**63, "0 .. 2^63 - 1")
    ),
    "max_new_tokens": (1, lt, 2**63, "1 .. 2^63 - 1"),
    "target_gap": (0, le, math.inf, "[0, inf]"),
}
_ROUNDING = 1e-9  # of sums over a vocabulary in float64
_UNUSABLE = (OSError, ValueError, RuntimeError, TypeError, AttributeError, EOFError)  # not there, not UTF-8, no file ..
Fault = tuple[str, str, object]  # where, the rule, what is there instead


def to_frame(trace: Trace) -> pandas.DataFrame:
    """One row per drafted token and one per final draw, in the order in which the rounds were played.

    round: `Round.index`, from 0. position: place in the round, 1..K; the final draw's is the one after the accepted.
    kind: "draft", or the final draw's source, "residual" or "bonus".
    outcome: "accepted", "rejected" or "unjudged" for drafts; "resampled" or "bonus" for final draws.
    token: id. token_text: its text as a JSON string in ASCII, quotes included, so that newlines, NUL, "NA" and "=1+1"
    survive and no spreadsheet takes one for a formula; `json.loads` gives the text.
    uniform: the number in [0, 1) that the token was drawn with; below: the mass of smaller ids in the law that it was
    drawn from, so that below <= uniform < below + its probability, up to rounding.
    target_prob, draft_prob: p and q of the token at its place, after the warp; no draft_prob for a bonus.
    residual_prob: its share of norm(max(0, p - q)); p itself for a bonus.
    ratio: p/q, drafts only; infinite where the quotient exceeds every double.
    accept_prob, r: min(1, p/q), and the uniform it was held against: accepted when r < accept_prob. Judged only.
    beta: Σ min(p, q) at the draft's place.
    text_length: characters of `trace.text` once this row is done; a token that was not emitted adds none.
    draft_s, verify_s, round_s: the round's times in seconds, the same in each of its rows.

    What does not apply is NaN. `pandas.read_csv` without options reads `to_csv` back to this frame, bit for bit.
    """
    import pandas

    return pandas.DataFrame(list(_rows(trace)), columns=list(COLUMNS)).astype(COLUMNS)


def to_csv(trace: Trace, path_or_buffer: Target = None) -> str | None:
    """`to_frame` as CSV (ASCII, "\\n"): to a path, to an open text or binary file, or returned when neither is given.

    A path that ends in .gz, .bz2, .zip, .xz or .zst is compressed, as pandas does.
    """
    frame = to_frame(trace)
    return save(path_or_buffer, lambda path: frame.to_csv(path, index=False, lineterminator="\n"))


def table_csv(frame: pandas.DataFrame) -> str:
    """Any table as CSV. A text that a spreadsheet would take for a formula is written as a JSON string, in quotes."""
    texts = frame.select_dtypes(exclude="number").columns
    safe = frame.assign(**{name: frame[name].map(_inert) for name in texts})
    return safe.to_csv(index=False, lineterminator="\n")


def to_json(trace: Trace, path_or_buffer: Target = None) -> str | None:
    """The whole trace as JSON (UTF-8): to a path, to an open file, or returned when neither is given.

    Raises TraceError for a hand-made trace that `from_json` would refuse.
    """
    _check(trace, "this record")
    raw = msgspec.to_builtins(trace)
    _respell_gaps(raw, math.inf, _INFINITE)
    try:
        data = msgspec.json.encode(raw)
    except UnicodeEncodeError as error:
        raise TraceError(f"the trace holds text that is no Unicode and cannot be saved ({error.reason})") from None
    return save(path_or_buffer, lambda path: path.write_bytes(data) if path else data.decode())


def from_json(path_or_buffer: str | os.PathLike[str] | IO[str] | IO[bytes]) -> Trace:
    """Read what `to_json` wrote: a path, an open file, or the JSON itself (bytes, or a string that begins with "{").

    Raises TraceError, with the place in the file, for everything that is not a whole trace of this schema version.
    """
    where, data = _content(path_or_buffer)
    if not data.strip():
        raise TraceError(f"{where} is empty. Save the trace again.")
    try:
        raw = msgspec.json.decode(data)
    except RecursionError:
        raise TraceError(f"{where} is not a trace: its brackets are nested too deeply") from None
    except ValueError as error:
        if "truncated" in str(error) or (data.lstrip().startswith(b"{") and not data.rstrip().endswith(b"}")):
            raise TraceError(f"{where} ends in the middle, after {len(data)} bytes. Save the trace again.") from None
        raise TraceError(f"{where} is not JSON ({error})") from None
    if not isinstance(raw, dict) or "schema_version" not in raw:
        raise TraceError(f"{where} is not a trace: it has no schema_version")
    version = raw["schema_version"]
    if type(version) is not int or version != SCHEMA_VERSION:
        raise TraceError(
            f"{where} has schema_version {reprlib.repr(version)}, and this version of specviz reads {SCHEMA_VERSION}. "
            "Use the version of specviz that wrote it, or record the run again."
        )
    _respell_gaps(raw, _INFINITE, math.inf)
    try:
        trace = msgspec.convert(raw, Trace)
    except (ValueError, RecursionError) as error:
        what, _, place = str(error).partition(" - at ")
        raise TraceError(f"{where} is not a trace: at {place.strip('`') or '$'}: {what.replace('`', '')}") from None
    _check(trace, where)
    return trace


def _rows(trace: Trace) -> Iterator[tuple[object, ...]]:
    length = 0
    for round_ in trace.rounds:
        pieces = iter(round_.pieces)
        for row, drawn in zip(timeline.rows(round_), (*round_.nodes, round_.final), strict=False):
            if row.outcome not in ("rejected", "unjudged"):
                length = min(len(trace.text), length + len(next(pieces)))
            if isinstance(drawn, Node):
                kind, residual_prob, beta = "draft", drawn.candidate.residual_prob, drawn.beta
            elif drawn is not None:
                kind, residual_prob, beta = drawn.source, drawn.prob, math.nan
            yield (
                *(round_.index, row.position, kind, row.outcome, row.token, json.dumps(row.text)),
                *(row.uniform, row.below),
                *(row.target_prob, row.draft_prob, residual_prob, row.ratio, row.accept_prob, row.r, beta),
                *(length, round_.draft_s, round_.verify_s, round_.round_s),
            )


def _check(trace: Trace, where: str) -> None:
    """Raises TraceError at the first part that is out of its range or does not fit the rest."""
    fault = next(_out_of_range(trace, "$"), None) or next(_misfits(trace), None)
    if fault:
        place, rule, got = fault
        raise TraceError(f"{where} is not a trace: at {place}: {rule}, got {reprlib.repr(got)}")


def _out_of_range(record: Any, place: str) -> Iterator[Fault]:
    """Every number of the record and of the records in it, against `_RANGES`, by the name of its field."""
    for field in dataclasses.fields(record):
        name, value = field.name, getattr(record, field.name)
        several = isinstance(value, tuple)
        for i, item in enumerate(value if several else (value,)):
            at = f"{place}.{name}[{i}]" if several else f"{place}.{name}"
            if dataclasses.is_dataclass(item):
                yield from _out_of_range(item, at)
            elif name in _RANGES and item is not None:
                least, holds, most, rule = _RANGES[name]
                if not (least <= item and holds(item, most)):
                    yield at, f"must lie in {rule}", item


def _misfits(trace: Trace) -> Iterator[Fault]:
    """What does not fit the rest, in a trace whose numbers are in range; each test rests on those before it."""
    if (trace.draft is None) != (trace.draft_length == 0):
        yield "$.draft", "must be null when draft_length is 0, and only then", trace.draft
    start = len(trace.prompt_tokens)
    for i, round_ in enumerate(trace.rounds):
        place = f"$.rounds[{i}]"
        if round_.index != i:
            yield f"{place}.index", f"must be {i}", round_.index
        if round_.start != start:
            yield f"{place}.start", f"must be {start}, the number of tokens before the round", round_.start
        yield from _misfits_in_round(round_, place)
        start += len(round_.emitted)
    if not "".join(piece for round_ in trace.rounds for piece in round_.pieces).startswith(trace.text):
        yield "$.text", "must be the beginning of the rounds' pieces put together", trace.text


def _misfits_in_round(round_: Round, place: str) -> Iterator[Fault]:
    for i, node in enumerate(round_.nodes):
        at = f"{place}.nodes[{i}]"
        if node.parent is not None and not 0 <= node.parent < i:
            yield f"{at}.parent", "must be null or the index of an earlier node", node.parent
        depth = 1 if node.parent is None else round_.nodes[node.parent].depth + 1
        if node.depth != depth:
            yield f"{at}.depth", f"must be {depth}, one more than its parent's", node.depth
        if node.draft_prob == 0:
            yield f"{at}.draft_prob", "must be above 0, since the token was drawn", node.draft_prob
    judged: set[int] = set()
    for i, trial in enumerate(round_.trials):
        at = f"{place}.trials[{i}]"
        if not 0 <= trial.node < len(round_.nodes) or trial.node in judged:
            yield f"{at}.node", f"must be one of the round's {len(round_.nodes)} nodes, each judged once", trial.node
        judged.add(trial.node)
        if trial.accepted != (trial.r < trial.accept_prob):
            yield f"{at}.accepted", f"must be whether {trial.r} (r) < {trial.accept_prob} (accept_prob)", trial.accepted
    final, rejected = round_.final, [not trial.accepted for trial in round_.trials[-1:]] == [True]
    if final is not None and (final.source == "residual") != rejected:
        yield f"{place}.final.source", "must be residual after a rejected draft, and only then", final.source
    for i, drawn in enumerate((*round_.nodes, final)):
        if drawn is None:
            continue
        at = f"{place}.nodes[{i}]" if i < len(round_.nodes) else f"{place}.final"
        tokens = [candidate.token for candidate in drawn.candidates]
        if drawn.token not in tokens:
            yield f"{at}.token", "must be among its candidates", drawn.token
        if drawn is final and rejected and round_.nodes[round_.trials[-1].node].token not in tokens:
            yield f"{at}.candidates", "must hold the rejected token", tokens
        end = drawn.below + (drawn.draft_prob if isinstance(drawn, Node) else drawn.prob)
        if not drawn.below - _ROUNDING <= drawn.uniform <= end + _ROUNDING:
            yield f"{at}.uniform", f"must lie in the token's stretch, {drawn.below} to {end}", drawn.uniform
    if len(round_.pieces) != len(round_.emitted):
        yield f"{place}.pieces", f"must be {len(round_.emitted)} texts, one an emitted token", len(round_.pieces)


def _inert(value: object) -> object:
    return json.dumps(value) if isinstance(value, str) and value.lstrip()[:1] in tuple("=+-@") else value


def _respell_gaps(raw: dict[str, Any], old: object, new: object) -> None:
    """Change a target_gap of plain JSON, in nodes and final draws, whatever else is wrong with it."""
    for round_ in _items(raw.get("rounds")):
        for drawn in _items([*_items(round_.get("nodes")), round_.get("final")]):
            drawn.update({"target_gap": new} if drawn.get("target_gap") == old else {})


def _items(raw: object) -> list[dict[str, Any]]:
    return [item for item in raw if isinstance(item, dict)] if isinstance(raw, list | tuple) else []


def _content(source: Any) -> tuple[str, bytes]:
    """What to call it in a message, and its bytes in UTF-8 without a byte order mark."""
    given = isinstance(source, bytes) or (isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] == "{")
    named = isinstance(source, str | os.PathLike)
    where = "the text" if given else str(source) if named else str(getattr(source, "name", "the file"))
    try:
        read = source if given else Path(source).expanduser().read_bytes() if named else source.read()
        content = read.encode() if isinstance(read, str) else bytes(read)
    except _UNUSABLE as error:
        raise TraceError(f"{where[:300]} cannot be read ({why(error)}). Name the JSON file of a trace.") from None
    return where, content.removeprefix(codecs.BOM_UTF8)
