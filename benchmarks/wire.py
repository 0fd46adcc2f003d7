"""What a server sends to a browser, in bytes as they go over the wire: files and messages apart.

A relay between the two, so that the compression and the caching of both are those of a reader.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

_CHUNK = 1 << 16
_HEAD = b"upgrade: websocket"


class Sent(NamedTuple):
    """Bytes from the server. files: by HTTP, with its headers. messages: over the socket."""

    files: int
    messages: int

    def since(self, before: Sent) -> Sent:
        return Sent(self.files - before.files, self.messages - before.messages)


class Wire:
    """A relay to the server at an address. sent: so far. address: where it is reached."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._server = parts.hostname or "localhost", parts.port or 80
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://localhost:{self._listening.getsockname()[1]}"
        self.sent = Sent(0, 0)
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                browser, _where = self._listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._relay, args=(browser,), daemon=True).start()

    def _relay(self, browser: socket.socket) -> None:
        """One connection. A socket begins with a request to become one; a connection for files stays one."""
        with browser, socket.create_connection(self._server) as server:
            first = browser.recv(_CHUNK)
            messages = _HEAD in first.lower()
            server.sendall(first)
            threading.Thread(target=_pass_on, args=(browser, server), daemon=True).start()
            try:
                while data := server.recv(_CHUNK):
                    self._count(len(data), messages=messages)
                    browser.sendall(data)
                browser.shutdown(socket.SHUT_RDWR)  # a close alone waits for the thread that reads from it
            except OSError:  # the browser has gone
                return

    def _count(self, n: int, *, messages: bool) -> None:
        with self._lock:
            files, told = self.sent
            self.sent = Sent(files, told + n) if messages else Sent(files + n, told)


def _pass_on(browser: socket.socket, server: socket.socket) -> None:
    try:
        while data := browser.recv(_CHUNK):
            server.sendall(data)
        server.shutdown(socket.SHUT_WR)
    except OSError:  # either has gone
        return


@contextmanager
def wire(address: str) -> Iterator[Wire]:
    relay = Wire(address)
    try:
        yield relay
    finally:
        relay.close()
