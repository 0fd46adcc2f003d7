"""Ways to draft without a second model, and how far to draft: each is exact, and each does what it says."""

from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import specviz as sv
from specviz import drafters, exact
from specviz.drafters import NAMES, named
from specviz.drafters.base import Draft, Proposal
from specviz.drafters.lookup import PromptLookup
from specviz.drafters.pace import AdaptiveLength, EarlyStop
from specviz.drafters.skipped import SkippedLayers
from specviz.drafters.uniform import UniformDraft
from specviz.laws import Laws
from specviz.models.toy import TableModel
from tests.test_exact import HALVES, PAIRS, Case

GREEDY = sv.Sampling(temperature=0)
LAWS = Laws(sv.Sampling(), 0, frozenset())
PROMPTS = (
    "It is a truth universally acknowledged",
    "def add(a, b):\n    return a + b\n\ndef add3(a, b, c):\n    return a",
)


def drafting(case, way):
    """The case with its draft drawn another way. way: from the case's own draft model to what drafts."""
    case.pair = sv.Pair(case.pair.target, way(case.pair.draft))
    return case


EXACT = {
    "lookup": lambda: drafting(Case(HALVES, n=2, length=4, draft_length=2), lambda _: PromptLookup()),
    "lookup, with an end token": lambda: drafting(
        Case(HALVES, eos=1, n=2, length=4, draft_length=3), lambda _: PromptLookup(2)
    ),
    "uniform": lambda: drafting(Case(PAIRS, n=4, length=2, draft_length=1), lambda _: UniformDraft()),
    "early stop": lambda: drafting(Case(HALVES, n=2, length=3, draft_length=2), lambda q: EarlyStop(q, 0.6)),
    "adaptive": lambda: drafting(Case(HALVES, n=2, length=4, draft_length=3), lambda q: AdaptiveLength(q, 1)),
    "adaptive around early stop": lambda: drafting(
        Case(HALVES, eos=1, n=2, length=4, draft_length=3), lambda q: AdaptiveLength(EarlyStop(q, 0.6), 2)
    ),
}


@pytest.mark.parametrize("case", EXACT.values(), ids=EXACT.keys())
def test_the_decoder_emits_the_targets_law_whoever_drafts(case):
    """Every combination of uniforms on a grid is played: the law is exact, not estimated."""
    case = case()
    assert exact.sequence_total_variation(case.decode()[0], case.target_law) < 1e-12


class DropsTheUnsure(EarlyStop):
    """What early stopping must not do: leave out the token that the draft was unsure of."""

    def start(self, target):
        inner = super().start(target)
        propose = inner.propose

        def dropping(tokens, draft_length, **options):
            made = propose(tokens, draft_length, **options)
            n = next((i for i, t in enumerate(made.tokens) if made.probs[i, t] < self.least), len(made.tokens))
            return Proposal(made.tokens[:n], made.uniforms[:n], made.probs[:n])

        inner.propose = dropping
        return inner


def test_dropping_the_unsure_token_is_caught():
    """The negative control: to drop a token for its own probability is to choose among tokens."""
    laws = [([0.25, 0.5, 0.25], [0.5, 0.25, 0.25]), ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25])]
    good = drafting(Case(laws, n=4, length=2, draft_length=1), lambda q: EarlyStop(q, 0.5))
    bad = drafting(Case(laws, n=4, length=2, draft_length=1), lambda q: DropsTheUnsure(q, 0.5))
    assert exact.sequence_total_variation(good.decode()[0], good.target_law) < 1e-12
    assert exact.sequence_total_variation(bad.decode()[0], bad.target_law) > 0.02


