"""What happens on the server, a JSON line each on standard error, if SPECVIZ_LOG=1 asks for it. No text of visitors.

    {"at": "2026-11-30T02:31:00Z", "event": "run ended", "run": "5f3a9c01", "tokens": 64, "rounds": 21, ...}

A run's id is the key to its link, so a line has only a fingerprint of it: the first 8 hex digits of its SHA-256.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from datetime import UTC, datetime

import msgspec

_lock = threading.Lock()
ASKED = os.environ.get("SPECVIZ_LOG", "").strip() == "1"


def tell(event: str, *, run: str = "", reason: str = "", **numbers: float) -> None:
    """reason: a word of ours, as the name of a limit or of an error's kind; never a message: it may quote a prompt."""
    if not ASKED:
        return
    line: dict[str, str | float] = {"at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "event": event}
    if run:
        line["run"] = hashlib.sha256(run.encode()).hexdigest()[:8]
    if reason:
        line["reason"] = reason
    rounded = {name: round(number, 3) for name, number in numbers.items()}
    with _lock:  # two lines at once would end up in one
        sys.stderr.write(msgspec.json.encode(line | rounded).decode() + "\n")
        sys.stderr.flush()
