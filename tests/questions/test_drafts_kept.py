"""What the drafts' page keeps of its reader's candidates, and what it says of drafts longer than it ranks."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz import theory
from specviz.figures.drafts import plane_figure, speedups_figure
from specviz.timeline import number
from specviz.ui import jobs, pairs, state
from specviz.ui.calculators import candidates, measured
from specviz.ui.calculators.candidates import Row
from tests.questions.test_drafts import PAPER, RANKING, cells, opened, told
from tests.test_pages import hostile_pair

# Longer than is ranked


def test_a_draft_whose_best_k_is_longer_than_is_ranked_is_said_so():
    at = opened(drafts="long,0.99,1000;short,0.8,10")
    (longest, short) = cells(at, RANKING)
    assert longest[3:5] == ["64 (K* = 259)", "45.08×"]
    assert short[3] == "6"
    assert (
        f"Ranked with K up to 64. long without a limit: K* = 259, {number(theory.speedup(0.99, 1000, 259), 4)}×."
        in (told(at))
    )
    assert "at K = 64, the best up to 64" in told(at)
    assert r"\max_{K\le 64}" in at.latex[0].value


def test_a_draft_that_never_has_enough_comes_near_its_c():
    at = opened(drafts="sure,1,1000")
    assert cells(at, RANKING)[0][3] == "64 (K* = ∞)"
    assert "sure comes nearer to 1000× with each longer draft." in told(at)


def test_where_the_limit_does_not_bite_nothing_is_said_of_it():
    text = told(opened(drafts="short,0.8,10"))
    assert "Ranked with K up to" not in text
    assert "at K* = 6" in text


def test_figures_say_up_to_which_k_they_count():
    ranked = theory.rank_drafts([0.99, 0.8], [1000, 10])
    for figure in (speedups_figure(["a", "b"], ranked), plane_figure(["a", "b"], ranked)):
        assert "best K up to 64" in figure.layout.title.text
        told_ = figure.data[-1].customdata
        assert "best K up to 64, 64" in told_[0]
        assert "K* = 6" in told_[1]


# Units


@given(st.integers(1, 10**6).map(lambda n: n / 1000), st.sampled_from(["time", "size"]), st.floats(0.001, 1e6))
def test_a_typed_c_comes_back_to_the_digit_from_every_unit(c, kind, target):
    there = Row("a", 0.5, candidates.cost(c, kind, target))
    ratio = candidates.cost_ratio(there, kind, target)
    assert ratio == pytest.approx(c, rel=1e-15)
    assert candidates.cost(ratio, "c", 1.0) == c


def test_another_unit_and_a_link_to_it_keep_c_beyond_the_digits_that_are_shown():
    at = opened(drafts="a,0.8,9.0909", P="11000")
    at.get("button_group")[0].set_value("size").run()
    (row,) = candidates.read(at.query_params[state.DRAFTS])
    assert candidates.cost_ratio(row, "size", 11000.0) == pytest.approx(9.0909, rel=1e-15)
    at.get("button_group")[0].set_value("c").run()
    assert candidates.read(at.query_params[state.DRAFTS]) == (Row("a", 0.8, 9.0909),)


def test_the_notes_rows_are_known_again_after_a_change_of_unit():
    at = opened()
    for kind in ("time", "size", "c"):
        at.get("button_group")[0].set_value(kind).run()
    assert "What the notes print" in told(at)


# Measured drafts


def measure(at, monkeypatch):
    monkeypatch.setattr(pairs, "load", lambda *_: hostile_pair())
    monkeypatch.setattr(measured, "TOKENS", 8)
    at.button(key="measure_drafts_start").click().run()
    return finished(at)


def finished(at):
    deadline = time.monotonic() + 60
    while at.session_state["measure_drafts"].running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    at.run()
    assert not at.exception
    return [row[0].removeprefix("★ ") for row in cells(at, RANKING)]


def test_what_is_measured_joins_the_readers_rows(monkeypatch):
    at = opened(drafts="mine,0.9,30;Draft%2C 0.7M,0.01,2")
    names = measure(at, monkeypatch)
    labels = [one.label for one in at.session_state["measure_drafts"].value]
    assert sorted(names) == sorted(["mine", *labels])  # the row that has a measured draft's name gave way to it
    kept = {row.label: row for row in candidates.read(at.query_params[state.DRAFTS])}
    assert kept["mine"] == Row("mine", 0.9, 30.0)
    assert kept["Draft, 0.7M"].alpha != 0.01
    assert sorted(measure(at, monkeypatch)) == sorted(names)  # a second measurement takes the place of the first


@pytest.mark.parametrize("kind", ["time", "size"])
def test_what_is_measured_is_put_in_the_unit_of_the_table(monkeypatch, kind):
    at = opened(drafts="mine,0.9,30", cost=kind, Tp="50", P="5000")
    measure(at, monkeypatch)
    ratios = {row[0].removeprefix("★ "): row[2] for row in cells(at, RANKING)}
    for one in at.session_state["measure_drafts"].value:
        assert ratios[one.label] == number(round(one.comparison.cost_ratio, 3))


def test_an_edit_that_comes_together_with_the_result_is_kept(monkeypatch):
    at = opened(drafts="mine,0.9,30")
    monkeypatch.setattr(pairs, "load", lambda *_: hostile_pair())
    monkeypatch.setattr(measured, "TOKENS", 8)
    at.button(key="measure_drafts_start").click().run()
    job = at.session_state["measure_drafts"]
    generation = at.session_state[state.CANDIDATES][0]
    while job.running:
        time.sleep(0.02)
    edits = {"edited_rows": {0: {"alpha": 0.7}}, "added_rows": [], "deleted_rows": []}
    at.session_state[f"candidates_{generation}"] = edits
    finished(at)
    kept = {row.label: row for row in candidates.read(at.query_params[state.DRAFTS])}
    assert kept["mine"] == Row("mine", 0.7, 30.0)
    assert len(kept) == 3


@pytest.mark.parametrize("end", ["stopped", "error"])
def test_a_measurement_that_ends_early_keeps_the_readers_rows(monkeypatch, end):
    def first_only():
        *_before, (progress, done) = measured.steps()
        yield progress / 2, done[:1]
        if end == "error":
            raise MemoryError
        at.session_state["measure_drafts"].stop()
        yield progress, done[:1]

    at = opened(drafts="mine,0.9,30")
    monkeypatch.setattr(pairs, "load", lambda *_: hostile_pair())
    monkeypatch.setattr(measured, "TOKENS", 8)
    at.session_state["measure_drafts"] = job = jobs.Job(first_only())
    job.start()
    names = finished(at)
    assert bool(job.stopped) == (end == "stopped")
    assert bool(job.error) == (end == "error")
    assert "mine" in names
    assert len(names) == 2


# The notes


def test_t5_small_is_told_as_the_paper_has_it():
    at = opened()
    at.menu_button(key="known_drafts").click("T5-XXL, EnDe, temperature 0").run()
    found = [golden["measured"] for golden in PAPER if golden["draft"].startswith("T5-small")]
    assert len(found) == 4
    assert (
        "The notes say of T5-small that it has about 60M parameters and gives 2–3×. In the paper it has 77M, and "
        f"{min(found)}× to {max(found)}× was measured." in told(at)
    )
    assert any(golden["draft"] == "T5-small 77M" for golden in PAPER)
