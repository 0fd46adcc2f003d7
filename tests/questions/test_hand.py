"""One round by hand: the notes' numbers on the page, every field's extremes, and the exercise."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

import specviz as sv
from specviz.byhand import work
from specviz.exercise import EXERCISE_2, NOTES, questions, random_round
from specviz.figures.round import round_figure
from specviz.figures.style import PALETTES
from specviz.numerals import shown
from specviz.ui import state
from specviz.ui.labs import paper
from tests.test_byhand import rounds
from tests.test_pages import HOSTILE, SHOWN_TAGS, Reader, html, page, stages

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text(encoding="utf-8"))
PAGE = "pages/hand.py"


def told(at):
    assert not at.exception
    return Reader(html(at)).text


def cells(at):
    """The text of every cell of the page's tables, in order, each table as a list of rows."""
    body = html(at)
    tables = [part.split("</table>")[0] for part in body.split("<table>")[1:]]
    return [
        [[Reader(f"<td {cell}").text for cell in row.split("<td ")[1:]] for row in table.split("<tr")[2:]]
        for table in tables
    ]


# The notes' numbers


def test_the_notes_round_is_on_the_page_number_by_number():
    golden, at = GOLDEN["worked_round"], page(PAGE)
    text, (laws, sums, places) = told(at), cells(at)
    assert f"The round gives {', '.join(golden['emitted'])}: N = {len(golden['emitted'])}." in text
    *tokens, total = laws
    assert [row[0] for row in tokens] == golden["vocabulary"]
    assert [float(row[1]) for row in tokens] == golden["target_probs"]
    assert [float(row[2]) for row in tokens] == golden["draft_probs"]
    assert [float(row[5].split(" = ")[1]) for row in tokens] == golden["residual"]
    assert (total[3], total[4]) == (f"α = {golden['alpha']}", f"1 − α = {golden['beta']}")
    assert [row[2] for row in sums] == ["3", str(golden["expected_tokens"]), str(golden["speedup"])]
    assert [row[1] for row in places] == [*golden["draft"], golden["resampled"]]
    assert [row[2] for row in places[:3]] == ["0.3 / 0.5 = 0.6", "0.35 / 0.2 = 1.75", "0.3 / 0.5 = 0.6"]
    assert [row[3] for row in places[:3]] == ["0.6", "1", "0.6"]
    assert [r for r, given_ in zip((row[4] for row in places), golden["r"], strict=False) if given_] == ["0.35", "0.8"]
    assert [row[5] for row in places] == [
        "0.35 < 0.6: ✓ accepted",
        "0.5 < 1: ✓ accepted",
        "0.8 ≥ 0.6: ✕ rejected",
        "↻ resampled",
    ]
    assert "Place 2: any r will do, since p ≥ q for B. 0.5 is taken." in text
    assert "2.952" in at.latex[0].value
    assert "2.271" in at.latex[1].value


def test_exercise_2_is_a_button_and_its_numbers_come_out():
    golden, at = GOLDEN["exercise_2"], page(PAGE)
    at.button(key="hand_exercise").click().run()
    text, (laws, sums, _) = told(at), cells(at)
    assert at.number_input(key=state.COST_RATIO).value == golden["c"]
    *tokens, total = laws
    assert [float(row[5].split(" = ")[1]) for row in tokens] == golden["residual"]
    assert total[3] == f"α = {golden['alpha']}"
    assert [row[2] for row in sums] == ["3", str(golden["expected_tokens"]), str(golden["speedup"])]
    assert "The round gives A, B, B: N = 3." in text
    at.button(key="hand_notes").click().run()
    assert "2.271" in told(at)


def test_the_stage_plays_the_round():
    at = page(PAGE)
    (round_,) = stages(at)[0]["payload"]["rounds"]
    assert [step["k"] for step in round_["steps"]] == [*["draft"] * 3, "verify", *["judge"] * 3, "residual", "emit"]
    assert [text for text, *_ in round_["spans"]] == ["A", "B", "B"]
    assert [node[0] for node in round_["nodes"]] == ["A", "B", "A"]


# The fields


def test_a_link_reproduces_the_page():
    link = {
        "hv": "x y",
        "hp": "1/2 50%",
        "hq": ".25 0,75",
        "hk": "2",
        "hd": "y y",
        "hr": "0.6 0.7",
        "hu": "0.9",
        "c": "20",
    }
    at = page(PAGE, **link)
    assert "The round gives y, x: N = 2." in told(at)
    _, sums, places = cells(at)
    assert [row[5] for row in places] == ["0.6 < 0.6667: ✓ accepted", "0.7 ≥ 0.6667: ✕ rejected", "↻ resampled"]
    assert places[-1][1] == "x"
    worked = work(
        NOTES._replace(
            **dict(zip(NOTES._fields, ("x y", "1/2 50%", ".25 0,75", 2, "y y", "0.6 0.7", "0.9", 20.0), strict=True))
        ).read()[0]
    )
    assert sums[2][2] == shown(worked.speedup)


