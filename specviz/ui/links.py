"""The pages and their addresses, and the place of a run in an address: `?run=prose&round=3&step=2`, from 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from specviz.i18n import _
from specviz.ui import state

_PAGES = Path(__file__).parents[2] / "pages"


def pages() -> dict[str, list[Any]]:
    """Every page by its part of the navigation, in order."""
    return {
        "": [home(), watch(), talk(), models()],
        _("Calculators"): [
            _page("acceptance", _("α from two laws")),
            _page("tokens", _("E[N], tokens per pass")),
            _page("length", _("Best K")),
            _page("drafts", _("Which draft?")),
        ],
        _("Labs"): [
            _page("hand", _("One round by hand")),
            _page("lossless", _("Lossless or not?")),
            _page("rounds", _("Rounds of the last run")),
        ],
    }


def home() -> Any:
    return st.Page(_PAGES / "home.py", title=_("Home"), default=True)


def watch() -> Any:
    return _page("watch", _("Watch"))


def talk() -> Any:
    return _page("talk", _("Talk"))


def models() -> Any:
    return _page("models", _("Models"))


def _page(stem: str, title: str) -> Any:
    """A page whose address is its file's stem, as Streamlit wants it for a deep link to a fresh server."""
    return st.Page(_PAGES / f"{stem}.py", title=title, url_path=stem)


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
