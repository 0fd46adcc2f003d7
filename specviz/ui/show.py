"""What is on the stage: which run, where in it, and all that follows the stage, on the pages Watch and Talk."""

from __future__ import annotations

import streamlit as st

import specviz as sv
from specviz import examples
from specviz.i18n import _
from specviz.ui import links, pairs, runs, shell, state, views
from specviz.ui.stage import Position, stage

_POLL_S = 0.5  # between two looks at a run under way
_FIRST_S = 1.0  # that a page waits for the first round before it is drawn without
ABOVE = 172  # pixels of the window over and under the stage on the Watch page


def turn_to(name: str, start: tuple[int, int] | None = None) -> None:
    """Put this run on the stage, at a round and step from 0. What was wrong before is forgotten."""
    state.put(state.ERROR, None)
    state.put(state.SHOWN, name)
    state.put(state.START, start)


def begin(*, entered: bool) -> None:
    """Open what the address asks for, or say that the server does not have it. entered: the page was just opened."""
    asked = links.asked()
    if asked is None:
        at = state.get(state.AT)
        if entered and at is not None and at[0] == state.get(state.SHOWN):
            state.put(state.START, at[1])  # back on this page: where the reader was
        return
    name, start = asked
    if runs.find(name) is None:
        told = _("The run of this link is not on the server any more. Its saved JSON can be opened again.")
        state.put(state.ERROR, told)
    else:
        turn_to(name, start)


def running() -> bool:
    """Whether the session's own run is under way."""
    player: runs.Player | None = state.get(state.PLAYER)
    return player is not None and player.running


def current() -> runs.Shown:
    """What is to be shown. A run that came to nothing gives way to what was there before it."""
    shown = runs.find(state.get(state.SHOWN))
    if shown is not None and (shown.trace is not None or shown.running):
        return shown
    turn_to(state.get(state.BEFORE))
    if shown is not None:
        state.put(state.ERROR, shown.error)
    return runs.find(state.get(state.BEFORE)) or runs.find(examples.NAMES[0])  # type: ignore[return-value]


def watch() -> None:
    """The stage and what follows it; a step redraws this part of the page only, and so does a run that grows."""
    pairs.warm(state.get(state.DRAFT))
    shown = current()
    st.fragment(_watch)()
    if shown.running:
        st.fragment(_look_again, run_every=_POLL_S)()


def _look_again() -> None:
    """While a run is under way: draw the page anew once there is more to show. To look costs next to nothing."""
    now = current()
    if now.trace is not state.get(state.DRAWN) or not now.running:
        st.rerun()


def _watch() -> None:
    shown = current()
    player: runs.Player | None = state.get(state.PLAYER)
    mine = player is not None and player.id == shown.id
    if player is not None and mine and shown.trace is None:
        player.wait(_FIRST_S)
        shown = current()
    state.put(state.DRAWN, shown.trace)
    error = state.get(state.ERROR) or shown.error
    if error:
        st.error(shell.plain(error))
    if shown.trace is None:
        st.html(views.waiting_html())
        return
    start = state.get(state.START)
    at = stage(
        shown.trace,
        key="watch_stage",
        start=start,
        autoplay=mine and start is None,
        live=shown.phase in ("loading", "decoding"),
        above=ABOVE,
        link=shown.id,
    )
    views.follow(shown, _rested(shown, at))


def _rested(shown: runs.Shown, at: Position | None) -> Position:
    """Where the stage stands, as far as it is known; remembered for the other pages."""
    if at is not None:
        state.put(state.AT, (shown.id, tuple(at)))
    place = at or Position(*(state.get(state.START) or (0, 0)))
    n = len(shown.trace.rounds) if shown.trace else 0
    return Position(max(0, min(place.round, n - 1)), place.step)


def talk() -> None:
    """The stage alone, for a projector; the address keeps the place."""
    shown = current()
    if shown.trace is None:
        shown = runs.find(examples.NAMES[0])  # type: ignore[assignment]
    assert shown.trace is not None
    st.fragment(_talk)(shown)


def _talk(shown: runs.Shown) -> None:
    assert shown.trace is not None
    at = stage(shown.trace, key="talk_stage", start=state.get(state.START), talk=True, above=0, link=shown.id)
    _rested(shown, at)


def downloads() -> None:
    """The run that is shown as files, made when asked for: everything until then, also of a run under way."""
    shown = current()

    def trace() -> sv.Trace:
        return runs.whole(shown)

    for label, kind, mime, write in (
        (_("Table (CSV)"), "csv", "text/csv", lambda: trace().to_csv() or ""),
        (_("Whole record (JSON)"), "json", "application/json", lambda: trace().to_json() or ""),
        (_("Animated page (HTML)"), "html", "text/html", lambda: trace().to_html() or ""),
    ):
        st.download_button(
            label,
            write,
            file_name=f"specviz.{kind}",
            mime=mime,
            on_click="ignore",
            key=f"{kind}_button",
            width="stretch",
            disabled=shown.trace is None and not shown.running,
        )
