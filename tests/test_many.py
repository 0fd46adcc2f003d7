"""Several requests at once: each is what it is alone."""

import time

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig

import specviz as sv
from specviz.models.base import Ask, read
from specviz.models.hf import HFModel
from specviz.models.lean import LeanLlama
from specviz.models.toy import TableModel
from specviz.recording import Recorder

PROMPTS = (
    "It is a truth universally acknowledged",
    "The captain",
    "def __init__(self, name):\n        self.name = name",
    "My dear",
    "Once upon a time there was a whale, and the men who",
)
SEEDS = [3, 1, 4, 1, 5]


def facts(trace):
    """All of a trace but what depends on the clock, and laws to rounding."""
    return [
        (
            r.emitted,
            [(node.token, node.uniform) for node in r.nodes],
            [trial.accepted for trial in r.trials],
            (r.draft_cache, r.target_cache, r.pieces),
        )
        for r in trace.rounds
    ]


def alone(pair, prompts, seeds, **options):
    return [sv.speculate(pair, prompt, seed=seed, **options) for prompt, seed in zip(prompts, seeds, strict=True)]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("draft_length", [1, 4])
def test_each_request_is_the_one_alone(pair, temperature, draft_length):
    options = {
        "draft_length": draft_length,
        "max_new_tokens": 40,
        "sampling": sv.Sampling(temperature=temperature),
        "stop": ["\n\n"],
    }
    traces = sv.speculate_many(pair, PROMPTS, seeds=SEEDS, **options)
    for trace, single in zip(traces, alone(pair, PROMPTS, SEEDS, **options), strict=True):
        assert (trace.prompt, trace.seed, trace.text) == (single.prompt, single.seed, single.text)
        assert trace.stop_reason == single.stop_reason
        assert facts(trace) == facts(single)
    assert len({len(trace.rounds) for trace in traces}) > 1  # they end at different times


def test_the_laws_are_those_of_the_request_alone_to_rounding(pair):
    traces = sv.speculate_many(pair, PROMPTS, seeds=SEEDS, max_new_tokens=24)
    for trace, single in zip(traces, alone(pair, PROMPTS, SEEDS, max_new_tokens=24), strict=True):
        ours, theirs = ([n.beta for r in t.rounds for n in r.nodes] for t in (trace, single))
        assert np.allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize(
    "draft",
    [sv.PromptLookup(), sv.SkippedLayers(0.5), sv.UniformDraft(), "adaptive"],
    ids=["lookup", "skipped", "uniform", "adaptive"],
)
def test_other_ways_to_draft_are_the_same_alone(pair, draft):
    way = sv.AdaptiveLength(pair.draft) if draft == "adaptive" else draft
    twin = sv.Pair(pair.target, way, pair.tokenizer)
    options = {"max_new_tokens": 24, "sampling": sv.Sampling(temperature=0)}
    traces = sv.speculate_many(twin, PROMPTS, seeds=SEEDS, **options)
    assert [facts(t) for t in traces] == [facts(t) for t in alone(twin, PROMPTS, SEEDS, **options)]


def test_a_pass_reads_all_requests_and_only_those_that_go_on(pair, monkeypatch):
    """The target makes as many passes as the longest request has rounds."""
    passes = {}
    call = type(pair.target.lean).__call__

    def counted(self, *rows):
        passes.setdefault(id(self), []).append(len(rows))
        return call(self, *rows)

    monkeypatch.setattr(type(pair.target.lean), "__call__", counted)
    traces = sv.speculate_many(pair, PROMPTS, seeds=SEEDS, max_new_tokens=32)
    rounds = [len(t.rounds) for t in traces]
    assert passes[id(pair.target.lean)] == [sum(n > i for n in rounds) for i in range(max(rounds))]
    assert max(passes[id(pair.draft.lean)]) == len(PROMPTS)


def test_models_without_the_lean_pass_are_asked_one_after_another():
    table = np.random.default_rng(0).dirichlet(np.ones(6), (2, 6))
    target, draft = (TableModel(lambda tokens, law=law: law[tokens[-1]], 6, eos=0) for law in table)
    pair, prompts, seeds = sv.Pair(target, draft), [[1], [2, 3], [4]], [1, 2, 3]
    traces = sv.speculate_many(pair, prompts, seeds=seeds, max_new_tokens=12)
    assert [facts(t) for t in traces] == [facts(t) for t in alone(pair, prompts, seeds, max_new_tokens=12)]


