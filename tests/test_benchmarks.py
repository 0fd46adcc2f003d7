"""What the benchmark of the pages moves, and what it says of its goals; and what the engine's benchmarks measure."""

import math
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import specviz as sv
from benchmarks import batch, floor, growth, limit, pages, peers, timing
from benchmarks.contestants import PLAIN, Case, Contest, Ran
from specviz import examples
from specviz.models.base import Ask, read
from specviz.ui import state


def slider(value, least, most, step):
    return SimpleNamespace(value=value, min=least, max=most, step=step)


@pytest.mark.parametrize(
    ("widget", "moved"),
    [
        (slider(4, 1, 6, 1), [5, 6, 3, 2, 1]),
        (slider(6, 1, 6, 1), [5, 4, 3, 2, 1]),
        (slider(0.1, 0.0, 0.4, 0.1), [0.2, 0.3, 0.4, 0.0]),
        (slider(None, 0, 2, 1), [1, 2]),  # an empty box
        (slider((1, 3), 0, 9, 1), [(2, 3), (3, 3), (0, 3)]),
        (slider(1, 1, 1, 1), []),
    ],
)
def test_an_input_moves_to_a_new_value_each_time_and_stays_inside_its_ends(widget, moved):
    assert list(pages.others("slider", widget)) == moved
    assert widget.value not in moved
    assert len(set(moved)) == len(moved)


def test_a_box_without_an_end_has_values_enough():
    assert list(islice(pages.others("number_input", slider(0, None, None, 1)), 5)) == [1, 2, 3, 4, 5]


def test_a_switch_and_a_choice_move_once_to_each_of_their_other_values():
    assert list(pages.others("toggle", SimpleNamespace(value=True))) == [False]
    assert list(pages.others("button_group", SimpleNamespace(indices=[1], options=["a", "b", "c"]))) == ["a", "c"]
    assert list(pages.others("selectbox", SimpleNamespace(index=0, options=["a", "b"]))) == ["b"]
    assert list(pages.others("selectbox", SimpleNamespace(index=None, options=["a", "b"]))) == []


def test_every_part_of_a_page_is_timed():
    found = pages.parts("pages/lossless.py")
    assert found[:2] == ["Exact", "Sampled"]
    assert len(found) == 7
    assert pages.parts("pages/tokens.py") == [""]
    assert pages.PARTED == {"pages/lossless.py": state.PROOF}


def test_a_part_is_moved_in_and_its_choice_is_timed_too(monkeypatch):
    shown = []

    def timed(at):
        at.run()
        shown.append(next(w for w in at.get("button_group") if w.key == state.PROOF).value)
        return 0.0

    monkeypatch.setattr(pages, "_timed", timed)
    _which, times = pages.moves("pages/lossless.py", "Rounding", 1)
    assert times == [0.0]
    assert len(shown) > 1
    assert set(shown) == {"rounding"}


def test_the_goals_are_told_of_each_time():
    assert pages.told([0.1, 0.2, 0.9], 0.15) == "200 (900)!"
    assert pages.told([0.1, 0.1, 0.9], 0.15) == "100 (900) "
    assert pages.told([], 0.15) == "–"
    assert pages.meets([0.9], [0.14])
    assert pages.meets([0.9], [])
    assert not pages.meets([1.1], [0.14])
    assert not pages.meets([0.9], [0.16])


def test_a_spread_is_told_as_its_median_and_ends():
    assert f"{timing.spread([3.0, 1.0, 2.5]):.1f}" == "2.5 (1.0–3.0)"
    assert timing.ratios([2.0, 9.0], [1.0, 3.0]) == [2.0, 3.0]


def test_every_second_repetition_runs_backwards_and_each_contestant_is_told_which_it_is():
    ran = []
    contestants = {name: lambda i, name=name: ran.append((name, i)) or f"{name}{i}" for name in "abc"}
    assert timing.in_turns(contestants, 2) == {"a": ["a0", "a1"], "b": ["b0", "b1"], "c": ["c0", "c1"]}
    assert ran == [("a", 0), ("b", 0), ("c", 0), ("c", 1), ("b", 1), ("a", 1)]


