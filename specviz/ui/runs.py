"""Runs: each plays in a thread of its own, and the server keeps the last ones by their id, so that a link finds them.

A run that nobody looks at any more stops. What a page shows is a `Shown`: a run, a bundled example, or an opened file.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import IO, Literal

import specviz as sv
from specviz import examples
from specviz.i18n import _
from specviz.ui import pairs
from specviz.ui.settings import Settings

KEPT = 32  # runs and opened files that the server remembers, the least recently seen go first
_LEFT_S = 60.0  # a run that no page has asked for so long stops
_FIRST_S, _GROWTH = 1.0, 1.7  # until a growing run is shown again, and how much longer each time than the time before

_log = logging.getLogger(__name__)

Phase = Literal["waiting", "decoding", "racing", "ended"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows: a trace of one round or more. alone: the target on its own, same prompt, if measured."""

    id: str
    trace: sv.Trace
    alone: sv.Trace | None = None
    phase: Phase = "ended"
    error: str | None = None

    @property
    def running(self) -> bool:
        return self.phase != "ended"


class Player:
    """A run under way: first with the draft, then the target alone on the same prompt, so that the two can be raced."""

    def __init__(self, settings: Settings) -> None:
        self.id = secrets.token_hex(8)
        self._settings = settings
        self._changed = threading.Condition()
        self._trace: sv.Trace | None = None
        self._alone: sv.Trace | None = None
        self._phase: Phase = "waiting"  # for the models and its first turn
        self._error: str | None = None
        self._stopped = False
        self._asked_for = time.monotonic()
        self._steady: sv.Trace | None = None
        self._steady_until, self._patience = 0.0, _FIRST_S

    def start(self) -> None:
        threading.Thread(target=self._play, name=f"run {self.id}", daemon=True).start()

    def stop(self) -> None:
        """The round under way is the last; the rounds so far stay."""
        with self._changed:
            self._stopped = True

    def wait(self, seconds: float) -> None:
        """Until there is a round to show, or it has ended, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._trace is not None or self._phase == "ended", seconds)

    @property
    def running(self) -> bool:
        with self._changed:
            return self._phase != "ended"

    @property
    def trace(self) -> sv.Trace | None:
        """Everything so far."""
        with self._changed:
            return self._trace

    @property
    def error(self) -> str | None:
        with self._changed:
            return self._error

    def shown(self) -> Shown | None:
        """What a page shows now, None before the first round.

        A run that grows is shown less and less often, since each time all of it is sent.
        """
        with self._changed:
            now = self._asked_for = time.monotonic()
            if self._trace is None:
                return None
            if self._phase != "decoding":
                self._steady = self._trace
            elif now >= self._steady_until:
                self._steady = self._trace
                self._steady_until = now + self._patience
                self._patience *= _GROWTH
            return Shown(self.id, self._steady or self._trace, self._alone, self._phase, self._error)

    def _play(self) -> None:
        try:
            self._keep_up(self._settings.start(), "decoding")
            if self._trace is not None and not self._stopped:
                self._keep_up(self._settings.start_alone(self._trace), "racing")
        except sv.SpecvizError as error:
            self._error = str(error)
        except Exception as error:  # out of memory, a driver: the rounds stay, the log has the rest
            _log.exception("a run broke")
            self._error = _("The run broke off ({kind}). The rounds so far stay; try again, or a shorter one.").format(
                kind=type(error).__name__
            )
        with self._changed:
            self._phase = "ended"
            self._changed.notify_all()

    def _keep_up(self, run: sv.Run, phase: Phase) -> None:
        """Play one run, round by round, as long as it is wanted."""
        with run:
            while not self._unwanted():
                with pairs.decoding.turn():
                    round_ = next(run, None)
                with self._changed:
                    self._phase = phase
                    if phase == "decoding":
                        self._trace = run.trace
                    elif round_ is None:
                        self._alone = run.trace
                    self._changed.notify_all()
                if round_ is None:
                    return

    def _unwanted(self) -> bool:
        with self._changed:
            self._stopped = self._stopped or time.monotonic() - self._asked_for > _LEFT_S
            return self._stopped


_kept: OrderedDict[str, Player | Shown] = OrderedDict()
_lock = threading.Lock()


def play(settings: Settings) -> Player:
    """A new run, playing already."""
    player = Player(settings)
    _keep(player)
    player.start()
    return player


def open_file(file: IO[bytes]) -> Shown:
    """A trace that was saved as JSON. Raises TraceError, in a sentence, when it is none."""
    opened = Shown(secrets.token_hex(8), sv.Trace.from_json(file))
    if not opened.trace.rounds:
        raise sv.TraceError(_("this trace holds no rounds, so there is nothing to show"))
    _keep(opened)
    return opened


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
        while len(_kept) > KEPT:
            ended = (
                id for id, one in _kept.items() if not (isinstance(one, Player) and one.running) and one is not kept
            )
            oldest = _kept.pop(next(ended, next(iter(_kept))))
            if isinstance(oldest, Player):
                oldest.stop()