@pytest.mark.parametrize("name", NAMES)
def test_greedy_is_plain_greedy_token_for_token_on_the_bundled_target(pair, name):
    own = sv.Pair(pair.target, named(name), pair.tokenizer)
    for prompt in PROMPTS:
        trace = sv.speculate(own, prompt, max_new_tokens=40, sampling=GREEDY)
        plain = sv.autoregress(pair, prompt, max_new_tokens=40, sampling=GREEDY)
        assert trace.tokens == plain.tokens
        assert trace.draft == own.draft.name


@pytest.mark.parametrize("name", NAMES)
def test_a_run_is_recorded_and_replays_like_any_other(pair, name):
    own = sv.Pair(pair.target, named(name), pair.tokenizer)
    trace = sv.speculate(own, PROMPTS[1], max_new_tokens=24, sampling=sv.Sampling(0.8, top_k=50), seed=4)
    assert trace == sv.Trace.from_json(StringIO(trace.to_json()))
    for round_ in trace.rounds:
        for node in round_.nodes:
            assert node.below <= node.uniform < node.below + node.draft_prob + 1e-12
    assert len(trace.to_html()) > 1000


# Prompt lookup


def copied(text, most=4, eos=frozenset(), **lengths):
    drafter = PromptLookup(**lengths).start(TableModel(lambda _: np.full(9, 1 / 9), 9))
    made = drafter.propose(text, most, laws=LAWS, rng=np.random.default_rng(0), eos=eos)
    assert made.probs.shape == (len(made.tokens), 9)
    assert [made.probs[i, t] for i, t in enumerate(made.tokens)] == [1.0] * len(made.tokens)
    assert len(made.uniforms) == len(made.tokens)
    return made.tokens


def test_what_followed_last_time_is_copied():
    assert copied([1, 2, 3, 4, 5, 1, 2, 3]) == (4, 5, 1, 2)
    assert copied([1, 2, 3, 4, 5, 1, 2, 3], most=1) == (4,)
    assert copied([1, 2, 3]) == ()
    assert copied([1]) == ()
    assert copied([7, 7]) == (7,)


def test_the_longest_match_wins_and_of_equal_ones_the_latest():
    assert copied([1, 2, 3, 8, 2, 3, 5, 1, 2, 3], most=1) == (8,)
    assert copied([2, 3, 8, 2, 3, 5, 2, 3], most=1) == (5,)
    assert copied([2, 3, 8, 3, 5, 2, 3], most=1, longest=2) == (8,)
    assert copied([2, 3, 8, 3, 5, 2, 3], most=1, longest=1) == (5,)
    assert copied([2, 3, 8, 9 - 1, 3], shortest=2) == ()


def test_copying_stops_behind_an_end_token():
    assert copied([1, 2, 0, 5, 1, 2], eos=frozenset({0})) == (0,)


@given(st.lists(st.integers(0, 2), min_size=2, max_size=40), st.integers(1, 4), st.data())
def test_an_index_that_grows_with_the_text_finds_what_a_fresh_one_finds(text, longest, data):
    cuts = [*sorted(data.draw(st.sets(st.integers(1, len(text) - 1), max_size=5))), len(text)]
    target = TableModel(lambda _: np.full(3, 1 / 3), 3)
    options = {"laws": LAWS, "rng": np.random.default_rng(0), "eos": frozenset()}
    growing = PromptLookup(longest).start(target)
    for cut in cuts:
        fresh = PromptLookup(longest).start(target)
        assert growing.propose(text[:cut], 4, **options).tokens == fresh.propose(text[:cut], 4, **options).tokens


@given(st.data())
def test_what_was_drafted_and_fell_is_out_of_the_index(data):
    """Around a lookup, a draft of its own is text for a while. Then the index must be as if it never was."""
    text = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=30))
    target = TableModel(lambda _: np.full(3, 1 / 3), 3)
    options = {"laws": LAWS, "rng": np.random.default_rng(0), "eos": frozenset()}
    used = PromptLookup().start(target)
    for _ in range(6):
        ahead = [*text, *data.draw(st.lists(st.integers(0, 2), max_size=5))]
        used.propose(ahead, 2, **options)
        text = [*text, *data.draw(st.lists(st.integers(0, 2), max_size=4))]
        text = text[: data.draw(st.integers(1, len(text)))]
        fresh = PromptLookup().start(target)
        assert used.propose(text, 4, **options).tokens == fresh.propose(text, 4, **options).tokens


