"""A run under way: it waits in line, plays in a thread of its own, and stops when nobody looks at it any more."""

from __future__ import annotations

import logging
import secrets
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import specviz as sv
from specviz.i18n import _
from specviz.ui import events, hosting, pairs, working
from specviz.ui.settings import Settings
from specviz.ui.turns import Line, Place

_LEFT_S = 150.0  # a run that no page has asked for so long stops; a hidden tab asks once a minute
_GONE_S = 10.0  # the same once its browser has closed the connection: it may only be reloading the page
_LOOK_S = 0.2  # between two looks at whether a run that waits is still wanted
_PLACE_BYTES = 3000  # of memory for a draft or a final draw with its candidates
_FIRST_S, _GROWTH = 1.0, 1.7  # until a growing run is shown again, and how much longer each time than the time before

_log = logging.getLogger(__name__)

line = Line(hosting.LIMITS.decoding)  # of the runs of all sessions

Phase = Literal["waiting", "decoding", "racing", "ended"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a page shows: a trace of one round or more. alone: the target on its own, same prompt, if measured.

    n_bytes: of memory, about, for an opened file.
    """

    id: str
    trace: sv.Trace
    alone: sv.Trace | None = None
    phase: Phase = "ended"
    error: str | None = None
    n_bytes: int = 0

    @property
    def running(self) -> bool:
        return self.phase != "ended"


class Player:
    """A run under way: first with the draft, then the target alone on the same prompt, so that the two can be raced.

    It waits in line until it may decode, and then for its turn in each round. number: 1 when it is the next to begin, 2
    for the one after, 0 when it does not wait.
    """

    def __init__(self, settings: Settings) -> None:
        self.id = secrets.token_hex(8)
        self._settings = settings
        self._place: Place | None = None
        self._then: Callable[[], None] = lambda: None
        self._worked_s = 0.0
        self._changed = threading.Condition()
        self._trace: sv.Trace | None = None
        self._alone: sv.Trace | None = None
        self._phase: Phase = "waiting"  # for the models and its first turn
        self._error: str | None = None
        self._stopped = False
        self._asked_for = time.monotonic()
        self._steady: sv.Trace | None = None
        self._steady_until, self._patience = 0.0, _FIRST_S

    def start(self, then: Callable[[], None] = lambda: None) -> None:
        """Get in line, or end at once when the server does not give what is asked for. then: called at the end."""
        self._then, asked = then, self._settings
        try:
            text = "".join((asked.prompt, asked.system, *asked.sampling.get("bad_words", ())))
            hosting.check_run(text, draft_length=asked.draft_length, max_new_tokens=asked.max_new_tokens)
            hosting.check_waiting(line.waiting)
        except sv.SpecvizError as error:
            events.tell("run refused", run=self.id, reason=type(error).__name__)
            self._end(str(error))
        else:
            self._place = line.join()
            working.start(f"run {self.id}", self._play, self.stop)

    def stop(self) -> None:
        """The round under way is the last; the rounds so far stay. One that waits leaves the line at once."""
        with self._changed:
            self._stopped = True
        if self._place is not None and self._place.number:
            self._place.leave()

    def left(self) -> None:
        """The browser that asked for it has gone; unless another looks at it, the run stops soon."""
        with self._changed:
            self._asked_for = min(self._asked_for, time.monotonic() - _LEFT_S + _GONE_S)

    def wait(self, seconds: float) -> None:
        """Until there is a round to show, or it has ended, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._trace is not None or self._phase == "ended", seconds)

    @property
    def running(self) -> bool:
        with self._changed:
            return self._phase != "ended"

    @property
    def number(self) -> int:
        return self._place.number if self._place is not None else 0

    @property
    def n_bytes(self) -> int:
        """Of memory, about."""
        with self._changed:
            traces = [trace for trace in (self._trace, self._alone) if trace is not None]
        return sum(_PLACE_BYTES * places(trace) for trace in traces)

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
        error: str | None = None
        try:
            if self._let_in():
                events.tell("run started", run=self.id)
                pair = pairs.load(self._settings.models, self._look_up)  # once: others may load meanwhile
                self._keep_up(self._settings.start(pair), "decoding")
                if self._trace is not None and not self._stopped:
                    self._keep_up(self._settings.start_alone(pair, self._trace), "racing")
        except pairs.UnwantedError:
            pass
        except sv.SpecvizError as broken:
            error = str(broken)
            events.tell("run failed", run=self.id, reason=type(broken).__name__)
        except Exception as broken:  # out of memory, a driver: the rounds stay, the log has the rest, but no text
            kind = type(broken).__name__
            _log.error("a run broke: %s\n%s", kind, "".join(traceback.format_tb(broken.__traceback__)))
            events.tell("run failed", run=self.id, reason=kind)
            error = _("The run broke off ({kind}). The rounds so far stay; try again, or a shorter one.").format(
                kind=kind
            )
        finally:
            if self._place is not None:
                self._place.leave()
        self._end(error)

    def _look_up(self, _progress: object) -> None:
        """While the models load: stop that when nobody waits for them any more."""
        if self._unwanted():
            raise pairs.UnwantedError

    def _let_in(self) -> bool:
        """Wait in line; False when the run was not wanted any more before its time came."""
        while self._place is not None and not self._place.wait(_LOOK_S):
            if self._unwanted():
                return False
        return True

    def _end(self, error: str | None) -> None:
        with self._changed:
            self._error = error or self._error
            self._phase = "ended"
            trace = self._trace
            self._changed.notify_all()
        if trace is not None or error is None:  # one that failed before its first round has a line of its own
            n, rounds = (len(trace.tokens), len(trace.rounds)) if trace is not None else (0, 0)
            reason = trace.stop_reason if trace is not None else "cancelled"
            numbers = {"tokens": n, "rounds": rounds, "seconds": self._worked_s}
            events.tell("run ended", run=self.id, reason=reason, **numbers)
        self._then()

    def _keep_up(self, run: sv.Run, phase: Phase) -> None:
        """Play one run, round by round, as long as it is wanted and its time is not over."""
        with run:
            while not self._unwanted():
                if self._worked_s > hosting.LIMITS.work_s:
                    self._time_is_over()
                    return
                with pairs.decoding.turn():
                    start = time.monotonic()
                    round_ = next(run, None)
                    self._worked_s += time.monotonic() - start
                with self._changed:
                    self._phase = phase
                    if phase == "decoding":
                        self._trace = run.trace
                    elif round_ is None:
                        self._alone = run.trace
                    self._changed.notify_all()
                if round_ is None:
                    return

    def _time_is_over(self) -> None:
        told = _("This server decodes {n:.0f} seconds for one run, and they are over. The rounds so far stay.")
        events.tell("limit hit", run=self.id, reason="work_s")
        with self._changed:
            self._stopped = True
            self._error = told.format(n=hosting.LIMITS.work_s)

    def _unwanted(self) -> bool:
        with self._changed:
            self._stopped = self._stopped or time.monotonic() - self._asked_for > _LEFT_S
            return self._stopped


def places(trace: sv.Trace) -> int:
    """Drafts and final draws."""
    return trace.n_drafted + sum(round_.final is not None for round_ in trace.rounds)
