"""The one claim of these tests: whatever is handed over, an answer or a SpecvizError of a sentence or two, in time."""

import faulthandler
import functools
import signal
import sys
from collections import Counter
from contextlib import contextmanager

from hypothesis import HealthCheck, given, settings

import specviz as sv

HANG_S = 60  # a call takes milliseconds; one that takes this long on the slowest machine hangs
DECLARED: Counter[str] = Counter()  # examples that each test plays


class Hang(BaseException):
    """No Exception: nothing on the way may catch it."""


@contextmanager
def watched(seconds=HANG_S):
    """Raises Hang after so long in Python. What hangs in C is beyond that: then the process ends with a traceback."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_):
        raise Hang(f"no answer after {seconds} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(2 * HANG_S, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tried(call, *args, **options):
    """(whether it answered, what it answered). A refusal in a sentence is checked to be one; all else goes through."""
    with watched():
        try:
            return True, call(*args, **options)
        except sv.SpecvizError as error:
            told = str(error)
    assert is_a_sentence(told), told
    return False, None


def is_a_sentence(told):
    """On one line, and short enough to be read in a box of a page."""
    return any(c.isalpha() for c in told) and len(told) < 400 and len(told.splitlines()) == 1


def fuzz(n, **strategies):
    """Play the test on n examples and count them. Its other arguments are pytest's: fixtures and parameters."""

    def wrap(test):
        DECLARED[test.__qualname__] += n

        @functools.wraps(test)
        def whole(**fixed):
            played = []

            @settings(max_examples=n, deadline=None, derandomize=True, database=None, suppress_health_check=HealthCheck)
            @given(**strategies)
            def examples(**drawn):
                played.append(None)
                test(**fixed, **drawn)

            examples()
            assert len(played) >= n, f"only {len(played)} of {n} examples were played"

        hidden = set(strategies)
        names = [name for name in test.__code__.co_varnames[: test.__code__.co_argcount] if name not in hidden]
        whole.__signature__ = _signature(names)
        return whole

    return wrap


def _signature(names):
    import inspect

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])
