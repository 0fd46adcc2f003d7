"""Names of the rules, numbers in formulas, and tables: what all parts say alike."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from specviz import exact
from specviz.i18n import _
from specviz.timeline import number

RULES = tuple(exact.RULES)


def rule_name(rule: str) -> str:
    return {
        "exact": _("exact rule"),
        "always_accept": _("always accept"),
        "first_token_unseen": _("first token unseen"),
        "drop_without_resampling": _("drop, no resampling"),
        "resample_from_target": _("resample from p"),
        "argmax_verification": _("argmax decides"),
        "mismatched_temperature": _("other temperature"),
    }[rule]


def rule_told(rule: str) -> str:
    return {
        "exact": _("Accept when r < min(1, p/q); replace a rejected token from the residual."),
        "always_accept": _("Accept every drafted token: the draft writes all but the bonus."),
        "first_token_unseen": _("Accept the first drafted token of each round unseen, judge the others exactly."),
        "drop_without_resampling": _("Judge exactly, but drop a rejected token and draft again: its mass is lost."),
        "resample_from_target": _(
            "Judge exactly, but replace a rejected token from p itself: likely tokens come twice."
        ),
        "argmax_verification": _(
            "Accept only the target's best token and replace any other by it: greedy in disguise."
        ),
        "mismatched_temperature": _("Draft at another temperature than the q of the ratio and of the residual."),
    }[rule]


def tex(value: float) -> str:
    """A number for a formula."""
    mantissa, _e, exponent = f"{value:.3g}".partition("e")
    return rf"{mantissa}\cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def count(value: float) -> str:
    """So many samples, in words a reader can compare."""
    if value == float("inf"):
        return "∞"
    return f"{value:,.0f}" if value < 1e7 else number(value)


def needs_all_tokens() -> str:
    return _("The record joins the tokens that it does not list, and two of the rules need each token by itself.")


def p_value(value: float) -> str:
    """Below what a float can hold it is no 0."""
    return number(value, 2) if value > 0 else _("< 10⁻³⁰⁰")


def signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value).replace("-", "−")


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, bold: int = -1) -> None:
    """Text in rows; the first `left` columns are aligned left, one row may be the bold one. Every cell is escaped."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f'<{tag} class="{"sv-left" if i < left else ""}">{escape(cell)}</{tag}>' for i, cell in enumerate(row)
        )

    heavy = ' style="font-weight: 600"'
    body = "".join(f"<tr{heavy if i == bold else ''}>{cells(row, 'td')}</tr>" for i, row in enumerate(rows))
    st.html(
        f'<div class="sv-table" role="region" aria-label="{escape(caption)}" tabindex="0" style="max-height: 24rem; '
        f'overflow: auto"><table><thead><tr>{cells(heads, "th")}</tr></thead><tbody>{body}</tbody></table></div>'
    )