# How far to draft


@pytest.mark.parametrize("way", [EarlyStop, AdaptiveLength])
def test_nothing_is_drafted_where_nothing_is_asked_for(way):
    model = TableModel(lambda _: [0.5, 0.5], 2)
    made = way(model).start(model).propose([0], 0, laws=LAWS, rng=np.random.default_rng(0), eos=frozenset())
    assert (made.tokens, made.uniforms, made.probs.shape) == ((), (), (0, 2))


def test_a_first_length_beyond_k_shrinks_from_k():
    target, draft = (TableModel(lambda _, t=t: np.eye(3)[t], 3) for t in (0, 1))  # every draft falls
    trace = sv.speculate(sv.Pair(target, AdaptiveLength(draft, 8)), [0], draft_length=3, max_new_tokens=20, seed=0)
    assert [len(r.nodes) for r in trace.rounds[:5]] == [3, 2, 1, 1, 1]


def test_the_unsure_token_is_the_last_and_is_judged():
    law = np.array([0.7, 0.2, 0.1])
    model = TableModel(lambda _: law, 3)
    trace = sv.speculate(sv.Pair(model, EarlyStop(model, 0.5)), [0], draft_length=6, max_new_tokens=300, seed=2)
    lengths = set()
    for round_ in trace.rounds[:-8]:
        sure = [law[node.token] >= 0.5 for node in round_.nodes]
        assert all(sure[:-1])
        assert not sure[-1] or len(sure) == 6
        assert len(round_.trials) == len(round_.nodes)  # p = q: all are judged, and stand
        lengths.add(len(sure))
    assert lengths == {1, 2, 3, 4, 5, 6}


def test_the_length_grows_by_two_and_shrinks_by_one():
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(4), size=(2, 4))
    target, draft = (TableModel(lambda tokens, t=t: t[tokens[-1]], 4) for t in tables)
    trace = sv.speculate(sv.Pair(target, AdaptiveLength(draft, 3)), [0], draft_length=7, max_new_tokens=400, seed=1)
    lengths = [len(r.nodes) for r in trace.rounds[:-8]]
    stood = [len(r.accepted) == len(r.nodes) for r in trace.rounds[:-8]]
    assert lengths[0] == 3
    for before, after, all_stood in zip(lengths, lengths[1:], stood, strict=False):
        assert after == (min(before + 2, 7) if all_stood else max(1, before - 1))
    assert len(set(lengths)) > 3


# Skipped layers


def test_the_twin_shares_every_weight_of_the_target(pair):
    twin = pair.target.without((2, 5))
    ours = {p.data_ptr() for p in pair.target.model.parameters()}
    assert {p.data_ptr() for p in twin.model.parameters()} <= ours
    assert len(twin.model.model.layers) == len(pair.target.model.model.layers) - 2
    assert twin.lean.layers[1].qkv is pair.target.lean.layers[1].qkv
    assert twin.lean.layers[2].qkv is pair.target.lean.layers[3].qkv
    assert pair.target.model.model.layers[3].self_attn.layer_idx == 3  # the target itself is as it was


def test_one_twin_serves_all_requests(pair):
    way = SkippedLayers(0.25)
    first, second = way.start(pair.target), way.start(pair.target)
    assert first is not second
    assert first.model is second.model


def test_left_out_layers_come_from_the_middle(pair):
    n = len(pair.target.model.model.layers)
    kept = [layer.self_attn.q_proj.weight.data_ptr() for layer in pair.target.without(0.5).model.model.layers]
    all_of = [layer.self_attn.q_proj.weight.data_ptr() for layer in pair.target.model.model.layers]
    assert [all_of.index(k) for k in kept] == [0, 1, 6, 7]
    assert n == 8


