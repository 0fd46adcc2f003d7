"""Models being loaded, as a job: its progress is shown, and cancelling frees what was read so far."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

from specviz.i18n import _
from specviz.models.machine import size
from specviz.ui import pairs, working

if TYPE_CHECKING:
    from specviz.ui.jobs import Steps

_LOOK_S = 0.2  # between two looks at whether the load is still wanted


def steps(choice: pairs.Choice) -> Steps:
    """Load the models of a choice; the value is a `models.progress.Progress`, and at the end the choice.

    Raises SpecvizError when they cannot be loaded.
    """
    news: queue.SimpleQueue[Any] = queue.SimpleQueue()
    unwanted = threading.Event()

    def watch(progress: Any) -> None:
        if unwanted.is_set():
            raise pairs.UnwantedError
        if progress is not None:
            news.put(progress)

    def work() -> None:
        try:
            pairs.load(choice, watch)
            news.put(choice)
        except BaseException as error:
            news.put(error)

    working.start("load models", work, unwanted.set)
    share, value = 0.0, None
    try:
        while True:
            try:
                value = news.get(timeout=_LOOK_S)
            except queue.Empty:
                yield share, value
                continue
            if isinstance(value, BaseException):
                raise value
            if value is choice:
                yield 1.0, choice
                return
            share = value.done / value.total if value.total else 0.0
            yield share, value
    finally:
        unwanted.set()


def told(value: Any) -> str:
    """What is being read, and how much of it is there."""
    if value is None or isinstance(value, pairs.Choice):
        return _("Reading what the models are")
    if not value.file:
        return _("{model}: another load comes first").format(model=value.model)
    if not value.total:
        return _("{model}: {file}").format(model=value.model, file=value.file)
    return _("{model}: {file}, {done} of {total}").format(
        model=value.model, file=value.file, done=size(value.done), total=size(value.total)
    )


def count(n: int) -> str:
    """A number of parameters as people say it: 1.3M, 362M, 1.54B."""
    return f"{n / 1e9:.3g}B" if n >= 999.5e6 else f"{n / 1e6:.3g}M"
