"""The stage as a Streamlit component: a trace goes in, and where the viewer rests comes out.

The position lives in the browser. A rerun of the page with the same key neither remounts the stage nor pauses it, and
a trace that has grown extends what is playing.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import streamlit as st

from specviz.errors import ConfigError
from specviz.records import Trace
from specviz.replay import payload, script, style

SPOTS = (None, "head", "text", "cards", "told", "panels", "controls")
_MOUNT = "export default function (component) {\n  return streamlit(component);\n}\n"


class Position(NamedTuple):
    """A step of a round, both from 0."""

    round: int
    step: int


def stage(
    trace: Trace,
    *,
    key: str,
    start: tuple[int, int] | None = None,
    autoplay: bool = False,
    live: bool = False,
    talk: bool = False,
    above: int = 92,
    spot: str | None = None,
    link: str | None = None,
    until: int | None = None,
) -> Position | None:
    """Show the stage and return where the viewer rests: None until the first pause, step or jump.

    start: round and step to open at, from 0; changing it later jumps there. autoplay: play when it appears.
    live: more rounds are coming, so the end of the trace is waited at.
    talk: large text, for a projector, and the keys of a talk (full screen, blank, light or dark, notes).
    above: pixels of the window that the stage leaves to the page around it.
    spot: the part that is shown in a ring while the others step back: "head", "text", "cards", "told" (title and
    caption), "panels" or "controls". It changes nothing else.
    link: the run's name in the page's address (`?run=`), where the stage then keeps round and step up to date.
    until: how many steps of the last round are shown (None: all). The rest is not told yet; a change plays anew.
    Raises ConfigError for an unknown spot.
    """
    if spot not in SPOTS:
        raise ConfigError(f"spot must be one of {', '.join(map(repr, SPOTS))}, got {spot!r}")
    data: dict[str, Any] = {
        "payload": payload(trace) if until is None else _cut(payload(trace), until),
        "start": start and list(start),
        "autoplay": autoplay,
        "live": live,
        "talk": talk,
        "above": above,
        "spot": spot,
        "link": link,
    }
    result = _component()(key=key, data=data, on_position_change=_nothing)
    at = getattr(result, "position", None)
    if at is None or at.get("link") != link:  # nothing yet, or where the run that stood here before was left
        return None
    return Position(int(at["round"]), int(at["step"]))


def _cut(whole: dict[str, Any], until: int) -> dict[str, Any]:
    """The run without what follows so many steps of its last round; under another name, so that it is drawn anew."""
    *before, last = whole["rounds"]
    spans = [span for span in last["spans"] if span[1] < until]
    shown = last | {"steps": last["steps"][:until], "spans": spans}
    if not any(step["k"] in ("residual", "bonus") for step in shown["steps"]):
        shown["final"] = ["", "open", ""]  # so that nothing tells how the round will end
    return whole | {"run": f"{whole['run']}-{until}", "rounds": [*before, shown]}


def _nothing() -> None:
    """A state that nobody listens to is not kept."""


@cache
def _component() -> Any:
    return st.components.v2.component("specviz_stage", css=style(), js=script() + "\n" + _MOUNT)
