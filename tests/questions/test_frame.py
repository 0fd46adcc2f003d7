"""What all calculators and labs share: the frame, inputs in the address, files of figures, and jobs."""

import math
import threading
import time
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import specviz as sv
from specviz.ui import inputs, jobs, question, state
from tests.test_pages import PATIENCE_S, Reader, html, page

QUESTIONS = ("acceptance", "tokens", "length", "drafts", "hand", "lossless", "rounds")


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_page_asks_one_question_and_says_where_its_answer_comes_from(name):
    at = page(f"pages/{name}.py")
    assert not at.exception
    body = html(at)
    assert body.count("<h1") == 1
    title = Reader(body[body.index("<h1") : body.index("</h1>") + 5]).text
    assert title.endswith("?")
    told = Reader(body).text
    assert told.count("Try this:") == told.count("Source:") == 1


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_figure_has_its_numbers_as_csv(name):
    at = page(f"pages/{name}.py")
    figures = [f.proto.id for f in at.get("plotly_chart")]
    files = [b for b in at.get("download_button") if b.proto.label == "CSV"]
    assert len(files) >= len(figures) > 0
    assert all(f.proto.alt for f in at.get("plotly_chart"))


def test_a_number_in_a_formula_reads_as_in_a_sentence():
    shown = [question.tex(v) for v in (0.8, 0.99999, 1, 0, -0.25, 2.5e-17, -1e7, math.inf, -math.inf)]
    powers = [r"2.50\cdot 10^{-17}", r"-1.00\cdot 10^{7}"]
    assert shown == ["0.800", "0.99999", "1", "0", "-0.250", *powers, r"\infty", r"-\infty"]
    assert question.tex(2.5e-17, 1) == r"2\cdot 10^{-17}"
    assert question.tex(math.nan) == r"\text{–}"


def test_a_link_sets_the_inputs():
    at = page("pages/tokens.py", alpha="0.65", K="9")
    assert at.slider(key=state.ALPHA).value == 0.65
    assert at.slider(key=state.K).value == 9
    assert "At α = 0.65 and K = 9" in Reader(html(at)).text


@pytest.mark.parametrize("value", ["", "nan", "-1", "1e9", "<b>x</b>", "0.5,0.5", "x" * 5000, "\x00", "9" * 400])
@pytest.mark.parametrize("name", ["tokens", "length"])
def test_a_link_that_makes_no_sense_opens_the_page_with_its_own_values(name, value):
    at = page(f"pages/{name}.py", alpha=value, K=value, c=value)
    assert not at.exception
    assert 0 <= at.slider(key=state.ALPHA).value <= 1
    assert 1 <= at.slider(key=state.K).value <= 64


def test_alpha_and_k_are_the_same_on_every_page():
    at = page("app.py")
    at.switch_page("pages/tokens.py").run()
    at.slider(key=state.ALPHA).set_value(0.33)
    at.slider(key=state.K).set_value(11).run()
    at.switch_page("pages/home.py").run()
    at.switch_page("pages/length.py").run()
    assert (at.slider(key=state.ALPHA).value, at.slider(key=state.K).value) == (0.33, 11)
    at.slider(key=state.ALPHA).set_value(0.8).run()  # the default again
    at.switch_page("pages/tokens.py").run()
    assert at.slider(key=state.ALPHA).value == 0.8


def test_what_a_link_set_is_the_same_on_the_next_page_though_nobody_touched_it():
    at = page("app.py", alpha="0.5", K="7", c="20")
    at.switch_page("pages/length.py").run()
    assert (at.slider(key=state.ALPHA).value, at.slider(key=state.K).value) == (0.5, 7)
    at.query_params.clear()  # as the navigation does
    at.switch_page("pages/tokens.py").run()
    assert (at.slider(key=state.ALPHA).value, at.slider(key=state.K).value) == (0.5, 7)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("lossless", {"sampleseed": "inf"}),
        ("lossless", {"of": "at random", "lawseed": "1e400"}),
        ("lossless", {"proof": "Exercise 6", "lawseed": "-inf"}),
        ("lossless", {"proof": "Mismatch", "qk": "9" * 400}),
        ("hand", {"hx": "true", "hs": "inf"}),
        ("length", {"alpha": "inf", "K": "1e999", "c": "Infinity", "s": "-inf", "ops": "inf"}),
    ],
)
def test_an_infinite_number_in_a_link_opens_the_page(name, asked):
    at = page(f"pages/{name}.py", **asked)
    assert not at.exception
    assert "Source:" in Reader(html(at)).text


