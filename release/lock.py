"""Makes requirements.lock anew from requirements.txt: `make lock`. One file for Linux, macOS and Windows.

torch is not in it, nor what only its CUDA builds need: the builds of one version have different hashes, and which of
them is installed depends on the platform and the package index. requirements.txt pins it.

Afterwards every pin, torch's too, is resolved for each Python and platform, from wheels alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
PYTHONS = ("3.11", "3.12", "3.13")
MACOS = {"MACOSX_DEPLOYMENT_TARGET": "14.0"}  # the oldest that torch has wheels for
UV = Path(sys.executable).with_name("uv")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin", "windows")
UNHASHED = re.compile(r"(torch|triton|nvidia-[a-z0-9-]+|cuda-[a-z0-9-]+)==")
HEADER = "# Made by `make lock`. Every package of the default install but torch, which requirements.txt pins.\n"


def blocks(text: str) -> list[str]:
    """One text per package: its pin and its hashes."""
    return re.findall(r"^[A-Za-z0-9][^\n]*(?:\n    [^\n]*)*\n", text, re.MULTILINE)


def pins(text: str) -> dict[str, str]:
    """Name -> version of every pinned line."""
    found = (re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", line) for line in text.splitlines())
    return {re.sub(r"[-_.]+", "-", pin[1]).lower(): pin[2] for pin in found if pin}


def _compile(*options: str) -> str:
    command = [UV, "pip", "compile", "-q", "--no-header", "--no-annotate", "requirements.txt", *options]
    run = subprocess.run(
        command, cwd=ROOT, env=os.environ | MACOS, stdout=subprocess.PIPE, encoding="utf-8", check=False
    )
    return run.stdout if run.returncode == 0 else sys.exit(run.returncode)  # uv has said why


def main() -> None:
    options = ("--universal", "--python-version", PYTHONS[0], "--fork-strategy", "fewest", "--generate-hashes")
    kept = [
        block
        for block in blocks(_compile(*options))
        if not UNHASHED.match(block) and "sys_platform == 'emscripten'" not in block
    ]
    locked = pins("".join(kept))
    LOCK.write_text(HEADER + "".join(kept), encoding="utf-8", newline="\n")
    print(f"{LOCK.name}: {len(kept)} packages")
    for python in PYTHONS:
        for platform in PLATFORMS:
            options = (
                "-c",
                LOCK.name,
                "--only-binary",
                ":all:",
                "--python-version",
                python,
                "--python-platform",
                platform,
            )
            wheels = pins(_compile(*options))
            missing = [n for n, v in wheels.items() if n not in locked and not UNHASHED.match(f"{n}=={v}")]
            if missing:
                sys.exit(f"Python {python} on {platform} needs {', '.join(missing)}, which the lock does not name")
            print(f"Python {python}, {platform}: {len(wheels)} packages, all as wheels")


if __name__ == "__main__":
    main()
