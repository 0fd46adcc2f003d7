"""Exactness without a sample: laws by enumeration, and the decoder itself over every uniform of a grid."""

import itertools
import json
from collections import defaultdict
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import specviz.decoding as decoding
import specviz.drafters.model as drafting
import specviz.request as request
from specviz import exact
from specviz.errors import ConfigError, PromptError
from specviz.exact.position import place
from specviz.models.base import Pair
from specviz.models.toy import TableModel
from specviz.records import Sampling
from specviz.sampling import Verdict, accept_prob, draw, residual, verify

GOLDEN = json.loads((Path(__file__).parent / "golden" / "golden.json").read_text(encoding="utf-8"))
BROKEN = [rule for rule in exact.RULES if rule != "exact"]
P, Q = (np.array(GOLDEN["worked_round"][name]) for name in ("target_probs", "draft_probs"))


def total_variation(p, q):
    return 0.5 * np.abs(np.asarray(p) - np.asarray(q)).sum()


def random_law(rng, size, zeros=0.3):
    weights = np.where(rng.random(size) < zeros, 0.0, rng.random(size))
    weights[rng.integers(size)] += 0.1
    return weights / weights.sum()


def random_pair(seed, vocab_size=3, eos=None, zeros=0.2):
    """Two table models whose laws depend on the whole text, fixed by the seed."""

    def table(who):
        return lambda text: random_law(np.random.default_rng([seed, who, *text]), vocab_size, zeros)

    return Pair(*(TableModel(table(who), vocab_size, eos=eos) for who in (0, 1)))


# One position


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_accepting_plus_residual_is_the_target(seed, size):
    rng = np.random.default_rng(seed)
    p, q = random_law(rng, size), random_law(rng, size)
    assert total_variation(exact.emitted_law(p, q), p) < 1e-12  # worst 2.6e-16


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([1.0], [1.0]),
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),  # equal
        ([0.1 + 0.2, 0.7], [0.3, 0.7]),  # equal up to rounding
        ([0.4, 0.6, 0, 0], [0, 0, 0.5, 0.5]),  # disjoint
        ([1, 0], [0, 1]),
        ([0.5, 0.5, 0], [0, 0.5, 0.5]),
        ([1 - 1e-15, 1e-15], [1e-15, 1 - 1e-15]),
        ([5e-324, 1], [1, 5e-324]),
    ],
)
def test_the_exact_rule_is_exact_in_the_corners(p, q):
    assert total_variation(exact.emitted_law(p, q), p) < 1e-12


@pytest.mark.parametrize("rule", ["always_accept", "drop_without_resampling", "resample_from_target"])
def test_the_bias_of_the_broken_rules_is_as_printed(rule):
    printed = GOLDEN["broken_rules_on_worked_round_position_1"][rule]
    assert total_variation(exact.emitted_law(P, Q, rule), P) == pytest.approx(printed, abs=1e-15)


@pytest.mark.parametrize("rule", BROKEN)
def test_every_broken_rule_is_biased_on_the_worked_round(rule):
    emitted = exact.emitted_law(P, Q, rule)
    assert emitted.sum() == pytest.approx(1, abs=1e-15)
    assert (emitted >= 0).all()
    assert total_variation(emitted, P) > 0.08  # the least is resample_from_target's 0.09
    assert total_variation(exact.emitted_law(P, Q), P) < 1e-15


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32), st.integers(2, 8))
def test_every_broken_rule_is_biased_where_the_laws_differ(seed, size):
    rng = np.random.default_rng(seed)
    p, q = random_law(rng, size, zeros=0), random_law(rng, size, zeros=0)
    for rule in set(BROKEN) - {"mismatched_temperature"}:
        assert total_variation(exact.emitted_law(p, q, rule), p) > 1e-9
    # A mismatched temperature can meet p by chance, but not at two temperatures.
    met = [total_variation(exact.emitted_law(p, q, "mismatched_temperature", draft_temperature=t), p) for t in (0.5, 2)]
    assert max(met) > 1e-9


