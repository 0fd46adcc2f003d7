"""Lists the licence of every package of requirements.lock, and of torch, in docs/licences.md: `make licences`.

Stops at a licence that is not in ALLOWED. What another platform needs is fetched to read what it says of itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib import metadata

from release.lock import LOCK, ROOT, UV, pins

LISTED = ROOT / "docs" / "licences.md"
ALLOWED = {
    *(
        "0BSD",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSL-1.0",
        "CC0-1.0",
    ),
    *("CNRI-Python", "ISC", "MIT", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib"),
}
# How packages without a licence expression word it, in the License field or in a classifier.
WORDED = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License": "ISC",
    "MIT License": "MIT",
}
HEAD = """# Licences

What the default install brings, by each package's own word; made by `make licences`. The code and the bundled weights
are MIT ([LICENSE](../LICENSE), [the weights' card](../specviz/bundled/README.md)). "BSD" stands for packages that do
not say which. On Linux a CUDA build of torch also brings NVIDIA's libraries (`nvidia-*`, `cuda-*`), most of them under
NVIDIA's own proprietary licence, and triton (MIT); the CPU build, which the container image takes, does not.

| package | version | licence |
|---|---|---|
"""


def alternatives(expression: str) -> list[str]:
    """The licences that an expression names: "(MIT OR Zlib) AND 0BSD" names three."""
    return [part.strip(" ()") for part in re.split(r"\b(?:AND|OR)\b", expression)]


def licence(about: metadata.PackageMetadata) -> str:
    """The licence expression; without one, the first word in the License field or the classifiers that we know."""
    if expression := about.get("License-Expression"):
        return str(expression)
    classifiers = [
        line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if line.startswith("License")
    ]
    said = [line.split(" (")[0] for line in [about.get("License") or "", *classifiers]]
    known = [WORDED.get(words, words) for words in said]
    return next((name for name in known if set(alternatives(name)) <= ALLOWED), known[0])


def main() -> None:
    wanted = pins(LOCK.read_text(encoding="utf-8"))
    wanted["torch"] = pins((ROOT / "requirements.txt").read_text(encoding="utf-8"))["torch"]
    with tempfile.TemporaryDirectory() as folder:
        here = {re.sub(r"[-_.]+", "-", d.name).lower() for d in metadata.distributions()}
        elsewhere = [f"{name}=={version}" for name, version in wanted.items() if name not in here]
        if elsewhere:
            subprocess.run([UV, "pip", "install", "-q", "--no-deps", "--target", folder, *elsewhere], check=True)
        sys.path.append(folder)
        rows = {name: licence(metadata.metadata(name)) for name in sorted(wanted)}
    bad = [f"{name}: {said!r:.100}" for name, said in rows.items() if not set(alternatives(said)) <= ALLOWED]
    if bad:
        sys.exit("not in release.licences.ALLOWED: " + "; ".join(bad))
    table = "".join(f"| {name} | {wanted[name]} | {said} |\n" for name, said in rows.items())
    LISTED.write_text(HEAD + table, encoding="utf-8", newline="\n")
    print(f"{LISTED.relative_to(ROOT)}: {len(rows)} packages")


if __name__ == "__main__":
    main()