@pytest.mark.parametrize("value", ["", "nan", "-1", "1e9", "<b>x</b>", "0.5,0.5", "x" * 5000, "\x00", "9" * 400])
def test_a_link_that_makes_no_sense_opens_the_page(value):
    keys = ("hv", "hp", "hq", "hk", "hd", "hr", "hu", "hx", "hs", "c")
    for link in (dict.fromkeys(keys, value), {"hr": value, "hx": "true"}):
        at = page(PAGE, **link)
        assert not at.exception
        assert len(at.error) <= 1
        assert stages(at)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        (state.HAND_TARGET, "0 0 0 0 0", "p gives every token 0. At least one needs more."),
        (state.HAND_DRAFT, "1 0 0 0 0", "B cannot be drafted: q gives it 0."),
        (state.HAND_R, "1 1 1", "1 is no r: it must be a number from 0 up to, but not including, 1."),
        (state.HAND_U, "A", "A cannot come last: the law of the last draw gives it 0."),
        (
            state.HAND_NAMES,
            "A B __C__ :smile: $E$ <b>",
            "p holds 5 numbers, and there are 6 tokens. Give one number for each.",
        ),
    ],
)
def test_a_bad_field_gets_one_sentence_and_nothing_is_lost(key, value, sentence):
    at = page(PAGE)
    before = stages(at)
    at.text_input(key=key).set_value(value).run()
    assert not at.exception
    assert at.error[0].value.replace("\\", "").replace("​", "") == sentence
    assert at.text_input(key=key).value == value
    assert stages(at) == before
    at.text_input(key=key).set_value(
        dict(zip((state.HAND_NAMES, state.HAND_TARGET, state.HAND_DRAFT), NOTES, strict=False)).get(key, "0.2")
    ).run()
    assert not at.error


def test_laws_that_do_not_sum_to_one_are_scaled_and_it_is_said():
    at = page(PAGE)
    at.text_input(key=state.HAND_TARGET).set_value("3 3 2 1 1").run()
    assert "p summed to 10, so each of its numbers was divided by that." in told(at)
    assert "0.3 / 0.5 = 0.6" in told(at)


@pytest.mark.parametrize(
    "fields",
    [
        {"hv": "A", "hp": "1", "hq": "1", "hd": "A", "hu": "A"},  # one token: nothing can be rejected
        {"hp": "0 0 0 0 1", "hq": "1 0 0 0 0", "hd": "A", "hu": "E"},  # disjoint: nothing can be accepted
        {"hk": "8", "hr": "0"},
        {"hk": "1", "hr": "0.999999"},
        {"c": "1000"},
        {"c": "0.1"},
        {"hv": "A B C D E F G H", "hp": "1 1 1 1 1 1 1 1", "hq": "8 7 6 5 4 3 2 1", "hu": "H", "hr": "0.9"},
    ],
)
def test_the_extremes_are_rounds_too(fields):
    at = page(PAGE, **fields)
    assert not at.exception
    assert not at.error
    assert "The round gives" in told(at)
    assert "nan" not in told(at).casefold()
    assert len(at.get("plotly_chart")) == 1


def test_the_fields_are_there_when_the_reader_comes_back():
    at = page("app.py")
    at.switch_page(PAGE).run()
    at.text_input(key=state.HAND_R).set_value("0.6 – 0.8").run()
    assert "N = 1" in told(at)
    at.switch_page("pages/home.py").run()
    at.switch_page(PAGE).run()
    assert at.text_input(key=state.HAND_R).value == "0.6 – 0.8"
    assert "N = 1" in told(at)


def test_k_of_other_pages_does_not_cut_this_round():
    at = page("app.py")
    at.switch_page("pages/tokens.py").run()
    at.slider(key=state.K).set_value(64).run()
    at.switch_page(PAGE).run()
    assert at.slider(key=state.HAND_K).value == 3


def test_hostile_names_are_text_everywhere():
    names = [
        name for name in HOSTILE if name.strip() and len(name.split()) == 1 and len(name) <= 12 and "," not in name
    ]
    names += ["<b>x</b>", "=1+1", "=x'@\"&amp;"][: 8 - len(names)]
    n = len(names)
    assert n >= 5
    law = " ".join(["1"] * n)
    for more in ({}, {"hx": "true"}):
        at = page(
            PAGE, hv=" ".join(names), hp=law, hq=law.replace("1", "2", 1), hd=names[0], hr="0.99", hu=names[1], **more
        )
        assert not at.error
        assert not at.exception
        assert Reader(html(at)).tags <= SHOWN_TAGS | {"h1", "caption", "sup"}
        for element in at.main:
            assert element.type not in ("markdown", "caption")


