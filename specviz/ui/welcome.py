"""What Home says: one sentence, the stage with a recorded run, a tour of its parts, and the way on."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import streamlit as st

from specviz import examples
from specviz.i18n import _
from specviz.timeline import steps
from specviz.ui import links, state
from specviz.ui.stage import stage

_ABOVE = 308  # pixels of the window over and under the stage: the navigation, the sentence and the tour


class _Stop(NamedTuple):
    """A stop of the tour: a part of the stage, the kind of step to show it at, its name and what to see."""

    part: str
    kind: str
    name: str
    told: str


def _tour() -> tuple[_Stop, ...]:
    return (
        _Stop("head", "draft", _("1. A round"), _("Draft, verify, judge, resample or bonus, emit: over and over.")),
        _Stop(
            "cards", "verify", _("2. The guesses"), _("The small model guesses K tokens. The large one checks them.")
        ),
        _Stop("told", "judge", _("3. In words"), _("What happens now, and its formula with the numbers filled in.")),
        _Stop("panels", "residual", _("4. In pictures"), _("The laws p and q, and where the random number fell.")),
        _Stop("text", "emit", _("5. The text"), _("It grows by what was accepted, and by one token more.")),
        _Stop("controls", "bonus", _("6. Your turn"), _("Play, step, scrub. Keys: Space, arrows, and ? for all.")),
    )


def show() -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="welcome"):
        st.html(
            f'<h1 class="sv-title">{escape(_("Watch speculative decoding"))}</h1><p class="sv-lead">'
            + escape(
                _(
                    "A small draft model guesses a few tokens, a large target model checks them in one pass, "
                    "and the text comes out exactly as the large model alone would draw it."
                )
            )
            + "</p>"
        )
        st.page_link(links.watch(), label=_("Run your own"))
        st.page_link(links.talk(), label=_("Give a talk"))
    st.fragment(_stage_and_tour)()


def _stage_and_tour() -> None:
    trace = examples.load(examples.NAMES[0])
    part = state.get(state.PART)
    stop = next((stop for stop in _tour() if stop.part == part), None)
    start = None
    if stop is not None:
        start = next(((s.round, s.index) for s in steps(trace) if s.kind == stop.kind), None)
    stage(trace, key="home_stage", start=start, autoplay=True, above=_ABOVE, spot=part)
    for place, each in zip(st.columns(len(_tour()), gap="small"), _tour(), strict=True):
        with place.container(gap="xxsmall"):
            st.button(
                f"▸ {each.name}" if each.part == part else each.name,
                type="primary" if each.part == part else "secondary",
                on_click=_look,
                args=(each.part,),
                key=f"tour_{each.part}",
                width="stretch",
            )
            st.html(f'<p class="sv-told">{escape(each.told)}</p>')
    if part is not None:
        st.button(_("End the tour"), on_click=_look, args=(None,), key="tour_end")


def _look(part: str | None) -> None:
    """A card of the tour was pressed: its part of the stage, or all of it when it was shown already."""
    state.put(state.PART, None if state.get(state.PART) == part else part)
