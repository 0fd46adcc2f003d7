"""Rounds on toy models: budgets, ends, caches, seeds. Each trap of the field that lives here is named in its test."""

import gc
import itertools
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import specviz as sv
from specviz.models.base import Reader
from specviz.models.toy import TableModel, TableReader
from specviz.sampling import residual, warp
from tests.scripted import play, recorded_uniforms

GREEDY = sv.Sampling(temperature=0)


def random_law(seed: int, size: int, sharp: float = 1.0):
    """A law that depends on the last two tokens and on the length, so that a wrong cache shows."""
    table = np.random.default_rng(seed).random((7, size + 1, size + 1, size)) ** sharp
    table /= table.sum(-1, keepdims=True)

    def law(tokens: tuple[int, ...]) -> np.ndarray:
        a, b = (tokens[-2] if len(tokens) > 1 else size), tokens[-1]
        return table[len(tokens) % 7, a, b]

    return law


def toy_pair(size: int = 5, eos: int | None = None, context: int | None = None, sharp: float = 2.0) -> sv.Pair:
    return sv.Pair(
        TableModel(random_law(1, size, sharp), size, eos, name="target", context_length=context),
        TableModel(random_law(2, size, sharp), size, eos, name="draft", context_length=context),
    )


def always(token: int, size: int = 3) -> TableModel:
    return TableModel(lambda _: np.eye(size)[token], size, name=f"always {token}")


class TestBudget:
    @given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 50))
    def test_trap9_max_new_tokens_is_met_and_never_exceeded(self, k, limit, seed):
        trace = sv.speculate(toy_pair(), [0], draft_length=k, max_new_tokens=limit, seed=seed)
        assert len(trace.tokens) == limit
        assert trace.stop_reason == "length"
        left = limit
        for round_ in trace.rounds:
            assert len(round_.nodes) == min(k, left - 1)  # K is cut so that even a full acceptance fits
            left -= len(round_.emitted)

    def test_trap9_one_token_takes_one_target_pass_and_no_draft(self):
        trace = sv.speculate(toy_pair(), [0], max_new_tokens=1, seed=3)
        (round_,) = trace.rounds
        assert (len(round_.nodes), round_.final.source, round_.draft_cache.fed) == (0, "bonus", 0)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"draft_length": 0}, r"draft_length \(K\) must be a whole number of at least 1, got 0"),
            ({"draft_length": 2.0}, "draft_length"),
            ({"draft_length": True}, "draft_length"),
            ({"max_new_tokens": 0}, "max_new_tokens must be a whole number of at least 1, got 0"),
            ({"seed": -1}, r"seed must be a whole number from 0 to 2\^63 - 1, or None, got -1"),
            ({"seed": 2**63}, "seed"),
            ({"stop": "end"}, "stop must be a list of non-empty strings, got 'end'"),
            ({"stop": [""]}, "stop must be a list"),
        ],
    )
    def test_bad_settings_get_one_clear_sentence(self, options, sentence):
        with pytest.raises(sv.ConfigError, match=sentence):
            sv.speculate(toy_pair(), [0], **options)

    @pytest.mark.parametrize(
        ("prompt", "sentence"),
        [
            ([], "the prompt holds no token ids; give at least one"),
            ([0, 9], "the prompt holds 9, but ids run from 0 to 4"),
            ([-1], "the prompt holds -1"),
            (["a"], "the prompt holds 'a'"),
            ("text", "this pair has no tokenizer"),
        ],
    )
    def test_trap15_bad_prompts_get_one_clear_sentence(self, prompt, sentence):
        with pytest.raises(sv.PromptError, match=sentence):
            sv.speculate(toy_pair(), prompt)


class TestContext:
    def test_trap15_a_prompt_longer_than_the_context_is_refused(self):
        with pytest.raises(
            sv.PromptError, match=r"the prompt has 9 tokens and the target's context holds 8\. Shorten it"
        ):
            sv.speculate(toy_pair(context=8), [0] * 9)

    @given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 30))
    def test_trap15_a_context_that_fills_stops_cleanly_and_says_why(self, n_prompt, k, seed):
        trace = sv.speculate(toy_pair(context=8), [1] * n_prompt, draft_length=k, max_new_tokens=50, seed=seed)
        assert trace.stop_reason == "context"
        assert n_prompt + len(trace.tokens) == 9  # the last token was predicted from a full context

    def test_a_draft_whose_context_is_full_leaves_the_target_alone(self):
        pair = sv.Pair(TableModel(random_law(1, 5), 5), TableModel(random_law(2, 5), 5, context_length=6))
        trace = sv.speculate(pair, [0], max_new_tokens=20, seed=1)
        assert len(trace.tokens) == 20
        assert not trace.rounds[-1].nodes


