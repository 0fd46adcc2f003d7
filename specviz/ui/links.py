"""The pages and their addresses, and the place of a run in an address: `?run=prose&round=3&step=2`, from 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from specviz.i18n import _
from specviz.ui import state

_PAGES = Path(__file__).parents[2] / "pages"


def pages() -> list[Any]:
    """Every page, in the order of the navigation."""
    return [home(), watch(), talk()]


def home() -> Any:
    return st.Page(_PAGES / "home.py", title=_("Home"), default=True)


def watch() -> Any:
    return st.Page(_PAGES / "watch.py", title=_("Watch"), url_path="watch")


def talk() -> Any:
    return st.Page(_PAGES / "talk.py", title=_("Talk"), url_path="talk")


def asked() -> tuple[str, tuple[int, int] | None] | None:
    """The run that the address asks for, and the round and step from 0, when it is a new wish; None otherwise.

    The stage keeps the address up to date by itself, so what it says comes back with every rerun: that is no wish.
    """
    run, known = st.query_params.get("run"), state.get(state.LINK)
    state.put(state.LINK, run or "")
    if not run or run == known or (known is not None and run == state.get(state.SHOWN)):
        return None
    at = (_place(st.query_params.get("round")), _place(st.query_params.get("step")))
    return run, at if {"round", "step"} & set(st.query_params) else None


def settle() -> None:
    """Another run comes on the stage: whatever the address says at this moment is old."""
    state.put(state.LINK, st.query_params.get("run", ""))


def _place(text: str | None) -> int:
    """A place from 0; the first one where the address says something else."""
    return max(0, min(int(text), 10**6) - 1) if text is not None and text.isascii() and text.isdigit() else 0
