"""What is on the stage: which run, where in it, and all that follows the stage, on the pages Watch and Talk.

A page takes one look at what there is (`begin`) and draws all of itself with it; while a run is under way it looks
again now and then, and is drawn anew when there is more to show.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import streamlit as st

import specviz as sv
from specviz import examples
from specviz.i18n import _
from specviz.ui import links, pairs, runs, shell, state, views, working
from specviz.ui.polling import poll
from specviz.ui.settings import Settings
from specviz.ui.stage import Position, stage

_POLL_S = 0.5  # between two looks at a run under way
_FIRST_S = 0.5  # that a page waits for the first round before it is drawn without
_ABOVE = 172  # pixels of the window over and under the stage on the Watch page
_NAMED = 36  # and those of the line that names the reader's own models
_SAID = 84  # and those of a sentence over it


def turn_to(name: str, start: tuple[int, int] | None = None) -> None:
    """Put this run on the stage, at a round and step from 0. What was wrong before is forgotten."""
    at = None if start is None else (name, start)  # a page that is opened next begins there too
    for key, value in ((state.SHOWN, name), (state.START, start), (state.AT, at)):
        state.put(key, value)
    state.put(state.ERROR, None)
    state.put(state.COMING, False)
    links.settle()


def play(settings: Settings) -> None:
    """Start a run. What is on the stage stays there until the new run has its first round."""
    stop()
    runs.play(settings, _take)


def _take(player: runs.Player) -> None:
    """Have it before it begins. Where another press comes, Streamlit cuts this one off at any access to the session.

    The player comes last: a run that no session has could not be stopped, and one that never began would never end.
    """
    working.when_left("run", player.left)
    state.put(state.ERROR, None)
    state.put(state.COMING, True)
    state.put(state.PLAYER, player)


def stop() -> None:
    player: runs.Player | None = state.get(state.PLAYER)
    if player is not None:
        player.stop()


def running() -> bool:
    """Whether the session's own run is under way."""
    player: runs.Player | None = state.get(state.PLAYER)
    return player is not None and player.running


def begin(*, entered: bool) -> runs.Shown:
    """One look at what is to be shown: what the address asks for, a run's first round, or what was there before.

    entered: the page was just opened, so the stage begins where the reader was on the page before.
    """
    asked = links.asked()
    if asked is not None:
        name, start = asked
        if runs.find(name) is not None:
            turn_to(name, start)
        else:
            told = _("The run of this link is not on the server any more. Its saved JSON can be opened again.")
            state.put(state.ERROR, told)
    elif entered:
        at = state.get(state.AT)
        state.put(state.START, at[1] if at is not None and at[0] == state.get(state.SHOWN) else None)
    player: runs.Player | None = state.get(state.PLAYER)
    if player is not None and state.get(state.COMING):
        player.wait(_FIRST_S)
    return _look()


def _look() -> runs.Shown:
    player: runs.Player | None = state.get(state.PLAYER)
    if player is not None and state.get(state.COMING):
        over = not player.running  # asked first: it may end, with all its rounds, between the two
        if player.shown() is not None:
            turn_to(player.id)
        elif over:  # it came to nothing
            state.put(state.COMING, False)
            state.put(state.ERROR, player.error)
    name, held = state.get(state.SHOWN), state.get(state.HELD)
    shown = player.shown() if player is not None and player.id == name else runs.find(name)
    if shown is None:  # the server has forgotten it; the session that shows it has not
        shown = held if held is not None and held.id == name else runs.example(examples.NAMES[0])
    state.put(state.SHOWN, shown.id)
    state.put(state.HELD, shown)
    return shown


def watch(shown: runs.Shown) -> None:
    """The stage and what follows it; a step redraws this part of the page only."""
    if state.get(state.MODELS).bundled:
        pairs.warm(state.get(state.DRAFT))
    st.fragment(_with_news)(shown, _watch)


def talk(shown: runs.Shown) -> None:
    """The stage alone, for a projector."""
    st.fragment(_with_news)(shown, _talk)


def _with_news(shown: runs.Shown, draw: Callable[[runs.Shown], None]) -> None:
    """Draw, and keep up; the news of a run that has no round yet come first."""
    coming = state.get(state.COMING)
    if coming:
        keep_up(shown)
    draw(shown)
    if not coming:
        keep_up(shown)


def keep_up(shown: runs.Shown) -> None:
    """Draw the page anew as long as a run is under way and there is more to show.

    A run can end while a page is being drawn that has not shown its first round: it is shown all the same.
    """
    if shown.running or running() or state.get(state.COMING):
        poll(_look_again, shown, running(), every=_POLL_S)


def _look_again(drawn: runs.Shown, was_running: bool) -> None:
    """While a run is under way: draw the page anew once there is more to show. To look costs next to nothing.

    Before its first round: say what it waits for, here, so that the line can move without a page drawn anew.
    """
    now = _look()
    if now.id != drawn.id or now.trace is not drawn.trace or now.phase != drawn.phase or running() != was_running:
        st.rerun()
    player: runs.Player | None = state.get(state.PLAYER)
    if player is not None and state.get(state.COMING):
        st.html(f'<p class="sv-waiting" role="status">{escape(_awaited(player.number))}</p>')


def _awaited(number: int) -> str:
    """What a run without a round waits for. number: its place in line, 0 when it may decode."""
    if number == 0:
        return _("Your run is next: the models are loading, once per server, or another run has its turn.")
    if number == 1:
        return _("Your run is next in line: it begins when one of the runs that take turns now has ended.")
    return _("Your run is number {n} in line: {before} before it, and those that take turns now.").format(
        n=number, before=number - 1
    )


def _watch(shown: runs.Shown) -> None:
    said = _say(shown)
    player: runs.Player | None = state.get(state.PLAYER)
    start = state.get(state.START)
    at = stage(
        shown.trace,
        key="watch_stage",
        start=start,
        autoplay=player is not None and player.id == shown.id and start is None,
        live=shown.phase == "decoding",
        above=_ABOVE + said + (0 if state.get(state.MODELS).bundled else _NAMED),
        link=shown.id,
    )
    views.follow(shown, _rested(shown, at))


def _talk(shown: runs.Shown) -> None:
    said = _say(shown)
    start, live = state.get(state.START), shown.phase == "decoding"
    at = stage(shown.trace, key="talk_stage", start=start, live=live, talk=True, above=said, link=shown.id)
    _rested(shown, at)


def _say(shown: runs.Shown) -> int:
    """What went wrong, over the stage. Returns the pixels that this, or what is waited for, takes."""
    error = state.get(state.ERROR) or shown.error
    if error:
        st.error(shell.plain(error))
    elif not state.get(state.COMING):
        return 0
    return _SAID


def _rested(shown: runs.Shown, at: Position | None) -> Position:
    """Where the stage stands, as far as it is known; remembered for the other pages."""
    if at is not None:
        state.put(state.AT, (shown.id, tuple(at)))
    place = at or Position(*(state.get(state.START) or (0, 0)))
    return Position(max(0, min(place.round, len(shown.trace.rounds) - 1)), place.step)


def downloads(shown: runs.Shown) -> None:
    """The run that is shown as files, made when asked for: everything until then, also of a run under way."""

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
            file_name=f"specviz-{shown.id}.{kind}",
            mime=mime,
            on_click="ignore",
            key=f"{kind}_button",
            width="stretch",
        )
