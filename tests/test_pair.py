"""The bundled pair: greedy identity, the sampled law, stop strings, hostile prompts."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import specviz as sv
from specviz import sampling
from specviz.models.presets import BUNDLED, DRAFT, NAMED, WEAK_DRAFT
from specviz.models.toy import TableModel
from specviz.sampling import warp

GREEDY = sv.Sampling(temperature=0)
OPENINGS = (
    "It is a truth universally acknowledged",
    "Call me Ishmael.",
    "def __init__(self):",
    "import re\n\n",
    "Mr. Darcy",
    "The whale",
    "She was",
    "class Error(Exception):",
    "“Oh! my dear",
    "for i in range(",
)
ENDINGS = ("", " and", " the", "\n\n", " (")
PROMPTS = [opening + ending for opening in OPENINGS for ending in ENDINGS]


@pytest.mark.parametrize("prompts", [PROMPTS[i::10] for i in range(10)], ids=lambda p: repr(p[0][:20]))
def test_trap5_greedy_speculation_is_plain_greedy_over_50_prompts_and_4_draft_lengths(pair, prompts):
    for prompt in prompts:
        plain = sv.autoregress(pair, prompt, max_new_tokens=24, sampling=GREEDY)
        for k in (1, 2, 4, 8):
            trace = sv.speculate(pair, prompt, draft_length=k, max_new_tokens=24, sampling=GREEDY)
            assert sv.measure.first_difference(trace, plain) is None, (prompt, k)
            assert trace.text == plain.text


def test_there_are_50_prompts():
    assert len(set(PROMPTS)) == 50


@pytest.fixture(scope="module")
def remembered(pair) -> sv.Pair:
    """The bundled pair's own logits, each context asked once: thousands of short runs then take seconds."""
    return sv.Pair(*(remember(model) for model in (pair.target, pair.draft)), pair.tokenizer)


def remember(model: sv.Model) -> TableModel:
    @cache
    def law(tokens: tuple[int, ...]) -> np.ndarray:
        return warp(model.open().logits(tokens, 1), sv.Sampling())[0]

    return TableModel(law, model.vocab_size, 0, name=model.name)


def second_tokens(pair: sv.Pair, n: int) -> np.ndarray:
    """Counts of the second emitted token of n runs: it depends on a judgement and on what was drafted before it."""
    tokens = [
        sv.speculate(pair, [FIRST], draft_length=2, max_new_tokens=2, sampling=SETTINGS, seed=seed).tokens[-1]
        for seed in range(n)
    ]
    return np.bincount(tokens, minlength=pair.target.vocab_size)


def chi_square(pair: sv.Pair, counts: np.ndarray) -> float:
    """p-value of the counts against the target's own law of the second token, rare tokens pooled."""
    first = warp(np.log(pair.target.probs((FIRST,)) + 1e-300), SETTINGS)
    law = np.zeros_like(first)
    for token in np.flatnonzero(first):
        law += first[token] * warp(np.log(pair.target.probs((FIRST, int(token))) + 1e-300), SETTINGS)
    expected = law * counts.sum()
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    wanted = np.append(expected[common], expected[~common].sum())
    keep = (wanted > 0) | (observed > 0)
    return float(stats.chisquare(observed[keep], np.maximum(wanted[keep], 1e-9), sum_check=False).pvalue)


SETTINGS = sv.Sampling(temperature=1.2, top_k=12)
N_RUNS = 6000
FIRST = 13  # the prompt: after it, each broken rule shows


def test_the_remembered_pair_is_the_pair(pair, remembered):
    for seed in range(5):
        a, b = (sv.speculate(p, [5], draft_length=3, max_new_tokens=8, seed=seed) for p in (pair, remembered))
        assert a.tokens == b.tokens
        assert [r.trials[0].accept_prob for r in a.rounds if r.trials] == pytest.approx(
            [r.trials[0].accept_prob for r in b.rounds if r.trials], abs=1e-4
        )


def test_sampled_tokens_follow_the_targets_law(remembered):
    """Chi-square at alpha = 1e-6 over 6,000 fixed seeds, no retry: a false alarm in a million changes of the engine."""
    assert chi_square(remembered, second_tokens(remembered, N_RUNS)) > 1e-6


@pytest.mark.parametrize("broken", ["always accept", "resample from the target", "raw q"])
def test_trap20_broken_rules_fail_the_same_test(remembered, monkeypatch, broken):
    exact = sampling.verify
    raw = warp(np.log(remembered.draft.probs((FIRST,)) + 1e-300), sv.Sampling())  # the first law before its warp

    def verify(p, q, drafts, r, u):
        if broken == "always accept":
            verdict = exact(p[len(drafts) :], q[:0], [], [], u)
            return verdict._replace(n_accepted=len(drafts))
        if broken == "raw q":
            return exact(p, np.array([raw, *q[1:]]), drafts, r, u)
        verdict = exact(p, q, drafts, r, u)
        return verdict._replace(token=sampling.draw(np.asarray(p)[verdict.n_accepted], u))

    monkeypatch.setattr("specviz.request.verify", verify)
    assert chi_square(remembered, second_tokens(remembered, N_RUNS)) < 1e-6


def test_trap13_eight_threads_on_one_pair_each_get_their_own_seeds_text(pair):
    def run(seed: int) -> tuple[int, ...]:
        return sv.speculate(pair, "Call me", max_new_tokens=16, seed=seed).tokens

    alone = [run(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, range(8))) == alone


