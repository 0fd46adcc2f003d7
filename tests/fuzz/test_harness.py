"""The harness itself: what it must catch, and how many examples all of these tests play."""

import importlib
import time

import pytest
from hypothesis import strategies as st

import specviz as sv
from tests.fuzz.entries import ENTRIES
from tests.fuzz.harness import DECLARED, Hang, fuzz, is_a_sentence, tried, watched
from tests.fuzz.wrong import wrong

TESTS = ("test_entries", "test_traces", "test_command_line", "test_loading")


def broken(alpha):
    """A door that forgot its check: it takes numbers, and falls over all else."""
    return 1 / (1 - alpha)


def test_an_entry_without_a_check_is_caught():
    @fuzz(50, value=wrong())
    def falls_over(value):
        tried(broken, value)

    with pytest.raises((TypeError, ValueError, ZeroDivisionError, OverflowError, BaseExceptionGroup)):
        falls_over()


def test_a_message_of_many_lines_or_of_none_is_caught():
    def refuse(told):
        raise sv.ConfigError(told)

    for told in ("", "…", "one\ntwo", "x" * 400):
        with pytest.raises(AssertionError):
            tried(refuse, told)
    assert is_a_sentence("alpha must lie in [0, 1], got 2.0")


def test_a_hang_is_caught():
    def hang():
        while True:
            time.sleep(0.001)

    with pytest.raises(Hang), watched(0.05):
        hang()


def test_a_test_that_plays_too_few_examples_fails():
    @fuzz(50, value=st.booleans())
    def two_at_most(value):
        del value

    with pytest.raises(AssertionError, match="of 50 examples"):
        two_at_most()


def test_ten_thousand_examples_are_played():
    """Each test counts its own and fails below what it declared; parameters multiply."""
    for name in TESTS:
        importlib.import_module(f"tests.fuzz.{name}")
    times = {
        "test_what_is_wrong_is_answered_or_refused_in_a_sentence": len(ENTRIES),
        "test_a_changed_trace_is_refused_or_shown": 4,
        "test_any_path_is_written_read_or_refused": 4,
    }
    played = sum(n * times.get(name, 1) for name, n in DECLARED.items() if "<locals>" not in name)
    assert played >= 10_000, played