def test_what_was_measured_is_loaded_from_the_run_on_the_stage():
    at = page("pages/length.py")
    at.button(key="from_last_run").click().run()
    assert not at.exception
    trace, alone = sv.examples.load("prose"), sv.examples.alone("prose")
    measured = sv.measure.compare(trace, alone)
    assert at.slider(key=state.ALPHA).value == pytest.approx(measured.alpha, abs=1e-4)
    assert at.slider(key=state.K).value == trace.draft_length
    assert at.number_input(key=state.COST_RATIO).value == pytest.approx(measured.cost_ratio, rel=1e-3)


@pytest.mark.parametrize(
    ("length", "ratio", "taken"), [(4000, 5e4, (64, 1000)), (1, 0.02, (1, 0.1)), (0, 7.5, (1, 7.5))]
)
def test_a_run_beyond_the_inputs_is_loaded_as_near_as_they_go(monkeypatch, length, ratio, taken):
    trace = SimpleNamespace(draft_length=length)
    compared = SimpleNamespace(cost_ratio=ratio, pass_ratio=1.2, draft_length=4)
    shown = SimpleNamespace(trace=trace, alone=SimpleNamespace(rounds=(1,)))
    monkeypatch.setattr(inputs, "last_run", lambda: shown)
    monkeypatch.setattr(inputs.measure, "alpha", lambda _trace: SimpleNamespace(n=9, estimate=0.7))
    monkeypatch.setattr(inputs.measure, "compare", lambda _trace, _alone: compared)
    at = page("pages/length.py")
    at.button(key="from_last_run").click().run()
    assert not at.exception
    assert (at.slider(key=state.K).value, at.number_input(key=state.COST_RATIO).value) == taken


# Jobs

PAGE = """
import streamlit as st
from specviz.ui import jobs, state
from tests.questions import test_frame
state.begin()
job = jobs.button("count", "Count", test_frame.steps, asked="ten")
st.text("nothing" if job is None else repr((job.value, job.asked, job.running)))
"""

gate = threading.Semaphore(0)  # each release lets a job take one step


def steps(n=10):
    for i in range(n):
        gate.acquire(timeout=PATIENCE_S)
        yield (i + 1) / n, i


@pytest.fixture
def job_page():
    while gate.acquire(blocking=False):
        pass
    return AppTest.from_string(PAGE, default_timeout=PATIENCE_S).run()


def settled(at):
    """The page after its job has ended."""
    job = at.session_state["count"]
    deadline = time.monotonic() + PATIENCE_S
    while job.running:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return at.run()


def test_a_job_runs_to_its_end_and_its_result_stays(job_page):
    at = job_page
    assert at.text[0].value == "nothing"
    gate.release(10)
    at.button(key="count_start").click().run()
    at = settled(at)
    assert at.text[0].value == "(9, 'ten', False)"
    assert [b.label for b in at.button] == ["Count"]


def test_a_cancelled_job_keeps_what_it_had(job_page):
    at = job_page
    at.button(key="count_start").click().run()
    assert at.button(key="count_start").disabled
    gate.release(3)
    job = at.session_state["count"]
    while job.value != 2:
        time.sleep(0.01)
    at.button(key="count_cancel").click()
    job.stop()  # as the click does, before the gate opens again
    gate.release(1)
    at = settled(at.run())
    assert at.text[0].value == "(3, 'ten', False)"
    assert "Cancelled" in Reader(html(at)).text


def test_a_job_that_fails_says_so_in_a_sentence_and_keeps_what_it_had():
    def broken():
        yield 0.5, "half"
        raise sv.ConfigError("the laws do not fit: __type__ $x$")

    def torn():
        yield 0.5, "half"
        raise ZeroDivisionError

    for work, told in ((broken, "the laws do not fit: __type__ $x$"), (torn, "This broke off (ZeroDivisionError)")):
        job = jobs.Job(work())
        job.start()
        while job.running:
            time.sleep(0.01)
        assert told in job.error
        assert job.value == "half"


def test_a_job_that_nobody_looks_at_stops(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(jobs.time, "monotonic", lambda: now[0])

    def counted():
        for i in range(1000):
            now[0] += 10.0
            yield i / 1000, i

    job = jobs.Job(counted())
    job.start()
    for _ in range(1000):
        if not job.running:
            break
        time.sleep(0.01)
    assert (job.stopped, job.running) == (True, False)
    assert 10 * job.value <= jobs._LEFT_S
