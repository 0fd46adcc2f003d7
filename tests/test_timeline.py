"""What a viewer is told about a round agrees with its record, and the coloured text is the text."""

import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import specviz as sv
from specviz import measure, timeline
from specviz.models.toy import TableModel

LETTERS = 5


def laws(sharpness, shift):
    """A table model of 5 tokens whose law depends on the last token only."""
    base = np.random.default_rng(11).gamma(1.0, size=(LETTERS + 1, LETTERS))
    table = (base + shift * np.random.default_rng(12).gamma(1.0, size=base.shape)) ** sharpness
    table /= table.sum(axis=-1, keepdims=True)
    return TableModel(lambda tokens: table[tokens[-1] if tokens else LETTERS], LETTERS)


@pytest.fixture(scope="module")
def toy_trace():
    return sv.speculate(
        sv.Pair(target=laws(1.0, 0.0), draft=laws(1.0, 1.0)), [0], draft_length=3, max_new_tokens=60, seed=3
    )


@pytest.fixture(scope="module")
def trace(pair):
    return sv.speculate(pair, "It is a truth", draft_length=4, max_new_tokens=48, seed=1)


def of_round(trace, wanted):
    """The first round that ends with this draw."""
    return next(r for r in trace.rounds if r.nodes and r.final is not None and r.final.source == wanted)


def test_a_round_is_told_in_order_draft_verify_judge_draw_emit(toy_trace):
    for round_ in toy_trace.rounds:
        kinds = [step.kind for step in timeline.steps(round_)]
        draws = [] if round_.final is None else [round_.final.source]
        assert kinds == [
            *["draft"] * len(round_.nodes),
            "verify",
            *["judge"] * len(round_.trials),
            *draws,
            "emit",
        ]


def test_steps_of_a_trace_are_the_steps_of_its_rounds_numbered(toy_trace):
    told = timeline.steps(toy_trace)
    assert [(s.round, s.index) for s in told] == [
        (r.index, i) for r in toy_trace.rounds for i in range(len(timeline.steps(r)))
    ]


def test_each_step_names_its_node_place_and_token(toy_trace):
    for round_ in toy_trace.rounds:
        for step in timeline.steps(round_):
            if step.node is not None:
                node = round_.nodes[step.node]
                assert (step.depth, step.token, step.text) == (node.depth, node.token, node.text)
            elif step.kind in ("residual", "bonus"):
                assert (step.depth, step.token) == (len(round_.accepted) + 1, round_.final.token)
            else:
                assert (step.depth, step.token, step.law) == (None, None, None)


def test_the_deciding_number_of_each_step_is_the_recorded_one(toy_trace):
    for round_ in toy_trace.rounds:
        told = timeline.steps(round_)
        assert [s.mark for s in told if s.kind == "draft"] == [n.uniform for n in round_.nodes]
        judged = [s for s in told if s.kind == "judge"]
        assert [(s.mark, s.threshold) for s in judged] == [(t.r, t.accept_prob) for t in round_.trials]
        assert [s.mark for s in told if s.kind in ("residual", "bonus")] == [round_.final.uniform]


def test_cards_after_the_last_step_are_the_outcomes_of_the_table(toy_trace):
    for round_ in toy_trace.rounds:
        outcomes = tuple(row.outcome for row in timeline.rows(round_)[: len(round_.nodes)])
        assert timeline.steps(round_)[-1].cards == outcomes


def test_cards_are_absent_until_drafted_and_unjudged_only_after_a_rejection(toy_trace):
    round_ = of_round(toy_trace, "residual")
    k = len(round_.nodes)
    for step in timeline.steps(round_):
        if step.kind == "draft":
            assert step.cards == ("drafted",) * (step.node + 1) + ("absent",) * (k - step.node - 1)
        if step.kind == "judge":
            assert ("unjudged" in step.cards) == (step.cards[step.node] == "rejected" and step.node < k - 1)


def test_the_tally_ends_at_what_measure_says(toy_trace):
    tally = timeline.steps(toy_trace)[-1].tally
    assert (tally.rounds, tally.tokens) == (len(toy_trace.rounds), len(toy_trace.tokens))
    assert (tally.accepted, tally.judged) == (toy_trace.n_accepted, toy_trace.n_judged)
    assert tally.beta / tally.judged == pytest.approx(measure.alpha(toy_trace).estimate, abs=1e-12)


def test_formulas_carry_the_numbers_of_the_record(toy_trace):
    for round_ in toy_trace.rounds:
        for trial, step in zip(round_.trials, [s for s in timeline.steps(round_) if s.kind == "judge"], strict=True):
            r, accept = timeline.apart(trial.r, trial.accept_prob)
            for formula in (step.formula.text, step.formula.katex):
                assert r in formula
                assert accept in formula
                assert timeline.number(trial.target_prob) in formula
            assert ("<" in step.formula.text) == trial.accepted
            assert ("accepted" in step.formula.text) == trial.accepted


