"""The two laws that every part starts from: made at random, one of a few, or a real position of the last run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import streamlit as st

from specviz import exact, exercise, theory, timeline
from specviz.i18n import _
from specviz.timeline.labels import quoted
from specviz.ui import inputs, state

MOST = 12  # rows of a real position
LARGEST = 50  # tokens of random laws


def _lesson(written: exercise.Written) -> tuple[tuple[float, ...], tuple[float, ...]]:
    round_, _remarks = written.read()
    return round_.target_probs, round_.draft_probs


_CHOSEN: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {  # p, q
    "letters": _lesson(exercise.NOTES),
    "exercise2": _lesson(exercise.EXERCISE_2),
    "equal": ((0.4, 0.3, 0.2, 0.1), (0.4, 0.3, 0.2, 0.1)),
    "disjoint": ((0.6, 0.4, 0.0, 0.0), (0.0, 0.0, 0.7, 0.3)),
    "one": ((1.0,), (1.0,)),
}


@dataclass(frozen=True, slots=True)
class TwoLaws:
    """Names of the tokens, which may hold whatever a token holds, and both laws.

    joined: whether a row stands for several tokens, since the record does not list them.
    """

    names: tuple[str, ...]
    p: tuple[float, ...]
    q: tuple[float, ...]
    joined: bool = False

    @property
    def alpha(self) -> float:
        return float(theory.alpha(self.p, self.q))

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that can be followed here: two of them need each token by itself."""
        needy = ("argmax_verification", "mismatched_temperature") if self.joined else ()
        return tuple(rule for rule in exact.RULES if rule not in needy)


def ask() -> TwoLaws:
    """The inputs, and the laws that they give."""
    kinds = ["letters", "random", "run", *(kind for kind in _CHOSEN if kind != "letters")]
    kind = inputs.pick(state.PROOF_LAWS, _("Laws p and q"), kinds, named=_name)
    if kind == "random":
        return _random()
    if kind == "run" and (found := _real()) is not None:
        return found
    return chosen(kind if kind in _CHOSEN else "letters")


def chosen(kind: str) -> TwoLaws:
    p, q = _CHOSEN[kind]
    return TwoLaws(letters(len(p)), p, q)


def random(seed: int, size: int, concentration: float = 1.0) -> TwoLaws:
    p, q = exact.random_laws(seed, size, concentration)
    return TwoLaws(letters(size), tuple(p.tolist()), tuple(q.tolist()))


def one_hot(law: tuple[float, ...]) -> tuple[float, ...]:
    """The law at temperature 0."""
    best = law.index(max(law))
    return tuple(float(i == best) for i in range(len(law)))


def letters(size: int) -> tuple[str, ...]:
    """A, B, C, ... and behind Z the numbers."""
    return tuple(chr(ord("A") + i) if i < 26 else str(i + 1) for i in range(size))


def seed() -> int:
    return int(inputs.number(state.PROOF_SEED, _("Seed of the laws"), 0, 10**6, 1, step=1))


def _name(kind: str) -> str:
    return {
        "letters": _("the notes' five letters"),
        "random": _("at random"),
        "run": _("a place of the last run"),
        "exercise2": _("exercise 2"),
        "equal": _("equal laws"),
        "disjoint": _("disjoint laws"),
        "one": _("one token"),
    }[kind]


def _random() -> TwoLaws:
    size = int(inputs.slider(state.PROOF_SIZE, _("Tokens V"), 2, LARGEST, 10))
    told = _("Small: few likely tokens. Great: nearly uniform.")
    label = _("Concentration")
    concentration = inputs.number(state.PROOF_CONCENTRATION, label, 0.01, 100.0, 1.0, step=0.1, told=told)
    return random(seed(), size, float(concentration))


def _real() -> TwoLaws | None:
    """A drafted place of the run on the stage; tokens without a row of their own stand together, so that β is kept."""
    nodes = [(r, i) for r in inputs.last_run().trace.rounds for i in range(len(r.nodes))]
    if not nodes:
        st.html(f'<p class="sv-told">{_("The last run drafted nothing: the five letters instead.")}</p>')
        return None
    if st.session_state.get(state.PROOF_PLACE, 1) > len(nodes):  # left there by a longer run
        inputs.take({state.PROOF_PLACE: len(nodes)})
    state.get(state.KEPT)[state.PROOF_PLACE] = min(state.get(state.KEPT).get(state.PROOF_PLACE, 1), len(nodes))
    place = int(inputs.number(state.PROOF_PLACE, _("Drafted place"), 1, max(2, len(nodes)), 1, step=1))
    round_, i = nodes[min(place, len(nodes)) - 1]
    node = round_.nodes[i]
    told = _("Round {round}, draft {depth}: {token}, β = {beta} as recorded.").format(
        round=round_.index + 1,
        depth=node.depth,
        token=quoted(node.token, node.text),
        beta=timeline.number(node.beta),
    )
    st.html(f'<p class="sv-told">{escape(told)}</p>')
    law = timeline.draft_law(round_, i)
    rows, tail_mass = timeline.shares(law, MOST), law.tail.target_prob + law.tail.draft_prob
    p, q = [row.target_prob for row in rows], [row.draft_prob for row in rows]
    names = tuple(row.name for row in rows)
    target, draft = (tuple(theory.normalised(weights).probs.tolist()) for weights in (p, q))
    return TwoLaws(names, target, draft, joined=len(rows) != len(law.rows) or tail_mass > 0)
