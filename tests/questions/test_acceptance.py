"""α from two laws: the numbers of the notes, links, presets, real places, bad input, and what the warp does."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from hypothesis import given
from hypothesis import strategies as some

from specviz import examples, sampling, theory
from specviz.records import Candidate
from specviz.timeline import Law, Tail, draft_law, number, shares
from specviz.timeline.laws import _tail
from specviz.ui import bars, laws, state
from specviz.ui.calculators import acceptance
from specviz.ui.laws import Laws
from tests.test_pages import HOSTILE, SHOWN_TAGS, Reader, html, page

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "golden.json").read_text())
PAGE = "pages/acceptance.py"
WARPED = ["off", "both", "only p", "only q"]


def opened(found=None, **query):
    if found is not None:
        query["laws"] = found.address()
    at = page(PAGE, **query)
    assert not at.exception
    assert not at.error
    return at


def text(at):
    return Reader(html(at)).text


def told(at, name):
    """A number of the answer."""
    return float(re.search(re.escape(name) + r"([\d.]+|∞)", text(at))[1].replace("∞", "inf"))


def table(at):
    """The table of tokens, by column; – is NaN."""
    rows = re.findall(r"<tr><td class=\"sv-left\"><bdi>(.*?)</bdi></td>(.*?)</tr>", html(at))
    power = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    cells = [
        [c.replace("–", "nan").replace("×10", "e").translate(power) for c in re.findall(r"<bdi>(.*?)</bdi>", row)]
        for _, row in rows
    ]
    columns = ("p", "q", "accept", "residual", "accepted", "resampled", "emitted")
    values = pd.DataFrame([[float(c) for c in row] for row in cells], columns=columns)
    return values, [name for name, _ in rows]


def preset(at, key):
    at.button(key=f"laws_{key}").click().run()
    assert not at.exception
    return at


def drawn_bars(at):
    """What the bars were given."""
    return next(d for d in (json.loads(e.proto.json) for e in at.get("bidi_component")) if "names" in d)


# The numbers of the notes


@pytest.mark.parametrize(("key", "name"), [("letters", "worked_round"), ("exercise", "exercise_2")])
def test_the_notes_numbers_are_on_the_page(key, name):
    golden, at = GOLDEN[name], preset(opened(), key)
    values, names = table(at)
    assert names == golden["vocabulary"]
    assert values["p"].tolist() == golden["target_probs"]
    assert values["q"].tolist() == golden["draft_probs"]
    assert told(at, "α = Σ min(p, q)") == golden["alpha"]
    assert told(at, "β = 1 − α = TV(p, q)") == golden.get("beta", 0.2)
    assert values["residual"].tolist() == golden["residual"]
    assert values["emitted"].tolist() == golden["target_probs"]


def test_the_formula_is_filled_in():
    at = opened()
    assert "= 0.30 + 0.20 + 0.15 + 0.10 + 0.05 = 0.80" in at.latex[0].value
    many = Laws(tuple("ABCDEFGHI"), (1.0,) * 9, (1.0,) * 9)
    sums = opened(many).latex[0].value
    assert sums.count("0.111") == 8
    assert r"+ \cdots = 1" in sums
    tiny = Laws(("A", "B"), (1.0, 1e-7), (1.0, 1e-7))
    assert r"1.00\cdot 10^{-7}" in opened(tiny).latex[0].value


def test_a_token_stands_as_often_as_min_1_p_over_q_says():
    values, _ = table(opened())
    assert values["accept"].tolist() == [0.6, 1, 1, 1, 1]


def test_both_meanings_of_beta_are_told_once():
    assert text(opened()).count("write β for Σ min(p, q) at one place") == 1


# Presets


def test_equal_laws_stand_always_and_nothing_is_resampled():
    at = preset(opened(), "equal")
    assert told(at, "α = Σ min(p, q)") == 1
    values, _ = table(at)
    assert values["residual"].isna().all()
    assert not values["resampled"].any()
    assert "KL(p ‖ q), KL(q ‖ p)0, 0" in text(at)


def test_disjoint_laws_never_stand_and_divergences_are_infinite_and_say_why():
    at = preset(opened(), "disjoint")
    assert told(at, "α = Σ min(p, q)") == 0
    assert "KL(p ‖ q), KL(q ‖ p)∞, ∞" in text(at)
    assert "KL(p ‖ q) is ∞: the target gives “A”, and the draft never does." in text(at)
    assert "KL(q ‖ p) is ∞: the draft gives “C”, and the target never does." in text(at)


def test_at_temperature_0_both_laws_are_one_hot():
    values, _ = table(preset(opened(), "greedy"))
    assert values["p"].tolist() == [0, 1, 0, 0, 0]
    assert values["q"].tolist() == [1, 0, 0, 0, 0]
    assert values["emitted"].tolist() == [0, 1, 0, 0, 0]


def test_a_preset_takes_back_what_the_one_before_it_set():
    at = preset(preset(opened(), "greedy"), "letters")
    assert told(at, "α = Σ min(p, q)") == 0.8
    assert "warp" not in at.query_params


# A real place


@pytest.mark.parametrize("name", examples.NAMES)
def test_the_rows_of_every_real_place_keep_its_recorded_overlap(name):
    for round_ in examples.load(name).rounds:
        for trial in round_.trials:
            law = draft_law(round_, trial.node)
            rows = shares(law, laws.MOST)
            p, q = (np.array([getattr(row, name) for row in rows]) for name in ("target_prob", "draft_prob"))
            assert 1 <= len(rows) <= laws.MOST
            assert np.minimum(p, q).sum() == pytest.approx(law.beta, abs=1e-11)
            assert p.sum() == pytest.approx(1, abs=1e-11)
            assert q.sum() == pytest.approx(1, abs=1e-11)


@some.composite
def recorded(draw):
    """A place over 20 tokens of which the record lists some, and the whole laws behind it."""
    weights = some.lists(some.sampled_from((0.0, 1e-6)) | some.floats(0, 1), min_size=20, max_size=20)
    p, q = (theory.normalised(draw(weights)).probs for _ in range(2))
    listed = draw(some.lists(some.integers(0, 19), min_size=1, max_size=15, unique=True))
    left, beta = sampling.residual(p, q), float(np.minimum(p, q).sum())
    rows = tuple(Candidate(i, f"t{i}", p[i], q[i], left[i]) for i in listed)
    return Law("draft", listed[0], 0.5, 0.0, None, beta, rows, _tail(rows, beta)), beta


@given(recorded(), some.integers(3, 12))
def test_few_rows_of_a_place_never_change_its_overlap(place, most):
    law, beta = place
    rows = shares(law, most)
    assert len(rows) <= most
    assert all(row.target_prob >= -1e-12 and row.draft_prob >= -1e-12 for row in rows)
    # a tail below 1e-12 counts as none, and so do its three sums: worst error met 1e-12
    assert sum(min(row.target_prob, row.draft_prob) for row in rows) == pytest.approx(beta, abs=5e-12)


def test_a_single_row_of_all_others_would_overlap_too_much():
    """Why there are two: the smaller of two sums is not the sum of the smaller ones."""
    rows = (Candidate(0, "a", 0.4, 0.4, 0.0),)
    law = Law("draft", 0, 0.5, 0.0, None, 0.5, rows, Tail(0.6, 0.6, 1.0, 0.1))
    assert [row.name for row in shares(law, 12)] == ["a", "rest, p>q", "rest, p<q"]
    assert min(0.4, 0.4) + min(law.tail.target_prob, law.tail.draft_prob) > 0.5 + 0.4


def test_a_real_place_shows_its_recorded_overlap_and_says_how_the_others_stand():
    at = opened()
    chosen = at.selectbox(key="laws_at")
    trace = examples.load(examples.NAMES[0])
    assert len(chosen.options) == trace.n_judged
    at = chosen.set_value((0, 1)).run()
    assert not at.exception
    round_ = trace.rounds[0]
    beta = round_.nodes[round_.trials[1].node].beta
    assert f"α = {number(beta)}." in text(at)
    assert f"Σ min(p, q) there was {number(beta)}" in text(at)
    assert "Tokens without a row stand together" in text(at)
    assert "KL over such rows is approximate" in text(at)
    again = opened(laws.read(at.query_params["laws"]))
    assert f"α = {number(beta)}." in text(again)
    assert "sums to" not in text(again)
    preset(at, "exercise")
    assert at.selectbox(key="laws_at").value is None
    assert list(at.button_group(key=state.WARP).options) == WARPED
    assert "there was" not in text(at)


# The address


names = some.text(max_size=24).filter(lambda s: s.isprintable() or not s)
weights = some.floats(-1000, 1000) | some.sampled_from((0.0, 1e-12, 1e6, -1e6))


@given(some.lists(some.tuples(names, weights, weights), min_size=1, max_size=12))
def test_an_address_gives_the_laws_back(rows):
    given_laws = laws.of([(name, float(f"{p:.12g}"), float(f"{q:.12g}")) for name, p, q in rows])
    assert laws.read(given_laws.address()) == given_laws


def test_a_link_reproduces_the_page():
    mine = Laws(("a_b", "~", "$x$"), (0.2, 0.5, 0.3), (0.6, 0.4, 0.0))
    query = {"warp": "only q", "wT": "0.5", "wk": "2", "wp": "0.9"}
    first, second = opened(mine, **query), opened(mine, **query)
    assert html(first) == html(second)
    assert first.latex[0].value == second.latex[0].value
    assert table(first)[0]["q"].tolist() != [0.6, 0.4, 0.0]
    assert html(first) != html(opened(mine))


@pytest.mark.parametrize(
    "nonsense",
    ["", "x", "~~", "A~1", "A_B~1~1", "A~nan~1", "A~inf~1", "A~1e999~1", "A~x~1", "~".join(["_".join("1" * 13)] * 3)],
)
def test_a_link_with_nonsense_opens_the_page(nonsense):
    at = page(PAGE, laws=nonsense, warp="x", wT="-3", wk="abc", wp="7")
    assert not at.exception
    assert not at.error
    assert told(at, "α = Σ min(p, q)") == 0.8


def test_laws_outlive_a_change_of_page():
    at = preset(page("app.py").switch_page(PAGE).run(), "exercise")
    at.switch_page("pages/tokens.py").run()
    at.switch_page(PAGE).run()
    assert not at.exception
    assert table(at)[1] == ["A", "B", "C"]


# The table and the bars


@pytest.fixture
def edited(monkeypatch):
    """The table of a reader who has made of it what is in here."""
    frames = []
    editor = st.data_editor
    monkeypatch.setattr(laws.st, "data_editor", lambda frame, **k: frames[-1] if frames else editor(frame, **k))
    return lambda *rows: frames.append(pd.DataFrame(rows, columns=["token", "p", "q"]))


def test_the_bars_and_the_address_follow_the_table(edited):
    at = opened()
    edited(("x", 0.5, 0.25), ("y", 0.5, 0.75))
    at.run()
    assert (drawn_bars(at)["names"], drawn_bars(at)["p"], drawn_bars(at)["q"]) == (["x", "y"], [0.5, 0.5], [0.25, 0.75])
    assert at.query_params["laws"] == "x_y~0.5_0.5~0.25_0.75"
    assert table(at)[0]["q"].tolist() == [0.25, 0.75]


def test_the_table_and_the_address_follow_the_bars(monkeypatch):
    monkeypatch.setattr(
        bars, "_component", lambda: lambda **given: st.button("move", on_click=given["on_weights_change"])
    )
    at = opened()
    at.session_state[laws._BARS] = {"weights": {"p": [0.3, 0.35, 0.2, 0.1, 0.05], "q": [0.5, 0.2, 0.15, 0.1, 1.05]}}
    next(b for b in at.button if b.label == "move").click().run()
    assert not at.exception
    assert at.session_state[state.KEPT][state.LAWS].base.q == (0.5, 0.2, 0.15, 0.1, 1.05)
    assert at.query_params["laws"] == "A_B_C_D_E~0.3_0.35_0.2_0.1_0.05~0.5_0.2_0.15_0.1_1.05"
    assert "q sums to 2.00: each of its numbers was divided by that." in text(at)
    assert "p sums to" not in text(at)


def test_bars_of_other_laws_move_nothing(monkeypatch):
    monkeypatch.setattr(
        bars, "_component", lambda: lambda **given: st.button("move", on_click=given["on_weights_change"])
    )
    at = opened()
    at.session_state[laws._BARS] = {"weights": {"p": [1.0], "q": [1.0]}}
    next(b for b in at.button if b.label == "move").click().run()
    assert not at.exception
    assert told(at, "α = Σ min(p, q)") == 0.8


@pytest.mark.parametrize(
    ("rows", "sentences"),
    [
        ([("a", -1.0, 0.5), ("b", 1.0, 0.5)], ["p: numbers below 0 were set to 0 (1 of them)."]),
        ([("a", 3.0, 0.5), ("b", 1.0, 0.5)], ["p sums to 4.00: each of its numbers was divided by that."]),
        ([("a", 0.0, 0.5), ("b", 0.0, 0.5)], ["p is 0 everywhere, so every token was given the same share."]),
        ([("a", -1.0, -2.0)], ["p: numbers below 0", "q: numbers below 0", "p is 0 everywhere", "q is 0 everywhere"]),
        ([("a", None, float("nan"))], ["p is 0 everywhere", "q is 0 everywhere"]),
        ([(None, 1.0, 1.0)], ["α = 1."]),
        ([("a", 1e6, 1e-6), ("b", 1e-6, 1e6)], ["p sums to"]),
    ],
)
def test_what_was_changed_is_said_and_the_page_stands(edited, rows, sentences):
    at = opened()
    edited(*rows)
    at.run()
    assert not at.exception
    for sentence in sentences:
        assert sentence in text(at)
    values, _ = table(at)
    for law in ("p", "q", "emitted"):
        assert values[law].sum() == pytest.approx(1, abs=0.002)  # of cells with three digits


def test_laws_that_are_laws_are_not_changed():
    assert "sum" not in text(opened()).split("Whatever q is")[0].replace("Σ", "")


def test_no_row_is_one_sentence_and_the_presets_bring_rows_back(edited):
    at = opened()
    edited()
    at.run()
    assert not at.exception
    assert "There is no token. Add a row" in text(at)
    assert "laws" not in at.query_params
    assert at.button(key="laws_letters")


def test_rows_beyond_the_twelfth_are_left_out_and_said(edited):
    at = opened()
    edited(*((f"t{i}", 1.0, 1.0) for i in range(15)))
    at.run()
    assert "Only the first 12 tokens count." in text(at)
    assert len(table(at)[1]) == 12


def test_hostile_names_are_text(edited):
    at = opened()
    edited(*((name[:24], 1.0, float(i)) for i, name in enumerate(HOSTILE)))
    at.run()
    assert not at.exception
    assert Reader(html(at)).tags <= SHOWN_TAGS | {"h1", "bdi"}
    for element in at.main:
        assert element.type not in ("markdown", "caption")


# The warp


@pytest.mark.parametrize("changed", ["both", "only p", "only q"])
@pytest.mark.parametrize("query", [{"wT": "0"}, {"wT": "2"}, {"wk": "1"}, {"wk": "12"}, {"wp": "0.05"}, {"wp": "1"}])
def test_whatever_is_warped_what_is_emitted_is_p(changed, query):
    at = opened(warp=changed, **query)
    values, _ = table(at)
    assert values["emitted"].tolist() == values["p"].tolist()
    gap = re.search(r"largest difference here is ([\d.×⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+):", text(at))[1]
    assert gap == "0" or re.search(r"×10⁻¹[⁵⁶⁷⁸⁹]$", gap)
    assert (values["p"].tolist() == list(acceptance.LETTERS.p)) == (
        changed == "only q" or query in ({"wk": "12"}, {"wp": "1"})
    )


def test_a_warp_of_one_law_alone_says_what_it_did_to_alpha():
    at = opened(warp="only q", wT="0.5")
    q = sampling.warp(np.log(acceptance.LETTERS.q), sampling.Sampling(temperature=0.5))
    alpha = theory.alpha(acceptance.LETTERS.p, q)
    assert f"α goes from 0.800 to {number(alpha)}" in text(at)
    assert "“Lossless or not?”" in text(at)


def test_a_warp_that_is_off_changes_nothing():
    assert told(opened(wT="0.5", wk="1"), "α = Σ min(p, q)") == 0.8


def test_rows_that_stand_for_many_tokens_are_not_warped():
    joined = Laws(("A", "rest, p>q", "rest, p<q"), (0.5, 0.4, 0.1), (0.2, 0.1, 0.7))
    for at in (
        opened().selectbox(key="laws_at").set_value((0, 1)).run(),
        opened(joined, warp="both", wT="0.5"),
    ):
        assert not at.exception
        assert "needs each token by itself" in text(at)
        assert list(at.button_group(key=state.WARP).options) == WARPED[:1]
        assert at.slider(key=state.WARP_TEMPERATURE).disabled
        assert "α goes from" not in text(at)
    assert told(at, "α = Σ min(p, q)") == 0.4
    own = opened(Laws(("A", "B", "C"), joined.p, joined.q), warp="both", wT="0.5")  # the control: tokens are warped
    assert "α goes from 0.400" in text(own)
    assert "needs each token by itself" not in text(own)


# A browser


@pytest.mark.browser
def test_bars_move_by_pointer_and_keys_and_the_link_follows(browser, address):
    from tests.visit import Visit

    with Visit(browser) as v, Visit(browser) as other:
        v.open(f"{address}/acceptance", ".sv-foot")
        bar = v.page.get_by_role("slider", name="q of A, the draft")
        bar.wait_for()
        box = bar.bounding_box()
        y = box["y"] + box["height"] / 2
        v.page.mouse.move(box["x"] + box["width"] / 2, y)
        v.page.mouse.down()
        v.page.mouse.move(box["x"] + box["width"] / 4, y, steps=3)
        assert bar.get_attribute("aria-valuenow") == "0.25"
        assert "laws" not in v.page.url  # not before the drag has ended
        v.page.mouse.up()
        v.page.wait_for_function("location.search.includes('~0.25_')")
        bar.focus()
        v.press("ArrowRight", "ArrowRight", "PageUp")
        v.page.wait_for_function("location.search.includes('~0.37_')")
        v.page.wait_for_function("document.querySelector('.sv-answer').innerText.includes('0.852')")
        answer = v.page.locator(".sv-answer").inner_text()
        other.open(v.page.url, ".sv-foot")
        assert other.page.locator(".sv-answer").inner_text() == answer
        assert not v.errors
