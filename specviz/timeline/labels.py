"""Tokens and numbers as a viewer reads them: one visible line, few digits."""

from __future__ import annotations

import math
import unicodedata

from specviz.i18n import _

LABEL = 24  # characters of a token that a label shows
_DIGITS = 3
_SMALL = 1e-5  # below this a number shows with its power of ten
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = {raised: plain for plain, raised in SUPERSCRIPT.items()}
_BLANKS = {" ": "␣", "\n": "⏎", "\r": "␍", "\t": "⇥"}
_JOINERS = "\u200c\u200d"  # invisible, but they shape letters and emoji
_RIGHT_TO_LEFT = {"R", "AL", "AN"}


def label(token: int, text: str, limit: int = LABEL) -> str:
    """The token on one short line: blanks and control characters made visible, a long text cut; its id if it has none.

    Characters that would turn or hide their neighbours (direction marks and the like) show as their code.
    """
    if not text:
        return f"#{token}"
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    inner = len(cut) - len(cut.lstrip(" ")), len(cut.rstrip(" "))
    shown = [c if c == " " and inner[0] <= i < inner[1] else _visible(c) for i, c in enumerate(cut)]
    return ("◌" if unicodedata.category(cut[0])[0] == "M" else "") + "".join(shown)


def number(value: float, digits: int = _DIGITS) -> str:
    """A probability, a ratio or a time in few characters. Only 0 shows as 0 and only 1 as 1."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if value in (0, 1):
        return str(int(value))
    if _SMALL <= abs(value) < 1:
        decimals = max(digits, digits - 1 - math.floor(math.log10(abs(value))))
        while (shown := f"{value:.{decimals}f}") in (f"{1:.{decimals}f}", f"{-1:.{decimals}f}"):
            decimals += 1
        return shown
    if 1 <= abs(value) < 10**6:
        return f"{value:.{max(0, digits - len(str(int(abs(value)))))}f}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{mantissa}×10{str(int(exponent)).translate(SUPERSCRIPT)}"


def signed(value: float, digits: int = _DIGITS) -> str:
    """A difference: a number with its sign, + or the true minus. 0 has none."""
    return f"+{number(value, digits)}" if value > 0 else number(value, digits).replace("-", "−")


def katex(shown: str) -> str:
    """What `number` and `signed` show, as KaTeX writes it. Any other text stays as it is."""
    mantissa, _times, power = shown.replace("−", "-").replace("∞", r"\infty").partition("×10")
    return rf"{mantissa}\cdot 10^{{{power.translate(_LOWERED)}}}" if power else mantissa


def apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in range(_DIGITS, 17):
        shown = number(one, digits), number(other, digits)
        if shown[0] != shown[1]:
            return shown
    return number(one), number(other)


def outcome_name(outcome: str, *, alone: bool = False) -> str:
    """What became of a token, in a word or two. alone: its round drafted nothing, so its draw is no bonus."""
    if outcome == "bonus" and alone:
        return _("next token")
    return {
        "accepted": _("accepted"),
        "rejected": _("rejected"),
        "unjudged": _("never judged"),
        "resampled": _("resampled"),
        "bonus": _("bonus"),
    }[outcome]


def quoted(token: int, text: str) -> str:
    """A label in a sentence: in quotes, and kept from turning the sentence around when it runs right to left."""
    shown = label(token, text)
    if any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in shown):
        shown = f"\u2068{shown}\u2069"
    return f"“{shown}”"


def _visible(character: str) -> str:
    if character in _BLANKS:
        return _BLANKS[character]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures of Unicode
    category = unicodedata.category(character)
    if (category[0] == "C" and character not in _JOINERS) or category in ("Zl", "Zp"):
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character
