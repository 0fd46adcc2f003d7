"""A Chromium and a server of the app, for what times or pictures the app, and for the tests that need a browser."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
    with server(script) as (address, _process):
        yield address


@contextmanager
def server(
    script: Path = ROOT / "app.py",
    *options: str,
    environ: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The same with its process. options: of Streamlit. environ: added to ours. log: where both outputs go."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", str(script), f"--server.port={port}"]
    told = log or subprocess.DEVNULL
    with subprocess.Popen(
        [*command, "--server.headless=true", "--server.address=localhost", *options],
        cwd=ROOT,
        stdout=told,
        stderr=told,
        env={**os.environ, **(environ or {})},
    ) as process:
        try:
            end = time.monotonic() + PATIENCE_S
            while not _answers(port):
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the server of {script} does not answer; start it by hand to see why")
                time.sleep(0.1)
            yield f"http://localhost:{port}", process
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0
