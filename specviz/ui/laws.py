"""The two laws that a reader edits: held once, shown as a table and as bars, and written into the address."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import unquote

import numpy as np
import pandas as pd
import streamlit as st

from specviz.i18n import _
from specviz.timeline import label
from specviz.ui import bars, state

MOST = 12  # tokens
GREATEST = 1e6  # of a weight
_NAME = 24  # characters of a token
_BARS = "laws_bars"


@dataclass(frozen=True, slots=True)
class Laws:
    """Names of tokens, and for each a weight under the target (p) and under the draft (q), as the reader wrote them."""

    names: tuple[str, ...]
    p: tuple[float, ...]
    q: tuple[float, ...]

    @property
    def shown(self) -> list[str]:
        """The names on one line each; a token without a name has its number."""
        return [label(i + 1, name) for i, name in enumerate(self.names)]

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame({"token": pd.Series(self.names, dtype=object), "p": self.p, "q": self.q})

    def address(self) -> str:
        """Compact: names, p and q with `~` between, each parted by `_`; names hold both as codes. `read` reads it."""
        names = (re.sub("[%_~]", lambda sign: f"%{ord(sign[0]):02X}", name) for name in self.names)
        return "~".join("_".join(part) for part in (names, map(_digits, self.p), map(_digits, self.q)))


def of(rows: Sequence[tuple[str, float, float]]) -> Laws:
    """Laws of rows: token, p, q."""
    return Laws(tuple(r[0] for r in rows), tuple(r[1] for r in rows), tuple(r[2] for r in rows))


def read(address: str) -> Laws | None:
    """What `Laws.address` wrote; None where it says anything else."""
    parts = [part.split("_") for part in address.split("~")]
    if len(parts) != 3 or not len(parts[0]) == len(parts[1]) == len(parts[2]) <= MOST:
        return None
    try:
        p, q = ([float(text) for text in part] for part in parts[1:])
    except ValueError:
        return None
    if not all(math.isfinite(value) and abs(value) <= GREATEST for value in (*p, *q)):
        return None
    return Laws(tuple(unquote(name)[:_NAME] for name in parts[0]), tuple(p), tuple(q))


@dataclass(slots=True)
class _Held:
    """now: the laws. base: what the table was given, on which its edits lie. edition: how often it was given anew."""

    now: Laws
    base: Laws
    edition: int = 0


def current(default: Laws) -> Laws:
    """The laws: those of the address when the reader comes, then those that were left here, else the default."""
    kept = state.get(state.KEPT)
    if state.LAWS not in kept:
        given = read(st.query_params.get(state.LAWS, "")) or default
        kept[state.LAWS] = _Held(given, given)
    now: Laws = kept[state.LAWS].now
    return now


def put(laws: Laws) -> None:
    """Other laws, in a callback: the table and the bars show them when the page is drawn."""
    held: _Held = state.get(state.KEPT)[state.LAWS]
    held.now = held.base = laws
    held.edition += 1


def edit(default: Laws, *, on_edit: Callable[[], None]) -> Laws | None:
    """Bars and under them the table, in step with one another and with the address; None where no row is left.

    on_edit: called when the reader changed something, before the page is drawn.
    """
    current(default)
    held: _Held = state.get(state.KEPT)[state.LAWS]
    drawn_bars = st.container()
    held.now, n_over = _table(held, on_edit)
    _write(held.now, default)
    if n_over:
        st.html(f'<p class="sv-told">{_("Only the first {most} tokens count.").format(most=MOST)}</p>')
    if not held.now.names:
        return None
    with drawn_bars:
        p, q = ([max(0.0, value) for value in law] for law in (held.now.p, held.now.q))
        bars.bars(held.now.shown, p, q, key=_BARS, on_move=lambda: _moved(on_edit))
    return held.now


def _table(held: _Held, on_edit: Callable[[], None]) -> tuple[Laws, int]:
    """What the table says, and how many rows it has too many."""
    key = f"laws_table_{held.edition}"
    if key not in st.session_state:  # its edits went with the page that was left: they are in `now`
        held.base = held.now
    law = partial(st.column_config.NumberColumn, format="%.4g", max_value=GREATEST, min_value=-GREATEST)
    frame: pd.DataFrame = st.data_editor(
        held.base.frame(),
        key=key,
        num_rows="dynamic",
        hide_index=True,
        width="stretch",
        on_change=on_edit,
        column_config={
            "token": st.column_config.TextColumn(_("token"), max_chars=_NAME),
            "p": law("p", help=_("The target's law")),
            "q": law("q", help=_("The draft's law")),
        },
    )
    names = tuple("" if pd.isna(name) else str(name) for name in frame["token"])
    p, q = (tuple(np.nan_to_num(frame[name].astype(float).to_numpy()).tolist()) for name in ("p", "q"))
    return Laws(names[:MOST], p[:MOST], q[:MOST]), max(0, len(names) - MOST)


def _moved(on_edit: Callable[[], None]) -> None:
    """The bars have moved: a number that they could not show, since it is below 0, stays where its bar did."""
    weights, now = bars.moved(_BARS), state.get(state.KEPT)[state.LAWS].now
    if weights is None or any(len(law) != len(now.names) for law in weights):
        return
    p, q = (
        tuple(old if new == max(0.0, old) else min(max(0.0, new), GREATEST) for old, new in zip(was, law, strict=True))
        for was, law in zip((now.p, now.q), weights, strict=True)
    )
    put(replace(now, p=p, q=q))
    on_edit()


def _write(laws: Laws, default: Laws) -> None:
    address = laws.address()
    if laws == default or not laws.names:
        st.query_params.pop(state.LAWS, None)
    elif st.query_params.get(state.LAWS) != address:
        st.query_params[state.LAWS] = address


def _digits(value: float) -> str:
    return f"{value:.12g}"
