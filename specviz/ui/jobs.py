"""Work that a page waits for: in a thread of its own, with its progress shown and a button that cancels it.

A job is a generator that yields how far it is, from 0 to 1, and what it has so far. What it has stays when it is
cancelled or fails. A job that nobody looks at any more stops.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import streamlit as st

from specviz.errors import SpecvizError
from specviz.i18n import _
from specviz.ui import shell, state

_POLL_S = 0.4  # between two looks at a job under way
_LEFT_S = 60.0  # a job that no page has asked for so long stops

_log = logging.getLogger(__name__)

Steps = Iterator[tuple[float, Any]]


class Job:
    """progress: 0 to 1. value: the last that the steps yielded, None at first. error: a sentence, or None.

    asked: what the job is about, so that a page can tell whether a result still belongs to its inputs.
    """

    def __init__(self, steps: Steps, *, asked: object = None) -> None:
        self.asked = asked
        self.progress: float = 0.0
        self.value: Any = None
        self.error: str | None = None
        self.running = True
        self.stopped = False
        self._steps = steps
        self._seen = time.monotonic()

    def start(self) -> None:
        threading.Thread(target=self._work, name="job", daemon=True).start()

    def stop(self) -> None:
        """The step under way is the last; what there is stays."""
        self.stopped = True

    def seen(self) -> None:
        """Somebody is looking."""
        self._seen = time.monotonic()

    def _work(self) -> None:
        try:
            for progress, value in self._steps:
                self.value, self.progress = value, progress
                if self.stopped or time.monotonic() - self._seen > _LEFT_S:
                    self.stopped = True
                    break
        except SpecvizError as error:
            self.error = str(error)
        except Exception as error:  # out of memory, a driver: what there is stays, the log has the rest
            _log.exception("a job broke")
            self.error = _("This broke off ({kind}). Try again, or something smaller.").format(
                kind=type(error).__name__
            )
        finally:
            self.running = False


def button(key: str, label: str, steps: Callable[[], Steps], *, asked: object = None) -> Job | None:
    """A button that starts a job, its progress and Cancel while it runs; the last job of this key, or None before one.

    The page is drawn anew when the job has ended. key: of the page's jobs, kept in the session.
    steps: called when the button is pressed. asked: what the job would be about now; see `Job`.
    """
    job: Job | None = st.session_state.get(key)
    running = job is not None and job.running
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            label, key=f"{key}_start", type="primary", disabled=running, on_click=_start, args=(key, steps, asked)
        )
        if running and job is not None:
            st.button(_("Cancel"), key=f"{key}_cancel", on_click=job.stop)
    if running and job is not None:
        st.fragment(_watch, run_every=_POLL_S)(job)
    elif job is not None and job.error:
        st.error(shell.plain(job.error))
    elif job is not None and job.stopped:
        st.html(f'<p class="sv-told">{_("Cancelled. What there was stays.")}</p>')
    return job


def _start(key: str, steps: Callable[[], Steps], asked: object) -> None:
    job = Job(steps(), asked=asked)
    state.put(key, job)
    job.start()


def _watch(job: Job) -> None:
    job.seen()
    if not job.running:
        st.rerun()
    st.progress(min(1.0, max(0.0, job.progress)))
