"""The session's run: asked for, played round by round, stopped. Nothing runs between two rounds.

The page plays rounds at its end and shows each. A click on any widget starts the page anew; it finds the run in the
session and plays on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from streamlit import rerun, spinner

import specviz as sv
from specviz.i18n import _
from specviz.ui import pairs, state

_FRAME_S = 0.1  # between two updates of the text
_PAGE_S = 1.0  # between two updates of the whole page

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the widgets said when Run was pressed. The engine judges them, so that there is one judge."""

    prompt: str
    draft: str
    draft_length: int
    temperature: float
    top_k: int | None
    top_p: float | None
    min_p: float | None
    seed: int | None
    max_new_tokens: int

    def start(self) -> sv.Run:
        """Raises SpecvizError when a setting is out of range or the models cannot be loaded."""
        sampling = sv.Sampling(self.temperature, self.top_k, self.top_p, self.min_p)
        return sv.stream(
            pairs.load(self.draft),
            self.prompt,
            draft_length=self.draft_length,
            max_new_tokens=self.max_new_tokens,
            sampling=sampling,
            seed=self.seed,
        )


class Player:
    """A run that is played by whichever script thread took the last turn.

    Streamlit starts a new thread for a rerun while the one before may still be inside a round, so all that touches the
    run holds a lock, and a thread that has lost its turn stops playing.
    """

    def __init__(self, run: sv.Run) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._turn = 0
        self.running = True
        self.error: str | None = None

    @property
    def trace(self) -> sv.Trace:
        """The rounds so far."""
        with self._lock:
            return self._run.trace

    def stop(self) -> None:
        """Stop the work; the rounds so far stay."""
        with self._lock:
            self._run.close()
            self.running = False

    def play(self) -> Iterator[sv.Trace]:
        """The trace after each further round, until the run ends or somebody else plays it."""
        with self._lock:
            self._turn += 1
            mine = self._turn
        while True:
            with self._lock:
                if not self.running or self._turn != mine:
                    return
                try:
                    next(self._run)
                except StopIteration:
                    self.running = False
                except sv.SpecvizError as error:
                    self.running, self.error = False, str(error)
                except Exception as error:  # out of memory, a driver: the rounds stay, the log has the rest
                    _log.exception("a run broke")
                    self.running, self.error = False, _unforeseen(error)
                trace = self._run.trace
            yield trace


def _unforeseen(error: Exception) -> str:
    return _("The run broke off ({kind}). The rounds so far stay; try again, or a shorter one.").format(
        kind=type(error).__name__
    )


def ask() -> None:
    """Run was pressed: take the settings down; the page starts the run where its progress is shown."""
    stop()
    asked = Settings(
        prompt=state.get(state.PROMPT),
        draft=state.get(state.DRAFT),
        draft_length=state.get(state.DRAFT_LENGTH),
        temperature=state.get(state.TEMPERATURE),
        top_k=state.get(state.TOP_K),
        top_p=state.get(state.TOP_P),
        min_p=state.get(state.MIN_P),
        seed=state.get(state.SEED),
        max_new_tokens=state.get(state.MAX_NEW_TOKENS),
    )
    for key, value in ((state.ASKED, asked), (state.RUN, None), (state.ERROR, None), (state.ROUND, 1)):
        state.put(key, value)
    state.put(state.PLACE, None)


def stop() -> None:
    """Stop was pressed."""
    player = current()
    if player is not None:
        player.stop()
    state.put(state.ASKED, None)


def running() -> bool:
    """Whether rounds are being played, or about to be."""
    player = current()
    return state.get(state.ASKED) is not None or (player is not None and player.running)


def trace() -> sv.Trace | None:
    """Everything so far, or None before the first run."""
    player = current()
    return None if player is None else player.trace


def error() -> str | None:
    """What went wrong, in a sentence."""
    player = current()
    return state.get(state.ERROR) or (None if player is None else player.error)


def prepare() -> None:
    """Start the run that was asked for; without one, load the models ahead of it."""
    asked: Settings | None = state.get(state.ASKED)
    try:
        with spinner(_("Loading the models: a few seconds, once per server")):
            if asked is None:
                pairs.load(state.get(state.DRAFT))
            else:
                state.put(state.RUN, Player(asked.start()))
    except (sv.SpecvizError, RuntimeError, MemoryError) as wrong:
        state.put(state.ERROR, str(wrong) if isinstance(wrong, sv.SpecvizError) else _unforeseen(wrong))
        if asked is not None:
            state.put(state.ASKED, None)
            rerun()  # Stop was drawn as if a run were coming
    state.put(state.ASKED, None)


def play(show: Callable[[sv.Trace], None]) -> None:
    """Play rounds and show them; once a second, and at the end, draw the whole page again."""
    player = current()
    if player is None or not player.running:
        return
    started = shown = time.monotonic()
    patience = _PAGE_S if player.trace.rounds else 0.0  # the first round is drawn at once
    for under_way in player.play():
        now = time.monotonic()
        if now - started >= patience:
            rerun()
        if now - shown >= _FRAME_S:
            show(under_way)
            shown = now
    rerun()


def current() -> Player | None:
    """The player of the last run, or None before the first."""
    player: Player | None = state.get(state.RUN)
    return player
