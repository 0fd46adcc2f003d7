"""What is asked about a round, in the order in which it is worked out, and what goes wrong on the way.

A formula is told without its result until the result was found. Texts hold token names: show them as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from specviz.byhand import Worked
from specviz.i18n import _
from specviz.numerals import shown
from specviz.records import Trial

Kind = Literal["number", "numbers", "verdict", "token"]


@dataclass(frozen=True, slots=True)
class Slip:
    """A wrong answer that has a reason, and the sentence that says it."""

    values: tuple[float, ...]
    told: str


@dataclass(frozen=True, slots=True)
class Question:
    """One thing that is asked.

    key: "alpha", "residual", "accept_prob_1", "verdict_1", "token", "n_tokens", "expected_tokens" or "speedup".
    values: the right numbers ("number", "numbers"). word: "accepted" or "rejected", or the token's name.
    formula: with the numbers filled in, up to the result. result: the right answer as it is written.
    """

    key: str
    kind: Kind
    asks: str
    hint: str
    formula: str
    result: str
    values: tuple[float, ...] = ()
    word: str = ""
    names: tuple[str, ...] = ()
    slips: tuple[Slip, ...] = ()


def questions(worked: Worked) -> tuple[Question, ...]:
    """Every question of the round: the laws, each place that is judged, the final draw, and what it comes to."""
    trials = worked.round.trials
    places = [question for trial in trials for question in (_accept_prob(worked, trial), _verdict(worked, trial))]
    left = (_residual(worked),) if any(worked.left) else ()
    sums = (_n_tokens(worked), _expected(worked), _speedup(worked))
    return (_alpha(worked), *left, *places, _token(worked), *sums)


def n_at_most(worked: Worked) -> int:
    """How many there are if every draft is accepted, which is all that can be told while nobody knows where it ends."""
    return 5 + any(worked.left) + 2 * worked.given.draft_length


def _alpha(worked: Worked) -> Question:
    given = worked.given
    p, q = given.target_probs, given.draft_probs
    more = sum(max(a, b) for a, b in zip(p, q, strict=True))
    return Question(
        key="alpha",
        kind="number",
        asks=_("What is the acceptance rate α?"),
        hint=_("Take the smaller of p and q for each token, and add them up."),
        formula=_("α = Σ min(p, q) = {terms}").format(
            terms=" + ".join(shown(min(a, b)) for a, b in zip(p, q, strict=True))
        ),
        result=shown(worked.alpha),
        values=(worked.alpha,),
        slips=(
            Slip((1 - worked.alpha,), _("That is 1 − α, the rate of rejections.")),
            Slip((more,), _("That adds up the greater of p and q. It is the smaller that both laws share.")),
        ),
    )


def _residual(worked: Worked) -> Question:
    given, left, rejected = worked.given, worked.left, sum(worked.left)
    p, q = given.target_probs, given.draft_probs
    other = tuple(max(0.0, b - a) / rejected for a, b in zip(p, q, strict=True))
    terms = ", ".join(f"{shown(x)} / {shown(rejected)}" for x in left)
    return Question(
        key="residual",
        kind="numbers",
        asks=_("What is the residual law, for {tokens} in this order?").format(tokens=", ".join(given.names)),
        hint=_("Where p is above q, take p − q; elsewhere 0. Then divide each by 1 − α, so that they sum to 1."),
        formula=_("max(0, p − q) / (1 − α): {terms}").format(terms=terms),
        result=", ".join(shown(x) for x in worked.residual),
        values=worked.residual,
        names=given.names,
        slips=(
            Slip(left, _("That is max(0, p − q) as it is. Divide each by 1 − α, so that they sum to 1.")),
            Slip(other, _("That is where q is above p. The replacement comes from what p has more.")),
            Slip(p, _("That is p itself. What min(p, q) already gave must be taken out first.")),
        ),
    )


def _accept_prob(worked: Worked, trial: Trial) -> Question:
    given = worked.given
    token, place = given.draft[trial.node], trial.node + 1
    p, q = given.target_probs[token], given.draft_probs[token]
    slips = [Slip((q / p,), _("That is q/p. The target's probability p stands above."))] if p > 0 else []
    slips.append(Slip((p / q,), _("That is p/q, and a probability is never above 1: take min(1, p/q).")))
    return Question(
        key=f"accept_prob_{place}",
        kind="number",
        asks=_("Place {i}: with what probability is the draft {token} accepted?").format(
            i=place, token=given.names[token]
        ),
        hint=_("Divide p by q. Where that is above 1, it is 1: the target likes the token at least as much."),
        formula=_("min(1, p/q) = min(1, {p} / {q})").format(p=shown(p), q=shown(q)),
        result=shown(trial.accept_prob),
        values=(trial.accept_prob,),
        slips=tuple(slips),
    )


def _verdict(worked: Worked, trial: Trial) -> Question:
    place = trial.node + 1
    numbers = {"i": place, "r": shown(trial.r), "accept": shown(trial.accept_prob)}
    return Question(
        key=f"verdict_{place}",
        kind="verdict",
        asks=_("Place {i}: r = {r}. Is the draft {token} accepted or rejected?").format(
            token=worked.given.names[worked.given.draft[trial.node]], **numbers
        ),
        hint=_("It is accepted when r is below the probability, and rejected otherwise."),
        formula=(_("r = {r} < {accept}") if trial.accepted else _("r = {r} ≥ {accept}")).format(**numbers),
        result=_("accepted") if trial.accepted else _("rejected"),
        word="accepted" if trial.accepted else "rejected",
    )


def _token(worked: Worked) -> Question:
    given, final = worked.given, worked.round.final
    assert final is not None  # no text ends within a round by hand
    end = final.below + final.prob
    where = _("{start} ≤ u = {u} < {end}, which is the stretch of {token}").format(
        start=shown(final.below), u=shown(given.u), end=shown(end), token=final.text
    )
    asks = (
        _("u = {u}: which token takes the place of the rejected one?")
        if worked.rejected
        else _("Every draft stands. u = {u}: which token comes as the bonus, drawn from p?")
    )
    return Question(
        key="token",
        kind="token",
        asks=asks.format(u=shown(given.u)),
        hint=(
            _("Lay the residual end to end, in the order of the tokens. The token on whose stretch u falls is drawn.")
            if worked.rejected
            else _("Lay p end to end, in the order of the tokens. The token on whose stretch u falls is drawn.")
        ),
        formula=where,
        result=final.text,
        word=final.text,
        names=given.names,
    )


def _n_tokens(worked: Worked) -> Question:
    accepted = len(worked.round.accepted)
    return Question(
        key="n_tokens",
        kind="number",
        asks=_("How many tokens N does this round give?"),
        hint=_("The accepted drafts, and the one token drawn after them."),
        formula=_("N = {accepted} accepted + 1").format(accepted=accepted),
        result=str(accepted + 1),
        values=(float(accepted + 1),),
        slips=(
            Slip((float(accepted),), _("The token after the accepted drafts counts too.")),
            Slip((float(worked.given.draft_length),), _("That is K, the number of drafts.")),
        ),
    )


def _expected(worked: Worked) -> Question:
    alpha, k = worked.alpha, worked.given.draft_length
    formula = (
        _("E[N] = (1 − α^(K+1)) / (1 − α) = (1 − {alpha}^{n}) / (1 − {alpha})")
        if alpha < 1
        else _("E[N] = K + 1 = {k} + 1")
    )
    short = sum(alpha**i for i in range(k))
    return Question(
        key="expected_tokens",
        kind="number",
        asks=_("How many tokens does such a round give on average, E[N]?"),
        hint=_("1 + α + α² + … + α^K, which is (1 − α^(K+1)) / (1 − α). Here K = {k}.").format(k=k),
        formula=formula.format(alpha=shown(alpha), k=k, n=k + 1),
        result=shown(worked.expected_tokens),
        values=(worked.expected_tokens,),
        slips=(
            Slip((short,), _("That is with α^K. The power is K + 1: the token after the drafts counts too.")),
            Slip((float(len(worked.round.emitted)),), _("That is N of this one round. E[N] is the mean over many.")),
        ),
    )


def _speedup(worked: Worked) -> Question:
    c, k, mean = worked.given.cost_ratio, worked.given.draft_length, worked.expected_tokens
    return Question(
        key="speedup",
        kind="number",
        asks=_("How many times faster than the target alone is that, with c = {c}?").format(c=shown(c)),
        hint=_("A round takes as long as c + K draft passes, and E[N] tokens alone would take E[N] × c of them."),
        formula=_("E[N] × c / (c + K) = {mean} × {c} / ({c} + {k})").format(mean=shown(mean), c=shown(c), k=k),
        result=shown(worked.speedup),
        values=(worked.speedup,),
        slips=(
            Slip((mean,), _("That is E[N], which leaves out what the drafting costs.")),
            Slip(
                (mean / (c * k + 1),),
                _("That takes c for T_q/T_p, as Leviathan et al. write it. Here c = T_p/T_q."),
            ),
        ),
    )