class TestEnd:
    @given(st.integers(1, 6), st.integers(0, 200))
    def test_trap8_an_end_token_ends_text_tokens_and_counters_alike(self, k, seed):
        trace = sv.speculate(toy_pair(eos=2), [0], draft_length=k, max_new_tokens=60, seed=seed)
        ends = [i for i, token in enumerate(trace.tokens) if token == 2]
        assert ends == ([len(trace.tokens) - 1] if trace.stop_reason == "eos" else [])
        for round_ in trace.rounds:
            assert 2 not in [node.token for node in round_.nodes[:-1]]  # nothing is drafted after an end
            assert len(round_.pieces) == len(round_.emitted)
        last = trace.rounds[-1]
        if last.final is None:
            assert all(t.accepted for t in last.trials)
            assert last.emitted[-1] == 2

    def test_trap8_an_end_inside_the_accepted_block_needs_no_final_draw(self):
        def law(tokens):
            return np.eye(3)[2 if len(tokens) == 3 else 1]

        pair = sv.Pair(TableModel(law, 3, eos=2), TableModel(law, 3, eos=2))
        trace = sv.speculate(pair, [0], draft_length=4, max_new_tokens=10, seed=0)
        assert (trace.tokens, trace.stop_reason, trace.rounds[0].final) == ((1, 1, 2), "eos", None)
        assert (trace.n_judged, trace.n_accepted, trace.n_drafted) == (3, 3, 3)

    def test_trap8_an_end_as_the_final_draw(self):
        pair = sv.Pair(TableModel(lambda _: [0, 0, 1], 3, eos=2), TableModel(lambda _: [0, 1, 0], 3, eos=2))
        trace = sv.speculate(pair, [0], seed=0)
        assert (trace.tokens, trace.stop_reason, trace.rounds[0].final.source) == ((2,), "eos", "residual")

    def test_trap9_an_end_at_the_very_limit_wins_over_the_length(self):
        pair = sv.Pair(TableModel(lambda _: [0, 0, 1], 3, eos=2), always(1))
        assert sv.speculate(pair, [0], max_new_tokens=1).stop_reason == "eos"


class TestRule:
    def test_trap12_only_judged_positions_count(self):
        trace = sv.speculate(sv.Pair(always(0), always(1)), [0], draft_length=4, max_new_tokens=6, seed=0)
        assert (trace.n_accepted, trace.n_judged) == (
            0,
            5,
        )  # one judgement a round; the last round has no room to draft
        assert trace.n_drafted == 4 + 4 + 3 + 2 + 1
        assert sv.measure.acceptance(trace).estimate == 0
        assert sv.measure.accepted_of_drafted(trace).trials == 14

    def test_trap20_a_bonus_is_neither_dropped_nor_doubled(self):
        trace = sv.speculate(sv.Pair(always(1), always(1)), [0], draft_length=3, max_new_tokens=8, seed=0)
        assert [r.emitted for r in trace.rounds] == [(1, 1, 1, 1), (1, 1, 1, 1)]
        assert [r.final.source for r in trace.rounds] == ["bonus", "bonus"]

    @given(st.integers(1, 5), st.integers(0, 100))
    def test_trap5_greedy_speculation_is_plain_greedy(self, k, seed):
        pair = toy_pair(eos=4)
        a = sv.speculate(pair, [seed % 5], draft_length=k, max_new_tokens=30, sampling=GREEDY, seed=seed)
        b = sv.autoregress(pair, [seed % 5], max_new_tokens=30, sampling=GREEDY)
        assert (a.tokens, a.stop_reason) == (b.tokens, b.stop_reason)

    def test_trap4_the_recorded_q_is_the_law_that_was_drawn_from(self):
        sampling = sv.Sampling(temperature=0.6, top_k=3)
        pair = toy_pair()
        trace = sv.speculate(pair, [0], draft_length=4, max_new_tokens=40, sampling=sampling, seed=5)
        for round_ in trace.rounds:
            tokens = [*trace.prompt_tokens, *trace.tokens][: round_.start]
            for node in round_.nodes:
                law = warp(np.log(pair.draft.probs(tuple(tokens))), sampling)
                assert node.draft_prob == pytest.approx(law[node.token], abs=1e-15)
                cumulative = law.cumsum()
                assert node.below == pytest.approx(cumulative[node.token] - law[node.token], abs=1e-15)
                assert node.below <= node.uniform + 1e-15
                assert node.uniform < cumulative[node.token] + 1e-15
                tokens = [*tokens, node.token]
            final, at = round_.final, len(round_.accepted)
            tokens = [*trace.prompt_tokens, *trace.tokens][: round_.start + at]
            p = warp(np.log(pair.target.probs(tuple(tokens))), sampling)
            if final.source == "residual":
                p = residual(p, warp(np.log(pair.draft.probs(tuple(tokens))), sampling))
            assert final.below == pytest.approx(p[: final.token].sum(), abs=1e-15)
            assert final.below - 1e-15 <= final.uniform < final.below + final.prob + 1e-15

    @pytest.mark.parametrize("which", ["target", "draft"])
    def test_trap3_nan_logits_name_the_model(self, which):
        class Broken(TableModel):
            def open(self, prompt=()) -> Reader:  # noqa: ARG002
                reader = TableReader(self)
                reader._feed = lambda _, n: np.full((n, 5), np.nan)
                return reader

        models = {name: TableModel(random_law(1, 5), 5, name=name) for name in ("target", "draft")}
        models[which] = Broken(random_law(1, 5), 5, name=which)
        with pytest.raises(sv.LogitsError, match=f"{which} '{which}'.* hold NaN"):
            sv.speculate(sv.Pair(models["target"], models["draft"]), [0])

    def test_two_vocabularies_of_different_size_are_refused(self):
        with pytest.raises(sv.VocabularyError, match="over 3 tokens and the draft over 4"):
            sv.Pair(always(0, 3), always(0, 4))