def test_trap16_both_models_read_the_same_prompt_ids(pair):
    fed: dict[str, list[int]] = {}

    def listen(model: sv.Model) -> TableModel:
        def law(tokens: tuple[int, ...]) -> np.ndarray:
            fed.setdefault(model.name, list(tokens))
            return np.full(model.vocab_size, 1 / model.vocab_size)

        return TableModel(law, model.vocab_size, name=model.name)

    text = "<|endoftext|>Call me"  # comes with its BOS, as chat templates write it
    sv.speculate(sv.Pair(listen(pair.target), listen(pair.draft), pair.tokenizer), text, max_new_tokens=3, seed=0)
    assert fed["bundled/target"] == fed["bundled/draft"] == [0, *pair.tokenizer.encode("Call me")]


class TestText:
    def test_trap14_the_text_is_what_the_tokenizer_decodes(self, pair):
        for prompt in PROMPTS[::7]:
            trace = sv.speculate(pair, prompt, max_new_tokens=40, seed=2)
            ids = [t for t in trace.tokens if t != 0]
            assert trace.text == pair.tokenizer.tokenizer.decode(ids)
            assert "".join(p for r in trace.rounds for p in r.pieces) == trace.text

    def test_a_residual_draw_shows_the_rejected_token_too(self, pair):
        rounds = sv.speculate(pair, PROMPTS[0], max_new_tokens=60, seed=2).rounds
        rejected = [(r.nodes[r.trials[-1].node].token, r.final) for r in rounds if r.final.source == "residual"]
        assert len(rejected) > 5
        for token, final in rejected:
            assert token in [c.token for c in final.candidates]

    @pytest.mark.parametrize("k", [1, 3, 6])
    def test_trap10_a_stop_string_cuts_the_text_wherever_it_falls(self, pair, k):
        whole = sv.speculate(pair, PROMPTS[0], draft_length=k, max_new_tokens=60, seed=4)
        for start in range(3, len(whole.text) - 9, 7):
            stop = whole.text[start : start + 9]  # spans tokens, and rounds
            trace = sv.speculate(pair, PROMPTS[0], draft_length=k, max_new_tokens=60, seed=4, stop=["\0", stop])
            assert trace.text == whole.text[: whole.text.index(stop)]
            assert trace.stop_reason == "stop"
            grown = "".join(p for r in trace.rounds for p in r.pieces)
            assert stop in grown
            assert whole.tokens[: len(trace.tokens)] == trace.tokens
            assert stop not in grown[: len(grown) - len(trace.rounds[-1].pieces[-1])]  # not one token too many

    def test_trap10_a_stop_string_may_begin_in_an_earlier_round(self, pair):
        whole = sv.speculate(pair, PROMPTS[0], draft_length=1, max_new_tokens=60, seed=4)
        ends = np.cumsum([len("".join(r.pieces)) for r in whole.rounds])
        stop = whole.text[ends[4] - 3 : ends[4] + 3]
        trace = sv.speculate(pair, PROMPTS[0], draft_length=1, max_new_tokens=60, seed=4, stop=[stop])
        assert len("".join(trace.rounds[-1].pieces)) < 6 <= len(trace.text)
        assert trace.text == whole.text[: whole.text.index(stop)]

    def test_trap10_of_two_stop_strings_the_first_in_the_text_wins(self, pair):
        whole = sv.speculate(pair, PROMPTS[0], max_new_tokens=40, seed=4).text
        trace = sv.speculate(pair, PROMPTS[0], max_new_tokens=40, seed=4, stop=[whole[10:14], whole[5:9]])
        assert trace.text == whole[:5]

    def test_trap15_an_empty_prompt_starts_a_new_document(self, pair):
        assert sv.speculate(pair, "", max_new_tokens=5, seed=0).prompt_tokens == (0,)

    def test_trap15_a_prompt_longer_than_the_context_is_refused(self, pair):
        with pytest.raises(sv.PromptError, match="the target's context holds 1024"):
            sv.speculate(pair, "whale " * 2000)

    def test_trap15_the_real_context_fills_and_the_run_stops(self, pair):
        trace = sv.speculate(pair, [9] * 1018, max_new_tokens=50, seed=0)
        assert (trace.stop_reason, len(trace.tokens)) == ("context", 7)

    @pytest.mark.parametrize("prompt", ["<img src=x onerror=alert(1)>", "\0\x1b[31m", "=1+1", "\u202eabc", "😀" * 20])
    def test_hostile_prompts_are_text(self, pair, prompt):
        assert sv.speculate(pair, prompt, max_new_tokens=4, seed=0).prompt == prompt


class TestBundle:
    def test_every_bundled_model_is_a_whole_folder(self):
        for folder in NAMED.values():
            assert {p.name for p in folder.iterdir()} >= {"config.json", "model.safetensors", "tokenizer.json"}

    def test_the_three_share_one_tokenizer_and_are_float16_on_disk(self):
        assert len({(folder / "tokenizer.json").read_bytes() for folder in NAMED.values()}) == 1
        assert {json.loads((f / "config.json").read_text())["dtype"] for f in NAMED.values()} == {"float16"}

    def test_the_card_and_the_licence_are_there(self):
        card = Path(BUNDLED / "README.md").read_text(encoding="utf-8")
        assert all(word in card for word in ("public domain", "PSF", "toy", "float16"))
        assert (BUNDLED / "LICENSE").is_file()

    def test_the_weak_draft_is_weaker(self, pair):
        alphas = []
        for name in (DRAFT, WEAK_DRAFT):
            duo = pair if name == DRAFT else sv.load_pair(draft=name)
            traces = [sv.speculate(duo, p, max_new_tokens=48, seed=7) for p in PROMPTS[:40:5]]
            alphas.append(sv.measure.alpha(traces))
        assert alphas[0].interval[0] > alphas[1].interval[1]
