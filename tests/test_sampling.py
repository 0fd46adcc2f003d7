"""One token: the warp, the draw, the accept rule."""

from fractions import Fraction

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import specviz as sv
from specviz.sampling import accept_prob, draw, residual, top2_gap, verify, warp

UNIFORM = st.floats(0, 1, exclude_max=True)
DISTINCT = st.lists(st.integers(-64, 64), min_size=11, max_size=11, unique=True).map(lambda n: np.float32(n) / 8)
LOGITS = hnp.arrays(np.float64, st.integers(2, 12), elements=st.floats(-30, 30))


@st.composite
def laws(draw_, n: int = 2):
    """n laws over one vocabulary, with zeros now and then."""
    size = draw_(st.integers(2, 8))
    weight = st.one_of(st.just(0.0), st.floats(1e-6, 1))
    rows = [np.array(draw_(st.lists(weight, min_size=size, max_size=size))) for _ in range(n)]
    assume(all(row.sum() > 0 for row in rows))
    return [row / row.sum() for row in rows]


class TestWarp:
    def test_temperature_one_is_softmax(self):
        logits = np.array([[1.0, 2.0, 3.0], [0.0, -np.inf, 0.0]])
        want = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        np.testing.assert_allclose(warp(logits, sv.Sampling()), want, atol=1e-16)

    def test_logits_of_any_kind_of_number_are_those_of_float64(self):
        for logits in (np.array([3, 0, 200], "u1"), np.array([5, -(2**31), 7], "i4"), np.float32([1, -2, 3])):
            for sampling in (sv.Sampling(1000, top_p=0.5), sv.Sampling(2, top_k=2), sv.Sampling(min_p=0.1)):
                np.testing.assert_array_equal(warp(logits, sampling), warp(logits.astype(np.float64), sampling))

    @pytest.mark.filterwarnings("error")
    def test_logits_as_far_apart_as_they_can_be_warn_of_nothing(self):
        assert warp(np.array([1e308, -1e308]), sv.Sampling()).tolist() == [1, 0]

    def test_trap5_greedy_is_an_exact_one_hot_at_the_first_of_equals(self):
        probs = warp(np.array([[0.0, 7.0, 7.0], [3.0, 1.0, 2.0]]), sv.Sampling(temperature=0))
        assert probs.tolist() == [[0, 1, 0], [1, 0, 0]]

    @given(LOGITS, st.floats(0.05, 5), st.integers(1, 12), st.floats(0.01, 1), st.floats(0, 1))
    def test_trap6_a_warp_is_a_law_that_never_empties(self, logits, temperature, top_k, top_p, min_p):
        probs = warp(logits, sv.Sampling(temperature, top_k, top_p, min_p))
        assert abs(probs.sum() - 1) < 1e-12  # worst seen 4e-16
        assert (probs >= 0).all()
        assert 1 <= (probs > 0).sum() <= top_k
        assert probs[logits.argmax()] > 0

    @given(DISTINCT, st.integers(1, 11))
    def test_top_k_agrees_with_transformers(self, logits, k):
        from transformers import TopKLogitsWarper

        check_against_warper(TopKLogitsWarper(k), logits, sv.Sampling(top_k=k))

    @given(DISTINCT, st.floats(0.05, 0.95))
    def test_top_p_agrees_with_transformers(self, logits, p):
        from transformers import TopPLogitsWarper

        probs = np.sort(warp(logits, sv.Sampling()))[::-1]
        assume(np.abs(probs.cumsum() - p).min() > 1e-5)  # on the very edge float32 and float64 may differ
        check_against_warper(TopPLogitsWarper(p), logits, sv.Sampling(top_p=p))

    @given(DISTINCT, st.floats(0.01, 0.9))
    def test_min_p_agrees_with_transformers(self, logits, p):
        from transformers import MinPLogitsWarper

        probs = warp(logits, sv.Sampling())
        assume(np.abs(probs / probs.max() - p).min() > 1e-5)
        check_against_warper(MinPLogitsWarper(p), logits, sv.Sampling(min_p=p))

    def test_top_p_of_one_and_top_k_of_all_change_nothing(self):
        logits = np.array([0.0, -40.0, -3.0])
        np.testing.assert_array_equal(warp(logits, sv.Sampling(top_p=1.0, top_k=3)), warp(logits, sv.Sampling()))

    @given(hnp.arrays(np.float64, (3, 9), elements=st.integers(-3, 3).map(float)), st.integers(1, 9))
    def test_equal_logits_are_kept_in_the_order_of_their_ids(self, logits, k):
        kept = warp(logits, sv.Sampling(top_k=k)) > 0
        for row, want in zip(kept, np.argsort(-logits, axis=-1, kind="stable")[:, :k], strict=True):
            assert set(np.flatnonzero(row)) == set(want)

    def test_a_temperature_near_zero_does_not_overflow(self):
        assert warp(np.array([1.0, 2.0, -500.0]), sv.Sampling(temperature=1e-308)).tolist() == [0, 1, 0]

    @pytest.mark.parametrize(
        ("bad", "word"), [(np.nan, "NaN"), (np.inf, r"\+infinity"), (-np.inf, "no possible token")]
    )
    @pytest.mark.parametrize("temperature", [0, 1])
    def test_trap3_what_is_no_law_raises_and_says_where(self, bad, word, temperature):
        logits = np.zeros((3, 4))
        logits[1] = bad
        with pytest.raises(sv.LogitsError, match=f"row 1 hold {word}"):
            warp(logits, sv.Sampling(temperature=temperature))

    def test_a_single_minus_infinity_is_a_token_that_cannot_come(self):
        assert warp(np.array([0.0, -np.inf]), sv.Sampling()).tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"temperature": -0.1}, r"temperature must be 0 \(greedy\) or a positive number, got -0.1"),
            ({"temperature": float("nan")}, "temperature must be 0"),
            ({"temperature": float("inf")}, "temperature must be 0"),
            ({"temperature": "hot"}, "temperature must be 0"),
            ({"temperature": 10**400}, "temperature must be 0"),
            ({"top_p": Fraction(1, 10**400)}, "top_p must lie"),
            ({"top_k": 0}, "top_k must be a whole number of at least 1, or None for no limit, got 0"),
            ({"top_k": 2.5}, "top_k must be a whole number"),
            ({"top_k": True}, "top_k must be a whole number"),
            ({"top_p": 0}, r"top_p must lie in \(0, 1\], or be None for no limit, got 0"),
            ({"top_p": 1.01}, r"top_p must lie in \(0, 1\]"),
            ({"min_p": -0.5}, r"min_p must lie in \[0, 1\]"),
        ],
    )
    def test_bad_settings_get_one_clear_sentence(self, options, sentence):
        with pytest.raises(sv.ConfigError, match=sentence):
            sv.Sampling(**options)

    def test_numbers_of_numpy_become_pythons(self):
        s = sv.Sampling(np.float32(0.5), np.int64(3), np.float64(0.5))
        assert [type(v) for v in (s.temperature, s.top_k, s.top_p)] == [float, int, float]