def test_columns_are_as_wide_as_their_widest_cell():
    assert timing.table(["name", "n"], [["a", "100"], ["longer", "7"]]) == "name      n\na       100\nlonger    7"


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "two"])
def test_what_is_no_count_is_refused(text):
    with pytest.raises(Exception, match="whole number of at least 1"):
        timing.positive(text)


class Work:
    """Functions that take as long as they say, on a clock of their own."""

    def __init__(self):
        self.now = 0.0

    def outer(self):
        self.now += 1
        self.inner(2)
        self.inner(3)
        self.now += 4

    def inner(self, seconds):
        self.now += seconds
        if seconds > 2:
            raise_nothing(self)


def raise_nothing(work):
    work.now += 0.5


def test_a_clocked_function_is_not_charged_for_the_clocked_ones_that_it_calls(monkeypatch):
    work = Work()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: work.now)
    clocks = timing.Clocks()
    with clocks.around(
        timing.Clock(Work, "outer", "all"), timing.Clock(Work, "inner", lambda self: type(self).__name__)
    ):
        work.outer()
        assert clocks.take() == {"all": 5, "Work": 5.5}
        assert clocks.take() == {}


def test_clocked_functions_are_put_back_after_an_error():
    before = Work.inner
    clocks = timing.Clocks()
    with pytest.raises(TypeError), clocks.around(timing.Clock(Work, "inner", "part")):
        Work().inner("no number")
    assert clocks.take().keys() == {"part"}
    assert Work.inner is before


def test_whole_rounds_leave_out_the_one_that_reads_the_prompt_and_those_that_drafted_fewer():
    trace = examples.load("prose")
    whole = timing.whole_rounds(trace)
    assert len(whole) > 5
    assert all(r.index and r.final and len(r.nodes) == trace.draft_length for r in whole)
    cut = replace(trace, draft_length=trace.draft_length + 1)
    assert timing.whole_rounds(cut) == []
    assert len(timing.whole_rounds(cut, any_length=True)) >= len(whole)


def test_the_formula_is_tokens_of_a_round_by_what_they_cost_one_by_one_over_what_the_round_costs():
    trace, plain = examples.load("prose"), examples.alone("prose")
    emitted = np.mean([len(r.emitted) for r in timing.whole_rounds(trace)])
    timed = replace(trace, rounds=tuple(replace(r, draft_s=0.5, verify_s=1.5, round_s=9.0) for r in trace.rounds))
    slow_start = [replace(r, round_s=3.0 if r.index else 1000.0) for r in plain.rounds]
    assert peers.predicted(timed, replace(plain, rounds=tuple(slow_start))) == pytest.approx(emitted * 3.0 / 2.0)
    assert math.isnan(peers.predicted(replace(trace, draft_length=9), plain))


def test_a_contestant_with_other_tokens_is_named_where_nothing_is_random():
    same, other, short = Ran(1.0, (1, 2)), Ran(1.0, (1, 3)), Ran(1.0, (1,))
    runs = {("ours", 2): [same], ("ours", 4): [same], ("peer", 4): [other], (PLAIN, 0): [same]}
    greedy, sampled = (Case("prose", temperature, 2) for temperature in (0, 1))
    assert peers.unlike(runs, greedy) == ["peer (K = 4, prose, greedy)"]
    assert peers.unlike(runs, sampled) == []
    assert peers.unlike(runs | {(PLAIN, 0): [short]}, sampled) == [f"{PLAIN} (K = 0, prose, T = 1)"]


def test_the_race_is_run_at_the_temperature_of_the_app():
    assert state._AT_FIRST[state.TEMPERATURE] == peers.APP_TEMPERATURE


@pytest.fixture(scope="module")
def contest():
    return Contest()


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of transformers, where flashspec is there and calls it
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_every_contestant_decodes_the_whole_text_and_the_same_one_where_nothing_is_random(contest, temperature):
    case, against = Case("code", temperature, 8), peers.peers()
    assert {"transformers", "assisted, defaults", "assisted, our K", PLAIN} <= {peer.name for peer in against}
    runs = peers.case_runs(contest, case, [2, 3], 1, against)
    assert peers.unlike(runs, case) == []
    assert all(r.seconds > 0 for ran in runs.values() for r in ran)
    assert len(peers.speeds(runs, 3, against)) == len(against)
    measured, _formula, _ratio = peers.formula(runs, 3)
    assert measured == f"{timing.spread([runs[PLAIN, 0][0].seconds / runs['ours', 3][0].seconds]):.2f}"


