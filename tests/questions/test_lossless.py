"""The lab on losslessness: the exact rule passes every part, the broken ones are seen, any input is answered."""

import dataclasses
import json
import re
import time
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st

from specviz import exact, examples, theory, timeline
from specviz.figures import bias as figures
from specviz.figures.divergence import Path as Way
from specviz.figures.divergence import divergence_figure
from specviz.simulation import fit
from specviz.ui import inputs, question, runs, state
from specviz.ui.labs import lossless
from specviz.ui.labs.lossless import drafts, exercise, given, mismatch, rules, sampled, words
from tests.test_pages import HOSTILE, PATIENCE_S, SHOWN_TAGS, Reader, html, page

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "golden.json").read_text(encoding="utf-8"))
PARTS = ("Exact", "Sampled", "Exercise 6", "Broken rules", "Worse drafts", "Mismatch", "Rounding")
LAWS = ("the notes' five letters", "at random", "a place of the last run", "equal laws", "disjoint laws", "one token")
ROUND = GOLDEN["worked_round"]


class Rows(HTMLParser):
    """The cells of all table rows, by the first cell."""

    def __init__(self, body):
        super().__init__()
        self.rows, self._cell = [], None
        self.feed(body)

    def handle_starttag(self, tag, _attrs):
        if tag == "tr":
            self.rows.append([])
        self._cell = "" if tag in ("td", "th") else self._cell

    def handle_data(self, data):
        self._cell = None if self._cell is None else self._cell + data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.rows[-1].append(self._cell)
            self._cell = None

    @property
    def named(self):
        return {row[0]: row[1:] for row in self.rows}


def lab(part="Exact", **query):
    at = page("pages/lossless.py", proof=part, **query)
    assert not at.exception
    return at


def rows(at):
    return Rows(html(at)).named


def said(at):
    return Reader(html(at)).text


# What the parts say


def test_the_bias_of_the_broken_rules_is_as_printed():
    shown = rows(lab("Broken rules"))
    printed = GOLDEN["broken_rules_on_worked_round_position_1"]
    for rule in ("always_accept", "drop_without_resampling", "resample_from_target"):
        assert float(shown[words.rule_name(rule)][0]) == pytest.approx(printed[rule], abs=1e-9), rule
    assert float(shown["exact rule"][0]) < 1e-15


def test_the_five_letters_are_those_of_the_notes():
    assert given._CHOSEN["letters"] == (tuple(ROUND["target_probs"]), tuple(ROUND["draft_probs"]))
    assert given._CHOSEN["exercise2"] == tuple(
        tuple(GOLDEN["exercise_2"][law]) for law in ("target_probs", "draft_probs")
    )


def test_samples_see_every_broken_rule_and_not_the_exact_one():
    shown = rows(lab("Broken rules"))
    assert shown["exact rule"][-1].startswith("not seen, p-value")
    for rule in words.RULES[1:]:
        told = shown[words.rule_name(rule)]
        assert told[-1].startswith("seen"), rule
        assert float(told[-2].replace(",", "")) < 1000  # the samples needed, of the 10,000 that were drawn


def test_too_few_samples_do_not_see_a_small_bias():
    # p and q nearly uniform over two tokens: resampling from p is off by a TV of less than 0.02.
    at = lab("Broken rules", of="at random", conc="100", V="2", n="1,000")
    needed, verdict = rows(at)["resample from p"][-2:]
    assert float(needed.replace(",", "")) > 10_000
    assert verdict.startswith("not seen")


def test_the_exact_part_says_the_largest_difference():
    for query in ({}, {"of": "at random", "V": "50", "conc": "0.1"}, {"of": "disjoint laws"}, {"of": "one token"}):
        at = lab(**query)
        assert "Yes: over" in said(at)
    shown = rows(lab(of="at random", V="26", lawseed="3"))
    p, q = exact.random_laws(3, 26)
    assert float(shown["B"][0]) == pytest.approx(p[1], rel=1e-5)
    assert float(shown["Z"][2]) == pytest.approx(p[25], rel=1e-5)
    assert np.abs(exact.emitted_law(p, q) - p).max() < 1e-15


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_the_greedy_chains_are_equal_token_by_token(seed):
    shown = rows(lab(sampleseed=seed))
    assert shown["target alone"] == shown["with a draft"]
    assert len(shown["outcome"]) == 24
    assert "24 of 24 tokens agree" in said(lab(sampleseed=seed))


