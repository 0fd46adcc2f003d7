"""The exercise: numbers in every spelling, right told right and wrong told wrong, and rounds by a seed."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import specviz as sv
from specviz import numerals, sampling
from specviz.byhand import Given, work
from specviz.exercise import EXERCISE_2, MOST_SEED, NOTES, Sheet, Written, check, questions, random_round
from tests.test_byhand import rounds

NOTES_ROUND = NOTES.read()[0]


def asked(key, given_=NOTES_ROUND):
    return next(q for q in questions(work(given_)) if q.key == key)


# Numbers as they are written


@pytest.mark.parametrize(
    "text", ["0.6", ".6", "0,6", ",6", "3/5", "60%", "60 %", "0.60", " 0.6 ", "=0.6", "+.6", "6/10", "０．６"]
)
def test_every_spelling_of_a_number_is_that_number(text):
    assert numerals.read(text).value == pytest.approx(0.6, abs=1e-15)
    assert check(asked("accept_prob_1"), text).right


@pytest.mark.parametrize(
    "text", ["", "x", "1e5", "nan", "inf", "1/0", "0.6.1", "1 2", "--1", "0x1", "9" * 400, "½½", "<b>"]
)
def test_what_is_no_number_is_none(text):
    assert numerals.read(text) is None


@given(st.floats(1e-3, 1e3), st.integers(0, 6))
def test_a_rounded_number_says_its_value_from_two_digits_on(value, decimals):
    one = numerals.read(f"{value:.{decimals}f}")
    assert one.is_about(value)
    exact = math.isclose(one.value, value, rel_tol=1e-9, abs_tol=1e-9)
    assert one.says(value) == (one.digits >= 2 or exact)


@given(st.floats(1e-3, 1e3), st.integers(0, 4), st.sampled_from([-1, 1]))
def test_a_number_that_is_off_by_one_in_its_last_digit_says_another(value, decimals, off):
    """The negative control of the test above."""
    one = numerals.read(f"{value:.{decimals}f}")
    other = one._replace(value=one.value + off * 1.02 * one.unit)
    assert not other.says(value)


@pytest.mark.parametrize(
    "text",
    ["0.5 0.2", "0.5, 0.2", "0,5 0,2", "0.5,0.2", "(0.5; 0.2)", "0.5\n0.2", "0,5; 0,2", "[0.5 | 0.2]", "1/2 20%"],
)
def test_a_list_is_split_however_it_is_written(text):
    assert [numerals.read(piece).value for piece in numerals.split(text)] == [0.5, 0.2]


# Right and wrong


NEAR_0_7 = Given(("A", "B"), (0.27357, 0.72643), (0.57355, 0.42645), (0,), (0.0,), 0.0, cost_ratio=1.0)  # alpha 0.70002


@given(rounds())
@example(NEAR_0_7)
@settings(deadline=None)
def test_the_shown_results_are_right_answers_and_lead_to_the_end(given_):
    sheet = Sheet(given_)
    for question in questions(work(given_)):
        assert sheet.open == question
        assert len(sheet.marks) < sheet.n_questions
        sheet = sheet.answer(question.result)
        assert sheet.said.right, (question, sheet.said)
    assert sheet.open is None
    assert sheet.n_right == len(sheet.marks) == sheet.n_questions


@given(rounds(), st.sampled_from([0.03, -0.03, 1.0]))
@settings(deadline=None)
def test_wrong_answers_are_told_wrong_and_the_question_stays(given_, off):
    """The negative control: an answer that is off by more than its last digit, and the other verdict."""
    for question in questions(work(given_)):
        if question.kind in ("number", "numbers"):
            first = question.values[0] + off
            wrong = " ".join(f"{x:.6f}" for x in (first, *question.values[1:]))
        elif question.kind == "verdict":
            wrong = "accepted" if question.word == "rejected" else "rejected"
        else:
            wrong = next((name for name in question.names if name != question.word), "Z")
        assert check(question, wrong).right is not True
        if len(question.names) != 1:
            assert check(question, wrong).right is False


@pytest.mark.parametrize(
    ("key", "answer", "told"),
    [
        ("alpha", "0.2", "That is 1 − α"),
        ("alpha", "1.2", "the greater of p and q"),
        ("residual", "0 0.15 0.05 0 0", "Divide each by 1 − α"),
        ("residual", "1 0 0 0 0", "where q is above p"),
        ("residual", "0.30 0.35 0.20 0.10 0.05", "That is p itself"),
        ("accept_prob_1", "1.667", "That is q/p"),
        ("accept_prob_2", "1.75", "never above 1"),
        ("verdict_1", "rejected", "on which side"),
        ("token", "C", "does not fall on the stretch of C"),
        ("n_tokens", "2", "The token after the accepted drafts counts too."),
        ("expected_tokens", "2.44", "The power is K + 1"),
        ("expected_tokens", "3", "N of this one round"),
        ("speedup", "2.952", "leaves out what the drafting costs"),
        ("speedup", "0.0952", "as Leviathan et al. write it"),
    ],
)
def test_a_slip_is_named(key, answer, told):
    said = check(asked(key), answer)
    assert said.right is False
    assert told in said.sentence
    assert asked(key).result not in said.formula.split(" = ")[-1].split() or key == "token"


@pytest.mark.parametrize(
    ("key", "answer", "told"),
    [
        ("alpha", "", "no answer yet"),
        ("alpha", "a lot", "a lot is not a number"),
        ("residual", "0 0.75 0.25", "That is 3 numbers, and 5 are asked for"),
        ("verdict_1", "maybe", "Write accepted or rejected."),
        ("token", "Z", "Z is no token here. They are A, B, C, D, E."),
        ("expected_tokens", "3.0", None),
        ("speedup", "2", "Give at least two digits"),
    ],
)
def test_what_is_neither_right_nor_wrong_costs_nothing(key, answer, told):
    said = check(asked(key), answer)
    if told is None:  # 2.952 to two digits
        assert said.right
        return
    assert said.right is None
    assert told in said.sentence


@pytest.mark.parametrize(
    ("text", "right"), [("2.952", True), ("2,95", True), ("2.9520", True), ("2.951", False), ("2.9", False)]
)
def test_digits_that_are_given_must_be_right(text, right):
    assert check(asked("expected_tokens"), text).right is right


@pytest.mark.parametrize("text", ["accepted", "Accept", "a", "yes", "✓"])
def test_a_verdict_may_be_short(text):
    assert check(asked("verdict_1"), text).right
    assert check(asked("verdict_3"), text).right is False


def test_the_score_counts_first_tries_without_help():
    sheet = Sheet(NOTES_ROUND).answer("0.8")
    assert sheet.marks == ("first",)
    sheet = sheet.answer("0 0 0 0 1")
    assert (sheet.marks, sheet.tried, sheet.said.right) == (("first",), True, False)
    sheet = sheet.answer("0 3/4 1/4 0 0").hint().answer("60%").show()
    assert sheet.marks == ("first", "later", "later", "shown")
    assert sheet.said.sentence == "The answer: accepted."
    assert (sheet.n_right, sheet.n_questions, sheet.known) == (
        1,
        12,
        frozenset({"alpha", "residual", "accept_prob_1", "verdict_1"}),
    )


def test_the_number_of_questions_does_not_tell_where_the_round_ends():
    early = Sheet(Written(*NOTES[:5], "0.9 – 0.8", *NOTES[6:]).read()[0])
    late = Sheet(NOTES_ROUND)
    for answer in ("0.8", "0 .75 .25 0 0", "0.6"):
        assert early.n_questions == late.n_questions == 12
        early, late = early.answer(answer), late.answer(answer)
    assert (early.answer("r").n_questions, late.answer("a").n_questions) == (8, 12)


def test_equal_laws_have_no_residual_to_ask_for():
    round_ = Written("A B", "0.5 0.5", "0.5 0.5", 2, "A B", "0.1 0.9", "A", 10.0).read()[0]
    keys = [q.key for q in questions(work(round_))]
    assert "residual" not in keys
    assert keys[-4:] == ["token", "n_tokens", "expected_tokens", "speedup"]
    assert check(questions(work(round_))[-2], "3").right


# Rounds by a seed


def test_a_random_round_can_be_done_by_hand():
    for seed in (*range(1, 120), MOST_SEED):
        round_ = random_round(seed)
        assert round_ == random_round(seed)
        worked = work(round_)
        tenths = 10 * np.array([round_.target_probs, round_.draft_probs])
        assert np.allclose(tenths, tenths.round())
        assert 2 <= round_.draft_length <= 4
        assert worked.alpha >= 0.4 - 1e-12
        assert worked.alpha <= 0.9 + 1e-12
        for token, r in zip(round_.draft, round_.r, strict=True):
            p, q = round_.target_probs[token], round_.draft_probs[token]
            assert abs(r - sampling.accept_prob(p, q)) > 0.01
    assert len({random_round(seed) for seed in range(1, 60)}) == 59


def test_some_random_rounds_end_early_and_some_with_a_bonus():
    ends = {work(random_round(seed)).rejected for seed in range(1, 40)}
    assert ends == {True, False}


# A round as it is written into fields


def test_what_is_filled_in_is_said():
    round_, told = NOTES.read()
    assert round_.r == (0.35, 0.5, 0.80)
    assert told == (
        "Place 2: any r will do, since p ≥ q for B. 0.5 is taken.",
        "The last draw gave B: u = 0.375 is taken, the middle of its stretch.",
    )
    assert EXERCISE_2.read()[0].u == 0.5
    round_, told = NOTES._replace(draft_length=5, target_probs="3 3.5 2 1 .5", r="").read()
    assert round_.target_probs == pytest.approx((0.30, 0.35, 0.20, 0.10, 0.05))
    assert round_.draft == (0, 1, 0, 0, 0)
    assert "p summed to 10" in told[0]
    assert told[1].startswith("K = 5 needs more drafted tokens than the 3 given: A")
    assert told[2] == "Place 2: any r will do, since p ≥ q for B. 0.5 is taken."
    assert told[3] == "No r is given at place 1, 3, 4, 5: 0.5 is taken there."
    assert "first K = 1 of the 3" in NOTES._replace(draft_length=1).read()[1][0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"names": ""}, "There must be 1 to 8 tokens, and 0 are named."),
        ({"names": "A B C D E F G H I"}, "There must be 1 to 8 tokens, and 9 are named."),
        ({"names": "A B C D A"}, "The token A is named twice"),
        ({"names": "A B C D " + "E" * 13}, "is too long"),
        ({"names": "A" * 5000}, "A field holds more than 300 characters"),
        ({"target_probs": "0.5 0.5"}, "p holds 2 numbers, and there are 5 tokens"),
        ({"target_probs": "0 0 0 0 0"}, "p gives every token 0"),
        ({"target_probs": "0.5 0.5 x 0 0"}, "x in p is no probability"),
        ({"draft_probs": "0.5 -0.5 1 0 0"}, "-0.5 in q is no probability"),
        ({"draft_probs": "0.5 0 0.5 0 0"}, "B cannot be drafted: q gives it 0."),
        ({"draft": "A Z A"}, "Z is not among the tokens A, B, C, D, E."),
        ({"r": "0.35 0.5 1"}, "1 is no r: it must be a number from 0 up to, but not including, 1."),
        ({"r": "0.35 -0.5 0.8"}, "-0.5 is no r"),
        ({"u": "1.5"}, "1.5 is no u"),
        ({"u": ""}, "u needs one number"),
        ({"u": "A"}, "A cannot come last: the law of the last draw gives it 0."),
    ],
)
def test_fields_that_say_no_round_get_one_sentence(change, told):
    with pytest.raises(sv.ConfigError) as error:
        NOTES._replace(**change).read()
    assert told in str(error.value)


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
@settings(deadline=None)
def test_whatever_is_written_is_a_round_or_a_sentence(one, other, third):
    for fields in (
        NOTES._replace(names=one, draft=other),
        NOTES._replace(target_probs=one, draft_probs=other),
        NOTES._replace(draft=one, r=other, u=third),
    ):
        with contextlib.suppress(sv.ConfigError):
            assert work(fields.read()[0]).trace.rounds