def test_a_run_at_its_defaults_leaves_nothing_behind_for_the_next(contest):
    case = Case("prose", 0.0, 8)
    at_k = [contest.theirs(case, {"num_assistant_tokens": 2}, 0) for _ in range(2)]
    assert contest.draft.model.generation_config.num_assistant_tokens == 2
    contest.theirs(case, {}, 0)
    assert contest.draft.model.generation_config.num_assistant_tokens is None
    assert at_k[0].tokens == at_k[1].tokens


@pytest.fixture(scope="module")
def models(contest):
    pair = contest.pair
    return floor.Models("bundled", pair, contest.target, contest.draft)


@pytest.mark.parametrize("own", [True, False])
def test_the_floor_runs_the_very_passes_of_the_engine(models, own):
    tokens = list(range(5, 25))
    bare = floor.Bare(models.target, own=own)
    with torch.inference_mode():
        for filled in (4, 9):
            bare.fill(tokens[:filled])
            (one,) = bare.passes([tokens[filled : filled + 5]])
            answer = one()
            got = answer if own else answer.logits[0].numpy()
            (want,) = read([Ask(models.target.open(), tokens[: filled + 5], 5)])
            assert np.abs(got - want).max() < 1e-3
            bare.crop(5)


def test_a_pass_of_the_bundled_target_reads_its_matrices_and_norms_packed_in_half_the_bytes(models):
    hidden, inner, layers, vocabulary = 256, 704, 8, 2048
    matrices = layers * (4 * hidden * hidden + 3 * hidden * inner) + hidden * vocabulary
    norms = (2 * layers + 1) * hidden
    as_float32, as_held = floor.weight_bytes(models.target)
    assert as_float32 == 4 * (matrices + norms)
    assert as_held == (2 if floor._packed(models.target) else 4) * matrices + 4 * norms


def test_every_part_of_a_round_is_clocked(models):
    parts = limit.profile(models, limit.Asked(3, 24, sv.Sampling(1)), 0)
    assert tuple(parts) == limit.PARTS
    assert {part for part, ms in parts.items() if ms == 0} == {"copying drafts"}


def test_a_pair_that_copies_has_no_draft_passes_and_its_verify_pass_is_clocked_all_the_same():
    models, asked = floor.load("bundled", "lookup", None), limit.Asked(3, 24, sv.Sampling(0))
    assert models.draft is None
    parts = limit.profile(models, asked, 0)
    assert {part for part, ms in parts.items() if ms == 0} == {"draft passes"}
    assert limit.measure(models, asked, 0).n_drafts < 3


def test_the_stretches_of_a_run_are_of_one_length_in_tokens():
    rounds = [growth.Cost(start, 2.0, start / 10) for start in range(10, 110)]
    found = growth.parts(rounds, 10)
    assert [c.start for c in found] == [14, 24, 34, 44, 54, 64, 74, 84, 94, 104]
    assert found[0].overhead_ms == pytest.approx(1.45)
    assert {c.forward_ms for c in found} == {2.0}


def test_a_long_run_is_costed_round_by_round():
    found = growth.costs(growth.long_pair(64), 2, 24, sv.Sampling(0))
    assert len(found) >= 5
    assert all(c.forward_ms > 0 and c.overhead_ms > 0 for c in found)
    assert [c.start for c in found] == sorted({c.start for c in found})


def test_the_plot_of_a_long_run_holds_both_costs():
    drawn = growth.figure([growth.Cost(100, 5.0, 1.5), growth.Cost(900, 8.0, 1.6)])
    assert [list(line.y) for line in drawn.data] == [[5.0, 8.0], [1.5, 1.6]]
    assert [list(line.x) for line in drawn.data] == [[100, 900]] * 2


def test_the_record_of_a_round_does_not_grow_with_the_vocabulary():
    small, large = (growth.size(v, 3) for v in (256, 16384))
    assert small.mean < 2 * large.mean
    assert large.largest < 1.5 * small.largest


def test_requests_decoded_together_are_those_decoded_one_by_one(contest):
    asked = {"draft_length": 2, "sampling": sv.Sampling(0), "max_new_tokens": 8}
    assert batch.row(contest.pair, 3, asked, 1)[-1] == "3/3"
