"""The models behind the pages, loaded once per server. Sessions share the weights; each run has caches of its own.

The bundled pair stays once it is there. Of all other models one pair is kept: choosing another frees the memory first.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
import threading
import time
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import streamlit as st

from specviz.drafters import named
from specviz.i18n import _
from specviz.models import presets
from specviz.ui import events, hosting, working
from specviz.ui.turns import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from specviz.decoding import Run
    from specviz.models.base import Pair
    from specviz.records import Round, Trace

    Watcher = Callable[[Any], None]  # takes models.load.Progress, or None while another load is under way

decoding = Line()  # in for a round: runs take turns, since two at once only slow each other down

_log = logging.getLogger(__name__)
_WAIT_S = 0.2  # between two looks at whether a load is still wanted


@dataclass(frozen=True, slots=True)
class Choice:
    """Which models decode: what `load_pair` is asked for.

    draft: a model, or a way to draft without one. device, dtype: for both, or (target's, draft's).
    """

    target: str = presets.TARGET
    draft: str = presets.DRAFT
    device: str | tuple[str, str] = "auto"
    dtype: str = "auto"
    quantize: str | None = None
    device_map: str | None = None

    @property
    def bundled(self) -> bool:
        """Whether it needs nothing but what ships inside."""
        return self.target == presets.TARGET and (self.draft in presets.NAMED or named(self.draft) is not None)

    def made(self, trace: Trace) -> bool:
        """Whether these models made the trace."""
        way = named(self.draft)
        name = self.draft if way is None else way.name
        of_draft = trace.draft is None or trace.draft == name or trace.draft.startswith(f"{name}, ")  # at some pace
        return trace.target == self.target and of_draft


class UnwantedError(Exception):
    """What a watcher raises to stop a load that nobody waits for; no reader sees it."""


@dataclass(frozen=True, slots=True)
class _Kept:
    choice: Choice
    pair: Pair


_kept: _Kept | None = None  # the pair beside the bundled one
_loading = threading.Lock()  # held by the one load that is under way


def load(choice: Choice, watch: Watcher | None = None) -> Pair:
    """The models of a choice, from memory where they are there. Raises SpecvizError, and whatever `watch` raises.

    watch: told of the progress now and then; when it raises, the load stops and its memory is freed.
    """
    hosting.check_pair(choice.target, choice.draft)
    if choice.bundled:
        return _bundled(choice.draft)
    while not _loading.acquire(timeout=_WAIT_S):
        if watch:
            watch(None)
    try:
        return _load_own(choice, watch)
    finally:
        _loading.release()


def is_loaded(choice: Choice) -> bool:
    """Whether a run with these models begins at once."""
    kept = _kept
    return choice.bundled or (kept is not None and _serves(kept.choice, choice))


def speaks(choice: Choice) -> bool:
    """Whether the models, which are loaded, know how to chat: their tokenizer has a template for it."""
    kept = _kept
    return not choice.bundled and kept is not None and _serves(kept.choice, choice) and chats(kept.pair)


def chats(pair: Pair) -> bool:
    """Whether these models know how to chat."""
    return bool(getattr(getattr(pair.tokenizer, "tokenizer", None), "chat_template", None))


def _load_own(choice: Choice, watch: Watcher | None) -> Pair:
    global _kept
    way = named(choice.draft)
    if _kept is None or not _serves(_kept.choice, choice):
        import specviz as sv

        _kept = None
        _free()
        start = time.monotonic()
        try:
            pair = sv.load_pair(
                choice.target,
                choice.draft,
                device=choice.device,
                dtype=choice.dtype,
                quantize=choice.quantize,
                device_map=choice.device_map,
                progress=watch,
            )
        except BaseException as error:
            _free()
            events.tell("load failed", reason=type(error).__name__)
            if not (hosting.hosted() and isinstance(error, sv.SpecvizError)):
                raise
            _log.error("%s", error)  # it names folders of the server
            told = _("this server cannot load {target} at the moment. Choose another pair, or tell its owner.")
            raise sv.LoadError(told.format(target=choice.target)) from None
        events.tell("models loaded", seconds=time.monotonic() - start)
        _kept = _Kept(choice, pair)
    pair = _kept.pair
    return pair if way is None or choice == _kept.choice else replace(pair, draft=way)


def _serves(kept: Choice, asked: Choice) -> bool:
    """Whether the models of one choice are those of the other: a way to draft needs only the target."""
    return asked == kept or (named(asked.draft) is not None and asked == replace(kept, draft=asked.draft))


def _free() -> None:
    """Give back what nobody holds any more; a run that still goes holds its own models until it ends."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


@st.cache_resource(show_spinner=False, max_entries=8)
def _bundled(draft: str) -> Pair:
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
        models = _bundled(presets.DRAFT)
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
    """Load the bundled pair while the reader looks around, once. What goes wrong is said by the run that needs it."""
    working.start(f"load {draft}", lambda: _load_quietly(draft), lambda: None)


def _load_quietly(draft: str) -> None:
    with contextlib.suppress(Exception):
        _bundled(draft)
