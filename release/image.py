"""Takes every step of the Dockerfile in a clean root and starts the app there: for machines without a container engine.

`make image-check`, as root, on Debian, with debootstrap. A minimal Debian of this machine's release, with its python3,
stands in for the base image. Where PIP_FIND_LINKS is a folder of wheels, torch comes from there and not from PyTorch's
own index. All else is as written: RUN through /bin/sh, COPY, ENV, USER. The app runs as that user, with no network but
a loopback, on a root that is read-only but for /tmp and the volumes, as in compose.yaml.
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from release.dockerfile import ROOT, Step, assigned, steps

STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
ASKED = ("", "watch", "acceptance")  # pages, each fetched, and drawn to its end by a session of its own
STARTS_S, STOPS_S = 120, 30
DRAW = """
import sys, websockets.sync.client as client
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
with client.connect("ws://127.0.0.1:8501/_stcore/stream", subprotocols=["streamlit"], max_size=None) as socket:
    asked = BackMsg()
    asked.rerun_script.page_name = sys.argv[1]
    socket.send(asked.SerializeToString())
    kinds, done = [], False
    while not done:
        told = ForwardMsg.FromString(socket.recv(timeout=60))
        kinds.append(told.delta.new_element.WhichOneof("type"))
        done = told.WhichOneof("type") == "script_finished"
wrong = kinds.count("exception")
print(sum(kind is not None for kind in kinds), "elements,", wrong, "exceptions")
sys.exit(bool(wrong))
"""
DECODE = """
import specviz as sv
trace = sv.speculate(sv.load_pair(), "It is a truth", max_new_tokens=8, seed=0)
print("decoded", repr(trace.text), "in", len(trace.rounds), "rounds")
"""


class Image:
    """What the steps build up: a root folder, its environment and user, and how it starts."""

    def __init__(self, root: Path, given: dict[str, str]) -> None:
        self.root, self.given = root, given
        self.env, self.arguments = {"PATH": STANDARD_PATH, "HOME": "/root"}, dict[str, str]()
        self.user, self.folder, self.volumes = "0:0", "/", list[str]()
        self.start, self.health = list[str](), list[str]()

    def take(self, step: Step) -> None:
        match step.instruction:
            case "FROM":
                _debian(self.root)
            case "ARG":
                self.arguments |= assigned(step, self.env) | self.given
            case "ENV":
                self.env |= assigned(step, self.env)
            case "WORKDIR":
                self.folder = step.text
                self._inside(".").mkdir(parents=True, exist_ok=True)
            case "COPY":
                *sources, target = step.words
                for source in sources:
                    self._copy(ROOT / source, self._inside(target), into=target.endswith("/"))
            case "RUN":
                self.run("/bin/sh", "-c", step.text, env=self.env | self.arguments)
            case "USER":
                self.user, (uid, _) = step.text, step.text.split(":")
                users = (
                    line.split(":") for line in (self.root / "etc/passwd").read_text(encoding="utf-8").splitlines()
                )
                self.env["HOME"] = next(home for _, _, number, _, _, home, _ in users if number == uid)
            case "VOLUME":
                self.volumes += step.words
            case "HEALTHCHECK":
                self.health = step.words
            case "CMD":
                self.start = step.words
            case "EXPOSE":
                pass
            case other:
                sys.exit(f"the Dockerfile has a step that this check does not know: {other}")

    def run(self, *command: str, env: dict[str, str] | None = None) -> None:
        subprocess.run(self.entered(*command), check=True, env=env or self.env)

    def entered(self, *command: str) -> list[str]:
        enter = ["chroot", f"--userspec={self.user}", str(self.root)]
        return [*enter, "/bin/sh", "-c", 'cd "$0" && exec "$@"', self.folder, *command]

    def _inside(self, path: str) -> Path:
        return self.root / (Path("/") / self.folder / path).relative_to("/")

    def _copy(self, source: Path, target: Path, *, into: bool) -> None:
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        else:
            target = target / source.name if into else target
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def _debian(root: Path) -> None:
    """A minimal Debian of this machine's release with python3, and what this machine needs to reach its registries."""
    listed = subprocess.check_output(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)"], encoding="utf-8"
    )
    release = next(
        line
        for line in Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
        if line.startswith("VERSION_CODENAME=")
    )
    release = release.partition("=")[2]
    mirror = next(line.split()[0] for line in listed.splitlines() if line.split()[1] == release)
    with_python = "--include=python3,python3-venv,ca-certificates"
    _sh("debootstrap", "--variant=minbase", with_python, release, str(root), mirror, quiet=True)
    for file in ("/etc/resolv.conf", "/etc/hosts", CERTIFICATES):
        shutil.copy(file, root / Path(file).relative_to("/"))
    _sh("mount", "-t", "proc", "proc", str(root / "proc"))


