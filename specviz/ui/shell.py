"""What every page stands in: title bar, style sheet, theme; and how text of models gets past markdown."""

from __future__ import annotations

import re
from html import escape
from typing import Any

import streamlit as st

from specviz.figures.style import Theme, palette
from specviz.ui import css, links, state

_BARS = (
    '<rect x="2" y="9" width="5" height="13" rx="1.5" fill="{0.draft}"/>'
    '<rect x="9.5" y="3" width="5" height="19" rx="1.5" fill="{0.accepted}"/>'
    '<rect x="17" y="6" width="5" height="16" rx="1.5" fill="{0.resampled}"/>'
).format(palette("light"))
_ICON = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24">{_BARS}</svg>'
_LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 104 24" width="104" height="24">'
    f'{_BARS}<text x="30" y="19" font-family="system-ui, sans-serif" font-weight="700" font-size="18" '
    f'fill="{palette("light").more[0]}">specviz</text></svg>'
)


def navigate() -> Any:
    """The title, the bar with every page, and the page that the address asks for."""
    st.set_page_config(page_title="specviz", page_icon=_ICON, layout="wide", initial_sidebar_state="collapsed")
    st.logo(_LOGO, size="large")
    state.put(state.NAVIGATED, True)
    return st.navigation(links.pages(), position="top")


def begin(page: str, *, title: str = "", chrome: bool = True) -> bool:
    """At the start of every page, since each can be the first one. True when the reader has just come to this one.

    title: what a screen reader hears of a page that shows no title. chrome: whether the bar with the pages is shown.

    A fresh server's first request may skip app.py: Streamlit takes `pages/` for pages of its old kind until it meets
    `st.navigation`, and runs /watch as pages/watch.py alone. Then we begin again, once, through app.py.
    """
    state.begin()
    if not state.take(state.NAVIGATED) and not state.get(state.SENT_BACK):
        state.put(state.SENT_BACK, True)
        st.navigation(links.pages())
        st.rerun()
    heading = f'<h1 class="sv-hidden">{escape(title)}</h1>' if title else ""
    st.html(f"<style>{css.sheet(chrome=chrome)}</style>{heading}")
    before = state.get(state.PAGE)
    state.put(state.PAGE, page)
    return bool(before != page)


def theme() -> Theme:
    """The theme that the reader's browser shows."""
    return "dark" if st.context.theme.type == "dark" else "light"


def plain(text: str) -> str:
    """Text that Streamlit's markdown shows as it is: no emphasis, colour, formula, emoji or HTML comes of it."""
    text = re.sub(r":(?=[\w+-]+:)", ":\u200b", text)  # emoji names are replaced even when they are escaped
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))
