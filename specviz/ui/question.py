"""What every calculator and lab stands in: its question, the formula with the numbers filled in, figures, the source.

left, right = question.begin("tokens", title=_("How many ...?"), lead=_("..."))
with left: inputs        with right: answer, formula, figures
question.end(source=..., try_this=...)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from specviz import export
from specviz.i18n import _
from specviz.replay import script
from specviz.timeline import number
from specviz.timeline.labels import katex
from specviz.ui import shell, state

_BARE = {"displayModeBar": False}
_MOUNT = "export default function (component) {\n  return streamlitChart(component);\n}\n"
_BUTTONS = """
button { font: 400 0.875rem var(--st-font); color: var(--st-text-color); background: none; cursor: pointer;
  border: 1px solid var(--st-border-color); border-radius: 6px; padding: 0.2rem 0.6rem; margin-right: 0.35rem; }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); }
"""


def begin(page: str, *, title: str, lead: str) -> tuple[Any, Any]:
    """The page's question and one sentence about it; a narrow column for the inputs and a wide one for the answer."""
    if shell.begin(page):
        state.put(state.DRAWN, set())
    st.html(f'<h1 class="sv-title">{escape(title)}</h1><p class="sv-lead">{escape(lead)}</p>')
    left, right = st.columns([3, 9], gap="large")
    return left, right


def part(title: str) -> None:
    """The heading of a further part of the page."""
    st.html(f'<h2 class="sv-part">{escape(title)}</h2>')


def answer(sentence: str, *numbers: tuple[str, str, str]) -> None:
    """What the current inputs come to, in one sentence, and under it the numbers: name, value, what to know of it."""
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd><strong>{escape(value)}</strong> {escape(more)}</dd></div>"
        for name, value, more in numbers
    )
    told = f'<dl class="sv-numbers">{cells}</dl>' if numbers else ""
    st.html(f'<p class="sv-answer" role="status">{escape(sentence)}</p>{told}')


def formula(katex: str) -> None:
    """A formula with the current numbers filled in. Never of text that a model or a reader wrote."""
    st.latex(katex)


def tex(value: float, digits: int = 3) -> str:
    """A number for a formula: `timeline.number` in KaTeX, so that it reads as in the sentences around it."""
    return r"\text{–}" if math.isnan(value) else katex(number(value, digits))


def given(value: float) -> str:
    """A number as its reader set it, in up to four digits: 0.8, not 0.800."""
    return f"{value:.4g}"


def note(sentence: str) -> None:
    """A sentence that belongs to what stands above it: where the notes differ, what a number leaves out."""
    st.html(f'<p class="sv-told">{escape(sentence)}</p>')


def figure(drawn: Any, *, key: str, alt: str, frame: Callable[[], pd.DataFrame]) -> None:
    """A figure with its files: the numbers that it shows as CSV, and the drawing as PNG and SVG.

    key: of the page's figures, letters, digits and single underscores. alt: what it shows, for a screen reader.
    """
    st.plotly_chart(drawn, theme=None, config=_BARE, key=f"{key}_chart", alt=alt)
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", key=f"{key}_save"):
        st.download_button(
            _("CSV"),
            lambda: export.table_csv(frame()),
            file_name=f"specviz-{key}.csv",
            mime="text/csv",
            on_click="ignore",
            key=f"{key}_csv",
            help=_("The numbers of this figure"),
        )
        told = _("Save this figure as {kind}")
        data = {"chart": f"{key}_chart", "name": f"specviz-{key}", "told": told}
        _pictures()(key=f"{key}_pictures", data=data)


def end(*, source: str, try_this: str) -> None:
    """Where the formulas come from, and something to try."""
    names = escape(_("Try this")), escape(_("Source"))
    st.html(
        f'<p class="sv-foot"><b>{names[0]}:</b> {escape(try_this)}</p>'
        f'<p class="sv-foot"><b>{names[1]}:</b> {escape(source)}</p>'
    )


def refuse(error: Exception) -> None:
    """What is wrong with an input, in the error's own sentence."""
    st.error(shell.plain(str(error)))


@cache
def _pictures() -> Any:
    return st.components.v2.component("specviz_pictures", css=_BUTTONS, js=script("chart") + "\n" + _MOUNT)
