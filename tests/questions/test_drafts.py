"""Which draft: the table of candidates, its ranking and figures, what is printed and measured of them."""

import json
import math
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specviz import theory
from specviz.figures.drafts import level_rows, plane_figure, speedups_figure
from specviz.ui import pairs, state
from specviz.ui.calculators import candidates, measured, published
from specviz.ui.calculators.candidates import Row
from tests.test_pages import HOSTILE, SHOWN_TAGS, Reader, hostile_pair, html, page

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text(encoding="utf-8"))
NOTES, PAPER = GOLDEN["draft_size_tradeoff"], GOLDEN["leviathan_t5_xxl"]["rows"]
TAGS = SHOWN_TAGS | {"h1", "h2", "bdi"}


def opened(**query):
    at = page("pages/drafts.py", **query)
    assert not at.exception
    assert not at.error
    return at


@cache
def first():
    """The page as it opens, only to be read."""
    return opened()


def told(at):
    return Reader(html(at)).text


def cells(at, name):
    """The rows of the HTML table of this name, as text."""
    body = next(e.proto.body for e in at.get("html") if f'aria-label="{name}"' in e.proto.body)
    rows = body.split("<tr>")[1:]
    return [[Reader(cell).text for cell in row.split("</td>")[:-1]] for row in rows if "<td" in row]


RANKING = "The candidates, fastest first"


def edit(**changes):
    """The page, its table edited as the reader would."""
    edits = {"edited_rows": {}, "added_rows": [], "deleted_rows": []} | changes
    at = opened()
    at.session_state["candidates_0"] = edits
    at.run()
    assert not at.exception
    return at


# The notes and the paper


def test_the_notes_five_sizes_are_computed_and_stand_beside_what_is_printed():
    rows = cells(first(), "The notes&#x27; table 8.2 beside the formula")
    for row, golden in zip(rows, NOTES, strict=True):
        label, k, _k_printed, speedup, printed, difference = row
        assert label == golden["label"]
        assert (int(k), float(speedup[:-1])) == (golden["K"], pytest.approx(golden["speedup"], abs=1e-9))
        assert float(printed[:-1]) == golden["notes_print"]
        assert (difference == "agrees") == (abs(golden["notes_print"] - golden["speedup"]) < 0.005)


def test_the_notes_differences_are_counted():
    wrong = sum(abs(golden["notes_print"] - golden["speedup"]) > 0.005 for golden in NOTES)
    k = NOTES[-1]["K"]
    assert f"other speed-ups in {wrong} of {len(NOTES)} rows. In the last row the best K is {k}, not 3." in told(
        first()
    )


def test_the_ranking_holds_the_golden_numbers_and_the_middle_one_wins():
    ranked = {row[0].removeprefix("★ "): row for row in cells(first(), RANKING)}
    for golden in NOTES:
        row = ranked[golden["label"]]
        assert (float(row[1]), float(row[2])) == (golden["alpha"], golden["c"])
        assert (int(row[3]), float(row[4][:-1])) == (golden["K"], golden["speedup"])
    speeds = [float(row[4][:-1]) for row in ranked.values()]
    assert speeds == sorted(speeds, reverse=True)
    assert next(iter(ranked)) == "medium (~10%)"
    assert "medium (~10%) wins: 2.470× the target's own speed at K = 6, 12.0% more than small (~5%)." in told(first())


@pytest.mark.parametrize("task", published.TASKS)
def test_t5_xxl_shows_all_twelve_rows_expected_and_measured(task):
    at = opened()
    at.menu_button(key="known_drafts").click(f"T5-XXL, {task[0]}, temperature {task[1]}").run()
    rows = cells(at, "T5-XXL 11B with three drafts: expected and measured")
    assert len(rows) == 12
    for row, golden in zip(rows, PAPER, strict=True):
        assert row[:3] == [golden["draft"], golden["task"], str(golden["temperature"])]
        assert float(row[3]) == golden["alpha"]
        assert float(row[4]) == pytest.approx(1 / golden["c_leviathan"], rel=1e-3)
        assert int(row[5]) == golden["K"]
        assert float(row[6][:-1]) == pytest.approx(golden["expected"], abs=0.1)
        assert (float(row[7][:-1]), float(row[8][:-1])) == (golden["expected"], golden["measured"])
    three = [golden for golden in PAPER if (golden["task"], golden["temperature"]) == task]
    assert {row[0].removeprefix("★ ") for row in cells(at, RANKING)} == {golden["draft"] for golden in three}


