"""The words of a step: its title, its caption in plain language, and its formula with the numbers filled in."""

from __future__ import annotations

from dataclasses import dataclass

from specviz.i18n import _
from specviz.records import FinalDraw, Node, Round, Trial
from specviz.timeline.labels import apart, katex, number, quoted


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula with its numbers filled in, as plain text and as KaTeX. It never holds a token's text."""

    text: str
    katex: str


@dataclass(frozen=True, slots=True)
class Told:
    """A step in words."""

    title: str
    caption: str
    formula: Formula


def drafted(round_: Round, node: Node) -> Told:
    """A token was drawn from q, or in a greedy run was q's best."""
    token, q, u = quoted(node.token, node.text), number(node.draft_prob), number(node.uniform)
    title = _("Draft {i} of {k}").format(i=node.depth, k=len(round_.nodes))
    if node.target_gap is not None:
        caption = _("The draft model guesses {token}, the token it finds most probable.").format(token=token)
        return Told(title, caption, _formula(_("x{i} = argmax q{i}"), r"x_{{{i}}} = \arg\max q_{{{i}}}", i=node.depth))
    caption = _("The draft model guesses {token}: drawn from its own law, q, which gave it {q}.")
    formula = _formula(
        _("x{i} ~ q{i} with u = {u}: q{i}(x{i}) = {q}"),
        r"x_{{{i}}} \sim q_{{{i}}},\quad u = {u},\quad q_{{{i}}}(x_{{{i}}}) = {q}",
        i=node.depth,
        u=u,
        q=q,
    )
    return Told(title, caption.format(token=token, q=q), formula)


def verified(round_: Round) -> Told:
    """The target's pass over K + 1 places."""
    k, cache = len(round_.nodes), round_.target_cache
    caption = (
        _(
            "One pass of the target model reads every draft at once and gives its own law, p, at {places} places. "
            "It took {ms} ms. Tokens in its cache: {reused} reused, {fed} fed, {dropped} dropped."
        )
        if k
        else _(
            "There is no draft to check. One pass of the target model gives its law, p, at the next place. "
            "It took {ms} ms. Tokens in its cache: {reused} reused, {fed} fed, {dropped} dropped."
        )
    ).format(
        places=k + 1,
        ms=number(round_.verify_s * 1000),
        reused=cache.reused,
        fed=cache.fed,
        dropped=cache.dropped,
    )
    formula = (
        _formula(_("p1, …, p{n} in one pass"), r"p_1, \dots, p_{{{n}}}", n=k + 1)
        if k
        else _formula(_("p1 in one pass"), "p_1")
    )
    return Told(_("Verify"), caption, formula)


def judged(round_: Round, trial: Trial, *, more: bool) -> Told:
    """A drafted token was accepted or rejected. more: drafts after it are left unjudged."""
    node = round_.nodes[trial.node]
    p, q = number(trial.target_prob), number(node.draft_prob)
    r, accept = apart(trial.r, trial.accept_prob)
    formula = _formula(
        _("r = {r} < min(1, p/q) = min(1, {p} / {q}) = {accept}: accepted")
        if trial.accepted
        else _("r = {r} ≥ min(1, p/q) = min(1, {p} / {q}) = {accept}: rejected"),
        r"r = {r} {sign} \min\left(1, \frac{{p_{{{i}}}(x_{{{i}}})}}{{q_{{{i}}}(x_{{{i}}})}}\right)"
        r" = \min\left(1, \frac{{{p}}}{{{q}}}\right) = {accept}",
        i=node.depth,
        r=r,
        p=p,
        q=q,
        accept=accept,
        sign="<" if trial.accepted else r"\ge",
    )
    caption = _judgement(trial, greedy=node.target_gap is not None, more=more).format(
        token=quoted(node.token, node.text), p=p, q=q, r=r, accept=accept
    )
    return Told(_("Judge {i} of {k}").format(i=node.depth, k=len(round_.nodes)), caption, formula)


