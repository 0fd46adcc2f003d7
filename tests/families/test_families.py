"""Every family with every drafter, greedy and sampled: the model alone, without a cache of ours, is the judge."""

import re

import numpy as np
import pytest
import torch
from transformers import Gemma3TextConfig, Qwen2Config

import specviz as sv
from docs.families import README, between, table
from specviz.models.hf import HFModel
from specviz.sampling import draw, residual, verify, warp
from tests.families.table import (
    DRAFTERS,
    FAMILIES,
    HEADS,
    PLAYED,
    SIZE,
    SLIDING,
    built,
    random_model,
    vocabulary,
)

GREEDY = sv.Sampling(temperature=0)
SAMPLED = sv.Sampling(0.9, top_k=32)  # so that the supports of the two laws differ
PROMPT = (5, 9, 13, 5, 9, 20, 7, 5, 9, 13)  # longer than a window, and with something to copy
NEAR = 0.2  # how far the draft's weights are from the target's, in their own spread
TOLERANCE = 2e-5  # of logits, by the largest; worst seen 4e-6
K, NEW = 3, 5


@torch.inference_mode()
def alone(model: HFModel, tokens, n_prompt: int) -> np.ndarray:
    """The logits of transformers, without a cache or positions of ours, after each place from the prompt's end on."""
    if not model.has_encoder:
        return model.model(torch.tensor([tokens]), use_cache=False).logits[0, n_prompt - 1 :].numpy()
    prompt, output = torch.tensor([tokens[:n_prompt]]), torch.tensor([[model.start_token, *tokens[n_prompt:]]])
    return model.model(input_ids=prompt, decoder_input_ids=output, use_cache=False).logits[0].numpy()


def distance(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.abs(got - want).max() / max(1, np.abs(want).max()))


@pytest.mark.parametrize("name", PLAYED)
def test_each_family_takes_the_way_that_it_can(name):
    model = built(name)
    flags = {
        "lean": bool(model.lean),
        "rolls back": model.can_drop,
        "positions": model.takes_positions and not model.lean,
    }
    assert tuple(way for way, flag in flags.items() if flag) == FAMILIES[name].way
    assert model.without([1]).can_drop == model.can_drop


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in PLAYED])
def test_what_cannot_be_decoded_is_refused_in_a_sentence(name):
    with pytest.raises(sv.LoadError, match=FAMILIES[name].refused) as caught:
        built(name)
    assert "\n" not in str(caught.value)


def in_turn(readers, prompts) -> float:
    """Two texts that grow and fall back, each with its own reader, in turn: how far either is from the model alone."""
    rng, worst, texts = np.random.default_rng(0), 0.0, [list(prompt) for prompt in prompts]
    for step in range(10):
        which = step % 2
        n = int(rng.integers(1, 5))
        text = texts[which] = [*texts[which], *rng.integers(3, SIZE, n).tolist()]
        got = readers[which].logits(text, n)
        worst = max(worst, distance(got, alone(readers[which]._of, text, len(prompts[which]))[-n:]))
        texts[which] = text[: len(text) - int(rng.integers(0, n))]
    return worst


PROMPTS = ((5, 9, 13, 7, 11, 5), (40, 31, 20, 9))


@pytest.mark.parametrize("name", PLAYED)
def test_trap11_trap13_trap17_two_requests_in_turn_give_what_each_gives_alone_after_every_rollback(name):
    model = built(name)
    assert in_turn([model.open(prompt) for prompt in PROMPTS], PROMPTS) < TOLERANCE


@pytest.mark.parametrize("name", ["Mistral", "Gemma 3", "BLOOM", "T5"])
def test_two_requests_over_one_cache_are_caught(name):
    """The negative control: what one reader holds on the model, the other meets."""
    readers = [built(name).open(prompt) for prompt in PROMPTS]
    readers[1]._cache = readers[0]._cache
    try:
        far = in_turn(readers, PROMPTS)
    except RuntimeError:  # masks and keys of different lengths
        far = 1.0
    assert far > 50 * TOLERANCE


@pytest.mark.parametrize("name", PLAYED)
def test_the_order_of_early_tokens_shows_in_the_last_logits(name):
    """So the comparisons above can fail: a token lost, doubled or at another place is far beyond their tolerance."""
    model, text = built(name), [*PROMPT, 30, 31, 32]
    text[5], text[6] = 50, 51
    swapped = [*text[:5], 51, 50, *text[7:]]
    assert distance(*(alone(model, tokens, 3)[-1:] for tokens in (swapped, text))) > 50 * TOLERANCE


def played(name: str, drafter: str, sampling: sv.Sampling) -> sv.Trace:
    pair = sv.Pair(built(name), DRAFTERS[drafter](built(name, NEAR)), vocabulary())
    return sv.speculate(pair, PROMPT, draft_length=K, max_new_tokens=NEW, sampling=sampling, seed=1)


@pytest.mark.parametrize("name", PLAYED)
def test_trap5_greedy_is_plain_greedy_token_for_token(name):
    model = built(name)
    plain = sv.autoregress(sv.Pair(model, model, vocabulary()), PROMPT, max_new_tokens=NEW, sampling=GREEDY)
    for drafter in DRAFTERS:
        trace = played(name, drafter, GREEDY)
        assert trace.tokens == plain.tokens, drafter
        assert trace.n_drafted or drafter == "prompt lookup"


