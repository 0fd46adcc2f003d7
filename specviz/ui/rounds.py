"""The table of a round. Text of models is escaped HTML."""

from __future__ import annotations

from html import escape

from specviz.figures.style import MARKS
from specviz.i18n import _
from specviz.records import Round
from specviz.timeline import Row, label, number, outcome_name, rows

_CHIP, _FULL = 14, 200  # characters of a token in the table, and where the pointer rests on it


def table_html(round_: Round) -> str:
    """The round's table. Every cell is escaped."""
    heads = [
        ("sv-left", _("Place"), _("Its place in the round")),
        ("sv-left", _("Token"), _("Blanks are shown as ␣, line breaks as ⏎")),
        ("sv-left", _("Outcome"), _("What became of it")),
        ("", "u", _("The uniform number that the token was drawn with")),
        ("", "p", _("Its probability by the target")),
        ("", "q", _("Its probability by the draft")),
        ("", "p/q", _("Target over draft")),
        ("", "min(1, p/q)", _("The probability that it is accepted")),
        ("", "r", _("The uniform number that it was judged with: accepted when r < min(1, p/q)")),
    ]
    head = "".join(
        f'<th scope="col" class="{kind}" title="{escape(told)}">{escape(name)}</th>' for kind, name, told in heads
    )
    body = "".join(_row_html(row, alone=not round_.nodes) for row in rows(round_))
    name = escape(_("The tokens of this round"))
    return (
        f'<div class="sv-table" role="region" aria-label="{name}" tabindex="0">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row_html(row: Row, *, alone: bool) -> str:
    full = escape(label(row.token, row.text, _FULL))
    chip = (
        f'<span class="sv-chip sv-is-{row.outcome}" title="{full}">{escape(label(row.token, row.text, _CHIP))}</span>'
    )
    numbers = [row.uniform, row.target_prob, row.draft_prob, row.ratio, row.accept_prob, row.r]
    cells = "".join(f"<td>{'' if value is None else escape(number(value))}</td>" for value in numbers)
    final = " sv-final" if row.outcome in ("resampled", "bonus") else ""
    return (
        f'<tr class="sv-{row.outcome}-row{final}"><td class="sv-left">{row.position}</td>'
        f'<td class="sv-left">{chip}</td>'
        f'<td class="sv-left">{MARKS[row.outcome]} {escape(outcome_name(row.outcome, alone=alone))}</td>{cells}</tr>'
    )
