"""A small table of words and numbers, as HTML. Every cell is escaped, unless it is HTML already."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Head = str | tuple[str, str]  # a column's name, and what it means


class Html(str):
    """A cell that is HTML already: its maker has escaped what a model or a reader wrote."""

    __slots__ = ()


def table_html(
    name: str,
    heads: Sequence[Head],
    rows: Sequence[Sequence[str]],
    *,
    words: int = 1,
    bold: int | None = None,
    final: bool = False,
    caption: bool = False,
    scrolls: bool = False,
) -> str:
    """name: of the table, for a screen reader, and over it with caption. words: columns of text, which stand left.

    bold: a row that stands out. final: the last row is set off, as a sum is. scrolls: a long one keeps its height.
    """
    head = "".join(_head(i, given, words) for i, given in enumerate(heads))
    body = "".join(
        f"<tr{_kind(i == bold, final and i == len(rows) - 1)}>"
        f"{''.join(_cell(j, cell, words) for j, cell in enumerate(row))}</tr>"
        for i, row in enumerate(rows)
    )
    over = f"<caption>{escape(name)}</caption>" if caption else ""
    height = ' style="max-height: 24rem; overflow: auto"' if scrolls else ""
    return (
        f'<div class="sv-table" role="region" aria-label="{escape(name)}" tabindex="0"{height}>'
        f"<table>{over}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _head(column: int, given: Head, words: int) -> str:
    shown, told = (given, "") if isinstance(given, str) else given
    title = f' title="{escape(told)}"' if told else ""
    return f'<th scope="col" class="{_side(column, words)}"{title}>{escape(shown)}</th>'


def _kind(bold: bool, final: bool) -> str:
    return (' style="font-weight: 600"' if bold else "") + (' class="sv-final"' if final else "")


def _cell(column: int, text: str, words: int) -> str:
    inner = text if isinstance(text, Html) else f"<bdi>{escape(text)}</bdi>"
    return f'<td class="{_side(column, words)}">{inner}</td>'


def _side(column: int, words: int) -> str:
    return "sv-left" if column < words else ""
