"""Numbers as people write and read them: 0.6, .6, 0,6, 3/5 and 60% are one number, and 0.667 is 2/3 to its digits."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from specviz.timeline import number

LONGEST = 24  # characters of one written number
_DIGITS = 4  # that a result shows
_SIGNIFICANT = 2  # digits that a rounded number needs
_EXACT = 1e-9  # closer than this is equal: it is the rounding of doubles
_DECIMAL = r"[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+"
_NUMERAL = re.compile(rf"[=≈~]?\s*([+-]?)({_DECIMAL})(?:\s*/\s*({_DECIMAL}))?\s*([%x×]?)")
_APART = re.compile(r"[\s;|()\[\]{}、]+|,(?=\s|$)")


class Numeral(NamedTuple):
    """A written number. unit: what 1 in its last digit is worth, 0 for a fraction. digits: the significant ones."""

    value: float
    unit: float
    digits: int

    def is_about(self, value: float) -> bool:
        """Whether it is the value rounded to the digits that are written."""
        return abs(self.value - value) <= self.unit / 2 + _EXACT * max(1.0, abs(value))

    def says(self, value: float) -> bool:
        """Whether it is the value: exactly, or rounded to at least two significant digits."""
        exact = abs(self.value - value) <= _EXACT * max(1.0, abs(value))
        return exact or (self.digits >= _SIGNIFICANT and self.is_about(value))


def read(text: str) -> Numeral | None:
    """The number that is written: decimal point or comma, a fraction, or a per cent; None for anything else."""
    text = unicodedata.normalize("NFKC", text[: 4 * LONGEST]).replace("⁄", "/").replace("−", "-").strip()
    found = _NUMERAL.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    sign, above, below, mark = found.groups()
    above, below = above.replace(",", "."), below and below.replace(",", ".")
    if below is not None and float(below) == 0:
        return None
    scale = (-1.0 if sign == "-" else 1.0) / (100.0 if mark == "%" else 1.0)
    value = float(above) / float(below or 1.0) * scale
    if below is not None:
        return Numeral(value, 0.0, _SIGNIFICANT)
    whole, _, part = above.partition(".")
    return Numeral(value, 10.0 ** -len(part) * abs(scale), len((whole + part).lstrip("0")))


def split(text: str) -> list[str]:
    """The pieces of a list: between blanks, semicolons, bars or commas; a comma inside one number is its decimal point.

    "0.5, 0.2", "0,5 0,2", "0.5,0.2" and "(0.5; 0.2)" are two pieces each.
    """
    text = re.sub(r"\s*[/⁄]\s*", "/", unicodedata.normalize("NFKC", text))
    pieces: list[str] = []
    for piece in filter(None, _APART.split(text)):
        several = piece.count(",") > 1 or (piece.count(",") == 1 and not re.fullmatch(r"[0-9]*,[0-9]+%?", piece))
        pieces.extend(filter(None, piece.split(",") if several else [piece]))
    return pieces


def shown(value: float) -> str:
    """A number as one writes it on paper: up to four digits, without zeros at the end where it says the value still."""
    text = number(value, _DIGITS)
    while "." in text and text[-1] == "0" and _says(text[:-1].rstrip("."), value):
        text = text[:-1].rstrip(".")
    return text


def _says(text: str, value: float) -> bool:
    written = read(text)
    return written is not None and written.says(value)
