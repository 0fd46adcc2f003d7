"""The runs and opened files that the server keeps by their id, the last ones, so that a link finds them.

What a page shows is a `Shown`: a run, a bundled example, or an opened file. Ids are random: whoever has no link to a
run cannot come by it.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import IO

import specviz as sv
from specviz import examples
from specviz.i18n import _
from specviz.ui import events, hosting
from specviz.ui.player import Phase, Player, Shown, places
from specviz.ui.settings import Settings

__all__ = ["Phase", "Player", "Shown", "example", "find", "open_file", "play", "whole"]

_FILE_GROWTH = 12  # of memory for each byte of a file, at most: lists of texts of two letters take the most

_kept: OrderedDict[str, Player | Shown] = OrderedDict()
_lock = threading.Lock()


def play(settings: Settings, take: Callable[[Player], None] = lambda _player: None) -> Player:
    """A new run: playing already, or in line, or refused and ended. take: given the run before it begins."""
    player = Player(settings)
    take(player)
    _keep(player)
    player.start(then=_forget)
    return player


def open_file(file: IO[bytes]) -> Shown:
    """A trace that was saved as JSON. Raises TraceError, in a sentence, when it is none."""
    try:
        opened = _open(file)
    except sv.SpecvizError as error:
        events.tell("upload refused", reason=type(error).__name__)
        raise
    _keep(opened)
    return opened


def _open(file: IO[bytes]) -> Shown:
    most = hosting.LIMITS.upload_bytes
    n_bytes = len(file.read(most + 1))
    hosting.check_upload(n_bytes)
    file.seek(0)
    trace = sv.Trace.from_json(file)
    if not trace.rounds:
        raise sv.TraceError(_("this trace holds no rounds, so there is nothing to show"))
    hosting.check_places(places(trace))
    return Shown(secrets.token_hex(8), trace, n_bytes=_FILE_GROWTH * n_bytes)


def find(name: str) -> Shown | None:
    """The example of this name, or the run or file of this id; None when the server has no round of it (any more)."""
    if name in examples.NAMES:
        return example(name)
    with _lock:
        kept = _kept.get(name)
        if kept is not None:
            _kept.move_to_end(name)
    return kept.shown() if isinstance(kept, Player) else kept


def example(name: str) -> Shown:
    """A bundled run."""
    return Shown(name, examples.load(name), examples.alone(name))


def whole(shown: Shown) -> sv.Trace:
    """Everything so far of what is shown, which may be more than a page was drawn with."""
    with _lock:
        kept = _kept.get(shown.id)
    return (kept.trace if kept is not None else None) or shown.trace


def _keep(kept: Player | Shown) -> None:
    with _lock:
        _kept[kept.id] = kept
    _forget(but=kept.id)


def _forget(but: str = "") -> None:
    """Drop what came to nothing, and the least recently seen, ended ones first, until the rest is few and small."""
    limits = hosting.LIMITS
    with _lock:
        for id in [id for id, one in _kept.items() if id != but and not one.running and one.trace is None]:
            del _kept[id]  # its session says why; kept, a hundred of these would push out the runs of others
        sizes = {id: one.n_bytes for id, one in _kept.items()}
        ended = [id for id, one in _kept.items() if not one.running]
        going = [id for id in (*ended, *(id for id in _kept if id not in ended)) if id != but]
        while going and (len(sizes) > limits.kept or sum(sizes.values()) > limits.kept_bytes):
            oldest = going.pop(0)
            del sizes[oldest]
            gone = _kept.pop(oldest)
            if isinstance(gone, Player):
                gone.stop()