def test_the_printed_tables_are_shown_of_their_own_candidates_only():
    at = edit(edited_rows={0: {"alpha": 0.56}})
    assert "What the notes print" not in told(at)
    assert "What the notes print" in told(first())


# The table


def test_an_edit_an_added_row_and_a_deleted_one_change_the_ranking():
    at = edit(
        edited_rows={1: {"alpha": 0.9}}, added_rows=[{"label": "mine", "alpha": 0.99, "cost": 40}], deleted_rows=[0]
    )
    ranked = cells(at, RANKING)
    assert [row[0] for row in ranked][:2] == ["★ mine", "small (~5%)"]
    assert float(ranked[0][4][:-1]) == pytest.approx(theory.best_speedup(0.99, 40), abs=5e-3)
    assert len(ranked) == 5


def test_the_address_holds_the_table_and_opens_it_again():
    at = edit(edited_rows={0: {"label": "a,b;c%"}}, added_rows=[{"label": "half", "alpha": 0.5}])
    link = at.query_params[state.DRAFTS]
    again = opened(**{state.DRAFTS: link})
    assert cells(again, RANKING) == cells(at, RANKING)
    assert "a,b;c%" in told(again)
    assert "needs both α and a cost" in told(again)
    assert state.DRAFTS not in first().query_params  # the candidates that the page begins with need no address


def test_the_table_outlives_a_change_of_page():
    at = page("app.py")
    at.switch_page("pages/drafts.py").run()
    generation = at.session_state[state.CANDIDATES][0]
    at.session_state[f"candidates_{generation}"] = {"deleted_rows": [0, 1, 2], "edited_rows": {}, "added_rows": []}
    at.run()
    before = cells(at, RANKING)
    at.switch_page("pages/tokens.py").run()
    at.switch_page("pages/drafts.py").run()
    assert cells(at, RANKING) == before
    assert len(before) == 2


@given(
    st.lists(
        st.builds(
            Row,
            st.text(max_size=20).map(str.strip),
            st.none() | st.integers(-20, 2000).map(lambda n: n / 1000),
            st.none() | st.integers(-5, 10**6).map(lambda n: n / 10),
        ),
        max_size=6,
    )
)
def test_what_is_written_into_the_address_is_read_again(rows):
    assert candidates.read(candidates.written(tuple(rows))) == tuple(rows)


@given(st.text(max_size=80))
def test_no_address_is_an_error(text):
    rows = candidates.read(text)
    drafts, _sentences = candidates.usable(rows, "c", 1.0)
    theory.rank_drafts([d.alpha for d in drafts], [d.cost_ratio for d in drafts])


@pytest.mark.parametrize(
    "link",
    [";", "", ",,", "a", "a,b,c", "a,0.5,inf;b,nan,3", "a,0.5,-1", "a,7,3", "a,0.5,0", "x,0.5,10,9,9", "%;%2;%zz,1,1"],
)
def test_nonsense_in_a_link_opens_the_page(link):
    at = opened(drafts=link, cost="bananas", Tp="-4", P="x")
    assert html(at).count("sv-answer") == 1


def test_a_row_that_cannot_be_compared_is_named_and_why():
    shown = told(opened(drafts="a,0.5,;b,1.5,3;c,0.5,0;d,0.8,10;,x,4"))
    assert "Row 1 (a) is not compared yet: it needs both α and a cost, as numbers." in shown
    assert "Row 2 (b) is not compared: α must lie between 0 and 1." in shown
    assert "Row 3 (c) is not compared: its cost must be above 0." in shown
    assert "Row 5 (draft 5) is not compared yet" in shown
    assert "d is the only one that pays" in shown


