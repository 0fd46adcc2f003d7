"""The rules and their names, and numbers: what all parts say alike."""

from __future__ import annotations

from specviz import exact, theory
from specviz.i18n import _
from specviz.timeline import number
from specviz.ui import question

RULES = exact.RULES


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


def expected_tokens(alpha: float, draft_length: int) -> str:
    """E[N] with its numbers, in KaTeX."""
    mean = question.tex(theory.expected_tokens(alpha, draft_length), 4)
    if 1 - alpha < 1e-12:  # the rounding of a sum
        return f"{draft_length}+1 = {mean}"
    rate = question.tex(alpha)
    return rf"\frac{{1-\alpha^{{K+1}}}}{{1-\alpha}} = \frac{{1-{rate}^{{{draft_length}+1}}}}{{1-{rate}}} = {mean}"


def count(value: float) -> str:
    """So many samples, in words a reader can compare."""
    if value == float("inf"):
        return "∞"
    return f"{value:,.0f}" if value < 1e7 else number(value)


def needs_all_tokens() -> str:
    return _("The record joins the tokens that it does not list, and two of the rules need each token by itself.")


def no_warp_of_joined() -> str:
    return _(
        "The record joins the tokens that it does not list, and a warp needs each token by itself: "
        "the notes’ five letters instead."
    )


def p_value(value: float) -> str:
    """Below what a float can hold it is no 0."""
    return number(value, 2) if value > 0 else _("< 10⁻³⁰⁰")