def test_what_the_broken_rules_emit_by_hand():
    p, q = [0.25, 0.75], [0.5, 0.5]
    law = {rule: exact.emitted_law(p, q, rule).tolist() for rule in exact.RULES}
    assert law["exact"] == p
    assert law["always_accept"] == law["first_token_unseen"] == q
    assert law["drop_without_resampling"] == pytest.approx([1 / 3, 2 / 3], abs=1e-15)  # (1/4, 1/2) renormalised
    assert law["resample_from_target"] == [0.25 + 0.25 * 0.25, 0.5 + 0.25 * 0.75]
    assert law["argmax_verification"] == [0, 1]
    assert law["mismatched_temperature"] == p  # the uniform law is the same at every temperature


def test_the_mismatched_temperature_by_hand():
    p, q = [0.5, 0.5], [0.8, 0.2]
    drafted = np.array([16, 1]) / 17  # q² normalised: temperature 1/2
    kept = drafted * [0.5 / 0.8, 1]
    np.testing.assert_allclose(
        exact.emitted_law(p, q, "mismatched_temperature"), kept + (1 - kept.sum()) * np.array([0, 1]), atol=1e-15
    )
    np.testing.assert_allclose(exact.emitted_law(p, q, "mismatched_temperature", draft_temperature=1), p, atol=1e-15)


@pytest.mark.parametrize("rule", ["always_accept", "drop_without_resampling", "resample_from_target"])
def test_a_broken_rule_does_no_harm_when_the_draft_is_the_target(rule):
    assert total_variation(exact.emitted_law(P, P, rule), P) < 1e-15


# One law told, another drafted from; short numbers


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32), st.integers(1, 8), st.floats(0.1, 3))
def test_a_mismatch_of_temperatures_is_one_of_drafted_laws(seed, size, temperature):
    p, q = exact.random_laws(seed, size)
    drafted = q ** (1 / temperature) / (q ** (1 / temperature)).sum()
    by_rule = exact.emitted_law(p, q, "mismatched_temperature", draft_temperature=temperature)
    np.testing.assert_allclose(exact.judged_law(drafted, p, q), by_rule, atol=1e-12)
    np.testing.assert_allclose(exact.judged_law(q, p, q), p, atol=1e-15)


def test_rounding_is_that_of_torch():
    import torch

    rng = np.random.default_rng(0)
    values = np.concatenate([rng.random(20_000), rng.random(20_000) * 1e-6, 2.0 ** -np.arange(30), [0, 1]])
    halves = np.arange(2**15, dtype=np.uint32) << 16 | 0x8000  # exactly between two numbers of bfloat16: ties
    values = np.concatenate([values, halves[halves < 0x3F800000].view(np.float32)])
    for form in ("float32", "float16", "bfloat16"):
        theirs = torch.tensor(values, dtype=torch.float32).to(getattr(torch, form)).double().numpy()
        np.testing.assert_array_equal(exact.rounded(values, form), theirs)
    assert (exact.rounded(values, "float64") == values).all()


def test_the_short_uniforms_of_torch_are_zero_now_and_then_and_never_one():
    import torch

    torch.manual_seed(0)
    for form in ("float16", "bfloat16"):
        r = torch.rand(200_000, dtype=getattr(torch, form)).double().numpy()
        step = 2.0 ** -exact.UNIFORM_BITS[form]
        assert (r == 0).mean() > step / 4  # in float64 it would be 0
        assert r.max() == 1 - step  # the grid of the format below 1


