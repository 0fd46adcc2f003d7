"""Traces as files: a table (`to_frame`, `to_csv`) and the whole record (`to_json`, `from_json`).

Both are exact: every number reads back as the same double. A file that `from_json` accepts is a trace whose parts fit
each other, so that whatever shows it needs no check of its own.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import re
import reprlib
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from specviz import timeline
from specviz.consistency import check, check_made
from specviz.errors import TraceError
from specviz.files import save, why
from specviz.records import SCHEMA_VERSION, FinalDraw, Node, Trace

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
_INFINITE_GAP = re.compile(rb'"target_gap"\s*:\s*"Infinity"')  # no text holds it: there a quote has a backslash
_MOST_BYTES = 2**28  # of one file; a longer one is no run that anybody recorded
_UNUSABLE = (OSError, ValueError, RuntimeError, TypeError, AttributeError, EOFError)  # not there, not UTF-8, no file ..


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

    check_made(trace)
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
    check_made(trace)
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
    _check_version(where, data)
    spelt, n_infinite = _INFINITE_GAP.subn(b'"target_gap":%a' % sys.float_info.max, data)
    try:
        trace = msgspec.json.decode(spelt, type=Trace)  # straight into records: what is not in them takes no memory
    except (ValueError, RecursionError) as error:
        what, _, place = str(error).partition(" - at ")
        told = f"{place.strip('`')[-80:] or '$'}: {what.replace('`', ''):.120}"
        raise TraceError(f"{where} is not a trace: at {told}") from None
    for drawn in _drawn(trace) if n_infinite else ():
        if drawn.target_gap == sys.float_info.max:
            object.__setattr__(drawn, "target_gap", math.inf)
    check(trace, where)
    return trace


class _Head(msgspec.Struct):
    """What is read of a file before anything else; all else in it is passed over and takes no memory."""

    schema_version: msgspec.Raw = msgspec.Raw(b"")


def _check_version(where: str, data: bytes) -> None:
    """Raises TraceError unless this is JSON that says that it is of our version."""
    try:
        data.decode()  # the letters of what is passed over are not looked at below
        version = bytes(msgspec.json.decode(data, type=_Head).schema_version)
    except RecursionError:
        raise TraceError(f"{where} is not a trace: its brackets are nested too deeply") from None
    except msgspec.ValidationError:  # JSON, but no object
        version = b""
    except ValueError as error:
        if "truncated" in str(error) or (data.lstrip().startswith(b"{") and not data.rstrip().endswith(b"}")):
            raise TraceError(f"{where} ends in the middle, after {len(data)} bytes. Save the trace again.") from None
        raise TraceError(f"{where} is not JSON ({error!s:.80})") from None
    if not version:
        raise TraceError(f"{where} is not a trace: it has no schema_version")
    if version != b"%d" % SCHEMA_VERSION:
        told = reprlib.repr(version.decode(errors="replace"))[1:-1]
        raise TraceError(
            f"{where} has schema_version {told}, and this version of specviz reads {SCHEMA_VERSION}. "
            "Use the version of specviz that wrote it, or record the run again."
        )


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


def _inert(value: object) -> object:
    return json.dumps(value) if isinstance(value, str) and value.lstrip()[:1] in tuple("=+-@") else value


def _respell_gaps(raw: dict[str, Any], old: object, new: object) -> None:
    """Change a target_gap of plain JSON, in nodes and final draws, whatever else is wrong with it."""
    for round_ in _items(raw.get("rounds")):
        for drawn in _items([*_items(round_.get("nodes")), round_.get("final")]):
            drawn.update({"target_gap": new} if drawn.get("target_gap") == old else {})


def _drawn(trace: Trace) -> Iterator[Node | FinalDraw]:
    for round_ in trace.rounds:
        yield from round_.nodes
        if round_.final is not None:
            yield round_.final


def _items(raw: object) -> list[dict[str, Any]]:
    return [item for item in raw if isinstance(item, dict)] if isinstance(raw, list | tuple) else []


def _content(source: Any) -> tuple[str, bytes]:
    """What to call it in a message, and its bytes in UTF-8 without a byte order mark."""
    given = isinstance(source, bytes) or (isinstance(source, str) and source.lstrip("\ufeff \t\r\n")[:1] == "{")
    named = isinstance(source, str | os.PathLike)
    called = str(source) if named else str(getattr(source, "name", "the file"))
    where = "the text" if given else " ".join(called[:200].split())
    try:
        with nullcontext(source) if given or not named else Path(source).expanduser().open("rb") as file:
            read: Any = file if given else file.read(_MOST_BYTES + 1)
        content = read.encode() if isinstance(read, str) else bytes(read)
    except _UNUSABLE as error:
        raise TraceError(f"{where} cannot be read ({why(error):.80}). Name the JSON file of a trace.") from None
    if len(content) > _MOST_BYTES:
        raise TraceError(f"{where} has more than {_MOST_BYTES // 2**20} MB, too many for a trace.")
    return where, content.removeprefix(codecs.BOM_UTF8)