@pytest.mark.parametrize("seed", ["1", "2", "7"])
def test_exercise_six_comes_out_as_its_answer_says(seed):
    at = lab("Exercise 6", lawseed=seed)
    assert "As the answer says" in said(at)
    shown = rows(at)
    p, q = exact.random_laws(int(seed), 10)
    mean, error = map(float, shown["sampled"][3].split(" ± "))
    # Seeded; 4 standard errors: a right simulation would miss for one seed in 16,000.
    assert abs(mean - theory.expected_tokens(theory.alpha(p, q), 3)) < 4 * error
    assert shown["greedy"][-1].split(" of ")[0] == shown["greedy"][-1].split(" of ")[1].split(" ")[0]
    assert shown["sampled, first token unseen"][-1] == "seen"
    assert shown["sampled"][-1] == "nothing seen"


def test_a_biased_rule_in_the_place_of_the_exact_one_would_be_told(monkeypatch):
    # The control of the sampled parts: with its residual replaced by p, the "exact" rule rings.
    monkeypatch.setattr(exact.position, "residual", lambda p, _q: p)
    sampled.at_once.cache_clear()
    try:
        assert "rings for the exact rule" in said(lab("Sampled"))
        assert "Not quite the answer's picture" in said(lab("Exercise 6"))
        assert "No: over" in said(lab())
    finally:
        sampled.at_once.cache_clear()


NOTHING = r"(0|[\d.]+×10⁻¹[⁰¹²³⁴⁵⁶⁷⁸⁹])\.(?!\d)"  # 0 or the rounding of doubles at the end of a sentence


def stays(worst):
    """What the exact rule is said to stay at; None where that is more than rounding."""
    found = re.search(rf"the exact rule stays at {NOTHING}", said(lab(**worst)))
    return found and found[1]


@pytest.mark.parametrize("worst", ["uniform", "p upside down"])
def test_the_exact_rule_stays_at_zero_while_the_draft_gets_worse(worst, monkeypatch):
    query = {"part": "Worse drafts", "worst": worst, "worse": "1.0"}
    assert stays(query)
    monkeypatch.setattr(exact.position, "residual", lambda p, _q: p)  # the control: a rule that is not exact
    drafts._over.cache_clear()
    try:
        assert not stays(query)
    finally:
        drafts._over.cache_clear()


@pytest.mark.parametrize(("c", "k"), [(10, 3), (2.5, 8)])
def test_a_hopeless_draft_costs_its_passes(c, k):
    told = said(lab("Worse drafts", c=str(c), K=str(k)))
    assert f"gives c/(c+K) = {timeline.number(c / (c + k))}× at c = {c} and K = {k}" in told
    assert "The notes (exercise 5) say → 1×." in told


@pytest.mark.parametrize("query", [{}, {"of": "at random", "V": "20", "lawseed": "4"}, {"of": "disjoint laws"}])
def test_a_sampled_draft_with_a_greedy_target_is_exact(query, monkeypatch):
    found = rf"greedy target: the emitted law is off by a TV of {NOTHING} The notes \(10\) say"
    assert re.search(found, said(lab(**query)))
    monkeypatch.setattr(exact.position, "residual", lambda _p, q: q)  # the control
    assert not re.search(found, said(lab(**query)))


@pytest.mark.parametrize(
    ("rings", "missed", "agrees", "told"),
    [
        (False, False, True, "As the answer says"),
        (True, False, True, "one seed in a hundred rings falsely"),
        (False, True, True, "does not see the first token unseen"),
        (True, True, True, "it does not see the first token unseen"),
        (False, False, False, "the rule is broken"),
    ],
)
def test_exercise_six_tells_a_false_alarm_from_a_miss(rings, missed, agrees, told):
    said_ = exercise._told(rings=rings, missed=missed, agrees=agrees)
    assert told in said_
    assert ("one seed in a hundred" in said_.replace("\n", " ")) == rings


