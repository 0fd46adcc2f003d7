"""Is the output exactly the target's? In numbers, in samples, and for every shortcut that breaks it.

A part at a time is computed and shown; its name is in the address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from specviz.errors import SpecvizError
from specviz.i18n import _
from specviz.ui import inputs, question, state
from specviz.ui.labs.lossless import drafts, exactly, exercise, mismatch, rules, sampled, short

_PARTS: Mapping[str, Callable[[object, object], None]] = {
    "exact": exactly.show,
    "sampled": sampled.show,
    "exercise": exercise.show,
    "rules": rules.show,
    "drafts": drafts.show,
    "mismatch": mismatch.show,
    "rounding": short.show,
}


def show() -> None:
    left, right = question.begin(
        "lossless",
        title=_("Is the output exactly the target's?"),
        lead=_(
            "Speculation claims the target's own law, whatever the draft. Here the claim is computed, not believed."
        ),
    )
    with right:
        part = inputs.choice(state.PROOF, _("What to look at"), list(_PARTS), named=_name)
    try:
        _PARTS[part](left, right)
    except SpecvizError as error:
        with right:
            question.refuse(error)
    question.end(source=_source(part), try_this=_try_this(part))


def _name(part: str) -> str:
    return {
        "exact": _("Exact"),
        "sampled": _("Sampled"),
        "exercise": _("Exercise 6"),
        "rules": _("Broken rules"),
        "drafts": _("Worse drafts"),
        "mismatch": _("Mismatch"),
        "rounding": _("Rounding"),
    }[part]


def _source(part: str) -> str:
    theorem = _("Leviathan et al. 2023 (arXiv 2211.17192), appendix A.1 and Algorithm 1.")
    return {
        "exact": theorem,
        "sampled": _("Pearson 1900 for the test; Wilks 1938 for the mean of 2 n KL; Leviathan et al. 2023, Eq. (1)."),
        "exercise": _("The notes, section 14, exercise 6; Leviathan et al. 2023 (arXiv 2211.17192), Eq. (1)."),
        "rules": _("The notes, section 11.1; Patnaik 1949 for the power of a chi-square test."),
        "drafts": theorem,
        "mismatch": _("Leviathan et al. 2023 (arXiv 2211.17192), section 2.2; the notes, section 11.1."),
        "rounding": _("IEEE 754-2019, section 4.3.1, for rounding; Leviathan et al. 2023, appendix A.1, for the rule."),
    }[part]


def _try_this(part: str) -> str:
    return {
        "exact": _("Take disjoint laws: not one draft is ever accepted, and still the output is the target's."),
        "sampled": _("Run 10,000,000 rounds: the exact rule keeps falling along the line, the shortcut stays behind."),
        "exercise": _("Change the seed: other laws, other samples, and the same answer."),
        "rules": _("Take equal laws: most shortcuts do no harm there, and the argmax still does."),
        "drafts": _(
            "Mix in p upside down: a draft that believes the reverse of the target. The exact rule stays at 0."
        ),
        "mismatch": _("Set the temperature to 1 and top-k to all tokens: there the bias vanishes."),
        "rounding": _("Take disjoint laws: with r ≤ p/q a token of p = 0 passes once in 256 draws, since r can be 0."),
    }[part]
