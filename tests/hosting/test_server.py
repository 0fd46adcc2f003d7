"""A public server and real connections: the line, the logs, a browser that leaves, and the end of the server."""

import json
import re
import signal
import time

import pytest

from benchmarks import hosted
from benchmarks.browser import server
from benchmarks.visitor import Visitor
from specviz.ui import state

PATIENCE_S = 120
SECRET = "canary in the coal mine"
LONG = 256.0


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    """Its address, its process, and a function that reads what it has logged so far."""
    path = tmp_path_factory.mktemp("server") / "log"
    with (
        path.open("wb") as log,
        server(environ={"SPECVIZ_HOSTED": "1", "SPECVIZ_LOG": "1"}, log=log) as (address, process),
    ):
        yield address, process, path.read_text


def ready(address, prompt=SECRET, tokens=LONG):
    """A visitor who is about to press Run."""
    visitor = Visitor(address, patience_s=PATIENCE_S)
    visitor.fill(state.PROMPT, prompt)
    visitor.fill(state.MAX_NEW_TOKENS, tokens)
    return visitor


def started(address, **asked):
    """A visitor who has pressed Run."""
    visitor = ready(address, **asked)
    visitor.press("run_button")
    return visitor


def events(read):
    lines = read().split("\n")[:-1]  # the last one may be half written
    return [json.loads(line) for line in lines if line.startswith("{")]


def until(there):
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_visitors_get_their_own_texts_and_the_report_says_so(public):
    address, process, _read = public
    seen = hosted.load(address, process.pid, 3, 6.0, every_s=0.5, warm_up=False)
    expected = hosted.alone(seen)
    assert (seen.errors, hosted.wrong(seen, expected)) == ([], [])
    assert len(seen.texts) >= 3
    assert "errors      0\ncross-talk  0 of" in "\n".join(hosted.report(seen, expected, 6.0))
    (asked, text), *_rest = seen.texts
    seen.texts = [(asked, text), (asked, f"{text} ")]  # the control
    assert hosted.wrong(seen, expected) == [asked]


def test_the_log_tells_events_and_no_word_of_a_visitor(public):
    address, _process, read = public
    visitor = started(address, tokens=8.0)
    before = visitor.run
    visitor.until(lambda: visitor.run != before and not visitor.stoppable)
    too_long = started(address, prompt=SECRET * 400)
    too_long.until(lambda: bool(too_long.errors))
    assert "this server reads 4,000" in too_long.errors[0].replace("\\", "")
    until(lambda: any(event["event"] == "run refused" for event in events(read)))
    run = [event for event in events(read) if event["event"] == "run ended"][-1]
    assert (run["tokens"], run["reason"]) == (8, "length")
    assert set(run) == {"at", "event", "run", "reason", "tokens", "rounds", "seconds"}
    for word in (*SECRET.split(), visitor.run, *visitor.text.split()[:3]):
        assert not re.search(rf"\b{re.escape(word)}\b", "\n".join(map(str, events(read)))) or len(word) < 4
    assert SECRET not in read()
    assert visitor.run not in read()
    visitor.close()
    too_long.close()


def test_a_look_at_an_older_drawing_of_the_page_is_passed_over(public):
    """One that came in while the end of a newer drawing was being sent would have it dropped."""
    visitor = started(public[0])
    visitor.until(lambda: bool(visitor.polls))
    older = set(visitor.polls)
    visitor.until(lambda: bool(visitor.polls) and not older & set(visitor.polls))
    visitor.until(lambda: not visitor.stoppable and not visitor.live)
    assert not visitor.polls
    visitor.close()


def test_a_run_ends_soon_after_its_browser_has_left_and_the_line_moves(public):
    address, _process, read = public
    visitors = [ready(address) for _ in range(14)]
    for visitor in visitors:  # four decode at a time, and all together far longer than a run outlives its page
        visitor.press("run_button")
    last = visitors[-1]
    last.until(lambda: "in line" in last.waited)
    n = len([event for event in events(read) if event["event"] == "run ended"])
    for visitor in visitors:
        visitor.close()
    until(lambda: len([event for event in events(read) if event["event"] == "run ended"]) >= n + len(visitors))
    ends = [event for event in events(read) if event["event"] == "run ended"][n:]
    assert "cancelled" in [event["reason"] for event in ends]


@pytest.mark.skipif(not hasattr(signal, "SIGTERM"), reason="no signals here")
def test_the_end_of_the_server_ends_runs_after_their_round(tmp_path):
    path = tmp_path / "log"
    with path.open("wb") as log, server(environ={"SPECVIZ_LOG": "1"}, log=log) as (address, process):
        visitor = started(address)
        before = visitor.run
        visitor.until(lambda: visitor.run != before)
        process.terminate()
        assert process.wait(PATIENCE_S) in (0, 143)
    ended = [event for event in events(path.read_text) if event["event"] == "run ended"]
    assert [event["reason"] for event in ended] == ["cancelled"]
    assert "Traceback" not in path.read_text()
    assert "terminate called" not in path.read_text()
