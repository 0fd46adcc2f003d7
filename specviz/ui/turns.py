"""Fair lines: who came first is let in first, whichever thread the system would rather wake.

Runs decode one round at a time, and each lines up anew for its next round. So all runs that are let in get a round in
turn, and no text on a page stands still for longer than the rounds of the others take; a run that took all its rounds
at once would leave the others with nothing to watch. `threading.Lock` promises no order.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Line:
    """At most `room` are in at a time, the others wait in the order in which they came."""

    def __init__(self, room: int = 1) -> None:
        self._room = room
        self._places: list[Place] = []  # in the order of arrival: the first `room` are in
        self._lock = threading.Lock()

    def join(self) -> Place:
        """A place at the end of the line. It is kept until `Place.leave`."""
        place = Place(self)
        with self._lock:
            self._places.append(place)
            self._let_in()
        return place

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Line up, wait, be in, and leave."""
        place = self.join()
        try:
            place.wait()
            yield
        finally:
            place.leave()

    @property
    def waiting(self) -> int:
        """How many are not in yet."""
        with self._lock:
            return max(0, len(self._places) - self._room)

    def number(self, place: Place) -> int:
        """1 for the next to be let in, 2 for the one after; 0 for those who are in or have left."""
        with self._lock:
            return max(0, self._places.index(place) - self._room + 1) if place in self._places else 0

    def leave(self, place: Place) -> None:
        with self._lock:
            if place in self._places:
                self._places.remove(place)
                self._let_in()

    def _let_in(self) -> None:
        for place in self._places[: self._room]:
            place.let_in()


class Place:
    """One place in a line, from `Line.join`."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._in = threading.Event()

    def let_in(self) -> None:
        self._in.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Until it is in, or the time is over; whether it is in."""
        return self._in.wait(seconds)

    @property
    def number(self) -> int:
        """See `Line.number`."""
        return self._line.number(self)

    def leave(self) -> None:
        """Let the next one in. Leaving twice does no harm."""
        self._line.leave(self)