def drawn(round_: Round, final: FinalDraw) -> Told:
    """The draw that ended the round."""
    alone = not round_.nodes  # the target decodes without a draft
    numbers: dict[str, str | int] = {
        "i": len(round_.accepted) + 1,
        "u": number(final.uniform),
        "prob": number(final.prob),
    }
    if final.source == "residual":
        title = _("Resample")
        caption = _(
            "Its replacement is {token}, drawn where the target gives more than the draft did: "
            "max(0, p − q), scaled to sum to 1, which gave it {prob}."
        )
        formula = _formula(
            _("x{i} ~ norm(max(0, p{i} − q{i})) with u = {u}: probability {prob}"),
            r"x_{{{i}}} \sim \mathrm{{norm}}(\max(0, p_{{{i}}} - q_{{{i}}})),\quad u = {u},\quad "
            r"\Pr(x_{{{i}}}) = {prob}",
            **numbers,
        )
    else:
        title = _("Next token") if alone else _("Bonus")
        caption = (
            _("The target draws the next token from its own law, p: {token}, which had {prob}.")
            if alone
            else _(
                "Every draft stands, so the same pass gives one token more: {token}, drawn from p, "
                "which gave it {prob}."
            )
        )
        formula = _formula(
            _("x{i} ~ p{i} with u = {u}: p{i}(x{i}) = {prob}"),
            r"x_{{{i}}} \sim p_{{{i}}},\quad u = {u},\quad p_{{{i}}}(x_{{{i}}}) = {prob}",
            **numbers,
        )
    if final.target_gap is not None:
        caption = _greedy_draw(final, alone=alone)
        formula = _formula(_("x{i} = argmax p{i}"), r"x_{{{i}}} = \arg\max p_{{{i}}}", **numbers)
    return Told(title, caption.format(token=quoted(final.token, final.text), prob=numbers["prob"]), formula)


def balance(round_: Round) -> str | None:
    """Why the replacement of a rejected draft comes with probability p after all, in the numbers of its place.

    As an accepted draft it comes with min(p, q), and as a replacement with (1 − β) × its residual probability, which
    together is p. None where no residual was drawn, and in greedy runs.
    Source: Leviathan et al. 2023 (arXiv 2211.17192), appendix A.1.
    """
    final = round_.final
    if final is None or final.source != "residual" or final.target_gap is not None:
        return None
    drawn = next(c for c in final.candidates if c.token == final.token)
    rejected = 1 - round_.nodes[round_.trials[-1].node].beta
    return _(
        "{token}: min(p, q) = {kept} as an accepted draft, plus {rejected} × {share} as a replacement "
        "(drafts fall with 1 − β = {rejected}). Together {p}, exactly p."
    ).format(
        token=quoted(final.token, final.text),
        kept=number(min(drawn.target_prob, drawn.draft_prob)),
        rejected=number(rejected),
        share=number(final.prob),
        p=number(drawn.target_prob),
    )


def emitted(round_: Round) -> Told:
    """What the round adds to the text."""
    a, n = len(round_.accepted), len(round_.emitted)
    if round_.final is None:
        caption = _("The text ends inside the accepted drafts, so no further token is drawn. Tokens added: {n}.")
        formula = _formula(_("N = {n}"), "N = {n}", n=n)
    else:
        caption = (
            _("One target pass, and the text grows by one token.")
            if n == 1
            else _("One target pass, and the text grows by {n} tokens.")
        )
        formula = _formula(_("N = {a} accepted + 1 = {n}"), "N = {a} + 1 = {n}", a=a, n=n)
    return Told(_("Emit"), caption.format(n=n), formula)


def _judgement(trial: Trial, *, greedy: bool, more: bool) -> str:
    if trial.accepted:
        if greedy:
            return _("{token} is accepted: it is the target's best token too.")
        if trial.accept_prob == 1:
            return _("{token} is accepted, whatever r is: the target gives it {p}, no less than the draft's {q}.")
        return _("{token} is accepted: r = {r} falls below p/q = {accept}.")
    if greedy and more:
        return _("{token} is rejected: another token is the target's best. The later drafts are never judged.")
    if greedy:
        return _("{token} is rejected: another token is the target's best.")
    if more:
        return _("{token} is rejected: r = {r} is not below p/q = {accept}. The later drafts are never judged.")
    return _("{token} is rejected: r = {r} is not below p/q = {accept}.")


def _greedy_draw(final: FinalDraw, *, alone: bool) -> str:
    if final.source == "residual":
        return _("The target's best token takes its place: {token}.")
    if alone:
        return _("The target's best token comes next: {token}.")
    return _("Every draft stands, so the same pass gives one token more, the target's best: {token}.")


def _formula(text: str, form: str, **numbers: str | int) -> Formula:
    return Formula(text.format(**numbers), form.format(**{name: katex(str(value)) for name, value in numbers.items()}))
