"""What the text asks of the laws: penalties, bad words, a least length; the same for both models at every place."""

from io import StringIO

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import specviz as sv
from specviz import exact, theory
from specviz.laws import Laws
from specviz.models.toy import TableModel
from specviz.sampling import warp

PROMPT = "It is a truth universally acknowledged, that"
ASKED = {
    "repetition": {"repetition_penalty": 1.3},
    "presence": {"presence_penalty": 1.5},
    "frequency": {"frequency_penalty": 0.7},
    "bad words": {"bad_words": ("the", "and", "in want of")},
    "a least length": {"min_new_tokens": 30},
    "all": {
        "repetition_penalty": 1.1,
        "presence_penalty": 0.3,
        "frequency_penalty": 0.2,
        "min_new_tokens": 12,
        "bad_words": ("a",),
    },
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
@pytest.mark.parametrize("draft", ["model", "lookup"])
def test_greedy_speculation_is_plain_greedy_whatever_is_asked(pair, asked, draft):
    own = pair if draft == "model" else sv.Pair(pair.target, sv.PromptLookup(), pair.tokenizer)
    options = {"max_new_tokens": 40, "sampling": sv.Sampling(temperature=0, **asked)}
    trace, plain = sv.speculate(own, PROMPT, **options), sv.autoregress(pair, PROMPT, **options)
    assert trace.tokens == plain.tokens
    if "min_new_tokens" not in asked or len(asked) > 1:
        assert plain.tokens != sv.autoregress(pair, PROMPT, max_new_tokens=40, sampling=sv.Sampling(0)).tokens
    assert trace == sv.Trace.from_json(StringIO(trace.to_json()))


@pytest.mark.parametrize(
    ("asked", "theirs"),
    [
        ({"repetition_penalty": 1.3}, {"repetition_penalty": 1.3}),
        ({"bad_words": ("the", "his")}, {"bad_words": ("the", "his")}),
        ({"min_new_tokens": 40}, {"min_new_tokens": 40}),
    ],
    ids=lambda value: next(iter(value)),
)
def test_the_text_is_the_one_that_transformers_writes(pair, asked, theirs):
    """An implementation of others, on the same weights, in greedy decoding."""
    theirs = dict(theirs)
    if "bad_words" in theirs:
        words = [w for word in theirs.pop("bad_words") for w in (word, f" {word}")]
        theirs["bad_words_ids"] = [pair.tokenizer.encode_plain(word) for word in words]
    ids = pair.tokenizer.encode(PROMPT)
    with torch.inference_mode():
        given_ids = torch.tensor([ids])
        told = pair.target.model.generate(
            given_ids, attention_mask=torch.ones_like(given_ids), max_new_tokens=40, do_sample=False, **theirs
        )
    ours = sv.speculate(pair, PROMPT, max_new_tokens=40, sampling=sv.Sampling(0, **asked))
    assert list(ours.tokens) == told[0, len(ids) :].tolist()


def by_hand(probs, text, n_prompt, eos, asked):
    """The law after a text, written out one token at a time: the oracle of the recorded laws."""
    logits = np.log(probs)
    output = text[n_prompt:]
    for token in range(len(logits)):
        if token in text and asked.repetition_penalty:
            factor = 1 / asked.repetition_penalty if logits[token] > 0 else asked.repetition_penalty
            logits[token] *= factor
        if token in output:
            logits[token] -= (asked.presence_penalty or 0) + (asked.frequency_penalty or 0) * output.count(token)
        if token in eos and len(output) < (asked.min_new_tokens or 0):
            logits[token] = -np.inf
    return warp(logits, asked)


@pytest.mark.parametrize("seed", range(4))
def test_every_recorded_probability_is_of_the_law_that_its_own_text_asks_for(seed):
    """At each drafted place the text holds the drafts before it; a rule that forgets them gives other numbers."""
    tables = np.random.default_rng(seed).dirichlet(np.ones(6), size=(2, 6))
    target, draft = (TableModel(lambda tokens, t=t: t[tokens[-1]], 6, eos=0) for t in tables)
    asked = sv.Sampling(
        0.9, repetition_penalty=1.4, presence_penalty=0.5, frequency_penalty=0.3, min_new_tokens=25, top_k=5
    )
    trace = sv.speculate(
        sv.Pair(target, draft), [1, 2, 3], draft_length=4, max_new_tokens=60, sampling=asked, seed=seed
    )
    text, forgot = [1, 2, 3], 0.0
    for round_ in trace.rounds:
        drafted = list(text)
        for node in round_.nodes:
            q = by_hand(tables[1][drafted[-1]], drafted, 3, {0}, asked)
            assert node.draft_prob == pytest.approx(q[node.token], abs=1e-12)
            stale = by_hand(tables[1][drafted[-1]], text, 3, {0}, asked)
            forgot = max(forgot, abs(stale[node.token] - node.draft_prob))
            drafted.append(node.token)
        for trial in round_.trials:
            at = text + [n.token for n in round_.nodes[: trial.node]]
            p = by_hand(tables[0][at[-1]], at, 3, {0}, asked)
            assert trial.target_prob == pytest.approx(p[round_.nodes[trial.node].token], abs=1e-12)
        text += round_.emitted
    assert 0 not in trace.tokens[:25]
    assert forgot > 0.02


@pytest.mark.parametrize("k", [1, 2, 3])
def test_whole_sequences_have_the_law_that_the_target_alone_has_with_the_same_penalties(k):
    """By enumeration over rounds; the target's own law is multiplied out with the oracle above."""
    tables = np.random.default_rng(k).dirichlet(np.ones(3), size=(2, 3))
    target, draft = (TableModel(lambda tokens, t=t: t[tokens[-1]], 3, eos=0) for t in tables)
    asked = sv.Sampling(0.8, repetition_penalty=1.7, presence_penalty=0.6, frequency_penalty=0.4, min_new_tokens=2)
    want, texts = {}, {(): 1.0}
    for _ in range(4):
        longer = {}
        for text, mass in texts.items():
            law = by_hand(tables[0][(1, *text)[-1]], [1, *text], 1, {0}, asked)
            longer |= {(*text, t): mass * prob for t, prob in enumerate(law) if prob}
        want |= {text: mass for text, mass in longer.items() if text[-1] == 0}
        texts = {text: mass for text, mass in longer.items() if text[-1] != 0}
    law = exact.sequence_law(sv.Pair(target, draft), [1], 4, k, sampling=asked)
    assert exact.sequence_total_variation(law, want | texts) < 1e-12
    without = exact.sequence_law(sv.Pair(target, draft), [1], 4, k, sampling=sv.Sampling(0.8))
    assert exact.sequence_total_variation(law, without) > 0.05


@given(st.integers(1, 5), st.integers(1, 8), st.integers(0, 99))
def test_rows_of_one_pass_are_treated_as_passes_of_their_own(n, more, seed):
    rng = np.random.default_rng(seed)
    text = rng.integers(0, 5, size=n + more).tolist()
    logits = rng.normal(size=(n, 5))
    asked = sv.Sampling(1.0, repetition_penalty=1.3, presence_penalty=0.2, frequency_penalty=0.4, min_new_tokens=3)
    laws = Laws(asked, 1, frozenset({4}), bad_words=[(2,), (1, 3)])
    together = laws(logits, text)
    for i in range(n):
        alone = laws(logits[i : i + 1], text[: len(text) - n + 1 + i])
        np.testing.assert_array_equal(together[i], alone[0])


def test_a_bad_word_of_several_tokens_stops_at_its_last_and_only_there():
    laws = Laws(sv.Sampling(), 0, frozenset(), bad_words=[(1, 2)])
    even = np.zeros((1, 3))
    assert laws(even, [0, 1])[0].tolist() == [0.5, 0.5, 0.0]
    assert laws(even, [1, 0])[0].tolist() == pytest.approx([1 / 3] * 3)
    assert laws(even, [2])[0].tolist() == pytest.approx([1 / 3] * 3)


def test_nothing_asked_costs_nothing_and_changes_nothing():
    logits = np.array([[1.0, 2.0]], dtype=np.float32)
    assert Laws(sv.Sampling(0.7), 0, frozenset()).logits(logits, [0]) is logits


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"repetition_penalty": 0},
            r"repetition_penalty must lie in \[0.000001, 1000000\], or be None for none, got 0",
        ),
        (
            {"presence_penalty": float("nan")},
            r"presence_penalty must lie in \[-1000000, 1000000\], or be None for none, got nan",
        ),
        ({"frequency_penalty": "1"}, "frequency_penalty must lie in"),
        ({"min_new_tokens": -1}, "min_new_tokens must be a whole number of at least 0"),
        ({"bad_words": "the"}, "bad_words must be a list of non-empty texts, got 'the'"),
        ({"bad_words": [""]}, "bad_words must be a list of non-empty texts"),
        ({"bad_words": 3}, "bad_words must be a list of non-empty texts, got 3"),
    ],
)
def test_bad_settings_get_one_sentence(asked, sentence):
    with pytest.raises(sv.ConfigError, match=sentence):
        sv.Sampling(**asked)