class TestDraw:
    @given(laws(1), UNIFORM)
    def test_a_token_of_probability_zero_is_never_drawn(self, law, u):
        assert law[0][draw(law[0], u)] > 0

    @given(laws(1))
    def test_the_ends_of_the_unit_interval_draw_possible_tokens(self, law):
        probs = law[0]
        assert draw(probs, 0.0) == np.flatnonzero(probs)[0]
        assert draw(probs, np.nextafter(1.0, 0.0)) == np.flatnonzero(probs)[-1]

    def test_each_token_owns_a_stretch_as_long_as_its_probability(self):
        probs = np.array([0.25, 0.0, 0.5, 0.25])
        assert [draw(probs, u) for u in (0.0, 0.249, 0.25, 0.749, 0.75, 0.999)] == [0, 0, 2, 2, 3, 3]


class TestVerify:
    P = np.array([[0.30, 0.35, 0.20, 0.10, 0.05]] * 4)
    Q = np.array([[0.50, 0.20, 0.15, 0.10, 0.05]] * 3)

    def test_the_worked_round_of_the_notes(self):
        # drafts A, B, A; r = .35, any, .80; the residual is (0, .75, .25, 0, 0): B for u < .75
        assert verify(self.P, self.Q, [0, 1, 0], [0.35, 0.999, 0.80], 0.1) == (2, 1, "residual")  # p would give A
        assert verify(self.P, self.Q, [0, 1, 0], [0.35, 0.999, 0.80], 0.5) == (2, 1, "residual")
        assert verify(self.P, self.Q, [0, 1, 0], [0.35, 0.999, 0.80], 0.76) == (2, 2, "residual")

    def test_a_full_acceptance_draws_the_bonus_from_the_target(self):
        assert verify(self.P, self.Q, [0, 1, 0], [0.1, 0.1, 0.1], 0.5) == (3, 1, "bonus")

    def test_no_drafts_is_plain_sampling(self):
        assert verify(self.P[:1], self.Q[:0], [], [], 0.0) == (0, 0, "bonus")

    def test_trap1_r_of_exactly_zero_does_not_pass_a_token_of_probability_zero(self):
        p, q = np.array([[0.0, 1.0], [0.5, 0.5]]), np.array([[1.0, 0.0]])
        assert verify(p, q, [0], [0.0], 0.3) == (0, 1, "residual")

    def test_trap1_r_equal_to_the_ratio_is_a_rejection(self):
        p, q = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[0.5, 0.5]])
        assert verify(p, q, [0], [0.5], 0.3)[0] == 0
        assert verify(p, q, [0], [np.nextafter(0.5, 0)], 0.3)[0] == 1

    def test_trap2_an_all_zero_residual_falls_back_to_the_target(self):
        p = np.array([0.5, 0.5])
        np.testing.assert_array_equal(residual(p, p), p)
        above = np.array([0.5 + 1e-16, 0.5 + 1e-16])  # rounded to p or above it everywhere: nothing is left
        np.testing.assert_array_equal(residual(p, above), p)

    def test_trap6_a_draft_outside_the_targets_support_is_rejected(self):
        p, q = np.array([[0.0, 0.2, 0.8], [1, 0, 0]]), np.array([[0.5, 0.5, 0.0]])
        assert verify(p, q, [0], [0.0], 0.99) == (0, 2, "residual")
        np.testing.assert_allclose(residual(p[0], q[0]), [0, 0, 1])

    @given(laws(2), UNIFORM, UNIFORM)
    def test_a_token_of_probability_zero_is_never_emitted(self, two, r, u):
        p, q = two
        for token in np.flatnonzero(q):
            n, final, source = verify(np.array([p, p]), q[None], [token], [r], u)
            assert p[final] > 0
            assert n == 0 or p[token] > 0
            assert source == ("bonus" if n else "residual")

    @given(laws(2))
    def test_accepting_plus_residual_is_the_target(self, two):
        p, q = two
        accepted = np.array([q[x] * accept_prob(p[x], q[x]) for x in range(len(p))])
        emitted = accepted + (1 - accepted.sum()) * residual(p, q)
        np.testing.assert_allclose(emitted, p, atol=1e-15)  # worst seen 4e-16

    @pytest.mark.parametrize("shape", ["p", "q", "r"])
    def test_shapes_that_do_not_fit_get_one_sentence(self, shape):
        p, q, r = self.P, self.Q, [0.5] * 3
        p, q, r = (p[:3] if shape == "p" else p), (q[:, :4] if shape == "q" else q), (r[:2] if shape == "r" else r)
        with pytest.raises(sv.ConfigError, match=r"verify needs target_probs \[K \+ 1, V\]"):
            verify(p, q, [0, 1, 0], r, 0.5)

    @pytest.mark.parametrize(
        "change",
        [
            {"r": [0.5, 0.5, 1.0]},
            {"r": [0.5, 0.5, np.nan]},
            {"u": 1.0},
            {"u": np.nan},
            {"draft_tokens": [0, 1, -1]},
            {"draft_tokens": [0, 1, 5]},
            {"draft_tokens": [0.0, 1.0, 0.0]},
            {"target_probs": np.array([[1.5, -0.5, 0, 0, 0]] * 4)},
            {"target_probs": np.full((4, 5), np.nan)},
            {"draft_probs": np.full((3, 5), 0.3)},
        ],
        ids=str,
    )
    def test_what_is_no_law_no_uniform_or_no_token_is_refused(self, change):
        right = {"target_probs": self.P, "draft_probs": self.Q, "draft_tokens": [0, 1, 0], "r": [0.5] * 3, "u": 0.5}
        verify(**right)
        with pytest.raises(
            sv.ConfigError, match=r"verify needs laws that sum to 1|draft_tokens must be ids from 0 to 4"
        ):
            verify(**{**right, **change})

    @given(laws(2), st.lists(UNIFORM, min_size=4, max_size=4), st.data())
    def test_the_same_acceptances_as_transformers(self, two, r, data):
        p, q = (0.99 * law + 0.01 / len(law) for law in two)  # transformers divides by q and takes logs of both
        drafts = data.draw(st.lists(st.integers(0, len(p) - 1), min_size=4, max_size=4))
        ratios = np.array([accept_prob(p[x], q[x]) for x in drafts])
        assume(np.abs(ratios - r).min() > 1e-9)  # on the very edge the softmax of a log rounds
        ps, qs = np.array([p] * 5), np.array([q] * 4)
        assert verify(ps, qs, drafts, r, 0.5).n_accepted == transformers_accepts(ps, qs, drafts, r)

    def test_a_wrong_accept_rule_would_differ_from_transformers(self):
        """The negative control of the test above: r beyond p/q = .6 of token A, which "always accept" ignores."""
        assert transformers_accepts(self.P, self.Q, [0, 0, 0], [0.5, 0.5, 0.7]) == 2
        assert transformers_accepts(self.P, self.Q, [0, 0, 0], [0.5, 0.5, 0.5]) == 3