# Names and mistakes


def toy(size=2):
    return TableModel(lambda _: np.full(size, 1 / size), size)


@pytest.mark.parametrize("way", [EarlyStop, AdaptiveLength, lambda draft: AdaptiveLength(EarlyStop(draft))])
def test_a_draft_of_another_vocabulary_is_refused_inside_another_drafter_too(way):
    with pytest.raises(sv.VocabularyError, match="answers over 5 tokens and the draft over 7"):
        sv.Pair(toy(5), way(toy(7)))


def test_load_pair_takes_a_way_to_draft_by_name_or_as_it_is():
    assert isinstance(sv.load_pair(draft="lookup").draft, sv.PromptLookup)
    way = sv.EarlyStop(sv.PromptLookup())
    assert sv.load_pair(draft=way).draft is way
    assert isinstance(way, Draft)
    assert named("bundled/draft") is None
    assert isinstance(named("Lookup"), PromptLookup)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: PromptLookup(0), "shortest and longest must be whole, 1 <= shortest <= longest, got 1 and 0"),
        (lambda: PromptLookup(2, 3), "got 3 and 2"),
        (lambda: EarlyStop(PromptLookup(), 0), r"least must lie in \(0, 1\], got 0"),
        (lambda: AdaptiveLength(PromptLookup(), 0), "first must be a whole number of at least 1, got 0"),
        (lambda: SkippedLayers(1.0), r"layers must be a share in \(0, 1\), or whole numbers of at least 1, got 1.0"),
        (lambda: SkippedLayers([]), "layers must be a share"),
        (lambda: SkippedLayers([0]), "layers must be a share"),
        (lambda: SkippedLayers("all"), "layers must be a share"),
        (lambda: EarlyStop("lookup"), "Pair takes two models of specviz, or one and a way to draft"),
        (lambda: AdaptiveLength(None), "Pair takes two models of specviz, or one and a way to draft"),
        (lambda: sv.Pair(toy(), UniformDraft), r"UniformDraft is a class; give one of it, as in UniformDraft\(\)"),
        (lambda: sv.load_pair(draft=PromptLookup), r"PromptLookup is a class; give one of it"),
    ],
)
def test_bad_settings_get_one_sentence(make, sentence):
    with pytest.raises(sv.ConfigError, match=sentence):
        make()


def test_what_has_no_layers_to_skip_says_so(pair):
    toy = TableModel(lambda _: [0.5, 0.5], 2, name="toy")
    with pytest.raises(sv.ConfigError, match="toy is no model of transformers, so it has no layers to skip"):
        sv.speculate(sv.Pair(toy, SkippedLayers()), [0])
    with pytest.raises(sv.ConfigError, match="has layers 1 to 7 that can be skipped, got \\[9\\]"):
        sv.speculate(sv.Pair(pair.target, SkippedLayers([9]), pair.tokenizer), "x")


def test_an_enumeration_needs_a_draft_that_is_a_model():
    toy = TableModel(lambda _: [0.5, 0.5], 2)
    with pytest.raises(sv.ConfigError, match="needs a pair whose draft is a model, and prompt lookup is none"):
        exact.sequence_law(sv.Pair(toy, PromptLookup()), [0], 2, 1)


def test_a_pace_wraps_the_draft_and_another_word_is_refused(pair):
    assert drafters.paced(pair.draft, "fixed") is pair.draft
    early, adaptive = (drafters.paced(pair.draft, pace) for pace in ("early", "adaptive"))
    assert (type(early), type(adaptive)) == (EarlyStop, AdaptiveLength)
    with pytest.raises(sv.ConfigError, match="pace must be one of fixed, early, adaptive, got 'quick'"):
        drafters.paced(pair.draft, "quick")