def test_the_times_of_a_shared_pass_do_not_depend_on_the_place_in_the_list(pair, monkeypatch):
    """By a clock that only recording moves on."""
    record, now = Recorder.record, [0.0]

    def slow(self, **facts):
        now[0] += 1
        return record(self, **facts)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(Recorder, "record", slow)
    traces = sv.speculate_many(pair, PROMPTS, seeds=SEEDS, max_new_tokens=12)
    assert {r.draft_s + r.verify_s for trace in traces for r in trace.rounds} == {0.0}
    assert max(trace.total_s for trace in traces) == sum(len(trace.rounds) for trace in traces)


def llama(pair, scale=6.0, context=1500):
    """A random Llama whose weights are no float16 numbers."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2048,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        intermediate_size=64,
        max_position_embeddings=context,
    )
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(scale if p.ndim > 1 else 1)
    return HFModel(model, pair.tokenizer)


def test_rows_of_any_length_are_read_as_alone_also_beyond_the_rotations_at_hand(pair):
    model, rng = llama(pair), np.random.default_rng(0)
    texts = [rng.integers(1, 2048, n).tolist() for n in (3, 40, 700, 1)]
    readers = [model.open() for _ in texts]
    together = read([Ask(reader, text, min(3, len(text))) for reader, text in zip(readers, texts, strict=True)])
    for text, got in zip(texts, together, strict=True):
        with torch.no_grad():
            want = model.model(torch.tensor([text])).logits[0, -len(got) :].numpy()
        assert np.abs(got - want).max() < 1e-4 * np.abs(want).max()


def test_a_table_of_rotations_that_another_thread_replaces_changes_nothing(pair, monkeypatch):
    model, text = llama(pair), list(range(1, 800))
    with torch.no_grad():
        want = model.model(torch.tensor([text])).logits[0, -1].numpy()
    grow = LeanLlama._rotate_to

    def grow_and_be_overtaken(self, length):
        grown = grow(self, length)
        self._rotation = grow(self, 8)
        return grown

    monkeypatch.setattr(LeanLlama, "_rotate_to", grow_and_be_overtaken)
    assert np.abs(model.open().logits(text, 1)[0] - want).max() < 1e-4 * np.abs(want).max()


def test_a_pass_that_fails_leaves_no_reader_in_use_and_a_torn_one_touches_no_other(pair, monkeypatch):
    model = llama(pair)
    readers = [model.open() for _ in range(3)]
    asks = [Ask(reader, [5, 6, 7], 1) for reader in readers]
    with monkeypatch.context() as patched:
        patched.setattr(LeanLlama, "_attend", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            read(asks)
    for reader in readers:
        with pytest.raises(sv.ModelError, match="failed before"):
            reader.logits([5], 1)
    fresh = model.open()
    with pytest.raises(sv.ModelError, match="failed before"):
        read([Ask(fresh, [5, 6, 7], 1), asks[0]])
    assert np.isfinite(fresh.logits([5, 6, 7], 1)).all()


def test_a_token_without_a_row_ends_a_shared_pass_in_a_sentence(pair):
    readers = [llama(pair).open()]
    readers.append(readers[0]._of.open())
    readers[0]._of.n_rows = 100
    with pytest.raises(sv.PromptError, match="no row for token 200"):
        read([Ask(readers[0], [5, 6], 1), Ask(readers[1], [5, 200], 1)])


@pytest.mark.parametrize(
    ("prompts", "options", "told"),
    [
        ("It was", {}, "prompts must be a list of prompts"),
        (["It was"], {"seeds": [1, 2]}, "seeds must be a list of 1 whole numbers"),
        (["It was"], {"seeds": 1}, "seeds must be a list of 1 whole numbers"),
        (["It was"], {"draft_length": 0}, "draft_length .K. must be a whole number of at least 1, got 0"),
        (["It was", 3], {}, "prompt 2 of 2: "),
        (["It was", "It is"], {"seeds": [1, -1]}, "prompt 2 of 2: seed must be a whole number"),
    ],
)
def test_what_is_asked_wrongly_is_told(pair, prompts, options, told):
    with pytest.raises(sv.SpecvizError, match=told):
        sv.speculate_many(pair, prompts, **options)


def test_no_prompts_give_no_traces(pair):
    assert sv.speculate_many(pair, []) == []