def test_a_broken_rule_that_is_not_seen_is_no_false_alarm(monkeypatch):
    monkeypatch.setattr(exercise.sampled, "judged", lambda *_args: (fit.Fit(1.0, 10, 0.5, False), "nothing seen"))
    told = said(lab("Exercise 6"))
    assert "does not see the first token unseen" in told
    assert "rings falsely" not in told


def test_the_files_of_the_sampled_figures_hold_what_they_plot():
    seen = sampled.at_once(sampled.Asked(*given._CHOSEN["letters"], 3, 5_000, ("exact", "always_accept"), 0))
    frame = sampled.frame(seen)
    assert list(frame.columns) == ["rule", "tokens", "kl"]
    for rule, one in seen.items():
        assert list(frame[frame.rule == rule][["tokens", "kl"]].itertuples(index=False, name=None)) == list(one.points)


@pytest.mark.parametrize("part", ["Sampled", "Exercise 6"])
def test_the_figure_of_a_sampled_part_saves_its_points(part, monkeypatch):
    saved = []
    monkeypatch.setattr(question, "figure", lambda _drawn, *, frame, **_more: saved.append(frame()))
    lab(part)
    assert [list(frame.columns) for frame in saved] == [["rule", "tokens", "kl"]]


def test_the_formula_of_expected_tokens_is_filled_in():
    shown = lab("Sampled", K="5").latex[0].value
    assert rf"\frac{{1-0.800^{{5+1}}}}{{1-0.800}} = {timeline.number(theory.expected_tokens(0.8, 5), 4)}" in shown
    assert "5+1 = 6.000" in lab("Sampled", of="equal laws", K="5").latex[0].value


def test_no_formula_counts_samples_where_one_token_gives_the_rule_away():
    at = lab("Broken rules", of="disjoint laws", rule="always accept")
    assert rows(at)["always accept"][-2] == "1"
    assert not at.latex
    assert lab("Broken rules", rule="always accept").latex  # the control: every token is possible


def test_every_rule_is_told_in_a_sentence():
    assert all(words.rule_told(rule).endswith(".") for rule in words.RULES)
    assert len({words.rule_told(rule) for rule in words.RULES}) == len({words.rule_name(r) for r in words.RULES}) == 7


def test_no_warp_is_taken_of_rows_that_stand_for_many_tokens():
    at = lab("Mismatch", of="a place of the last run")
    letters = lab("Mismatch")
    assert "a warp needs each token by itself" in said(at)
    assert "a warp needs each token by itself" not in said(letters)
    assert at.latex[0].value == letters.latex[0].value


def test_it_is_not_said_that_the_bias_vanishes_only_at_temperature_one():
    laws = given.TwoLaws(("A", "B"), (0.6, 0.4), (1.0, 0.0))  # no temperature changes this q
    emitted = exact.judged_law(mismatch.drafted(laws, 0.5, None), laws.p, laws.q)
    assert theory.total_variation(emitted, laws.p) == 0
    assert "there the bias vanishes" in said(lab("Mismatch"))
    assert "only there" not in said(lab("Mismatch"))


def test_short_numbers_let_an_impossible_token_pass_when_r_may_equal_the_ratio():
    shown = rows(lab("Rounding", of="disjoint laws"))
    strict, inclusive = (shown[f"p, q, the ratio and r; accepted on r {sign} p/q"] for sign in "<≤")
    assert strict[2] == "0"
    assert float(inclusive[2]) == pytest.approx(1 / 256, rel=0.01)


def test_a_mismatch_vanishes_at_temperature_one_and_all_tokens():
    told = said(lab("Mismatch", qT="1.0", qk="5"))
    variation = told.split("moves the law by a TV of ")[1].split("temperature")[0]
    assert variation == "0." or "×10⁻¹" in variation


