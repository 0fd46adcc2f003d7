"""Whether the parts of a trace fit each other, so that whatever shows one needs no check of its own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from operator import le, lt
from typing import Any

import msgspec

from specviz.errors import TraceError, brief
from specviz.records import Node, Round, Trace

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
Fault = tuple[str, str, object]  # where, the rule, what is there instead


def check(trace: Trace, where: str) -> None:
    """Raises TraceError at the first part that is out of its range or does not fit the rest. All types are right."""
    fault = next(_out_of_range(trace, "$"), None) or next(_misfits(trace), None)
    if fault:
        place, rule, got = fault
        raise TraceError(f"{where} is not a trace: at {place}: {rule}, got {brief(got)}")


def check_made(trace: Trace) -> None:
    """`check` for a record that someone may have made by hand, of whatever types."""
    try:
        check(msgspec.convert(msgspec.to_builtins(trace), Trace), "this record")
    except TraceError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise TraceError(f"a {type(trace).__name__} is given where a trace is needed ({brief(str(error))})") from None


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
