"""The editable table of candidate drafts, and how an address holds it: `tiny,0.55,25;small,0.7,15`.

A row says what one pass of the draft costs: as c itself, as its time, or as its size. The address keeps the rows as
they were typed, so a link reproduces a half-filled table too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from specviz.i18n import _
from specviz.ui import inputs, state

MOST = 24  # rows that are compared
_LABEL = 60  # characters of a label
_COLUMNS = ("label", "alpha", "cost")

RATIO, TIME, SIZE = "c", "time", "size"  # what the cost column holds


@dataclass(frozen=True, slots=True)
class Row:
    """A row as typed. cost: c, milliseconds of a draft pass, or millions of parameters. None: nothing, or no number."""

    label: str
    alpha: float | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A row that can be compared. cost_ratio: c. size: its parameters in millions, where they are known."""

    label: str
    alpha: float
    cost_ratio: float
    size: float | None


def written(rows: tuple[Row, ...]) -> str:
    """The rows for the address; ";" for none."""
    return ";".join(f"{_quoted(r.label)},{_typed(r.alpha)},{_typed(r.cost)}" for r in rows) or ";"


def read(text: str) -> tuple[Row, ...]:
    """The rows that an address holds. What is no number in a number's place is taken as missing."""
    rows = []
    for part in [part for part in text.split(";") if part][:MOST]:
        label, alpha, cost, *_more = [*part.split(","), "", ""]
        rows.append(Row(_unquoted(label)[:_LABEL], _number(alpha), _number(cost)))
    return tuple(rows)


def put(rows: tuple[Row, ...]) -> None:
    """Make these the rows of the table, in a callback or before the table is drawn. A new key drops what was edited."""
    before = st.session_state.get(state.CANDIDATES)
    state.put(state.CANDIDATES, (before[0] + 1 if before else 0, rows))
    state.get(state.KEPT)[state.DRAFTS] = rows
    st.query_params[state.DRAFTS] = written(rows)


def begin(default: tuple[Row, ...]) -> None:
    """What the table starts from: its own edits, or what the address has, or what the reader left here before."""
    shown = st.session_state.get(state.CANDIDATES)
    if shown is None or _key(shown[0]) not in st.session_state:
        linked = st.query_params.get(state.DRAFTS)
        put(state.get(state.KEPT).get(state.DRAFTS, default) if linked is None else read(linked))


def editor(kind: str, default: tuple[Row, ...]) -> tuple[Row, ...]:
    """The table, to be edited. Returns its rows and writes them into the address, unless they are the default ones."""
    generation, base = st.session_state[state.CANDIDATES]
    frame = pd.DataFrame([(r.label, r.alpha, r.cost) for r in base], columns=_COLUMNS)
    frame = frame.astype({"label": "object", "alpha": "float64", "cost": "float64"})
    (name, told), number = _cost_name(kind), partial(st.column_config.NumberColumn, format="%.4g")
    edited = st.data_editor(
        frame,
        key=_key(generation),
        num_rows="dynamic",
        hide_index=True,
        column_config={
            "label": st.column_config.TextColumn(_("Draft"), max_chars=_LABEL, width=112),
            "alpha": number("α", width=52, min_value=0.0, max_value=1.0, help=_("Acceptance rate, from 0 to 1")),
            "cost": number(name, width=68, min_value=0.0, help=told),
        },
        alt=_("Candidate drafts: a name, the acceptance rate α and what a pass costs"),
    )
    typed = tuple(
        Row(str(label).strip()[:_LABEL] if isinstance(label, str) else "", _known(alpha), _known(cost))
        for label, alpha, cost in edited[list(_COLUMNS)].itertuples(index=False)
    )
    state.get(state.KEPT)[state.DRAFTS] = typed
    if typed != default:
        st.query_params[state.DRAFTS] = written(typed)
    elif state.DRAFTS in st.query_params:
        del st.query_params[state.DRAFTS]
    return typed