# Any input


def parts(**query):
    """The page with these inputs, at each of its parts."""
    at = lab(**query)
    for part in lossless._PARTS:
        at.session_state[state.PROOF] = part
        at.run()
        assert not at.exception, part
        yield part, at


@pytest.mark.parametrize("laws", LAWS)
def test_every_part_answers_for_every_law(laws):
    for part, at in parts(of=laws):
        assert not at.error, part
        assert len(at.get("plotly_chart")) >= 1
        assert Reader(html(at)).tags <= SHOWN_TAGS | {"h1", "bdi"}


EXTREMES = [
    {"of": "at random", "V": "2", "K": "1", "conc": "0.01", "qT": "0.0", "qk": "1", "worse": "0.0", "n": "1,000"},
    {"of": "at random", "V": "50", "K": "64", "conc": "100", "qT": "2.0", "qk": "50", "worse": "1.0", "n": "1,000"},
    {"of": "at random", "V": "50", "conc": "0.01", "lawseed": "1000000", "sampleseed": "1000000", "len": "2"},
    {"of": "disjoint laws", "K": "1", "beside": "drop, no resampling", "rule": "drop, no resampling"},
    {"of": "one token", "K": "64", "n": "1,000", "beside": "argmax decides", "rule": "other temperature", "qT": "0.0"},
    {"of": "a place of the last run", "place": "100000", "beside": "argmax decides", "rule": "argmax decides"},
    {"bits": "float32", "of": "equal laws"},
    dict.fromkeys(("of", "V", "K", "conc", "n", "rule", "beside", "qT", "worst", "worse", "bits"), "<b>nan</b>"),
    dict.fromkeys(("of", "V", "K", "conc", "n", "lawseed", "sampleseed", "place", "qT", "qk", "worse", "len"), "-1"),
]


@pytest.mark.parametrize("query", EXTREMES, ids=range(len(EXTREMES)))
def test_extremes_and_nonsense_are_answered(query):
    for part, at in parts(**query):
        assert not at.error, part
        assert "Try this" in said(at)


def test_each_part_has_its_own_link():
    for part in PARTS:
        assert at_part(part) == [name for name in lossless._PARTS if lossless._name(name) == part]


def at_part(part):
    return [lab(part).session_state[state.PROOF]]


def test_a_link_reproduces_the_page():
    query = {"of": "at random", "V": "7", "lawseed": "5", "conc": "0.5", "K": "6", "worst": "uniform", "worse": "0.75"}
    at = lab("Worse drafts", **query)
    assert at.slider(key=state.PROOF_SIZE).value == 7
    assert at.slider(key=state.K).value == 6
    p, q = exact.random_laws(5, 7, 0.5)
    assert timeline.number(theory.alpha(p, exact.worse_draft(p, q, 0.75))) in said(at)
    assert said(at) == said(lab("Worse drafts", **query))
    assert said(at) != said(lab("Worse drafts", **query | {"lawseed": "6"}))


def test_tokens_of_a_run_are_shown_as_text(monkeypatch):
    trace = examples.load("prose")
    round_ = trace.rounds[0]
    nodes = tuple(
        dataclasses.replace(
            node,
            text=HOSTILE[0],
            candidates=tuple(dataclasses.replace(c, text=t) for c, t in zip(node.candidates, HOSTILE, strict=False)),
        )
        for node in round_.nodes
    )
    hostile = dataclasses.replace(trace, rounds=(dataclasses.replace(round_, nodes=nodes), *trace.rounds[1:]))
    monkeypatch.setattr(inputs, "last_run", lambda: runs.Shown("x", hostile))
    for part in ("Exact", "Broken rules", "Rounding"):
        at = lab(part, of="a place of the last run")
        assert Reader(html(at)).tags <= SHOWN_TAGS | {"h1", "bdi"}
        charts = "".join(chart.proto.spec for chart in at.get("plotly_chart"))
        assert "<img" not in charts
        assert not [m.value for m in at.markdown if "onerror" in m.value]


