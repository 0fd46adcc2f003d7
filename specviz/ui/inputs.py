"""The inputs of calculators and labs. Each value is in the address under its key, so that a link holds the page.

Streamlit writes a widget's value into the address and reads it from there (`bind`). A value outlives a change of page,
and α, c and K are the same on every page that asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

from specviz import examples, measure
from specviz.i18n import _
from specviz.timeline import number as shown_number
from specviz.ui import runs, state

LONGEST = 64  # K
CHEAPEST, DEAREST = 0.1, 1000.0  # c

_T = TypeVar("_T")


def alpha(default: float = 0.8) -> float:
    """The acceptance rate, in [0, 1]."""
    return slider(state.ALPHA, _("Acceptance rate α"), 0.0, 1.0, default, step=0.01)


def draft_length(default: int = 4) -> int:
    """K, 1 to LONGEST."""
    return int(slider(state.K, _("Draft length K"), 1, LONGEST, default))


def cost_ratio(default: float = 10.0) -> float:
    """c = T_p/T_q, CHEAPEST to DEAREST."""
    told = _("How many draft passes take as long as one target pass. Leviathan et al. write c for the inverse.")
    return number(state.COST_RATIO, _("Cost ratio c = T_p/T_q"), CHEAPEST, DEAREST, default, step=1.0, told=told)


def surcharge() -> float:
    """s, the share of a plain target pass that each further position of a longer one costs, in [0, 1]."""
    told = _("What each guess adds to the target pass that checks it, as a share of a plain pass. The formulas take 0.")
    return number(state.SURCHARGE, _("Surcharge s per checked guess"), 0.0, 1.0, 0.0, step=0.01, told=told)


def slider(
    key: str, label: str, least: float, most: float, default: float, *, step: float = 1, disabled: bool = False
) -> Any:
    """A number on a slider: whole where the ends are."""
    digits = "%.4g" if isinstance(least, float) else None
    limits = {"min_value": least, "max_value": most, "value": default, "step": step, "format": digits}
    return _bound(st.slider, label, key, disabled=disabled, **limits)


def number(
    key: str, label: str, least: float, most: float, default: float, *, step: float, told: str | None = None
) -> Any:
    """A number in a box: whole where the ends are."""
    whole = isinstance(least, int)  # in a box of floats all the same: one of whole numbers fails on "inf" in a link
    limits = {"min_value": float(least), "max_value": float(most), "value": float(default), "step": float(step)}
    value = _bound(st.number_input, label, key, help=told, format="%.0f" if whole else "%.4g", **limits)
    return round(value) if whole else value


def text(key: str, label: str, default: str, *, told: str | None = None) -> str:
    """A line of text, as the reader wrote it."""
    return str(_bound(st.text_input, label, key, value=default, help=told))


def choice(key: str, label: str, options: Sequence[str], *, named: Callable[[str], str] = str) -> str:
    """One of a few, all to be seen. named: the word for an option, which is what the address holds."""
    chosen = _bound(
        st.segmented_control, label, key, options=options, default=options[0], required=True, format_func=named
    )
    return str(options[0] if chosen is None else chosen)  # an address may say that none is chosen


def pick(
    key: str, label: str, options: Sequence[str], *, default: str | None = None, named: Callable[[str], str] = str
) -> str:
    """One of several, from a list that opens; the first by default. named: an option's word, also in the address."""
    first = 0 if default is None else options.index(default)
    return str(_bound(st.selectbox, label, key, options=options, index=first, format_func=named))


def switch(key: str, label: str, *, default: bool = False, told: str | None = None) -> bool:
    """On or off."""
    return bool(_bound(st.toggle, label, key, value=default, help=told))


def span(key: str, label: str, least: float, most: float, *, step: float = 1, told: str | None = None) -> Any:
    """From where and to where, on a slider with two ends. Not kept: its ends belong to what the page shows now."""
    ends = st.slider(label, least, most, (least, most), step, key=key, bind="query-params", help=told)
    return min(ends), max(ends)  # a link may name them the other way round


def from_last_run() -> None:
    """A button that takes α̂, K, and c where it was measured, from the run on the stage, as near as inputs can go."""
    shown = last_run()
    rate = measure.alpha(shown.trace)
    if not rate.n:
        return
    values: dict[str, float] = {state.ALPHA: round(rate.estimate, 4)}
    values[state.K] = min(max(shown.trace.draft_length, 1), LONGEST)
    told = [f"α̂ = {shown_number(rate.estimate)}", f"K = {shown.trace.draft_length}"]
    if shown.alone is not None and shown.alone.rounds:
        compared = measure.compare(shown.trace, shown.alone)
        if 0 < compared.cost_ratio < math.inf:
            values[state.COST_RATIO] = round(min(max(compared.cost_ratio, CHEAPEST), DEAREST), 3)
            told.append(f"c = {shown_number(compared.cost_ratio)}")
        surcharge = (compared.pass_ratio - 1) / compared.draft_length
        if math.isfinite(surcharge):
            values[state.SURCHARGE] = round(min(max(surcharge, 0.0), 1.0), 4)
            told.append(f"s = {shown_number(values[state.SURCHARGE])}")
    st.button(_("Load from the last run"), on_click=take, args=(values,), key="from_last_run")
    st.html(f'<p class="sv-told">{", ".join(told)}</p>')


def last_run() -> runs.Shown:
    """The run that is on the stage: the reader's last one, or a recorded example."""
    held, name = state.get(state.HELD), state.get(state.SHOWN)
    found: runs.Shown | None = runs.find(name) or (held if held is not None and held.id == name else None)
    return found or runs.example(examples.NAMES[0])


def take(values: dict[str, Any]) -> None:
    """Set inputs by their keys, in a callback: a preset, or what was measured."""
    for key, value in values.items():
        state.put(key, value)
        state.get(state.KEPT)[key] = value


def _bound(widget: Callable[..., _T], label: str, key: str, **given: Any) -> _T:
    """The widget, its value in the address, and at first what the reader left there unless the address says more.

    At first: when this page draws it for the first time since the reader came. What another page's widget of this key
    left in the session is no value of this one, and Streamlit passes over it.
    """
    kept, drawn = state.get(state.KEPT), state.get(state.DRAWN)
    if key not in drawn:
        drawn.add(key)
        if key in kept and key not in st.query_params:
            state.put(key, kept[key])
    kept[key] = value = widget(label, key=key, bind="query-params", **given)
    return value