def usable(typed: tuple[Row, ...], kind: str, target: float) -> tuple[tuple[Draft, ...], list[str]]:
    """The rows that can be compared, and a sentence for each that cannot. target: T_p in ms or millions, as `kind`."""
    drafts, sentences = [], []
    for i, row in enumerate(typed[:MOST], 1):
        label = row.label or _("draft {i}").format(i=i)
        ratio = cost_ratio(row, kind, target)
        missing = row.alpha is None or row.cost is None
        if missing and not row.label and row.alpha is None and row.cost is None:
            continue  # a row that was added and not filled in yet
        if row.alpha is None or row.cost is None:
            told = _("Row {i} ({label}) is not compared yet: it needs both α and a cost, as numbers.")
        elif not 0 <= row.alpha <= 1:
            told = _("Row {i} ({label}) is not compared: α must lie between 0 and 1.")
        elif ratio is None:
            told = _("Row {i} ({label}) is not compared: its cost must be above 0.")
        elif not 1e-3 <= ratio <= 1e6:
            told = _("Row {i} ({label}) is not compared: its c = T_p/T_q must lie between 0.001 and 1000000.")
        else:
            drafts.append(Draft(label, row.alpha, ratio, row.cost if kind == SIZE else None))
            continue
        sentences.append(told.format(i=i, label=label))
    if len(typed) > MOST:
        sentences.append(_("Only the first {most} rows are compared.").format(most=MOST))
    return tuple(drafts), sentences


def cost_ratio(row: Row, kind: str, target: float) -> float | None:
    """c of a row, None where its cost is no positive number."""
    if row.cost is None or not row.cost > 0:
        return None
    ratio = row.cost if kind == RATIO else target / row.cost
    return ratio if 0 < ratio < math.inf else None


def convert(kind: str, target: float, wanted: str, wanted_target: float) -> None:
    """The same candidates with their costs in another unit: each keeps its c, whatever the table shows of it."""
    changed = []
    for row in state.get(state.KEPT)[state.DRAFTS]:
        ratio = cost_ratio(row, kind, target)
        changed.append(Row(row.label, row.alpha, None if ratio is None else cost(ratio, wanted, wanted_target)))
    put(tuple(changed))


def cost(ratio: float, kind: str, target: float) -> float:
    """What a draft of this c costs in a unit. A c that was typed comes back to the digit from another unit."""
    return float(f"{ratio:.12g}") if kind == RATIO else target / ratio


def kind_name(kind: str) -> str:
    """The word for what the cost column holds, in the choice and in the address."""
    return {RATIO: _("c"), TIME: _("time"), SIZE: _("size")}[kind]


def target_value(kind: str) -> float:
    """What the target costs in the unit of the drafts: a box where it is asked for; 1 for c, which needs none."""
    if kind == TIME:
        return float(inputs.number(state.TARGET_MS, _("Target pass T_p, ms"), 0.001, 1e6, 100.0, step=1.0))
    if kind == SIZE:
        label = _("Target's size, million parameters")
        return float(inputs.number(state.TARGET_SIZE, label, 0.001, 1e9, 11000.0, step=100.0))
    return 1.0


def kept_target(kind: str) -> float:
    """`target_value` without its box."""
    key, value = {TIME: (state.TARGET_MS, 100.0), SIZE: (state.TARGET_SIZE, 11000.0)}.get(kind, ("", 1.0))
    return float(state.get(state.KEPT).get(key, value))


def _key(generation: int) -> str:
    return f"candidates_{generation}"


def _cost_name(kind: str) -> tuple[str, str]:
    """The head of the cost column, and what it means."""
    return {
        RATIO: ("c", _("How many draft passes take as long as one target pass, T_p/T_q")),
        TIME: ("ms", _("Milliseconds of one draft pass, T_q")),
        SIZE: ("M", _("Million parameters of the draft")),
    }[kind]


def _known(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _number(text: str) -> float | None:
    try:
        return _known(float(text))
    except ValueError:
        return None


def _typed(value: float | None) -> str:
    return "" if value is None else repr(value).removesuffix(".0")


def _quoted(label: str) -> str:
    for character in "%,;":
        label = label.replace(character, f"%{ord(character):02X}")
    return label


def _unquoted(label: str) -> str:
    for character in ";,%":
        label = label.replace(f"%{ord(character):02X}", character)
    return label