def test_captions_say_what_happened(toy_trace):
    rejected = next(s for s in timeline.steps(of_round(toy_trace, "residual")) if "rejected" in s.cards)
    assert re.fullmatch(
        r"“#\d” is rejected: r = 0\.\d+ is not below p/q = \d\.?\d*\.( The later drafts are never judged\.)?",
        rejected.caption,
    )
    bonus = timeline.steps(of_round(toy_trace, "bonus"))[-2]
    assert bonus.title == "Bonus"
    assert bonus.caption.startswith("Every draft stands, so the same pass gives one token more: “#")


def test_a_greedy_run_speaks_of_best_tokens_not_of_chance(pair):
    greedy = sv.speculate(pair, "It is", max_new_tokens=24, sampling=sv.Sampling(temperature=0))
    captions = [s.caption for s in timeline.steps(greedy) if s.kind not in ("verify", "emit")]
    assert not [c for c in captions if " r = " in c or "drawn" in c]
    assert [c for c in captions if c.endswith("is accepted: it is the target's best token too.")]


def test_plain_decoding_is_told_without_drafts(pair):
    plain = sv.autoregress(pair, "It is", max_new_tokens=3, seed=0)
    assert [s.title for s in timeline.steps(plain)] == ["Verify", "Next token", "Emit"] * 3
    assert {span.outcome for span in timeline.spans(plain)} == {"bonus"}


def test_every_caption_and_formula_is_filled_in(trace):
    for step in timeline.steps(trace):
        assert step.title
        assert step.caption
        assert "{" not in step.formula.text
        assert step.formula.katex.count("{") == step.formula.katex.count("}")


def test_token_text_never_enters_a_formula():
    hostile = relabelled(r"\href{x}{y}<b>$")
    for step in timeline.steps(hostile):
        assert "href" not in step.formula.katex + step.formula.text
        assert hostile.nodes[0].text in step.caption or step.kind in ("verify", "emit")


def test_spans_join_to_the_text(trace, pair):
    assert "".join(s.text for s in timeline.spans(trace)) == trace.text
    assert tuple(s.token for s in timeline.spans(trace)) == trace.tokens
    for text in ("def main", "“", "é"):
        other = sv.speculate(pair, text, max_new_tokens=30, seed=2)
        assert "".join(s.text for s in timeline.spans(other)) == other.text


def test_spans_end_before_a_stop_string_that_crosses_tokens(trace, pair):
    stop = trace.text[20:33]
    cut = sv.speculate(pair, trace.prompt, draft_length=4, max_new_tokens=48, seed=1, stop=[stop])
    assert cut.stop_reason == "stop"
    assert cut.text == trace.text[: trace.text.find(stop)]
    told = timeline.spans(cut)
    assert "".join(s.text for s in told) == cut.text
    assert len(told) == len(cut.tokens)
    assert told[-1].text == ""


def test_spans_grow_while_a_run_is_under_way(pair):
    before = ()
    with sv.stream(pair, "It is", max_new_tokens=20, seed=4) as run:
        for _round in run:
            now = timeline.spans(run.trace)
            assert "".join(s.text for s in now) == run.trace.text
            assert now[: len(before)] == before
            before = now


def test_each_span_points_at_the_step_that_made_its_token(toy_trace, trace):
    for one in (toy_trace, trace):
        told = {(s.round, s.index): s for s in timeline.steps(one)}
        kinds = {"accepted": "judge", "resampled": "residual", "bonus": "bonus"}
        for span in timeline.spans(one):
            step = told[span.round, span.step]
            assert (step.token, step.kind) == (span.token, kinds[span.outcome])


def test_the_table_holds_every_number_of_the_record(toy_trace):
    for round_ in toy_trace.rounds:
        table = timeline.rows(round_)
        judged = [row for row in table if row.r is not None]
        assert [(r.target_prob, r.accept_prob, r.r) for r in judged] == [
            (t.target_prob, t.accept_prob, t.r) for t in round_.trials
        ]
        for row, node in zip(table, round_.nodes, strict=False):
            assert (row.token, row.uniform, row.draft_prob) == (node.token, node.uniform, node.draft_prob)
            assert row.ratio == pytest.approx(row.target_prob / row.draft_prob)
        last = table[-1]
        assert (last.token, last.uniform, last.position) == (
            round_.final.token,
            round_.final.uniform,
            len(round_.accepted) + 1,
        )
        assert (last.draft_prob is None) == (last.outcome == "bonus")


def test_laws_with_their_tails_hold_all_mass(toy_trace, trace):
    for one in (toy_trace, trace):
        for round_ in one.rounds:
            laws_of = [timeline.draft_law(round_, i) for i in range(len(round_.nodes))]
            laws_of += [law] if (law := timeline.final_law(round_)) else []
            for law in laws_of:
                assert math.isclose(sum(c.target_prob for c in law.rows) + law.tail.target_prob, 1, abs_tol=1e-9)
                assert math.isclose(sum(c.residual_prob for c in law.rows) + law.tail.residual_prob, 1, abs_tol=1e-9)
                if law.beta is not None:
                    shared = sum(min(c.target_prob, c.draft_prob) for c in law.rows)
                    assert math.isclose(shared + law.tail.overlap, law.beta, abs_tol=1e-9)
                    assert math.isclose(sum(c.draft_prob for c in law.rows) + law.tail.draft_prob, 1, abs_tol=1e-9)