def test_rounded_laws_by_hand():
    p, q = np.array([0.25, 0.75]), np.array([0.5, 0.5])  # exact in every format
    for form in exact.UNIFORM_BITS:
        assert exact.rounded_law(p, q, form).tolist() == [0.25, 0.75]
    # r = 0 comes once in 256 times: "<=" accepts what "<" does and one step more
    inclusive = exact.rounded_law(p, q, short_uniforms=True, inclusive=True)
    assert exact.rounded_law(p, q, short_uniforms=True).tolist() == [0.25, 0.75]
    assert inclusive.tolist() == [0.5 * 129 / 256, 1 - 0.5 * 129 / 256]
    never = exact.rounded_law([1, 0], [0, 1], short_uniforms=True, inclusive=True)
    assert never.tolist() == [255 / 256, 1 / 256]  # a token of p = 0 passes
    assert exact.rounded_law([1, 0], [0, 1], short_uniforms=True).tolist() == [1, 0]


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32), st.integers(2, 40))
def test_rounding_alone_moves_the_law_no_further_than_it_moves_p(seed, size):
    p, q = exact.random_laws(seed, size)
    for form, unit in (("float16", 2**-11), ("bfloat16", 2**-8)):
        short = exact.rounded(p, form)
        emitted = exact.rounded_law(p, q, form)
        np.testing.assert_allclose(emitted, short / short.sum(), atol=1e-14)
        assert total_variation(emitted, p) <= unit
        assert exact.rounded_law(p, q, form, renormalised=False).sum() == pytest.approx(1, abs=1e-12)
    assert total_variation(exact.rounded_law(p, q, "float64"), p) < 1e-15
    assert total_variation(exact.rounded_law(p, q, "float64", short_uniforms=True, inclusive=True), p) < 1e-14


def test_drafting_in_full_and_judging_in_short_is_a_mismatch():
    p, q = exact.random_laws(3, 12)
    short = exact.rounded(p, "bfloat16"), exact.rounded(q, "bfloat16")
    apart = exact.rounded_law(p, q, renormalised=False, drafted_in_full=True)
    accept = np.array([accept_prob(*pair) for pair in zip(*short, strict=True)])
    by_hand = q * accept + (q * (1 - accept)).sum() * residual(*short)
    np.testing.assert_allclose(apart, by_hand, atol=1e-15)


# Lessons


def test_random_laws_and_pairs_are_fixed_by_their_seed():
    for size in (1, 2, 50):
        (p, q), again, other = (exact.random_laws(seed, size, 0.1) for seed in (4, 4, 5))
        assert p.sum() == pytest.approx(1)
        assert q.sum() == pytest.approx(1)
        assert p.tolist() == again[0].tolist()
        assert (size == 1) == (p.tolist() == other[0].tolist())
    assert exact.random_laws(1, 50, 100.0)[0].max() < 0.05 < exact.random_laws(1, 50, 0.1)[0].max()
    pair, same = exact.random_pair(2, 4), exact.random_pair(2, 4, likeness=1)
    assert pair.target.probs((2, 0, 3)).tolist() == exact.random_pair(2, 4).target.probs((0, 3)).tolist()
    assert pair.target.probs((0, 3)).tolist() != pair.target.probs((1, 3)).tolist()
    assert same.target.probs((1,)).tolist() == same.draft.probs((1,)).tolist() != pair.draft.probs((1,)).tolist()


def test_a_worse_draft_ends_at_the_bad_law():
    assert exact.worse_draft(P, Q, 0).tolist() == Q.tolist()
    np.testing.assert_allclose(exact.worse_draft(P, Q, 1), 0.2, atol=1e-15)
    # p is 0.30 0.35 0.20 0.10 0.05: the most probable token gets 0.05, the next 0.10
    np.testing.assert_allclose(exact.worse_draft(P, Q, 1, "upside_down"), [0.1, 0.05, 0.2, 0.3, 0.35], atol=1e-15)
    for share in np.linspace(0, 1, 11):
        draft = exact.worse_draft(P, Q, float(share), "upside_down")
        assert total_variation(exact.emitted_law(P, draft), P) < 1e-15


# Sequences