class TestSeeds:
    def test_trap13_the_same_seed_gives_the_same_trace(self):
        pair = toy_pair()
        a, b = (without_times(sv.speculate(pair, [0], seed=11, max_new_tokens=40)) for _ in range(2))
        assert a == b
        assert a != without_times(sv.speculate(pair, [0], seed=12, max_new_tokens=40))

    def test_trap13_two_requests_in_flight_do_not_share_draws_or_caches(self):
        pair = toy_pair()
        alone = [sv.speculate(pair, [start], seed=start, max_new_tokens=30) for start in (0, 1)]
        runs = [sv.stream(pair, [start], seed=start, max_new_tokens=30) for start in (0, 1)]
        for _ in itertools.zip_longest(*runs):
            pass
        assert [without_times(run.trace) for run in runs] == [without_times(t) for t in alone]

    def test_no_seed_takes_a_fresh_one_and_records_it(self):
        pair = toy_pair()
        one, two = (sv.speculate(pair, [0], max_new_tokens=20) for _ in range(2))
        assert one.seed != two.seed
        assert without_times(sv.speculate(pair, [0], max_new_tokens=20, seed=one.seed)) == without_times(one)

    @given(st.integers(0, 100), st.integers(1, 5))
    def test_a_trace_replays_from_its_own_record(self, seed, k):
        pair = toy_pair(eos=3)
        trace = sv.speculate(pair, [0], draft_length=k, max_new_tokens=25, seed=seed)
        again = play(sv.stream(pair, [0], draft_length=k, max_new_tokens=25, seed=seed), recorded_uniforms(trace))
        assert again.tokens == trace.tokens
        assert [r.nodes for r in again.rounds] == [r.nodes for r in trace.rounds]

    def test_trap20_no_r_is_seeded_again(self):
        trace = sv.speculate(toy_pair(), [0], seed=0, max_new_tokens=60)
        rs = [t.r for r in trace.rounds for t in r.trials]
        assert len(set(rs)) == len(rs)


class TestStream:
    def test_rounds_come_as_they_are_played_and_closing_stops_the_work(self):
        run = sv.stream(toy_pair(), [0], max_new_tokens=100, seed=1)
        first = next(run)
        assert run.trace.rounds == (first,)
        assert run.trace.stop_reason == "cancelled"
        run.close()
        assert list(run) == []
        assert run.trace.rounds == (first,)

    def test_a_streamed_run_is_the_run(self):
        run = sv.stream(toy_pair(), [0], max_new_tokens=30, seed=1)
        rounds = tuple(run)
        assert rounds == run.trace.rounds
        assert without_times(run.trace) == without_times(sv.speculate(toy_pair(), [0], max_new_tokens=30, seed=1))

    def test_plain_decoding_has_the_same_result_type(self):
        trace = sv.autoregress(toy_pair(), [0], max_new_tokens=5, seed=0)
        assert (trace.draft, trace.draft_length, len(trace.rounds), trace.n_drafted) == (None, 0, 5, 0)


