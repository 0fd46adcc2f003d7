"""Reads what R's `serialize()` writes, as far as character vectors need it: strings, vectors, lists, attributes."""

from __future__ import annotations

import struct
from typing import Any

# Item types. Source: "R Internals", section 1.8 (Serialization Formats), and Rinternals.h.
SYMBOL, PAIR_LIST, CHARACTERS = 1, 2, 9
LOGICALS, INTEGERS, STRINGS, LIST = 10, 13, 16, 19
NOTHING, REFERENCE = 254, 255
HAS_ATTRIBUTES, HAS_TAG = 1 << 9, 1 << 10
MISSING = -1  # the length of NA as a string


class RdsError(ValueError):
    """The bytes are no R data, are cut off, or hold an item type that is not read here."""


def read_rds(data: bytes) -> Any:
    """The one value in uncompressed XDR-serialised data, version 2 or 3; attributes are read and dropped.

    A vector becomes a list of str, int or values, NA in strings and NULL become None. Raises RdsError.
    """
    if data[:2] != b"X\n":
        raise RdsError(f"R data in XDR format begins with b'X\\n', got {data[:2]!r}")
    try:
        return _Items(data).item()
    except struct.error:
        raise RdsError(f"the R data ends in the middle of an item, after {len(data)} bytes") from None


class _Items:
    """A place in the data, and the symbols so far that later items refer to."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 2
        self._symbols: list[Any] = []
        version, _writer, _oldest_reader = (self.integer() for _ in range(3))
        if version == 3:
            self.text(self.integer())  # the writer's own encoding

    def integer(self) -> int:
        value: int = struct.unpack_from(">i", self._data, self._at)[0]
        self._at += 4
        return value

    def text(self, length: int) -> str:
        raw = struct.unpack_from(f"{length}s", self._data, self._at)[0]
        self._at += length
        return bytes(raw).decode("utf-8", "replace")

    def item(self) -> Any:
        flags = self.integer()
        kind, has_attributes = flags & 0xFF, bool(flags & HAS_ATTRIBUTES)
        if kind == NOTHING:
            return None
        if kind == REFERENCE:
            return self._symbols[(flags >> 8 or self.integer()) - 1]
        if kind == SYMBOL:
            self._symbols.append(self.item())
            return self._symbols[-1]
        if kind == CHARACTERS:
            length = self.integer()
            return None if length == MISSING else self.text(length)
        if kind == PAIR_LIST:
            return self._pair_list(has_attributes, bool(flags & HAS_TAG))
        values: list[Any]
        if kind in (STRINGS, LIST):
            values = [self.item() for _ in range(self.integer())]
        elif kind in (LOGICALS, INTEGERS):
            values = [self.integer() for _ in range(self.integer())]
        else:
            raise RdsError(f"R item type {kind} is not read here")
        if has_attributes:
            self.item()
        return values

    def _pair_list(self, has_attributes: bool, has_tag: bool) -> list[tuple[Any, Any]]:
        if has_attributes:
            self.item()
        key = self.item() if has_tag else None
        return [(key, self.item()), *(self.item() or [])]