@pytest.mark.parametrize("eos", [None, 0])
@pytest.mark.parametrize("length", [1, 3, 5])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_speculation_has_the_targets_law_over_whole_sequences(k, length, eos):
    for seed in range(3):
        pair = random_pair(seed, eos=eos)
        law = exact.sequence_law(pair, [1], length, k)
        plain = exact.target_sequence_law(pair, [1], length)
        assert sum(law.values()) == pytest.approx(1, abs=1e-12)
        assert exact.sequence_total_variation(law, plain) < 1e-12  # worst 1.8e-16
        assert law.keys() >= plain.keys()
        assert all(len(text) == length or text[-1] == eos for text in law)
        assert all(eos not in text[:-1] for text in law)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 4), st.sampled_from([None, 0, 2]))
def test_speculation_has_the_targets_law_whatever_the_models(seed, k, length, eos):
    pair = random_pair(seed, eos=eos)
    law = exact.sequence_law(pair, [1, 2], length, k)
    assert exact.sequence_total_variation(law, exact.target_sequence_law(pair, [1, 2], length)) < 1e-12


@pytest.mark.parametrize("sampling", [Sampling(temperature=0), Sampling(temperature=0.7, top_k=2), Sampling(top_p=0.6)])
def test_speculation_has_the_warped_targets_law(sampling):
    pair = random_pair(7, zeros=0)
    law = exact.sequence_law(pair, [0], 4, 2, sampling=sampling)
    plain = exact.target_sequence_law(pair, [0], 4, sampling=sampling)
    assert exact.sequence_total_variation(law, plain) < 1e-12
    unwarped = exact.target_sequence_law(pair, [0], 4)
    assert exact.sequence_total_variation(law, unwarped) > 0.05  # it is not the warp that does nothing


@pytest.mark.parametrize("rule", BROKEN)
@pytest.mark.parametrize("eos", [None, 0])
def test_every_broken_rule_fails_over_sequences(rule, eos):
    pair = random_pair(3, eos=eos, zeros=0)
    plain = exact.target_sequence_law(pair, [1], 4)
    for k in (1, 2, 3):
        law = exact.sequence_law(pair, [1], 4, k, rule=rule)
        assert sum(law.values()) == pytest.approx(1, abs=1e-12)
        assert exact.sequence_total_variation(law, plain) > 0.02


def test_a_first_token_accepted_unseen_is_less_biased_than_all_of_them():
    pair = random_pair(3, zeros=0)
    plain = exact.target_sequence_law(pair, [1], 4)
    first, every = (
        exact.sequence_total_variation(exact.sequence_law(pair, [1], 4, 3, rule=rule), plain)
        for rule in ("first_token_unseen", "always_accept")
    )
    assert 0.02 < first < every
    one = exact.sequence_law(pair, [1], 4, 1, rule="first_token_unseen")  # with K = 1 they are one rule
    assert one == exact.sequence_law(pair, [1], 4, 1, rule="always_accept")


def test_the_last_token_of_a_budget_is_the_targets_own_draw():
    # K is cut to 0 when one token is left: no rule, however broken, can bias it.
    pair = random_pair(5)
    for rule in exact.RULES:
        law = exact.sequence_law(pair, [1], 1, 4, rule=rule)
        assert exact.sequence_total_variation(law, exact.target_sequence_law(pair, [1], 1)) < 1e-15


def test_the_target_alone_is_the_product_of_its_laws():
    pair = random_pair(11)
    law = exact.target_sequence_law(pair, [2], 3)
    for text in itertools.product(range(3), repeat=3):
        product = np.prod([pair.target.probs((2, *text[:i]))[token] for i, token in enumerate(text)])
        assert law.get(text, 0.0) == pytest.approx(product, abs=1e-15)


def test_total_variation_of_sequence_laws():
    assert exact.sequence_total_variation({(0,): 0.5, (1,): 0.5}, {(0,): 0.5, (1,): 0.5}) == 0
    assert exact.sequence_total_variation({(0,): 1.0}, {(1,): 1.0}) == 1
    assert exact.sequence_total_variation({(0,): 0.75, (1,): 0.25}, {(0,): 0.5, (1, 1): 0.5}) == 0.5


