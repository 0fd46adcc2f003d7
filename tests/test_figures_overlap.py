"""The figures of two laws: what they draw is α, what is left, and the target's law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz import exact, theory
from specviz.figures.overlap import emitted_figure, overlap_figure

HOSTILE = ["<img src=x onerror=alert(1)>", "$x$", "__init__", "%{y}", "&amp;", "x" * 500]


@st.composite
def pairs_of_laws(draw):
    """Two laws over 1 to 12 tokens, with zeros, equals and single tokens among them."""
    n = draw(st.integers(1, 12))
    weights = st.lists(st.sampled_from((0.0, 1e-9, 0.1, 1.0, 3.0)) | st.floats(0, 10), min_size=n, max_size=n)
    p = theory.normalised(draw(weights)).probs
    return p, p if draw(st.booleans()) else theory.normalised(draw(weights)).probs


def names(law):
    return [f"t{i}" for i in range(len(law))]


def heights(trace):
    return np.array(trace.y, dtype=float)


def test_a_law_of_weights_says_what_was_changed():
    made = theory.normalised([2.0, -1.0, float("nan"), 6.0])
    assert made.probs.tolist() == [0.25, 0.0, 0.0, 0.75]
    assert (made.n_cleared, made.total) == (2, 8.0)


def test_weights_of_zero_make_the_uniform_law_and_great_ones_a_law():
    assert theory.normalised([0.0, 0.0, 0.0, 0.0]).probs.tolist() == [0.25] * 4
    assert theory.normalised([1e308, 1e308]).probs.tolist() == [0.5, 0.5]
    assert theory.normalised([0.0, 5e-324]).probs.tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="at least one number"):
        theory.normalised([])


@given(pairs_of_laws())
def test_the_shared_area_is_alpha_and_each_law_has_the_rest(laws):
    p, q = laws
    shared, only_p, only_q = overlap_figure(names(p), p, q).data[:3]
    alpha = theory.alpha(p, q)
    # each bar has width 1 or the same: areas are sums of heights. Worst error met: 3.4e-16
    assert heights(shared).sum() == pytest.approx(alpha, abs=1e-14)
    assert heights(only_p).sum() == pytest.approx(1 - alpha, abs=1e-14)
    assert heights(only_q).sum() == pytest.approx(1 - alpha, abs=1e-14)
    assert len({trace.width for trace in (shared, only_p, only_q)}) == 1


@given(pairs_of_laws())
def test_each_law_is_what_is_shared_and_what_it_has_alone(laws):
    p, q = laws
    shared, only_p, only_q = overlap_figure(names(p), p, q).data[:3]
    assert heights(shared) + heights(only_p) == pytest.approx(p, abs=1e-15)
    assert heights(shared) + heights(only_q) == pytest.approx(q, abs=1e-15)
    assert (heights(only_p) * heights(only_q) == 0).all()  # a column is topped by one law at most
    assert list(only_p.base) == list(only_q.base) == list(shared.y)


@given(pairs_of_laws())
def test_the_outlines_are_the_laws(laws):
    p, q = laws
    for law, trace in zip((p, q), overlap_figure(names(p), p, q).data[3:5], strict=True):
        tops = [y for y in trace.y if y]
        assert tops[::2] == tops[1::2] == [value for value in law.tolist() if value]


@given(pairs_of_laws())
def test_accepted_and_resampled_stack_to_the_target_whatever_the_draft_is(laws):
    p, q = laws
    parts = exact.emitted_parts(p, q)
    accepted, resampled = emitted_figure(names(p), p, parts).data[:2]
    assert list(resampled.base) == list(accepted.y)
    assert np.abs(heights(accepted) + heights(resampled) - p).max() <= 1e-15
    assert heights(accepted).sum() == pytest.approx(theory.alpha(p, q), abs=1e-14)
    assert np.abs(parts.accepted + parts.resampled - exact.emitted_law(p, q)).max() <= 1e-15


def test_a_stack_of_a_broken_rule_is_not_the_target():
    """The same comparison must fail where a rejected token is replaced from p itself."""
    p, q = np.array([0.3, 0.35, 0.2, 0.1, 0.05]), np.array([0.5, 0.2, 0.15, 0.1, 0.05])
    parts = exact.emitted_parts(p, q)
    broken = parts._replace(resampled=parts.resampled.sum() * p)
    accepted, resampled = emitted_figure(names(p), p, broken).data[:2]
    assert np.abs(heights(accepted) + heights(resampled) - p).max() > 0.05


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_equal_and_disjoint_laws_say_1_and_0(theme):
    p = theory.normalised([0.3, 0.35, 0.2, 0.1, 0.05]).probs
    assert overlap_figure(names(p), p, p, theme=theme).layout.title.text.endswith("α = 1</b>")
    p, q = np.array([0.6, 0.4, 0, 0]), np.array([0, 0, 0.5, 0.5])
    drawn = overlap_figure(names(p), p, q, theme=theme)
    assert drawn.layout.title.text.endswith("α = 0</b>")
    assert drawn.data[1].name == "only p: 1, the residual"


def test_the_draft_is_dashed_and_hatched_and_the_target_solid():
    p, q = np.array([0.25, 0.75]), np.array([0.75, 0.25])
    _, only_p, only_q, target, draft = overlap_figure(names(p), p, q).data[:5]
    assert target.line.dash is None
    assert draft.line.dash
    assert only_p.marker.pattern.shape is None
    assert only_q.marker.pattern.shape == "/"


def test_hostile_names_are_text():
    law = np.full(len(HOSTILE), 1 / len(HOSTILE))
    for drawn in (overlap_figure(HOSTILE, law, law), emitted_figure(HOSTILE, law, exact.emitted_parts(law, law))):
        shown = [*drawn.layout.xaxis.ticktext, *drawn.data[0].customdata]
        assert not any(mark in text.replace("<b>", "").replace("</b>", "") for text in shown for mark in ("<img", "$"))
        assert max(map(len, drawn.layout.xaxis.ticktext)) < 40