def test_more_rows_than_can_be_compared_are_said_so():
    typed = (Row("x", 0.5, 10.0),) * (candidates.MOST + 1)
    drafts, sentences = candidates.usable(typed, "c", 1.0)
    assert len(drafts) == candidates.MOST
    assert sentences == [f"Only the first {candidates.MOST} rows are compared."]


# Its ends


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        (";", "There is no candidate to compare yet"),
        ("one,0.8,10", "one is the only one that pays: 2.470×"),
        ("sure,1,1000", "sure is the only one that pays: 61.09×"),
        ("never,0,1000", "None of these pays: the best, never, reaches 0.9990×"),
        ("slow,0.9,0.5", "None of these pays: the best, slow, reaches 0.6333×"),
        ("same,1,1", "None of these pays: the best, same, reaches 1×"),
        ("a,0.8,10;b,0.8,10", "a and b are equally fast: 2.470×"),
        ("a,0.8,10;b,0,1", "a is the only one that pays"),
    ],
)
def test_the_answer_at_the_ends_of_the_ranges(link, sentence):
    at = opened(drafts=link)
    assert sentence in told(at)
    assert len(at.get("plotly_chart")) == 2


def test_how_wrong_alpha_would_have_to_be_is_shown_and_right():
    at = first()
    tie = theory.rank_drafts([r["alpha"] for r in NOTES], [r["c"] for r in NOTES])[0].tie_alpha
    assert f"First down to α ={tie:.3f}" in told(at)
    second = max(r["speedup"] for r in NOTES if r["label"] != "medium (~10%)")
    assert theory.best_speedup(tie, 10) == pytest.approx(second, abs=5e-4)


# Costs as times and as sizes


def test_costs_as_sizes_are_ratios_and_said_to_be_an_estimate():
    at = opened(drafts="small,0.75,77;large,0.82,800", cost="size", P="11000")
    ranked = {row[0].removeprefix("★ "): row for row in cells(at, RANKING)}
    assert float(ranked["small"][2]) == pytest.approx(11000 / 77, abs=0.5)
    assert float(ranked["large"][2]) == pytest.approx(11000 / 800, abs=0.051)
    assert "an estimate" in told(at)
    assert "an estimate" not in told(first())


@pytest.mark.parametrize("kind", ["time", "size"])
def test_another_unit_keeps_every_c(kind):
    at = opened(drafts="a,0.55,25;b,0.8,10")
    before = [row[2:5] for row in cells(at, RANKING)]
    at.get("button_group")[0].set_value(kind).run()
    assert not at.exception
    assert [row[2:5] for row in cells(at, RANKING)] == before
    at.get("button_group")[0].set_value("c").run()
    assert [row[2:5] for row in cells(at, RANKING)] == before


def test_a_link_with_times_opens_with_them():
    at = opened(drafts="a,0.8,5", cost="time", Tp="50")
    assert cells(at, RANKING)[0][2:4] == ["10.0", "6"]


def test_the_last_runs_draft_is_added():
    at = opened(drafts="a,0.55,25")
    at.button(key="add_last_run").click().run()
    assert [row[0].removeprefix("★ ") for row in cells(at, RANKING)] in (["a", "last run"], ["last run", "a"])


# Hostile names


def test_names_stay_text():
    rows = tuple(Row(text[:60], 0.5 + i / 100, 10.0 + i) for i, text in enumerate(HOSTILE))
    at = opened(drafts=candidates.written(rows))
    assert Reader(html(at)).tags <= TAGS
    for element in at.main:
        assert element.type not in ("markdown", "caption", "exception")
    assert "<img src=x onerror=alert(1)>" in told(at)