# The figure and the files


@given(rounds())
@settings(deadline=None, max_examples=20)
def test_the_strips_are_the_rounds_numbers(given_):
    worked = work(given_)
    figure = round_figure(worked.round, given_.names, worked.final_law)
    bars = [bar for bar in figure.data if bar.type == "bar"]
    for row in range(given_.draft_length + 1):
        assert sum(bar.x[0] for bar in bars if bar.y[0] == row) == pytest.approx(1, abs=1e-9)
    needles = [line for line in figure.data if line.type == "scatter"]
    assert [line.x[0] for line in needles] == [*(t.r for t in worked.round.trials), given_.u]
    for trial in worked.round.trials:
        if 0 < trial.accept_prob < 1:
            yes = next(bar for bar in bars if bar.y[0] == trial.node)
            assert (yes.base[0], yes.x[0]) == (0, trial.accept_prob)
            assert (trial.r < yes.x[0]) == trial.accepted
    if given_.u > 1e-9:
        (fell,) = [b for b in bars if b.y[0] == given_.draft_length and b.base[0] <= given_.u < b.base[0] + b.x[0]][
            :1
        ] or [None]
        if fell is not None:
            assert fell.x[0] == pytest.approx(worked.round.final.prob, abs=1e-9)


def test_the_figure_shows_no_more_than_was_found():
    worked = work(NOTES.read()[0])
    for theme in PALETTES:
        figure = round_figure(worked.round, worked.given.names, worked.final_law, n_judged=1, drawn=False, theme=theme)
        assert [line.x[0] for line in figure.data if line.type == "scatter"] == [0.35]
        assert figure.layout.yaxis.ticktext[1:] == ("2 · B", "3 · A", "last draw")
        assert "never judged" not in str(figure.layout.annotations)
    early = work(NOTES._replace(r="0.6").read()[0])
    assert "never judged" in str(round_figure(early.round, early.given.names, early.final_law).layout.annotations)


def test_the_files_hold_the_round_and_every_number(monkeypatch):
    files = {}
    from specviz.ui import question
    from specviz.ui.labs import hand

    keep = lambda _label, data, file_name, **_: files.update({file_name: data})  # noqa: E731
    monkeypatch.setattr(question.st, "download_button", keep)
    monkeypatch.setattr(hand.st, "download_button", keep)
    page(PAGE)
    worked = work(NOTES.read()[0])
    assert files["specviz-by-hand.csv"]() == worked.trace.to_csv()
    frame = pd.read_csv(StringIO(files["specviz-hand_round.csv"]()))
    values = dict(zip(frame["quantity"], frame["value"], strict=True))
    golden = GOLDEN["worked_round"]
    for quantity, wanted in (("alpha", golden["alpha"]), ("one_minus_alpha", golden["beta"]), ("n_tokens", 3)):
        assert values[quantity] == pytest.approx(wanted)
    assert values["expected_tokens"] == pytest.approx(golden["expected_tokens"], abs=5e-4)
    assert values["speedup"] == pytest.approx(golden["speedup"], abs=5e-4)
    residual = frame[frame["quantity"] == "residual"]
    assert residual["value"].tolist() == pytest.approx(golden["residual"])
    assert [json.loads(token) for token in residual["token"]] == golden["vocabulary"]


# The exercise


def answer(at, text):
    at.text_input(key=state.HAND_ANSWER).set_value(text)
    return at.button(key="hand_check").click().run()


def known(at):
    """The steps that the stage shows, and the numbers of the tables that are no question mark."""
    (round_,) = stages(at)[0]["payload"]["rounds"]
    return [step["k"] for step in round_["steps"]], [c for table in cells(at) for row in table for c in row if c != "?"]


def test_the_exercise_goes_from_alpha_to_the_speed_up_and_shows_only_what_was_found():
    at = page(PAGE, hx="true")
    steps = ["draft"] * 3 + ["verify"]
    worked = work(NOTES.read()[0])
    asked = questions(worked)
    for i, question in enumerate(asked):
        text, (kinds, shown_cells) = told(at), known(at)
        assert f"{i + 1}. {question.asks}" in text
        assert kinds == steps
        assert "The round gives" not in text
        assert "will do" not in text
        assert "stretch" not in text or question.key in ("token", "n_tokens")
        payload = stages(at)[0]["payload"]["rounds"][0]
        assert ("".join(span[0] for span in payload["spans"]), payload["final"][0])[1] == (
            "B" if "residual" in kinds else ""
        )
        if i == 0:
            assert not [c for c in shown_cells if "0.8" in c and c != "0.8"]
            assert "α = 0.8" not in text
        answer(at, question.result)
        assert "✓ Right." in told(at)
        if question.key.startswith("verdict"):
            steps = [*steps, "judge"]
        steps = [*steps, *{"token": ["residual"], "n_tokens": ["emit"]}.get(question.key, [])]
    text = told(at)
    assert "Done. Every number of the round is found." in text
    assert f"{len(asked)} of {len(asked)} right at the first try." in text
    assert cells(at) == cells(page(PAGE))
    assert known(at)[0] == steps
    at.button(key="hand_again").click().run()
    assert "1. What is the acceptance rate α?" in told(at)


