"""Work that a page waits for: in a thread of its own, with its progress shown and a button that cancels it.

A job is a generator that yields how far it is, from 0 to 1, and what it has so far. What it has stays when it is
cancelled or fails. A job that nobody looks at any more stops.
"""

from __future__ import annotations

import logging
import math
import time
import traceback
from collections.abc import Callable, Generator
from typing import Any

import streamlit as st

from specviz.errors import SpecvizError
from specviz.i18n import _
from specviz.ui import hosting, shell, state, working
from specviz.ui.polling import poll
from specviz.ui.turns import Line

_POLL_S = 0.4  # between two looks at a job under way
_LEFT_S = 150.0  # a job that no page has asked for so long stops; a hidden tab asks once a minute
_LOOK_S = 0.2  # between two looks at whether a job that waits is still wanted

_log = logging.getLogger(__name__)

Steps = Generator[tuple[float, Any], None, None]


line = Line(hosting.LIMITS.jobs)  # of the jobs of all sessions


class Job:
    """progress: 0 to 1. value: the last that the steps yielded, None at first. error: a sentence, or None.

    asked: what the job is about, so that a page can tell whether a result still belongs to its inputs.
    experiment: whether it takes a place in the line of experiments, with their time limit; loading models does not.
    """

    def __init__(self, steps: Steps, *, asked: object = None, experiment: bool = True) -> None:
        self.asked = asked
        self.experiment = experiment
        self.progress: float = 0.0
        self.value: Any = None
        self.error: str | None = None
        self.running = True
        self.stopped = False
        self._steps = steps
        self._seen = time.monotonic()

    def start(self) -> None:
        working.start("job", self._work, self.stop)

    def stop(self) -> None:
        """The step under way is the last; what there is stays."""
        self.stopped = True

    def seen(self) -> None:
        """Somebody is looking."""
        self._seen = time.monotonic()

    def _work(self) -> None:
        place = line.join() if self.experiment else None
        try:
            while place is not None and not place.wait(_LOOK_S):
                if self._unwanted():
                    return
            end = time.monotonic() + (hosting.LIMITS.job_s if self.experiment else math.inf)
            for progress, value in self._steps:
                self.value, self.progress = value, progress
                if self._unwanted():
                    break
                if time.monotonic() > end:
                    told = _("This server works {n:.0f} seconds on one experiment, and they are over.")
                    self.error = told.format(n=hosting.LIMITS.job_s)
                    break
        except SpecvizError as error:
            self.error = str(error)
        except Exception as error:  # out of memory, a driver: what there is stays, the log has the rest, but no text
            kind = type(error).__name__
            _log.error("a job broke: %s\n%s", kind, "".join(traceback.format_tb(error.__traceback__)))
            self.error = _("This broke off ({kind}). Try again, or something smaller.").format(kind=kind)
        finally:
            if place is not None:
                place.leave()
            self._steps.close()
            self.running = False

    def _unwanted(self) -> bool:
        self.stopped = self.stopped or time.monotonic() - self._seen > _LEFT_S
        return self.stopped


def button(
    key: str,
    label: str,
    steps: Callable[[], Steps],
    *,
    asked: object = None,
    experiment: bool = True,
    told: Callable[[Any], str] = lambda _value: "",
) -> Job | None:
    """A button that starts a job, its progress and Cancel while it runs; the last job of this key, or None before one.

    The page is drawn anew when the job has ended. key: of the page's jobs, kept in the session.
    steps: called when the button is pressed. asked, experiment: see `Job`.
    told: what is written at the progress, of the value so far.
    """
    job: Job | None = st.session_state.get(key)
    running = job is not None and job.running
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            label,
            key=f"{key}_start",
            type="primary",
            disabled=running,
            on_click=_start,
            args=(key, steps, asked, experiment),
        )
        if running and job is not None:
            st.button(_("Cancel"), key=f"{key}_cancel", on_click=job.stop)
    if running and job is not None:
        poll(_watch, job, told, every=_POLL_S)
    elif job is not None and job.error:
        st.error(shell.plain(job.error))
    elif job is not None and job.stopped:
        st.html(f'<p class="sv-told">{_("Cancelled. What there was stays.")}</p>')
    return job


def _start(key: str, steps: Callable[[], Steps], asked: object, experiment: bool) -> None:
    """On a public page, the experiment that a visitor began before has had its time."""
    if hosting.hosted() and experiment:
        for other in st.session_state.values():
            if isinstance(other, Job) and other.experiment:
                other.stop()
    job = Job(steps(), asked=asked, experiment=experiment)
    state.put(key, job)
    working.when_left(key, job.stop)
    job.start()


def _watch(job: Job, told: Callable[[Any], str]) -> None:
    job.seen()
    if not job.running:
        st.rerun()
    st.progress(min(1.0, max(0.0, job.progress)), text=shell.plain(told(job.value)) or None)