def test_names_in_figures_are_escaped():
    ranked = theory.rank_drafts([0.8], [10])
    for figure in (speedups_figure(["<b>$x$"], ranked), plane_figure(["<b>$x$"], ranked)):
        shown = json.dumps([list(t.text or ()) + list(t.customdata or ()) for t in figure.data])
        assert "<b>" not in shown
        assert "$" not in shown


# Figures


CANDIDATES = st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 1000)), min_size=1, max_size=9)


@settings(deadline=None, max_examples=30)
@given(CANDIDATES)
def test_the_points_are_the_speedups_and_lie_inside(given_):
    ranked = theory.rank_drafts(*zip(*given_, strict=True))
    names = [f"d{i}" for i in range(len(given_))]
    figure = speedups_figure(names, ranked)
    points = figure.data[-1]
    assert list(points.y) == [s.speedup for s in ranked]
    low, high = figure.layout.xaxis.range
    assert all(low < math.log10(x) < high for x in points.x)
    assert max(points.y) < figure.layout.yaxis.range[1]
    plane = plane_figure(names, ranked)
    assert list(plane.data[-1].y) == [s.alpha for s in ranked]
    assert list(plane.data[-1].x) == [s.cost_ratio for s in ranked]


def test_along_a_line_the_best_speedup_is_the_lines_own():
    rows = level_rows(theory.rank_drafts([0.55, 0.8], [25, 10]))
    assert len({level for level, _c, _alpha in rows}) >= 6
    for level, c, alpha in rows:
        assert theory.best_speedup(alpha, c) == pytest.approx(level, rel=1e-9)


def test_the_line_where_speculation_begins_to_pay_is_one_over_c():
    rows = np.array([row for row in level_rows(theory.rank_drafts([0.8], [10])) if row[0] == 1])
    np.testing.assert_allclose(rows[:, 2], 1 / rows[:, 1], rtol=1e-9)


def test_the_winners_slack_ends_at_its_tie():
    ranked = theory.rank_drafts([0.8, 0.7], [10, 15])
    slack = next(t for t in plane_figure(["a", "b"], ranked).data if t.mode == "lines+markers")
    assert list(slack.y) == [0.8, ranked[0].tie_alpha]


def test_only_a_draft_that_pays_gets_the_star():
    assert speedups_figure(["a"], theory.rank_drafts([0.8], [10])).data[-1].marker.symbol == ("star",)
    assert speedups_figure(["a"], theory.rank_drafts([0.0], [10])).data[-1].marker.symbol == ("circle",)


# Measured


def test_the_bundled_drafts_are_measured_and_taken_over(monkeypatch):
    """On a toy pair: the numbers come from the runs, whatever they are."""
    monkeypatch.setattr(pairs, "load", lambda *_: hostile_pair())
    monkeypatch.setattr(measured, "TOKENS", 8)
    at = opened()
    at.button(key="measure_drafts_start").click().run()
    deadline = time.monotonic() + 60
    while at.session_state["measure_drafts"].running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    at.run()
    assert not at.exception
    assert not at.error
    found = at.session_state["measure_drafts"].value
    assert [one.tokens for one in found] == [8 * len(measured.PROMPTS)] * 2
    rows = cells(at, "The bundled drafts, measured on this machine")
    assert [row[0] for row in rows] == [one.label for one in found]
    ranked = {row[0].removeprefix("★ "): row for row in cells(at, RANKING)}
    for one in found:
        assert float(ranked[one.label][1]) == pytest.approx(one.alpha.estimate, abs=1e-3)
    at.menu_button(key="known_drafts").click("The notes' five sizes (8.2)").run()  # the job's result comes once
    assert "medium (~10%) wins" in told(at)


@pytest.mark.parametrize("cost", ["1e308", "1e-308", "5e-324", "1e200", "9" * 300])
@pytest.mark.parametrize("kind", ["c", "time", "size"])
def test_a_cost_beyond_all_machines_is_refused_in_a_sentence(cost, kind):
    told_ = told(opened(drafts=f"a,0.5,{cost};b,0.5,5", cost=kind))
    assert "Row 1 (a) is not compared" in told_
