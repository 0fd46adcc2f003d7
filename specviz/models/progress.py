"""How far a load has come, and how to stop it: a callable is told, and what it raises goes through.

Two libraries do the work, each with a bar of its own to hang on to: huggingface_hub takes the bar's class for a
download, transformers a hook for its loop over the weights.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_reading = threading.Lock()  # transformers has one hook and one verbosity per process
_WAIT_S = 0.2  # between two looks at whether a load that waits for another one is still wanted


@dataclass(frozen=True, slots=True)
class Progress:
    """Bytes of one file of one model that are there: downloaded, or read into memory. total: None when unknown."""

    model: str
    file: str
    done: int
    total: int | None


Watch = Callable[[Progress], None]


class Stopped(BaseException):
    """What the watcher raised, on its way through libraries that catch every Exception."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def stoppable(watch: Watch | None) -> Watch:
    """The watcher, or nobody; what it raises comes as `Stopped`."""

    def told(progress: Progress) -> None:
        if watch is not None:
            try:
                watch(progress)
            except BaseException as error:
                raise Stopped(error) from None

    return told


def bar_of(model: str, file: str, total: int | None, watch: Watch) -> type[Any]:
    """A class that huggingface_hub takes for a progress bar; it shows nothing and tells `watch`."""

    class Bar:
        def __init__(self, *_args: Any, initial: int = 0, **_options: Any) -> None:
            self.total = total
            self.n = initial
            self.update(0)

        def update(self, n: float | None = 1) -> None:
            self.n += int(n or 0)
            watch(Progress(model, file, min(self.n, total or self.n), total))

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_error: object) -> None:
            pass

        def close(self) -> None:
            pass

    return Bar


@contextlib.contextmanager
def reading(model: str, files: dict[str, dict[str, int]], watch: Watch) -> Iterator[None]:
    """While it lasts, transformers prints nothing, and its loops over weights tell `watch`.

    files: the bytes of each tensor by its name, by file; those of a GGUF together, under "".
    One load at a time reads; another one waits, and its watcher is told of no file meanwhile.
    """
    from transformers import modeling_gguf_pytorch_utils as gguf
    from transformers.utils import logging

    while not _reading.acquire(timeout=_WAIT_S):
        watch(Progress(model, "", 0, None))
    level, bars, thread = logging.get_verbosity(), logging.is_progress_bar_enabled(), threading.get_ident()
    totals = {file: sum(sizes.values()) for file, sizes in files.items()}
    homes = {key: (file, size) for file, sizes in files.items() for key, size in sizes.items()}
    done = dict.fromkeys(files, 0)

    def tensors(item: Any) -> list[tuple[str, int]]:
        """The file and size of each tensor that one turn of a loop takes."""
        if hasattr(item, "n_bytes"):
            return [(file, int(item.n_bytes)) for file in files]
        _name, loaded = item if isinstance(item, tuple) else (item, None)
        return [homes[key] for key in getattr(loaded, "collected_tensors", ()) if key in homes]

    def counted(items: Iterable[Any], **_options: Any) -> Iterator[Any]:
        for item in items:
            taken = tensors(item)
            yield item
            for file, size in taken:
                done[file] += size
                watch(Progress(model, file, done[file], totals[file]))

    def hook(factory: Callable[..., Any], args: Any, options: Any) -> Any:
        return counted(*args) if args and threading.get_ident() == thread else factory(*args, **options)

    before, bar = logging.set_tqdm_hook(hook), gguf.tqdm
    gguf.tqdm = counted
    logging.set_verbosity_error()  # what matters of its load report becomes an error of ours
    logging.disable_progress_bar()
    try:
        for file, total in totals.items():
            watch(Progress(model, file, 0, total))
        yield
        for file, total in totals.items():
            if done[file] < total:  # tensors that are taken together, or not at all
                watch(Progress(model, file, total, total))
    finally:
        gguf.tqdm = bar
        logging.set_tqdm_hook(before)
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
        _reading.release()