def test_bad_words_need_a_tokenizer_and_too_many_of_them_leave_no_law():
    toy = TableModel(lambda _: [0.5, 0.5], 2)
    with pytest.raises(sv.ConfigError, match="no tokenizer, so bad words cannot be told apart"):
        sv.speculate(sv.Pair(toy, toy), [0], sampling=sv.Sampling(bad_words=("a",)))
    with pytest.raises(sv.LogitsError, match="no possible token"):
        Laws(sv.Sampling(), 0, frozenset(), bad_words=[(0,), (1,)])(np.zeros((1, 2)), [0])


def test_what_has_no_text_refuses_what_depends_on_one():
    toy = TableModel(lambda _: [0.5, 0.5], 2)
    with pytest.raises(sv.ConfigError, match="depend on a text, and one law has none"):
        theory.warped([0.5, 0.5], sv.Sampling(repetition_penalty=2.0))
    with pytest.raises(sv.ConfigError, match="bad words are texts, and an enumeration is over ids"):
        exact.sequence_law(sv.Pair(toy, toy), [0], 2, 1, sampling=sv.Sampling(bad_words=("a",)))


def test_texts_that_are_no_unicode_are_refused_before_anything_is_decoded(pair):
    with pytest.raises(sv.ConfigError, match=r"the tokenizer makes no token of '.ud800'"):
        sv.speculate(pair, "x", sampling=sv.Sampling(bad_words=("\ud800",)))
    with pytest.raises(sv.ConfigError, match="stop must be a list of non-empty strings"):
        sv.speculate(pair, "x", stop=["\ud800"])


def test_a_bad_word_that_is_no_token_is_refused(pair, monkeypatch):
    monkeypatch.setattr(type(pair.tokenizer), "encode_plain", lambda _self, text: [5] if text == "a" else [])
    with pytest.raises(sv.ConfigError, match="the tokenizer makes no token of ' a'"):
        sv.speculate(pair, "x", sampling=sv.Sampling(bad_words=("a",)))
