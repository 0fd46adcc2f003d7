"""The pages and their addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from specviz.i18n import _

_PAGES = Path(__file__).parents[2] / "pages"


def pages() -> list[Any]:
    """Every page, in the order of the navigation."""
    return [home(), watch()]


def home() -> Any:
    return st.Page(_PAGES / "home.py", title=_("Home"), default=True)


def watch() -> Any:
    return st.Page(_PAGES / "watch.py", title=_("Watch"), url_path="watch")
