"""Parts of a page that are looked at again and again, as long as something is under way.

Streamlit can lose the last messages of a page: a look that comes in after the page's script has ended, and before all
that it said is sent, gets a new script, and what is left of the old one is dropped (`AppSession` passes over events of
a runner that is not its own any more). With it goes the wish to be looked at again, and the page would stand still. So
each look asks for the next one; a browser that has that wish already passes over it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState


def poll(look: Callable[..., None], *args: Any, every: float | None) -> None:
    """Draw a part of the page now, and again every so many seconds; None: only where a look is still on its way.

    To be drawn at one place of the page, so that a look finds what it is for after the page was drawn anew.
    """

    @wraps(look)
    def again(*args: Any) -> None:
        if every is not None and looked_at():
            _ask_for_the_next(every)
        look(*args)

    st.fragment(again, run_every=every)(*args)


def looked_at() -> bool:
    """Whether only a part of the page is drawn, at the wish of a browser."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and bool(context.fragment_ids_this_run)


def _ask_for_the_next(every: float) -> None:
    context, part = get_script_run_ctx(suppress_warning=True), ThreadState.get().fragment_id
    if context is not None and part is not None:
        message = ForwardMsg()
        message.auto_rerun.interval, message.auto_rerun.fragment_id = every, part
        context.enqueue(message)