def test_a_wrong_answer_is_told_wrong_with_its_formula_and_stays_in_its_field():
    at = answer(page(PAGE, hx="true"), "0.2")
    assert "✕ That is 1 − α, the rate of rejections.α = Σ min(p, q) = 0.3 + 0.2 + 0.15 + 0.1 + 0.05" in told(at)
    assert at.text_input(key=state.HAND_ANSWER).value == "0.2"
    assert "1. What is the acceptance rate α?" in told(at)
    answer(at, "80%")
    assert at.text_input(key=state.HAND_ANSWER).value == ""
    assert "0 of 1 right at the first try; 11 to go at most." in told(at)


def test_hint_and_answer_are_there_for_the_asking():
    at = page(PAGE, hx="true")
    at.button(key="hand_hint").click().run()
    assert "Take the smaller of p and q for each token, and add them up." in told(at)
    at.button(key="hand_show").click().run()
    assert "– The answer: 0.8." in told(at)
    assert "0 of 1 right at the first try" in told(at)
    at.button(key="hand_show").click().run()
    at.button(key="hand_show").click().run()
    at.button(key="hand_yes").click().run()
    assert "✓ Right.r = 0.35 < 0.6: accepted" in told(at)
    assert "1 of 4 right at the first try" in told(at)


def test_a_seed_is_an_exercise_of_its_own_and_the_button_makes_the_next():
    at = page(PAGE, hx="true", hs="7")
    laws, _, places = cells(at)
    round_ = random_round(7)
    assert [row[0] for row in laws[:-1]] == list(round_.names)
    assert [float(row[1]) for row in laws[:-1]] == list(round_.target_probs)
    assert [row[4] for row in places[:-1]] == [shown(r) for r in round_.r]
    answer(at, questions(work(round_))[0].result)
    assert "1 of 1 right" in told(at)
    at.button(key="hand_new").click().run()
    assert at.number_input(key=state.HAND_SEED).value == 8
    assert "0 of 0 right" in told(at)
    assert [float(row[1]) for row in cells(at)[0][:-1]] == list(random_round(8).target_probs)
    at.number_input(key=state.HAND_SEED).set_value(0).run()
    assert [row[0] for row in cells(at)[0][:-1]] == ["A", "B", "C", "D", "E"]


def test_the_file_of_an_exercise_holds_only_what_was_found():
    worked = work(EXERCISE_2.read()[0])
    names = set(paper.frame(worked, {"alpha"}.__contains__)["quantity"])
    assert names == {"target_prob", "draft_prob", "overlap", "alpha", "one_minus_alpha"}
    assert {"u", "speedup", "accepted"} <= set(paper.frame(worked)["quantity"])
    assert not [b for b in page(PAGE, hx="true").get("download_button") if "run" in b.proto.label]


@given(rounds())
@settings(deadline=None, max_examples=60)
def test_the_tables_hold_a_rounds_numbers(given_):
    worked = work(given_)
    laws = Reader(paper.laws_html(worked)).text
    assert f"α = {shown(worked.alpha)}" in laws
    places = Reader(paper.round_html(worked)).text
    assert places.count("✓") == len(worked.round.accepted)
    assert places.count("✕") == worked.rejected
    assert places.count("never judged") == given_.draft_length - len(worked.round.trials)
    assert shown(worked.speedup) in Reader(paper.sums_html(worked)).text
    blank = Reader(paper.round_html(worked, lambda _: False)).text
    assert "accepted" not in blank
    assert "rejected" not in blank
    assert "never judged" not in blank
    assert np.isfinite(paper.frame(worked)["value"]).all()


def test_the_stage_can_be_cut_only_at_its_end():
    from specviz.replay import payload
    from specviz.ui.stage import _cut

    trace = sv.examples.load("prose")
    whole, cut = payload(trace), _cut(payload(trace), 2)
    assert cut["rounds"][:-1] == whole["rounds"][:-1]
    assert cut["rounds"][-1]["steps"] == whole["rounds"][-1]["steps"][:2]
    assert cut["run"] != whole["run"]