def test_a_real_place_keeps_its_recorded_beta(monkeypatch):
    for name in examples.NAMES:
        trace = examples.load(name)
        monkeypatch.setattr(inputs, "last_run", lambda trace=trace: runs.Shown("x", trace))
        nodes = [node for r in trace.rounds for node in r.nodes]
        for place in range(1, len(nodes) + 1, 7):
            with monkeypatch.context() as patch:
                patch.setattr(given.st, "html", lambda _body: None)
                patch.setattr(given.st, "session_state", {})
                patch.setattr(given.state, "get", lambda _key: {})
                patch.setattr(given.inputs, "number", lambda *_args, place=place, **_options: place)
                laws = given._real()
            assert laws.alpha == pytest.approx(nodes[place - 1].beta, abs=1e-9)
            assert sum(laws.p) == pytest.approx(1, abs=1e-12)


# Jobs


def ended(at, key):
    deadline = time.monotonic() + PATIENCE_S
    while at.session_state[key].running:
        assert time.monotonic() < deadline, "the job did not end"
        time.sleep(0.02)
    return at.run()


@pytest.mark.parametrize(("part", "key"), [("Sampled", state.PROOF_JOB), ("Broken rules", state.PROOF_RULES_JOB)])
def test_a_million_rounds_are_played_by_a_job_and_shown(part, key):
    at = lab(part, n="1,000,000")
    assert ("the first 100,000 rounds" if part == "Sampled" else "in 10,000 samples") in said(at)
    at.button(key=f"{key}_start").click().run()
    at = ended(at, key)
    assert ("After 1,000,000 rounds" if part == "Sampled" else "in 1,000,000 samples") in said(at)
    assert not at.exception
    other = (
        at.slider(key=state.K).set_value(2).run()
        if part == "Sampled"
        else at.slider(key=state.PROOF_TEMPERATURE).set_value(2.0).run()
    )
    assert "1,000,000 samples" not in said(other)  # a result of other inputs is not shown
    assert "After 1,000,000 rounds" not in said(other)


def test_a_cancelled_job_keeps_what_it_played():
    at = lab("Sampled", n="10,000,000")
    at.button(key=f"{state.PROOF_JOB}_start").click().run()
    job = at.session_state[state.PROOF_JOB]
    while job.value is None:
        time.sleep(0.01)
    job.stop()  # as the click on Cancel does
    at = ended(at, state.PROOF_JOB)
    n = job.value["exact"].tally.n_rounds
    assert n < 10**7
    assert f"{n:,} rounds" in said(at)
    assert "Cancelled" in said(at)


def test_a_cancelled_job_of_rules_judges_only_what_it_finished():
    at = lab("Broken rules", n="10,000,000")
    at.button(key=f"{state.PROOF_RULES_JOB}_start").click().run()
    job = at.session_state[state.PROOF_RULES_JOB]
    while job.value is None:
        time.sleep(0.01)
    job.stop()
    shown = rows(ended(at, state.PROOF_RULES_JOB))
    n = job.value["exact"].n_rounds
    assert n < 10**7
    assert shown["exact rule"][-1] == f"stopped at {n:,}, not judged"
    assert shown["argmax decides"][-1] == "not drawn"
    assert "Cancelled" in said(at)


def test_a_rule_is_judged_when_all_its_samples_are_drawn():
    asked = rules.Asked(*given._CHOSEN["letters"], 5000, 0.5, 1, ("always_accept",))
    first, *_between, last = (seen["always_accept"] for _progress, seen in rules.steps(asked))
    assert rules._verdict(first, asked.n, asked.p) == f"stopped at {first.n_rounds:,}, not judged"
    assert rules._verdict(last, asked.n, asked.p).startswith("seen")


