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

    The stage keeps the address up to date by itself, and it comes back with every rerun: that is no wish.
    """
    now = st.query_params
    known = state.get(state.LINK)
    if "run" not in now or now["run"] == known or (known is not None and now["run"] == state.get(state.SHOWN)):
        state.put(state.LINK, now.get("run", known or ""))
        return None
    state.put(state.LINK, now["run"])
    at = (_place(now.get("round")), _place(now.get("step"))) if "round" in now or "step" in now else None
    return now["run"], at


def _place(text: str | None) -> int:
    """A place from 0; the first one where the address says something else."""
    return max(0, min(int(text), 10**6) - 1) if text is not None and text.isascii() and text.isdigit() else 0