@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("name", PLAYED)
def test_every_sampled_token_and_verdict_follows_from_its_uniform_and_the_laws_of_the_models_alone(name, drafter):
    judge(played(name, drafter, SAMPLED), built(name), draft_of(name, drafter))


def draft_of(name: str, drafter: str) -> HFModel | str:
    if drafter == "skipped layers":
        return built(name).without([1])
    return drafter if drafter in {"prompt lookup", "uniform"} else built(name, NEAR)


def judge(trace: sv.Trace, target: HFModel, draft: HFModel | str) -> None:
    """Draw and judge again by the definition. With the uniforms as they are, the output's law is then the target's."""
    n_prompt = len(trace.prompt_tokens)
    text = [*trace.prompt_tokens, *trace.tokens]
    for round_ in trace.rounds:
        drafts = [node.token for node in round_.nodes]
        whole, n = [*text[: round_.start], *drafts], len(drafts)
        p = warp(alone(target, whole, n_prompt)[-n - 1 :], trace.sampling)  # [n + 1, V]
        if isinstance(draft, HFModel):
            q = warp(alone(draft, whole, n_prompt)[-n - 1 : -1], trace.sampling)  # [n, V]
        else:
            q = warp(np.zeros((n, SIZE)), trace.sampling) if draft == "uniform" else np.eye(SIZE)[drafts]
        assert [draw(law, node.uniform) for law, node in zip(q, round_.nodes, strict=True)] == drafts
        for trial, token in zip(round_.trials, drafts, strict=False):
            ratio = p[trial.node, token] / q[trial.node, token]
            assert trial.accepted == (trial.r < ratio)
            assert trial.accept_prob == pytest.approx(min(1, ratio), abs=1e-3)
        stood = len(round_.accepted)
        assert all(trial.accepted for trial in round_.trials[:stood])
        if round_.final:
            rejected = len(round_.trials) > stood
            assert rejected or stood == n
            law = residual(p[stood], q[stood]) if rejected else p[stood]
            assert round_.final.token == draw(law, round_.final.uniform)


@pytest.mark.parametrize("broken", ["always accept", "resample from the target", "one reader late"])
def test_trap20_the_judge_catches_broken_rules(monkeypatch, broken):
    """The negative controls, over the families: one of them must show each fault."""

    def wrong(p, q, drafts, r, u):
        if broken == "always accept":
            return verify(p[len(drafts) :], q[:0], [], [], u)._replace(n_accepted=len(drafts))
        if broken == "one reader late":
            return verify(np.roll(p, 1, axis=0), q, drafts, r, u)
        verdict = verify(p, q, drafts, r, u)
        return verdict._replace(token=draw(p[verdict.n_accepted], u))

    monkeypatch.setattr("specviz.request.verify", wrong)
    caught = 0
    for name in ("Gemma", "Mistral", "Qwen3", "GPT-2", "BLOOM"):
        try:
            judge(played(name, "uniform", SAMPLED), built(name), "uniform")
        except AssertionError:
            caught += 1
    assert caught


@pytest.mark.parametrize("name", PLAYED)
def test_trap15_the_context_of_each_family_can_be_filled(name):
    model = built(name)
    prompt = [5] * ((model.context_length or 10) - 3)
    trace = sv.speculate(sv.Pair(model, model, vocabulary()), prompt, max_new_tokens=6, seed=1)
    end, n = ("context", 4) if model.context_length else ("length", 6)
    assert (trace.stop_reason, len(trace.tokens)) == (end, n) or trace.stop_reason == "eos"


@pytest.mark.parametrize(("kind", "options"), [(Gemma3TextConfig, {}), (Qwen2Config, {"use_sliding_window": True})])
def test_a_layer_keeps_its_window_and_rope_where_others_are_skipped(kind, options):
    """The judge is a model that never had the skipped layer; the layers' kinds are then [window, window, all]."""

    def made(types) -> HFModel:
        config = kind(**{**HEADS, **SLIDING, **options, "num_hidden_layers": len(types), "layer_types": types})
        return HFModel(random_model(config), vocabulary())

    window, all_ = "sliding_attention", "full_attention"
    whole, shorter = made([window, all_, window, all_]), made([window, window, all_])
    weights = whole.model.state_dict()
    places = {"layers.1.": "layers.2.", "layers.2.": "layers.3."}
    names = {key: re.sub(r"layers\.[12]\.", lambda at: places[at[0]], key) for key in shorter.model.state_dict()}
    shorter.model.load_state_dict({key: weights[name] for key, name in names.items()})
    got, want, all_layers = (model.open().logits(PROMPT, 1) for model in (whole.without([1]), shorter, whole))
    np.testing.assert_allclose(got, want, atol=TOLERANCE * np.abs(want).max())
    assert np.abs(all_layers - want).max() > 0.1


def test_layers_that_others_need_cannot_be_skipped():
    sentence = r"Gemma 3n without 1 of 6 layers fails on its first tokens \(KeyError: .*\)\. .* or other layers to skip"
    with pytest.raises(sv.LoadError, match=sentence):
        built("Gemma 3n").without([3])


def test_a_longrope_model_ends_before_its_early_laws_change_with_the_texts_length():
    model = built("Phi-3 with longrope")
    n = model.context_length
    shorter, whole, longer = (alone(model, [5, 6] * (length // 2), 1)[:4] for length in (n - 2, n, n + 2))
    assert distance(shorter, whole) < TOLERANCE
    assert distance(whole, longer) > 50 * TOLERANCE


def test_the_readme_shows_this_table():
    assert between(README.read_text(encoding="utf-8")) == table()