class TestCaches:
    @given(st.integers(1, 5), st.lists(st.floats(0, 1, exclude_max=True), min_size=250, max_size=250))
    def test_trap11_cached_equals_uncached_for_every_pattern_of_acceptances(self, k, script):
        pair = toy_pair()
        options = {"draft_length": k, "max_new_tokens": 12}
        cached = generous_play(sv.stream(pair, [0, 1], **options), script)
        uncached = generous_play(sv.stream(without_caches(pair), [0, 1], **options), script)
        assert cached.tokens == uncached.tokens
        assert [r.nodes for r in cached.rounds] == [r.nodes for r in uncached.rounds]

    @pytest.mark.parametrize("off_by", [-1, 1])
    def test_trap20_a_cache_cropped_one_too_many_or_too_few_is_caught(self, off_by):
        class OffByOne(TableReader):
            def _drop(self, n: int) -> None:
                del self._cache[len(self._cache) - max(0, n + off_by) :]

        pair = toy_pair()
        broken = sv.Pair(pair.target, TableModel(pair.draft.law, 5, name="draft"))
        broken.draft.open = lambda _prompt=(): OffByOne(broken.draft)  # type: ignore[method-assign]
        right, wrong = (sv.speculate(p, [0, 1], seed=4, max_new_tokens=40) for p in (pair, broken))
        assert [r.nodes for r in right.rounds] != [r.nodes for r in wrong.rounds]

    @given(st.integers(1, 5), st.integers(0, 100))
    def test_no_token_is_fed_twice_without_need(self, k, seed):
        trace = sv.speculate(toy_pair(), [0, 1, 2], draft_length=k, max_new_tokens=40, seed=seed)
        for before, round_ in itertools.pairwise(trace.rounds):
            drafted, accepted = len(before.nodes), len(before.accepted)
            assert round_.target_cache.dropped == drafted - accepted
            assert round_.target_cache.fed == 1 + len(round_.nodes)  # the last final draw, and the new drafts
            if round_.nodes:
                # the draft never read its own last token: after a full acceptance it must catch up by one
                assert round_.draft_cache.dropped == max(0, drafted - 1 - accepted)
                assert round_.draft_cache.fed == len(round_.nodes) + (accepted == drafted)

    def test_a_full_acceptance_leaves_the_draft_one_token_behind(self):
        trace = sv.speculate(sv.Pair(always(1), always(1)), [0], draft_length=3, max_new_tokens=12, seed=0)
        assert [r.draft_cache.fed for r in trace.rounds] == [3, 4, 4]
        assert [r.target_cache.fed for r in trace.rounds] == [4, 4, 4]
        assert [r.target_cache.dropped for r in trace.rounds] == [0, 0, 0]


def test_a_toy_law_that_is_no_law_gets_one_sentence():
    with pytest.raises(sv.ConfigError, match=r"the law of 'table' after \(0,\) must be 3 probabilities that sum to 1"):
        sv.speculate(sv.Pair(TableModel(lambda _: [0.5, 0.1, 0.1], 3), always(0)), [0])


def without_times(trace: sv.Trace):
    """Everything of a trace that the clock does not decide."""
    return (
        trace.tokens,
        trace.seed,
        trace.stop_reason,
        [(r.nodes, r.trials, r.final, r.pieces, r.draft_cache, r.target_cache) for r in trace.rounds],
    )


def without_caches(pair: sv.Pair) -> sv.Pair:
    models = []
    for model in (pair.target, pair.draft):
        twin = TableModel(model.law, model.vocab_size, name=model.name)

        def open_(_prompt=(), twin: TableModel = twin) -> Reader:
            class Uncached(TableReader):
                can_drop = False

                def _feed(self, tokens, n):
                    self._cache = []
                    return super()._feed(tokens, n)

            return Uncached(twin)

        twin.open = open_  # type: ignore[method-assign]
        models.append(twin)
    return sv.Pair(*models)