def test_a_residual_law_names_the_token_that_was_rejected(toy_trace):
    round_ = of_round(toy_trace, "residual")
    rejected = round_.nodes[round_.trials[-1].node]
    law = timeline.final_law(round_)
    assert (law.kind, law.rejected, law.beta) == ("residual", rejected.token, rejected.beta)
    assert timeline.final_law(of_round(toy_trace, "bonus")).beta is None


def test_a_text_that_ends_inside_the_accepted_block_has_no_final_step(trace):
    round_ = next(r for r in trace.rounds if len(r.accepted) >= 2)
    ended = replace(round_, trials=round_.trials[:1], final=None, pieces=round_.pieces[:1])
    told = timeline.steps(ended)
    assert [s.kind for s in told][-2:] == ["judge", "emit"]
    assert told[-1].caption == (
        "The text ends inside the accepted drafts, so no further token is drawn. Tokens added: 1."
    )
    assert timeline.final_law(ended) is None
    assert Counter(row.outcome for row in timeline.rows(ended)) == {"accepted": 1, "unjudged": 3}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "#7"),
        (" warm", "␣warm"),
        ("a b", "a b"),
        ("\n\n  ", "⏎⏎␣␣"),
        ("\x00\x1b", "␀␛"),
        ("\u202eabc", "\\u202eabc"),
        ("\u2028", "\\u2028"),
        ("\u0301", "◌\u0301"),
        ("<img onerror>", "<img onerror>"),
        ("x" * 2000, "x" * 23 + "…"),
    ],
)
def test_labels_are_one_visible_line(text, shown):
    assert timeline.label(7, text) == shown


def test_a_right_to_left_token_does_not_turn_its_sentence():
    step = timeline.steps(relabelled("שלום"))[0]
    assert "“\u2068שלום\u2069”" in step.caption


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1.0, "1"),
        (0.5, "0.500"),
        (0.00048227, "0.000482"),
        (1.2e-9, "1.20×10⁻⁹"),
        (0.99996, "0.99996"),
        (12.345, "12.3"),
        (1234.4, "1234"),
        (math.inf, "∞"),
        (math.nan, "–"),
    ],
)
def test_numbers_are_short_and_never_round_to_certainty(value, shown):
    assert timeline.number(value) == shown


def test_a_difference_shows_its_sign_and_nothing_has_none():
    shown = [timeline.signed(v) for v in (0.25, -0.25, 0.0, 1, -2.5e-17, 3e-7, math.inf, -math.inf)]
    assert shown == ["+0.250", "−0.250", "0", "+1", "−2.50×10⁻¹⁷", "+3.00×10⁻⁷", "+∞", "−∞"]
    assert timeline.signed(-0.123456, 2) == "−0.12"
    assert timeline.signed(math.nan) == "–"


def test_two_numbers_are_shown_apart_when_they_differ():
    assert timeline.apart(0.50004, 0.49996) == ("0.50004", "0.49996")
    assert timeline.apart(0.5, 0.5) == ("0.500", "0.500")


def relabelled(text):
    """A round of one draft whose token has this text."""
    from specviz.records import CacheWork, Candidate, FinalDraw, Node, Round, Trial

    row = Candidate(3, text, 0.5, 0.25, 1.0)
    return Round(
        index=0,
        start=1,
        nodes=(Node(None, 1, 3, text, 0.1, 0.0, 0.25, 0.25, None, (row,)),),
        trials=(Trial(0, 0.5, 1.0, 0.9, True),),
        final=FinalDraw(3, text, "bonus", 0.2, 0.0, 0.5, None, (row,)),
        pieces=(text, text),
        draft_cache=CacheWork(),
        target_cache=CacheWork(),
        draft_s=0.0,
        verify_s=0.0,
        round_s=0.0,
    )


def test_a_replacement_comes_as_often_as_the_target_says_and_the_balance_tells_it(pair):
    trace = sv.speculate(pair, "It is a truth", draft_length=4, max_new_tokens=80, seed=2)
    told = worst = 0
    for round_ in trace.rounds:
        if round_.final is None or round_.final.source == "bonus":
            assert timeline.balance(round_) is None
            continue
        drawn = next(c for c in round_.final.candidates if c.token == round_.final.token)
        rejected = 1 - round_.nodes[round_.trials[-1].node].beta
        kept = min(drawn.target_prob, drawn.draft_prob)
        worst = max(worst, abs(kept + rejected * round_.final.prob - drawn.target_prob))
        for value in (kept, rejected, round_.final.prob, drawn.target_prob):
            assert timeline.number(value) in timeline.balance(round_)
        told += 1
    assert told > 5
    assert worst < 1e-12
    greedy = sv.speculate(pair, "It is a truth", max_new_tokens=30, sampling=sv.Sampling(0), seed=2)
    assert all(timeline.balance(round_) is None for round_ in greedy.rounds)
