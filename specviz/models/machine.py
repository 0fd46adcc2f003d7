"""What this machine has for a model: asked of the system, so that a page can say what fits without loading torch."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ASK_S = 5  # how long another program may take to answer


def size(n_bytes: float | None) -> str:
    """A number of bytes as people say it, in powers of ten; ? where unknown."""
    if n_bytes is None:
        return "?"
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes:.0f} B"


@dataclass(frozen=True, slots=True)
class Memory:
    """Of the device that `device="auto"` takes. device: "cpu", "cuda" or "mps". Bytes are None where unknown."""

    device: str
    name: str
    free: int | None
    total: int | None

    @property
    def dtype(self) -> str:
        """What `dtype="auto"` makes of the weights there."""
        return "bfloat16" if self.device == "cuda" else "float32"


def memory() -> Memory:
    """What is free now and what there is at all."""
    graphics = _nvidia() if _torch_knows_cuda() else None
    if graphics is not None:
        return graphics
    apple = sys.platform == "darwin" and platform.machine() == "arm64"  # graphics and processor share one memory
    free, total = _system()
    return Memory("mps" if apple else "cpu", _processor(), free, total)


@cache
def _torch_knows_cuda() -> bool:
    """Whether the torch that is installed was built for CUDA; read from its files, since importing it takes seconds."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return False
    try:
        built = Path(found.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return False
    return re.search(r"^cuda\b[^=]*=\s*['\"]", built, re.MULTILINE) is not None


def _nvidia() -> Memory | None:
    """The first GPU that CUDA_VISIBLE_DEVICES leaves, as its driver tells."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    if not re.fullmatch(r"\d+|GPU-[\w-]+", visible):
        return None
    asked = ["--query-gpu=name,memory.free,memory.total", "--format=csv,noheader,nounits", f"--id={visible}"]
    told = _answer("nvidia-smi", *asked).split("\n")[0].rsplit(",", 2)
    if len(told) != 3 or not (told[1].strip().isdigit() and told[2].strip().isdigit()):
        return None
    free, total = (int(mebibytes) * 2**20 for mebibytes in told[1:])
    return Memory("cuda", told[0].strip(), free, total)


def _system() -> tuple[int | None, int | None]:
    if sys.platform == "win32":
        return _windows()
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None, None
    if sys.platform == "darwin":
        return _darwin(), total
    told = re.search(r"^MemAvailable:\s+(\d+) kB", _read("/proc/meminfo"), re.MULTILINE)
    free = int(told[1]) * 1024 if told else None
    limit, used = _read("/sys/fs/cgroup/memory.max").strip(), _read("/sys/fs/cgroup/memory.current").strip()
    if limit.isdigit() and used.isdigit():  # a container's share
        total = min(total, int(limit))
        free = min(total if free is None else free, max(0, int(limit) - int(used)))
    return free, total


def _darwin() -> int | None:
    """What programs can have at once: free, inactive and speculative pages."""
    told = _answer("vm_stat")
    page = re.search(r"page size of (\d+) bytes", told)
    pages = re.findall(r"^Pages (?:free|inactive|speculative):\s+(\d+)\.", told, re.MULTILINE)
    return int(page[1]) * sum(map(int, pages)) if page and pages else None


def _windows() -> tuple[int | None, int | None]:
    class Status(ctypes.Structure):
        _fields_ = (
            *((name, ctypes.c_ulong) for name in ("length", "load")),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", *"abcde")),
        )

    status = Status(length=ctypes.sizeof(Status))
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined, unused-ignore]
        return None, None
    return status.free, status.total


def _processor() -> str:
    told = re.search(r"^model name\s*:\s*(.+)", _read("/proc/cpuinfo"), re.MULTILINE)
    if told:
        return told[1]
    if sys.platform == "darwin":
        return _answer("sysctl", "-n", "machdep.cpu.brand_string").strip() or platform.machine()
    return platform.processor() or platform.machine()


def _answer(program: str, *options: str) -> str:
    path = shutil.which(program)
    if path is None:
        return ""
    try:
        return subprocess.run(
            [path, *options], capture_output=True, text=True, timeout=_ASK_S, check=True, errors="replace"
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
