"""The relay that counts what a server sends."""

import socket
import threading

import pytest

from benchmarks.wire import Sent, wire


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", Sent(files=700, messages=0)),
        (b"GET /stream HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", Sent(files=0, messages=700)),
    ],
)
def test_what_a_server_sends_is_passed_on_and_counted_as_files_or_messages(asked, sent):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _where = server.accept()
            with connection:
                seen.append(connection.recv(1000))
                connection.sendall(b"x" * 700)

        seen = []
        answering = threading.Thread(target=answer)
        answering.start()
        port = server.getsockname()[1]
        with (
            wire(f"http://127.0.0.1:{port}") as relay,
            socket.create_connection(("127.0.0.1", int(relay.address.rpartition(":")[2]))) as browser,
        ):
            browser.sendall(asked)
            got = b""
            while data := browser.recv(1000):
                got += data
        answering.join()
    assert (seen, got) == ([asked], b"x" * 700)
    assert relay.sent == sent
    assert Sent(900, 50).since(Sent(700, 20)) == (200, 30)