def test_the_emitted_token_follows_the_target_and_broken_rules_are_caught():
    """Chi-square at alpha = 1e-6 and 200,000 rounds: power is 1 for a total variation of .01; no retry, seed fixed."""
    rng = np.random.default_rng(20230)
    p, q = np.array([0.30, 0.35, 0.20, 0.10, 0.05]), np.array([0.50, 0.20, 0.15, 0.10, 0.05])
    n = 200_000

    def emitted(rule) -> np.ndarray:
        drafts = np.array([draw(q, u) for u in rng.random(n)])
        r, u = rng.random(n), rng.random(n)
        return np.bincount([rule(*args) for args in zip(drafts, r, u, strict=True)], minlength=5)

    def exact(token, r, u):
        accepted, final, _ = verify(np.array([p, p]), q[None], [token], [r], u)
        return token if accepted else final

    def always(token, _r, _u):
        return token

    def from_target(token, r, u):
        return token if r < accept_prob(p[token], q[token]) else draw(p, u)

    def raw(token, r, u):  # the ratio with a q other than the one drawn from
        return token if r < accept_prob(p[token], q[token] ** 1.2) else draw(residual(p, q), u)

    assert stats.chisquare(emitted(exact), p * n).pvalue > 1e-6
    for broken in (always, from_target, raw):
        assert stats.chisquare(emitted(broken), p * n).pvalue < 1e-6, broken.__name__


def test_the_gap_between_the_best_two_logits():
    assert top2_gap(np.array([[1.0, 4.0, 2.5], [3.0, 3.0, 0.0]])).tolist() == [1.5, 0.0]


def check_against_warper(warper, logits, sampling):
    import torch

    theirs = warper(None, torch.tensor(logits)[None])[0].double().softmax(-1).numpy()
    ours = warp(logits, sampling)
    np.testing.assert_array_equal(ours > 0, theirs > 0)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def transformers_accepts(p, q, drafts, r) -> int:
    """How many drafts transformers' rule accepts when its uniforms are these."""
    import torch
    from transformers.generation import utils

    with np.errstate(divide="ignore"):
        new_logits, candidate_logits = (torch.tensor(np.log(a))[None] for a in (p, q))
    rand_like = torch.rand_like
    torch.rand_like = lambda x: torch.tensor(r, dtype=x.dtype).reshape(x.shape)
    try:
        _, n = utils._speculative_sampling(torch.tensor([list(drafts)]), candidate_logits, len(drafts), new_logits)
    finally:
        torch.rand_like = rand_like
    return int(n)
