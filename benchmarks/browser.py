"""A Chromium and a server of the app, for what times or pictures the app, and for the tests that need a browser."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
PATIENCE_S = 120  # until a server answers: the cores may be shared


def chromium() -> str | None:
    """Its path. None where there is none: then Playwright takes one of its own, or says what is missing."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def serving(script: Path = ROOT / "app.py") -> Iterator[str]:
    """A server on a free port; gives its address. Raises RuntimeError when it ends or does not answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}", "--server.headless=true"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + PATIENCE_S
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the server of {script} does not answer; start it by hand to see why")
                time.sleep(0.1)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0