# The decoder itself. Where p, q, min(1, p/q) and the residual are multiples of 1/n, the uniforms (j + 1/2)/n, each
# equally likely, give every draw and judgement its exact probability: the decoder's law is a count over all of them.


class Grid:
    """Stands for a numpy Generator: hands out the uniforms (j + 1/2)/n, and steps through every combination of them."""

    def __init__(self, n):
        self.n, self.script, self.used = n, [], 0

    def random(self, size=None):
        return self._next() if size is None else np.array([self._next() for _ in range(size)])

    def _next(self):
        if self.used == len(self.script):
            self.script.append(0)
        self.used += 1
        return (self.script[self.used - 1] + 0.5) / self.n

    def runs(self):
        """Yields once for each combination that a run asks for. The weights n**-used of all runs sum to 1."""
        while True:
            self.used = 0
            yield
            assert self.used == len(self.script), "the run left uniforms over"
            while self.script and self.script[-1] == self.n - 1:
                self.script.pop()
            if not self.script:
                return
            self.script[-1] += 1


def cycling(laws):
    """A law that depends on the text: its ids and its length pick one of these."""
    return lambda text: laws[(sum(text) + len(text)) % len(laws)]


class Case:
    """A pair that meets the rows (p, q) of `laws` by turns, as the text goes; all of them exact on a grid of n."""

    def __init__(self, laws, *, eos=None, n, length, draft_length):
        self.laws, self.n, self.length, self.draft_length = laws, n, length, draft_length
        size = len(laws[0][0])
        self.pair = Pair(*(TableModel(cycling(rows), size, eos=eos) for rows in zip(*laws, strict=True)))

    @cached_property
    def decoded(self):
        return self.decode()

    def decode(self):
        """The law of speculate's tokens, counted over all grid uniforms, and the most rounds that a run took."""
        grid, law, most = Grid(self.n), defaultdict(float), 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np.random, "default_rng", lambda _seed: grid)
            for _ in grid.runs():
                trace = decoding.speculate(
                    self.pair, [0], draft_length=self.draft_length, max_new_tokens=self.length, seed=0
                )
                law[trace.tokens] += float(self.n) ** -grid.used
                most = max(most, len(trace.rounds))
        return dict(law), most

    def enumerated(self, **options):
        return exact.sequence_law(self.pair, [0], self.length, self.draft_length, **options)

    @property
    def target_law(self):
        """The product of the table's own numbers: nothing of ours computes it."""
        ended, texts = {}, {(): 1.0}
        for _ in range(self.length):
            rows = {text: self.pair.target.law((0, *text)) for text in texts}
            longer = {
                (*text, t): texts[text] * prob for text, row in rows.items() for t, prob in enumerate(row) if prob
            }
            texts = {text: mass for text, mass in longer.items() if text[-1] not in self.pair.target.eos}
            ended |= {text: mass for text, mass in longer.items() if text not in texts}
        return ended | texts


HALVES = [([0.5, 0.5, 0], [0, 0.5, 0.5]), ([0.5, 0.5, 0], [1, 0, 0]), ([0.5, 0, 0.5], [0, 0, 1])]
OTHERS = [([0, 0.5, 0.5], [0, 0.5, 0.5]), ([0.5, 0.5, 0], [1, 0, 0]), ([0.5, 0, 0.5], [1, 0, 0])]
PAIRS = [([0.25, 0.75], [0.5, 0.5]), ([0.5, 0.5], [1, 0]), ([0.75, 0.25], [0.5, 0.5])]
QUARTERS = [([0.25, 0.25, 0.5], [0.5, 0.5, 0]), ([0.5, 0.25, 0.25], [1, 0, 0]), ([0.25, 0.5, 0.25], [0.5, 0, 0.5])]

