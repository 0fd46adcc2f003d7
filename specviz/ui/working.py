"""Work in threads of its own: it is told when the browser that asked for it leaves, and when the server ends."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from weakref import WeakKeyDictionary

import streamlit as st

_END_S = 5.0  # that a server which was told to end waits for the steps under way

_working: WeakKeyDictionary[threading.Thread, Callable[[], None]] = WeakKeyDictionary()


def start(name: str, work: Callable[[], None], stop: Callable[[], None]) -> None:
    """Work in a new thread. stop: makes it end soon; it is called when the server ends."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    _working[thread] = stop
    thread.start()


class _Session:
    """What a session wants to have called when its browser leaves, by what it is for."""

    def __init__(self) -> None:
        self.wishes: dict[str, Callable[[], None]] = {}

    def left(self) -> None:
        for wish in self.wishes.values():
            wish()


@st.cache_resource(scope="session", show_spinner=False, on_release=_Session.left)
def _session() -> _Session:
    return _Session()


def when_left(purpose: str, call: Callable[[], None]) -> None:
    """Have this called once this session's browser has left, in place of an earlier call for the same purpose."""
    _session().wishes[purpose] = call


@atexit.register
def _end() -> None:
    """Let no thread be cut off inside a step of torch, which the system would report as a crash."""
    threads = [(thread, stop) for thread, stop in _working.items() if thread.is_alive()]
    for _thread, stop in threads:
        stop()
    end = time.monotonic() + _END_S
    for thread, _stop in threads:
        thread.join(max(0.0, end - time.monotonic()))