def generous_play(run: sv.Run, uniforms: list[float]) -> sv.Trace:
    """Play with a script that may be longer than needed."""
    from tests.scripted import ScriptedGenerator

    run._request.rng = ScriptedGenerator(uniforms)  # type: ignore[assignment]
    return run.finish()


def test_a_run_that_another_thread_closes_in_the_middle_of_a_round_frees_its_caches():
    readers = []

    class Noted(TableModel):
        def open(self, prompt=()):
            reader = super().open(prompt)
            readers.append(weakref.ref(reader))
            return reader

    def law(_tokens):
        if len(readers) == 2:  # the first round is under way
            run.close()
        return [0.5, 0.5]

    pair = sv.Pair(Noted(law, 2), Noted(law, 2))
    run = sv.stream(pair, [0], max_new_tokens=8, seed=0)
    next(run)
    gc.collect()
    assert [reader() for reader in readers] == [None, None]


class TestMisuse:
    """What people pass by mistake gets one sentence, and nothing is silently ignored."""

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"sampling": 0.5}, r"sampling must be a Sampling, as in Sampling\(temperature=0\.8\), got 0\.5"),
            ({"sampling": sv.Sampling}, "sampling must be a Sampling"),
            ({"stop": None}, "stop must be a list of non-empty strings, got None"),
            ({"stop": ["a"]}, "this pair has no tokenizer, so there is no text"),
        ],
    )
    def test_options_of_the_wrong_kind(self, options, sentence):
        with pytest.raises(sv.ConfigError, match=sentence):
            sv.speculate(toy_pair(), [0], **options)

    @pytest.mark.parametrize("prompt", [None, 5, b"\0\1", {0, 1}, {0: 1}, object()])
    def test_prompts_of_the_wrong_kind(self, prompt):
        with pytest.raises(
            sv.PromptError, match=r"the prompt must be text or a list of token ids \(input_ids\[0\]\), got"
        ):
            sv.speculate(toy_pair(), prompt)

    def test_arrays_tensors_and_generators_of_ids_are_prompts(self):
        import torch

        prompts = ([0, 1], (0, 1), np.array([0, 1]), torch.tensor([0, 1]), (i for i in (0, 1)))
        assert len({sv.speculate(toy_pair(), p, seed=0, max_new_tokens=5).tokens for p in prompts}) == 1

    @pytest.mark.parametrize("pair", [None, "bundled", (1, 2)])
    def test_what_is_no_pair(self, pair):
        with pytest.raises(sv.ConfigError, match="pair must be a Pair"):
            sv.speculate(pair, [0])
        with pytest.raises(sv.ConfigError, match="Pair takes two models of specviz"):
            sv.Pair(pair, pair)

    def test_a_model_that_answers_in_another_shape(self):
        class Wide(TableModel):
            def open(self, prompt=()) -> Reader:  # noqa: ARG002
                reader = TableReader(self)
                reader._feed = lambda _, n: np.zeros((n, 6))
                return reader

        wide, right = Wide(random_law(1, 5), 5), TableModel(random_law(1, 5), 5)
        for pair in (sv.Pair(wide, right), sv.Pair(right, wide)):
            with pytest.raises(sv.LogitsError, match=r"logits of shape \(., 6\) instead of \(., 5\)"):
                sv.speculate(pair, [0])

    def test_a_reader_that_failed_does_not_answer_from_a_torn_cache(self):
        calls = iter([RuntimeError("once")])

        def law(tokens):
            for error in calls:
                raise error
            return random_law(1, 5)(tokens)

        reader = TableModel(law, 5).open()
        with pytest.raises(RuntimeError, match="once"):
            reader.logits([0, 1], 1)
        with pytest.raises(sv.ModelError, match="this reader failed before"):
            reader.logits([0, 1], 1)

    def test_a_huge_draft_length_is_cut_before_it_takes_memory(self):
        assert len(sv.speculate(toy_pair(), [0], draft_length=10**12, max_new_tokens=9, seed=0).tokens) == 9

    @pytest.mark.parametrize("size", [0, -1, 2.5, "3", None])
    def test_a_toy_of_no_size(self, size):
        with pytest.raises(sv.ConfigError, match="vocab_size must be a whole number"):
            TableModel(random_law(1, 5), size)

    def test_a_toy_whose_end_is_outside(self):
        with pytest.raises(sv.ConfigError, match="eos must be an id from 0 to 4, or None, got 9"):
            TableModel(random_law(1, 5), 5, eos=9)