SMALL = Case(HALVES, n=2, length=3, draft_length=2)
ENDING = Case(HALVES, eos=1, n=2, length=4, draft_length=3)
CASES = {  # 208, 672, 128, 160 and 1144 runs; three rounds and more in the first three
    "V=3 n=2 K=2": SMALL,
    "V=3 n=2 K=2, longer": Case(OTHERS, n=2, length=4, draft_length=2),
    "V=3 n=2 K=3, with an end token": ENDING,
    "V=2 n=4 K=1": Case(PAIRS, n=4, length=2, draft_length=1),
    "V=3 n=4 K=1, with an end token": Case(QUARTERS, eos=2, n=4, length=3, draft_length=1),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


@each_case
def test_the_grid_is_exact_for_its_laws(case):
    for p, q in np.array(case.laws):
        for law in (p, q, np.minimum(1, p[q > 0] / q[q > 0]), residual(p, q)):
            np.testing.assert_array_equal(law * case.n, np.round(law * case.n))


@each_case
def test_the_decoder_emits_the_targets_law_exactly(case):
    law, rounds = case.decoded
    assert sum(law.values()) == 1
    assert law == case.target_law  # not nearly: the weights are dyadic, so the sums are exact
    assert rounds > 1  # it crossed rounds


@each_case
def test_the_enumeration_is_the_decoders_law(case):
    assert exact.sequence_total_variation(case.decoded[0], case.enumerated()) < 1e-15  # worst 5.6e-17


def judging(accept, replace):
    """A verify made of an accept probability and a law for the replacement."""

    def judge(target_probs, draft_probs, drafts, r, u):
        for i, token in enumerate(drafts):
            p, q = target_probs[i], draft_probs[i]
            if not r[i] < accept(i, p, q, token):
                return Verdict(i, draw(replace(p, q), u), "residual")
        return Verdict(len(drafts), draw(target_probs[len(drafts)], u), "bonus")

    return judge


def by_ratio(_i, p, q, token):
    return accept_prob(p[token], q[token])


def best_of(p, _q):
    return np.eye(len(p))[p.argmax()]


MUTANTS = {
    "always_accept": judging(lambda *_: 1.0, residual),
    "first_token_unseen": judging(lambda i, p, q, token: 1.0 if i == 0 else by_ratio(i, p, q, token), residual),
    "resample_from_target": judging(by_ratio, lambda p, _q: p),
    "argmax_verification": judging(lambda _i, p, _q, token: float(token == p.argmax()), best_of),
}


@pytest.mark.parametrize("case", [SMALL, ENDING], ids=["", "with an end token"])
@pytest.mark.parametrize("rule", MUTANTS)
def test_a_decoder_with_a_broken_rule_has_another_law_and_the_enumeration_says_which(rule, case, monkeypatch):
    monkeypatch.setattr(request, "verify", MUTANTS[rule])
    law, _ = case.decode()
    assert exact.sequence_total_variation(law, case.target_law) > 0.1
    assert exact.sequence_total_variation(law, case.enumerated(rule=rule)) < 1e-15


def test_the_same_judge_with_the_right_parts_has_the_targets_law(monkeypatch):
    monkeypatch.setattr(request, "verify", judging(by_ratio, residual))
    assert SMALL.decode()[0] == SMALL.target_law


def test_a_decoder_that_drafts_from_another_law_than_it_reports_is_biased(monkeypatch):
    monkeypatch.setattr(drafting, "draw", lambda law, _u: int(law.argmax()))
    law, _ = SMALL.decode()
    assert exact.sequence_total_variation(law, SMALL.target_law) > 0.1
    said = SMALL.enumerated(rule="mismatched_temperature", draft_temperature=0)
    assert exact.sequence_total_variation(law, said) < 1e-15


@pytest.mark.parametrize(
    "mutant",
    [
        lambda p, q, drafts, r, u: verify(p, q, drafts, np.full(len(r), r[0] if len(r) else 0.0), u),
        lambda p, q, drafts, r, u: verify(p, q, drafts, np.full(len(r), u), u),
        lambda p, q, drafts, r, u: verify(np.roll(p, 1, axis=0), q, drafts, r, u),
    ],
    ids=["one r for the whole round", "the final draw's uniform judges too", "laws one position off"],
)
def test_a_decoder_with_a_subtler_fault_is_biased_too(mutant, monkeypatch):
    monkeypatch.setattr(request, "verify", mutant)
    law, _ = SMALL.decode()
    assert sum(law.values()) == 1
    assert exact.sequence_total_variation(law, SMALL.target_law) > 0.01


def test_the_enumeration_trusts_no_theorem(monkeypatch):
    monkeypatch.setattr(exact.position, "residual", lambda p, _q: p)
    assert exact.sequence_total_variation(SMALL.enumerated(), SMALL.target_law) > 0.1


# Errors


PAIR = random_pair(0)


@pytest.mark.parametrize("rule", exact.RULES)
def test_a_place_emits_what_stands_and_what_is_drawn_anew(rule):
    here = place(P, Q, rule, True, 0.5)
    if rule == "drop_without_resampling":
        assert not here.resampled.any()
        np.testing.assert_allclose(here.emitted, here.kept / here.kept.sum(), atol=1e-15)
    else:
        np.testing.assert_allclose(here.kept + here.resampled, here.emitted, atol=1e-15)
        assert here.emitted.sum() == pytest.approx(1)


def test_the_parts_are_those_of_the_exact_place():
    here, parts = place(P, Q, "exact", True, 1.0), exact.emitted_parts(P, Q)
    for one, other in zip(parts, (here.accept, here.kept, here.resampled), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(parts.resampled, np.maximum(0, P - Q), atol=1e-15)


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: exact.emitted_law(P, Q, "magic"), ConfigError, "rule must be one of exact, always_accept, first_"),
        (lambda: exact.emitted_law([P], [Q]), ConfigError, "the two laws of one position, [V], got shape (1, 5)"),
        (lambda: exact.worse_draft(P, Q, 1.5), ConfigError, "share must lie in [0, 1], got 1.5"),
        (lambda: exact.random_laws(0, 0), ConfigError, "a size of at least 1 and a concentration from 0.001 to"),
        (lambda: exact.judged_law([1], P, Q), ConfigError, "must share a vocabulary"),
        (lambda: exact.emitted_law(P, Q * 2), ConfigError, "draft_probs must sum to 1 (to 1e-6) along its last axis"),
        (
            lambda: exact.emitted_law([1, 0], [0, 1], "drop_without_resampling"),
            ConfigError,
            "never emits here: the two",
        ),
        (
            lambda: exact.emitted_law(P, Q, draft_temperature=-1),
            ConfigError,
            "draft_temperature must be 0 (greedy) or a positive number, got -1",
        ),
        (
            lambda: exact.sequence_law(PAIR, [0], 3, 0),
            ConfigError,
            "draft_length (K) must be a whole number of at leas",
        ),
        (
            lambda: exact.sequence_law(PAIR, [0], 0, 1),
            ConfigError,
            "length must be a whole number of at least 1, got 0",
        ),
        (lambda: exact.sequence_law(PAIR, [0], 3, 1, rule="x"), ConfigError, "mismatched_temperature; got 'x'"),
        (lambda: exact.target_sequence_law(PAIR, [0], 2.5), ConfigError, "length must be a whole number of at least 1"),
        (
            lambda: exact.target_sequence_law(PAIR, [0], 13),
            ConfigError,
            "3^13 sequences are too many to enumerate (at ",
        ),
        (
            lambda: exact.sequence_law(PAIR, [], 3, 1),
            PromptError,
            "must be token ids from 0 to 2, at least one; got []",
        ),
        (
            lambda: exact.sequence_law(PAIR, [3], 3, 1),
            PromptError,
            "must be token ids from 0 to 2, at least one; got [3]",
        ),
        (lambda: exact.target_sequence_law(PAIR, "ab", 3), PromptError, "at least one; got 'ab'"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, kind, sentence):
    with pytest.raises(kind) as error:
        call()
    assert sentence in str(error.value)
