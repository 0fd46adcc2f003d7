"""A tiny hub on this machine: it lists a folder's files and hands them out, or fails as it is told."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """models: folders by id. statuses: what to answer for an id, or for a file's name. cut: files that break off."""

    models: dict[str, Path]
    statuses: dict[str, int] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    address: str = ""


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def answer(self, *, body: bool) -> None:
            path = self.path.split("?")[0].strip("/")
            if path == "api/agent-harnesses":  # huggingface_hub asks this now and then, for itself
                self.refused("no/answer")
                return
            hub.asked.append(f"{self.command} {path}")
            if path.startswith("api/models/"):
                name = path.removeprefix("api/models/")
                if self.refused(name):
                    return
                files = [{"rfilename": p.name, "size": p.stat().st_size} for p in sorted(hub.models[name].iterdir())]
                self.send(json.dumps({"id": name, "sha": COMMIT, "siblings": files}).encode(), "application/json")
                return
            name, _, file = path.partition(f"/resolve/{COMMIT}/")
            if self.refused(file or "no/file"):
                return
            data = (hub.models[name] / file).read_bytes()
            self.send(data, "application/octet-stream", file, body=body)

        def refused(self, what: str) -> bool:
            status = hub.statuses.get(what, 404 if "/" in what and what not in hub.models else 0)
            if status:
                self.send_response(status)
                code = {404: "RepoNotFound", 403: "GatedRepo"}.get(status)
                if code:
                    self.send_header("X-Error-Code", code)
                if status == 401:
                    self.send_header("X-Error-Message", "Invalid credentials in Authorization header")
                self.send_header("Content-Length", "0")
                self.end_headers()
            return bool(status)

        def send(self, data: bytes, kind: str, file: str = "", *, body: bool = True) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if body:
                self.wfile.write(data[: len(data) // 2] if file in hub.cut else data)
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
