"""Two laws as bars to drag, by pointer or keys, as a Streamlit component. What it sends comes when a drag has ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import streamlit as st

from specviz.i18n import _
from specviz.replay import script

_MOUNT = "export default function (component) {\n  return streamlitBars(component);\n}\n"
_STYLE = """
.bars { font: 400 0.875rem/1.2 var(--st-font); color: var(--st-text-color); font-variant-numeric: tabular-nums; }
.head { display: flex; gap: 1rem; margin-bottom: 0.25rem; color: var(--sv-muted); }
.head b { font-weight: 400; }
.head b::before { content: ""; display: inline-block; width: 1.1rem; height: 0.6rem; margin-right: 0.35rem; }
.list { display: grid; grid-template-columns: minmax(1.5rem, auto) 0.6rem minmax(4rem, 1fr) 3rem; column-gap: 0.4rem; }
.row { grid-column: 1 / -1; display: grid; grid-template-columns: subgrid; align-items: center; padding: 0.2rem 0;
  border-top: 1px solid var(--sv-line); }
.row[hidden] { display: none; }
.name { grid-row: 1 / span 2; max-width: 5.5rem; overflow: hidden; text-overflow: ellipsis; white-space: pre;
  font-weight: 600; }
.letter { color: var(--sv-muted); font-family: serif; }
.track { height: 1.375rem; display: flex; align-items: center; cursor: ew-resize; touch-action: pan-y;
  border-radius: 3px; position: relative; }
.track::before { content: ""; position: absolute; inset: 0.28rem 0; background: var(--sv-surface); border-radius: 3px;
  box-shadow: inset 0 0 0 1px var(--sv-line); }
.track:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
.fill { position: relative; height: 0.825rem; min-width: 0; border-radius: 2px 0 0 2px; }
.fill::after { content: ""; position: absolute; right: -4px; top: -3px; bottom: -3px; width: 6px; border-radius: 3px;
  background: var(--st-text-color); border: 1px solid var(--sv-background); }
.is-p.fill, .head .is-p::before { background: var(--sv-target); }
.is-q.fill, .head .is-q::before { outline: 1.5px dashed var(--sv-draft); outline-offset: -1.5px;
  background: repeating-linear-gradient(135deg, var(--sv-draft) 0 2px, transparent 2px 6px); }
.number { text-align: right; }
"""


def bars(
    names: Sequence[str],
    target_weights: Sequence[float],
    draft_weights: Sequence[float],
    *,
    key: str,
    on_move: Callable[[], None],
) -> None:
    """Bars of both laws' weights, a row of two for each name. on_move is called when the reader has moved some.

    names: shown as text. The weights are at least 0; a track ends at 1, or at the greatest weight. What was moved to
    is then in `moved(key)`.
    """
    data = {
        "names": list(names),
        "p": list(target_weights),
        "q": list(draft_weights),
        "top": max(1.0, *target_weights, *draft_weights),
        "told": {
            "all": _("The two laws, as bars"),
            "target": _("p, the target"),
            "draft": _("q, the draft"),
            "p": _("p of {token}, the target"),
            "q": _("q of {token}, the draft"),
        },
    }
    _component()(key=key, data=data, on_weights_change=on_move)


def moved(key: str) -> tuple[list[float], list[float]] | None:
    """The weights of the target and of the draft after the last move; None before one."""
    weights = (st.session_state.get(key) or {}).get("weights")
    return weights and (list(map(float, weights["p"])), list(map(float, weights["q"])))


@cache
def _component() -> Any:
    return st.components.v2.component("specviz_bars", css=_STYLE, js=script("bars") + "\n" + _MOUNT)
