"""α from two laws: their overlap, what becomes of the rest, and that the target's law comes out whatever q is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from specviz import exact, exercise, theory
from specviz.figures.overlap import emitted_figure, overlap_figure, tidy
from specviz.i18n import _
from specviz.records import Sampling
from specviz.sampling import Floats
from specviz.timeline import apart, number
from specviz.ui import inputs, laws, places, question, shell, state
from specviz.ui.laws import Laws
from specviz.ui.tables import table_html


def _lesson(written: exercise.Written) -> Laws:
    round_, _remarks = written.read()
    return Laws(round_.names, round_.target_probs, round_.draft_probs)


LETTERS, EXERCISE = _lesson(exercise.NOTES), _lesson(exercise.EXERCISE_2)
EQUAL = Laws(LETTERS.names, LETTERS.p, LETTERS.p)
DISJOINT = Laws(("A", "B", "C", "D"), (0.6, 0.4, 0.0, 0.0), (0.0, 0.0, 0.5, 0.5))
WARPS = ("off", "both", "target", "draft")
_EXACT = 1e-9  # nearer than this, a sum is 1 and a number is what its digits say
_TERMS, _SHORT = 8, 5  # of the sum: written out, and so many stand on the formula's first line


def show() -> None:
    left, right = question.begin(
        "acceptance",
        title=_("How often does a guess stand?"),
        lead=_("As often as the draft's law and the target's overlap: α is the area that the two share."),
    )
    with left:
        _presets()
        found = laws.edit(LETTERS, on_edit=places.leave)
        settings, changed = _warp(joined=found is not None and places.joined(found))
    with right:
        if found is None:
            question.note(_("There is no token. Add a row to the table, or take one of the examples above it."))
        else:
            _answer(found, settings, changed)
    question.end(
        source=_(
            "Leviathan et al. 2023 (arXiv 2211.17192), section 2.3, Theorem 3.5, Corollary 3.6 and appendix A.1; "
            "the notes, sections 4, 5 and 9.1."
        ),
        try_this=_("Drag any bar of q: α and the split change, and what is emitted stays p."),
    )


def _answer(found: Laws, settings: Sampling, changed: str) -> None:
    made_p, made_q = theory.normalised(found.p), theory.normalised(found.q)
    before = tidy(theory.alpha(made_p.probs, made_q.probs))
    p = theory.warped(made_p.probs, settings) if changed in ("both", "target") else made_p.probs
    q = theory.warped(made_q.probs, settings) if changed in ("both", "draft") else made_q.probs
    parts, alpha, beta = exact.emitted_parts(p, q), tidy(theory.alpha(p, q)), tidy(theory.total_variation(p, q))
    question.answer(
        _("With these laws a drafted token stands with probability α = {alpha}.").format(alpha=number(alpha)),
        (_("α = Σ min(p, q)"), number(alpha), _("accepted")),
        (_("β = 1 − α = TV(p, q)"), number(beta), _("rejected")),
        (
            "KL(p ‖ q), KL(q ‖ p)",
            f"{number(theory.kl_divergence(p, q))}, {number(theory.kl_divergence(q, p))}",
            _("in nats"),
        ),
    )
    _say(_normalised_told("p", made_p) + _normalised_told("q", made_q) + _infinite_told(found.shown, p, q))
    _formula(np.minimum(p, q), alpha)
    question.figure(
        overlap_figure(found.shown, p, q, theme=shell.theme()),
        key="overlap",
        alt=_("p and q per token, and what both give: α = {alpha}, the rest {rest}").format(
            alpha=number(alpha), rest=number(beta)
        ),
        frame=lambda: _frame(found, p, q, parts),
    )
    _say(places.told() + ([] if changed == "off" else [_warp_told(changed, before, alpha)]))
    gap = float(np.abs(parts.accepted + parts.resampled - p).max())
    question.figure(
        emitted_figure(found.shown, p, parts, theme=shell.theme()),
        key="emitted",
        alt=_("Per token, accepted and resampled mass; together they are p: the largest difference is {gap}").format(
            gap=number(gap)
        ),
        frame=lambda: _frame(found, p, q, parts),
    )
    question.note(
        _(
            "Whatever q is, what is accepted and what is resampled sum to p. "
            "The largest difference here is {gap}: rounding, or nothing."
        ).format(gap=number(gap))
    )
    st.html(_table(found, p, q, parts))
    question.note(
        _(
            "On this page, as in the notes, α is Σ min(p, q) at one place and β = 1 − α is the chance of a rejection. "
            "Leviathan et al., and the stage of this app, write β for Σ min(p, q) at one place and α for its mean."
        )
    )


def _say(sentences: list[str]) -> None:
    if sentences:
        question.note(" ".join(sentences))


def _presets() -> None:
    with st.container(horizontal=True, gap="xsmall", key="laws_presets"):
        for key, name, preset in (
            ("letters", _("The notes' letters"), LETTERS),
            ("exercise", _("Exercise 2"), EXERCISE),
            ("equal", _("Equal laws"), EQUAL),
            ("disjoint", _("Disjoint laws"), DISJOINT),
        ):
            st.button(name, key=f"laws_{key}", on_click=_take, args=(preset,))
        told = _("The notes' letters, greedy: all of a law's mass on its best token")
        st.button(_("Temperature 0"), key="laws_greedy", on_click=_take, args=(LETTERS, 0.0), help=told)
    places.choose(on_take=_unwarp)


def _take(preset: Laws, temperature: float | None = None) -> None:
    """A preset, in a callback: with both laws at this temperature, or as they are."""
    laws.put(preset)
    places.leave()
    _unwarp()
    if temperature is not None:
        inputs.take({state.WARP: "both", state.WARP_TEMPERATURE: temperature})


def _unwarp() -> None:
    at = {state.WARP_TEMPERATURE: 1.0, state.WARP_TOP_K: laws.MOST, state.WARP_TOP_P: 1.0}
    inputs.take({state.WARP: "off", **at})


def _warp(*, joined: bool) -> tuple[Sampling, str]:
    """The settings, and whose law they change. joined: rows stand for several tokens, whose sums no warp can change."""
    names = {"off": _("off"), "both": _("both"), "target": _("only p"), "draft": _("only q")}
    if joined and st.session_state.get(state.WARP, "off") != "off":  # left there by laws without such rows
        inputs.take({state.WARP: "off"})
    offered = WARPS[:1] if joined else WARPS
    changed = inputs.choice(state.WARP, _("Temperature, top-k, top-p"), offered, named=names.__getitem__)
    if joined:
        question.note(
            _("Rows named “rest” stand for many tokens, and a temperature, top-k or top-p needs each token by itself.")
        )
    off = changed == "off"  # they stay: an input that comes with its preset would be missing from the address
    temperature = inputs.slider(state.WARP_TEMPERATURE, _("Temperature"), 0.0, 2.0, 1.0, step=0.05, disabled=off)
    top_k = inputs.slider(state.WARP_TOP_K, _("top-k"), 1, laws.MOST, laws.MOST, disabled=off)
    top_p = inputs.slider(state.WARP_TOP_P, _("top-p"), 0.05, 1.0, 1.0, step=0.05, disabled=off)
    return Sampling(float(temperature), int(top_k), float(top_p)), changed


def _warp_told(changed: str, before: float, alpha: float) -> str:
    numbers = {"before": number(before), "alpha": number(alpha)}
    if changed == "both":
        return _(
            "Both laws are changed, as in a run: α goes from {before} to {alpha}, and what is emitted is the changed p."
        ).format(**numbers)
    if changed == "target":
        return _(
            "Only p is changed: α goes from {before} to {alpha}. The mismatch costs speed and nothing else: what is "
            "emitted is the changed p, exactly."
        ).format(**numbers)
    return _(
        "Only q is changed: α goes from {before} to {alpha}. Tokens are drawn from the changed q and judged by it too, "
        "so what is emitted is still p, exactly. Drawing from one q and judging by another is what breaks it: the "
        "page “Lossless or not?” shows by how much."
    ).format(**numbers)


def _normalised_told(letter: str, made: theory.Normalised) -> list[str]:
    """What was done to a column to make a law of it."""
    told = []
    if made.n_cleared:
        told.append(_("{law}: numbers below 0 were set to 0 ({n} of them).").format(law=letter, n=made.n_cleared))
    if made.total == 0:
        told.append(_("{law} is 0 everywhere, so every token was given the same share.").format(law=letter))
    elif abs(made.total - 1) > _EXACT:
        told.append(
            _("{law} sums to {total}: each of its numbers was divided by that.").format(
                law=letter, total=apart(made.total, 1.0)[0]
            )
        )
    return told


def _infinite_told(names: list[str], p: Floats, q: Floats) -> list[str]:
    """Why a divergence is infinite: a token that one law has and the other lacks."""
    told = []
    for of, other, sentence in (
        (p, q, _("KL(p ‖ q) is ∞: the target gives {token}, and the draft never does.")),
        (q, p, _("KL(q ‖ p) is ∞: the draft gives {token}, and the target never does.")),
    ):
        missing = np.flatnonzero((of > 0) & (other == 0))
        if len(missing):
            told.append(sentence.format(token=f"“{names[int(missing[0])]}”"))
    return told


def _formula(shared: Floats, alpha: float) -> None:
    """α as a sum, with its terms."""
    terms = shared.tolist()
    digits = next((d for d in (2, 3) if all(abs(round(v, d) - v) < _EXACT for v in terms)), None)
    shown = [_tex(v, digits) for v in terms[:_TERMS]] + ([r"\cdots"] if len(terms) > _TERMS else [])
    total = f"{' + '.join(shown)} = {_tex(alpha, digits)}"
    if len(shown) <= _SHORT:
        question.formula(rf"\alpha = \sum_x \min(p(x), q(x)) = {total}")
    else:
        question.formula(rf"\begin{{aligned}}\alpha &= \sum_x \min(p(x), q(x)) \\ &= {total}\end{{aligned}}")


def _tex(value: float, digits: int | None) -> str:
    """digits: of all terms alike; None: as many as each needs."""
    return question.tex(value) if digits is None else f"{value:.{digits}f}"


def _frame(found: Laws, p: Floats, q: Floats, parts: exact.Parts) -> pd.DataFrame:
    """Everything that the figures and the table show, a row per token."""
    numbers = {
        "p": p,
        "q": q,
        "min": np.minimum(p, q),
        "accept_prob": parts.accept_prob,
        "residual": theory.residual(p, q),
        "accepted": parts.accepted,
        "resampled": parts.resampled,
        "emitted": parts.accepted + parts.resampled,
    }
    return pd.DataFrame({"token": found.shown, **numbers})


def _table(found: Laws, p: Floats, q: Floats, parts: exact.Parts) -> str:
    """Token by token. Names are escaped; – where the draft never gives the token, and where nothing is resampled."""
    heads = [
        (_("token"), ""),
        ("p", _("Its probability by the target")),
        ("q", _("Its probability by the draft")),
        ("min(1, p/q)", _("The probability that it stands when it is drafted")),
        (_("residual"), _("The law that replaces a rejected token: max(0, p − q), scaled to sum to 1")),
        (_("accepted"), _("How often the round gives it as an accepted draft")),
        (_("resampled"), _("How often the round gives it in place of a rejected one")),
        (_("emitted"), _("How often the round gives it: as often as p says")),
    ]
    rejected = tidy(float(parts.resampled.sum())) > 0
    columns = [
        np.where(q > 0, parts.accept_prob, np.nan),
        theory.residual(p, q) if rejected else np.full(len(p), np.nan),
        parts.accepted,
        parts.resampled,
        parts.accepted + parts.resampled,
    ]
    rows = [
        [name, *map(number, law), *(number(tidy(float(value))) for value in made)]
        for name, law, made in zip(found.shown, zip(p, q, strict=True), np.transpose(columns), strict=True)
    ]
    return table_html(_("Token by token"), heads, rows)
