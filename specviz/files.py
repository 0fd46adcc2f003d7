"""Writing a trace to where the caller wants it: a path, which is replaced as a whole or not at all, or an open file."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from specviz.errors import TraceError

Target = str | os.PathLike[str] | IO[str] | IO[bytes] | None


def save(target: Target, render: Callable[[Path | None], Any]) -> str | None:
    """render(path) writes there, and render(None) returns the text, which goes to an open file or back to the caller.

    Raises TraceError, in one sentence, when the target cannot be written.
    """
    if target is None:
        return str(render(None))
    if isinstance(target, str | os.PathLike):
        try:
            _replaced(target, render)
        except (OSError, ValueError, RuntimeError) as error:  # no such folder, NUL in the name, no such home
            told = " ".join(str(target)[:200].split())
            raise TraceError(f"{told} cannot be written ({why(error):.80}). Name another file.") from None
    elif not hasattr(target, "write"):
        raise TraceError(f"a trace is written to a path or an open file, not to {type(target).__name__}")
    else:
        text = render(None)
        try:
            target.write(text)
        except TypeError:  # a binary file
            target.write(text.encode())
    return None


def _replaced(path: str | os.PathLike[str], write: Callable[[Path], object]) -> None:
    """Write beside the path, then rename onto it: what stands there is the old file or the whole new one."""
    final = Path(path).expanduser().resolve()  # a link stays a link
    if final.exists() and not final.is_file():
        write(final)  # a device or a pipe, which must not be replaced
        return
    temporary = final.with_name(f".{secrets.token_hex(4)}{''.join(final.suffixes[-1:])}")  # pandas compresses by suffix
    try:
        write(temporary)
        if final.exists():
            shutil.copymode(final, temporary)
        temporary.replace(final)
    finally:
        temporary.unlink(missing_ok=True)


def why(error: Exception) -> str:
    """What an error says of itself, without its number and its path."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
