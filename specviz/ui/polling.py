"""Parts of a page that are looked at again and again, as long as something is under way."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import wraps
from typing import Any

import streamlit as st

_drawn = itertools.count()


def poll(look: Callable[..., None], *args: Any, every: float) -> None:
    """Draw a part of the page now, and again every so many seconds, until what it is a part of is drawn anew.

    Each time under a name of its own: Streamlit passes over a look at a part that is not there any more. Under one name
    a look that comes in late, after the script of a newer page and before all that it said is sent, would get a script
    of its own, and the rest of the page were lost (`AppSession.request_rerun` tells of that).
    """

    @wraps(look)
    def again(*args: Any) -> None:
        look(*args)

    again.__qualname__ = f"{look.__qualname__}.{next(_drawn)}"
    st.fragment(again, run_every=every)(*args)
