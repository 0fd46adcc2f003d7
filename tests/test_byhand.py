"""Rounds of given numbers: they are the decoder's rounds, and the formulas' numbers."""

import dataclasses
import json
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import specviz as sv
from specviz import sampling, theory, timeline
from specviz.byhand import MOST_DRAFTS, MOST_TOKENS, Given, final_law, middle, play, work
from specviz.exercise import EXERCISE_2, NOTES

GOLDEN = json.loads((Path(__file__).parent / "golden" / "golden.json").read_text(encoding="utf-8"))
UNIT = st.floats(0, 1, exclude_max=True, allow_subnormal=False)


@st.composite
def laws(draw, n):
    """Laws in thousandths, so that some tokens have 0 and none has next to nothing."""
    weights = draw(st.lists(st.integers(0, 1000), min_size=n, max_size=n).filter(any))
    return tuple((np.array(weights) / sum(weights)).tolist())


@st.composite
def rounds(draw):
    n, k = draw(st.integers(1, MOST_TOKENS)), draw(st.integers(1, MOST_DRAFTS))
    p, q = draw(laws(n)), draw(laws(n))
    tokens = st.sampled_from([i for i in range(n) if q[i] > 0])
    return Given(
        names=tuple("ABCDEFGH"[:n]),
        target_probs=p,
        draft_probs=q,
        draft=tuple(draw(st.lists(tokens, min_size=k, max_size=k))),
        r=tuple(draw(st.lists(UNIT, min_size=k, max_size=k))),
        u=draw(UNIT),
        cost_ratio=draw(st.floats(0.1, 1000)),
    )


@given(rounds())
@settings(deadline=None)
def test_the_round_is_what_verify_decides(given_):
    p, q = np.array(given_.target_probs), np.array(given_.draft_probs)
    k = given_.draft_length
    verdict = sampling.verify(np.tile(p, (k + 1, 1)), np.tile(q, (k, 1)), given_.draft, given_.r, given_.u)
    round_ = play(given_).rounds[0]
    assert round_.emitted == (*given_.draft[: verdict.n_accepted], verdict.token)
    assert round_.final.source == verdict.source
    assert [t.accepted for t in round_.trials] == [True] * verdict.n_accepted + [False] * (verdict.source == "residual")
    assert [t.r for t in round_.trials] == list(given_.r[: len(round_.trials)])
    assert final_law(given_).tolist() == pytest.approx(work(given_).final_law)


@given(rounds())
@settings(deadline=None)
def test_the_trace_survives_json_and_its_table_csv(given_):
    trace = play(given_)
    assert sv.Trace.from_json(StringIO(trace.to_json())) == trace
    frame = pd.read_csv(StringIO(trace.to_csv()))
    pd.testing.assert_frame_equal(frame, trace.to_frame(), check_dtype=False)
    assert list(frame["uniform"])[:-1] == [node.uniform for node in trace.rounds[0].nodes]


@given(rounds())
@settings(deadline=None)
def test_every_token_is_the_one_that_its_uniform_draws(given_):
    round_ = play(given_).rounds[0]
    q = np.array(given_.draft_probs)
    assert [sampling.draw(q, node.uniform) for node in round_.nodes] == list(given_.draft)
    assert [node.uniform for node in round_.nodes] == [middle(q, token) for token in given_.draft]
    assert sampling.draw(final_law(given_), given_.u) == round_.final.token


@given(rounds())
@settings(deadline=None)
def test_the_numbers_are_the_formulas(given_):
    worked, k = work(given_), given_.draft_length
    alpha = theory.alpha(given_.target_probs, given_.draft_probs)
    assert worked.alpha == alpha
    assert sum(worked.left) == pytest.approx(1 - alpha, abs=1e-12)
    assert worked.expected_tokens == theory.expected_tokens(alpha, k)
    assert worked.speedup == theory.speedup(alpha, given_.cost_ratio, k)
    assert [node.beta for node in worked.round.nodes] == pytest.approx([alpha] * k, abs=1e-12)


def test_the_stage_tells_every_step_of_it():
    round_ = play(NOTES.read()[0]).rounds[0]
    assert [step.kind for step in timeline.steps(round_)] == [
        *["draft"] * 3,
        "verify",
        *["judge"] * 3,
        "residual",
        "emit",
    ]
    assert round_.verify_s / (round_.draft_s / 3) == pytest.approx(NOTES.cost_ratio)


@pytest.mark.parametrize(("name", "fields"), [("worked_round", NOTES), ("exercise_2", EXERCISE_2)])
def test_the_notes_rounds_come_out_as_the_notes_print_them(name, fields):
    golden = GOLDEN[name]
    worked = work(fields.read()[0])
    assert worked.given.names == tuple(golden["vocabulary"])
    assert (worked.given.target_probs, worked.given.draft_probs) == (
        tuple(golden["target_probs"]),
        tuple(golden["draft_probs"]),
    )
    assert (worked.given.draft_length, worked.given.cost_ratio) == (golden["K"], golden["c"])
    assert worked.alpha == pytest.approx(golden["alpha"])
    assert worked.residual == pytest.approx(golden["residual"])
    assert worked.expected_tokens == pytest.approx(golden["expected_tokens"], abs=5e-4)
    assert worked.speedup == pytest.approx(golden["speedup"], abs=5e-4)
    assert [worked.given.names[t] for t in worked.round.emitted] == golden.get("emitted", ["A", "B", "B"])


def test_the_notes_round_is_the_golden_one():
    golden, round_ = GOLDEN["worked_round"], NOTES.read()[0]
    assert [round_.names[t] for t in round_.draft] == golden["draft"]
    assert [r for r, wanted in zip(round_.r, golden["r"], strict=True) if wanted is not None] == [0.35, 0.80]
    assert play(round_).text == "".join(golden["emitted"])


GOOD = Given(("A", "B"), (0.5, 0.5), (1.0, 0.0), (0,), (0.2,), 0.3, 10.0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"names": ("A", "A")}, "different texts"),
        ({"names": ("A", "")}, "different texts"),
        ({"names": tuple("ABCDEFGHI")}, "1 to 8"),
        ({"target_probs": (1.0,)}, "one probability for each of the 2 tokens"),
        ({"target_probs": (0.5, 0.6)}, "must sum to 1"),
        ({"draft": (1,)}, "q > 0"),
        ({"draft": (2,)}, "q > 0"),
        ({"draft": (), "r": ()}, "1 to 8 draft tokens"),
        ({"draft": (0, 0)}, "one r for each"),
        ({"r": (1.0,)}, r"\[0, 1\)"),
        ({"r": (-0.1,)}, r"\[0, 1\)"),
        ({"u": 1.0}, r"\[0, 1\)"),
        ({"u": float("nan")}, r"\[0, 1\)"),
        ({"cost_ratio": 0.0}, "must be positive"),
    ],
)
def test_what_is_no_round_is_refused_in_a_sentence(change, told):
    with pytest.raises(sv.ConfigError, match=told):
        dataclasses.replace(GOOD, **change)