def _sh(*command: str, quiet: bool = False) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL if quiet else None)


def _unshared(flags: int) -> None:
    """This process and its children in new namespaces: 0x20000 of mounts, 0x40000000 of networks."""
    if ctypes.CDLL(None, use_errno=True).unshare(flags):
        sys.exit(f"this check needs root and Linux namespaces ({os.strerror(ctypes.get_errno())})")


def _sealed(image: Image) -> None:
    """No network but a loopback; a root that cannot be written, but for /tmp and the volumes."""
    _unshared(0x40000000)
    with socket.socket() as any_:
        fcntl.ioctl(any_, 0x8914, struct.pack("16sH14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running
    root = str(image.root)
    _sh("mount", "--bind", root, root)
    for path in image.volumes:
        volume = str(image.root / path.lstrip("/"))
        _sh("mount", "--bind", volume, volume)
    _sh("mount", "-t", "proc", "proc", f"{root}/proc")
    _sh("mount", "-t", "tmpfs", "tmpfs", f"{root}/tmp")
    _sh("mount", "-o", "remount,bind,ro", root)


def _started(image: Image) -> None:
    """Starts the app and asks it: health, pages, a decoding; then stops it."""
    begin = time.monotonic()
    with subprocess.Popen(image.entered(*image.start), env=image.env) as app:
        try:
            while subprocess.run(image.entered(*image.health), env=image.env, stderr=subprocess.DEVNULL).returncode:
                if app.poll() is not None or time.monotonic() - begin > STARTS_S:
                    sys.exit("the app did not start")
                time.sleep(0.5)
            print(
                f"healthy after {time.monotonic() - begin:.1f} s, as user {image.user}, without a network", flush=True
            )
            for page in ASKED:
                with urllib.request.urlopen(f"http://127.0.0.1:8501/{page}", timeout=30) as answer:
                    print(f"GET /{page}: {answer.status}", end=", ", flush=True)
                image.run("python3", "-c", DRAW, page)
            image.run("python3", "-c", DECODE)
            status = Path(f"/proc/{app.pid}/status").read_text(encoding="utf-8")
            print(
                "most memory of the server:", next(line[6:].strip() for line in status.splitlines() if "VmHWM" in line)
            )
        finally:
            begin = time.monotonic()
            app.send_signal(signal.SIGTERM)
            code = app.wait(STOPS_S)
    print(f"stopped by SIGTERM in {time.monotonic() - begin:.1f} s, exit code {code}")


def main() -> None:
    parser = argparse.ArgumentParser(description="The Dockerfile's steps in a clean root, and the app started there.")
    parser.add_argument("--root", type=Path, help="build here, in a new folder, and keep it (default: a temporary one)")
    options = parser.parse_args()
    root = options.root or Path(tempfile.mkdtemp(prefix="specviz-image-"))
    root.mkdir(exist_ok=True)
    root.chmod(0o755)  # a temporary folder opens to root alone, and the app runs as another user
    _unshared(0x20000)
    _sh("mount", "--make-rprivate", "/")
    wheels = Path(os.environ.get("PIP_FIND_LINKS", ""))
    given = {"SSL_CERT_FILE": str(CERTIFICATES), "PIP_CERT": str(CERTIFICATES)}
    local = wheels.is_dir() and wheels.is_absolute()
    if local:
        given |= {"TORCH": "", "UV_FIND_LINKS": "/wheels"}
    image = Image(root, given)
    try:
        for step in steps((ROOT / "Dockerfile").read_text(encoding="utf-8")):
            begin = time.monotonic()
            image.take(step)
            print(f"{time.monotonic() - begin:6.1f} s  {step.instruction} {step.text[:90]}", flush=True)
            if step.instruction == "FROM" and local:
                shutil.copytree(wheels, root / "wheels")  # a copy: what is below the root is deleted at the end
        size = subprocess.check_output(["du", "-sxh", str(root)], encoding="utf-8").split()[0]
        print(f"every step of the Dockerfile holds; the root takes {size}", flush=True)
        _sealed(image)
        _started(image)
    finally:
        if not options.root:
            subprocess.run(["umount", "-R", str(root)], stderr=subprocess.DEVNULL, check=False)
            subprocess.run(["umount", "-R", str(root / "proc")], stderr=subprocess.DEVNULL, check=False)
            if str(root) in Path("/proc/self/mounts").read_text(encoding="utf-8"):
                sys.exit(f"{root} still has mounts below it and is left as it is")
            shutil.rmtree(root)


if __name__ == "__main__":
    main()
