"""Several requests at once: each is what it is alone."""

import numpy as np
import pytest

import specviz as sv
from specviz.models.toy import TableModel

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


def test_no_prompts_no_traces_and_bad_ones_are_told(pair):
    assert sv.speculate_many(pair, []) == []
    for prompts, options in (
        ("It was", {}),
        (["It was"], {"seeds": [1, 2]}),
        (["It was"], {"seeds": 1}),
        (["It was"], {"draft_length": 0}),
        (["It was", 3], {}),
    ):
        with pytest.raises(sv.SpecvizError):
            sv.speculate_many(pair, prompts, **options)
