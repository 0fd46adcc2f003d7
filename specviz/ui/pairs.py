"""The bundled pairs, loaded once per server. Sessions share the weights; each run has caches of its own."""

from __future__ import annotations

import contextlib
import os
import threading
from functools import cache
from typing import TYPE_CHECKING

import streamlit as st

from specviz.drafters import named
from specviz.models import presets
from specviz.ui.turns import Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from specviz.decoding import Run
    from specviz.models.base import Pair
    from specviz.records import Round

decoding = Line()  # in for a round: runs take turns, since two at once only slow each other down


@st.cache_resource(show_spinner=False, max_entries=8)
def load(draft: str) -> Pair:
    """The bundled target with this draft, a model or a way to draft. torch is imported here, on first use.

    It gets one thread, unless the environment says otherwise: passes this small gain nothing by a second one, and on a
    server whose browser shares the cores, the two wait for each other. The first passes of a process are slower than
    all others, so they are made here.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import specviz as sv

    way = named(draft)
    if way is None:
        pair = sv.load_pair(draft=draft)
    else:
        models = load(presets.DRAFT)
        pair = sv.Pair(models.target, way, models.tokenizer)
    sv.speculate(pair, "a", max_new_tokens=8, seed=0)
    return pair


def in_turn(run: Run) -> Iterator[Round]:
    """The rounds of a run, each in its turn among the runs of all sessions. The run is closed at the end."""
    with run:
        while True:
            with decoding.turn():
                round_ = next(run, None)
            if round_ is None:
                return
            yield round_


@cache
def warm(draft: str) -> None:
    """Load the pair while the reader looks around, once. What goes wrong is said by the run that needs it."""
    threading.Thread(target=_load_quietly, args=(draft,), name=f"load {draft}", daemon=True).start()


def _load_quietly(draft: str) -> None:
    with contextlib.suppress(Exception):
        load(draft)
