"""A small table of words and numbers, as HTML. Every cell is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def table_html(name: str, heads: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """name: of the table, for a screen reader. heads: a column's name and what it means. words: columns of text."""
    head = "".join(
        f'<th scope="col" class="{_side(i, words)}" title="{escape(told)}">{escape(shown)}</th>'
        for i, (shown, told) in enumerate(heads)
    )
    body = "".join(f"<tr>{''.join(_cell(i, cell, words) for i, cell in enumerate(row))}</tr>" for row in rows)
    return (
        f'<div class="sv-table" role="region" aria-label="{escape(name)}" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(column: int, text: str, words: int) -> str:
    return f'<td class="{_side(column, words)}"><bdi>{escape(text)}</bdi></td>'


def _side(column: int, words: int) -> str:
    return "sv-left" if column < words else ""