def test_the_rules_grow_side_by_side():
    asked = sampled.Asked(*given._CHOSEN["letters"], 3, 5000, ("exact", "always_accept"), 1)
    steps = list(sampled.steps(asked))
    assert [progress for progress, _seen in steps] == sorted({progress for progress, _seen in steps})
    assert steps[-1][0] == 1
    for _progress, seen in steps:
        assert seen["exact"].tally.n_rounds == seen["always_accept"].tally.n_rounds
    samples = list(rules.steps(rules.Asked(*given._CHOSEN["letters"], 500, 0.5, 1, words.RULES)))
    assert samples[-1][0] == 1
    assert {rule: tally.n_rounds for rule, tally in samples[-1][1].items()} == dict.fromkeys(words.RULES, 500)


# The figures' data


@settings(max_examples=40)
@hypothesis_given(st.integers(0, 2**32), st.integers(1, 50), st.sampled_from(words.RULES))
def test_gains_and_losses_cancel_and_half_of_them_is_the_total_variation(seed, size, rule):
    p, q = exact.random_laws(seed, size)
    emitted = exact.emitted_law(p, q, rule)
    drawn = figures.bias_figure(given.letters(size), p.tolist(), emitted.tolist(), "x")
    bars = [value for trace in drawn.data for value in trace.y]
    assert len(bars) == size
    assert sum(bars) == pytest.approx(0, abs=1e-12)
    assert 0.5 * sum(map(abs, bars)) == pytest.approx(theory.total_variation(emitted, p), abs=1e-12)
    assert min(drawn.data[0].y, default=0) >= 0 >= max(drawn.data[1].y, default=0)


@settings(max_examples=40)
@hypothesis_given(st.integers(0, 2**32), st.integers(1, 50))
def test_bars_and_dots_are_both_the_target(seed, size):
    p, q = exact.random_laws(seed, size)
    bars, dots = figures.emitted_figure(given.letters(size), p.tolist(), exact.emitted_law(p, q).tolist()).data
    assert sum(bars.y) == pytest.approx(1)
    np.testing.assert_allclose(dots.y, bars.y, atol=1e-15)


@settings(max_examples=60)
@hypothesis_given(st.lists(st.floats(0, 1), min_size=2, max_size=7), st.booleans())
def test_the_names_at_the_lines_ends_keep_apart_and_in_order(ends, logarithmic):
    lines = [figures.Line(f"r{i}", i, (0.1, end)) for i, end in enumerate(ends)]
    drawn = figures.lines_figure([0, 1], lines, "t", "x", logarithmic=logarithmic)
    heights = sorted(a.y for a in drawn.layout.annotations)
    assert all(b - a >= 0.06 for a, b in pairwise(heights))
    by_end = sorted(range(len(ends)), key=lambda i: ends[i])
    assert all(
        drawn.layout.annotations[a].y < drawn.layout.annotations[b].y
        for a, b in pairwise(by_end)
        if ends[a] < 0.999 * ends[b] and ends[b] > 1e-9
    )


def test_no_two_rules_share_their_colour_and_dash():
    lines = [figures.Line(rule, i, (0.0, i / 10)) for i, rule in enumerate(words.RULES)]
    for theme in ("light", "dark"):
        drawn = figures.lines_figure([0, 1], lines, "t", "x", theme=theme)
        assert len({(t.line.color, t.line.dash) for t in drawn.data}) == len({t.line.dash for t in drawn.data}) == 7


def test_the_reference_falls_as_one_over_n():
    seen = sampled.at_once(sampled.Asked(*given._CHOSEN["letters"], 3, 20_000, ("exact", "always_accept"), 0))
    paths = [Way(rule, words.RULES.index(rule), one.points, 0.05) for rule, one in seen.items()]
    reference, _level, _other, way, _broken = divergence_figure(paths, 5, 60_000).data
    assert reference.y[0] / reference.y[1] == pytest.approx(reference.x[1] / reference.x[0])
    assert reference.y[1] == pytest.approx(4 / (2 * 60_000))
    assert way.y[-1] == pytest.approx(fit.divergence(seen["exact"].tally.counts, ROUND["target_probs"]))


def test_nothing_seen_is_said_and_not_drawn():
    drawn = divergence_figure([Way("r", 0, (), 0.0)], 5, 100)
    assert not drawn.data
    assert "nothing seen yet" in drawn.layout.annotations[0].text
