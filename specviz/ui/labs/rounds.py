"""Every round of the run on the stage: what each came to, where draft and target part, and the same prompt anew."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from specviz import examples, measure, timeline
from specviz.figures.rounds import beta_figure
from specviz.figures.style import MARKS
from specviz.i18n import _
from specviz.records import Trace
from specviz.timeline import Line, Place, Stretch, label, number
from specviz.timeline.labels import quoted
from specviz.ui import inputs, links, question, runs, shell, state, views
from specviz.ui.labs import replayed
from specviz.ui.labs.heat import SHEET, heat_html, legend_html
from specviz.ui.show import begin, keep_up, turn_to

_TEXT = 60  # characters of a round's text in the table
_STRETCH = 6  # judged places of the stretch where α is lowest or highest
_ALL = "all"


def show() -> None:
    left, right = question.begin(
        "rounds",
        title=_("Where did the run win and lose?"),
        lead=_("Every round of the run on the stage. Click on a row to see that round there, token by token."),
    )
    shown = begin(entered=False)
    trace, places = shown.trace, timeline.places(shown.trace)
    _keep_address(shown)
    with left:
        error = state.get(state.ERROR) or shown.error
        if error:
            st.error(shell.plain(error))
        name = examples.title(shown.id) if shown.id in examples.NAMES else _("Your run")
        st.html(f'<p class="sv-progress"><b>{escape(name)}</b>: {escape(views.progress(shown))}</p>')
        st.page_link(links.watch(), label=_("Choose or start another run"))
        lines = _filtered(timeline.lines(trace), trace.draft_length)
    with right:
        _answer(trace)
        _table(shown, lines)
        _text(trace, places)
        replayed.show(trace)
    keep_up(shown)
    question.end(
        source=_(
            "Leviathan et al. 2023 (arXiv 2211.17192): Definition 3.1 for β, Corollary 3.6 for α, Eq. (1) for E[N], "
            "and section 2.2 for greedy decoding as sampling from a one-hot law."
        ),
        try_this=_(
            "Keep the rejected rounds and sort by entropy: does the draft fall where the target itself is unsure?"
        ),
    )


def _keep_address(shown: runs.Shown) -> None:
    """The run in the address, so that a link opens it. The example that is there at first needs none."""
    if st.query_params.get("run", examples.NAMES[0]) != shown.id:
        st.query_params["run"] = shown.id


def _filtered(lines: Sequence[Line], draft_length: int) -> list[Line]:
    """The rounds that the reader wants to see."""
    outcome = inputs.pick(state.OUTCOME, _("Rounds that ended"), (_ALL, *_outcomes()), named=_outcome_name)
    fewest, most = 0, draft_length
    if draft_length:
        fewest, most = inputs.span(state.ACCEPTED, _("Accepted drafts"), 0, draft_length)
    top = max([0.1, *(math.ceil(10 * line.entropy) / 10 for line in lines if line.entropy > 0)])
    told = _("Of the target's law in nats, mean over the places of the tokens. The least that it can be.")
    low, high = inputs.span(state.ENTROPY, _("Entropy of the target's law"), 0.0, top, step=0.1, told=told)
    return [
        line
        for line in lines
        if outcome in (_ALL, line.outcome)
        and fewest <= line.accepted <= most
        and (math.isnan(line.entropy) or low <= line.entropy <= high)
    ]


def _outcomes() -> dict[str, str]:
    return {
        "accepted": _("with no rejection"),
        "rejected": _("with a rejection"),
        "undrafted": _("without any draft"),
    }


def _outcome_name(outcome: str) -> str:
    return _outcomes().get(outcome, _("in any way"))


def _answer(trace: Trace) -> None:
    """How many rounds won and lost, and what stands out."""
    lines = timeline.lines(trace)
    if not trace.n_judged:
        told = _(
            "{rounds} target passes gave {tokens} tokens: no draft was judged, so there is nothing to win or lose."
        )
        question.answer(told.format(rounds=len(lines), tokens=len(trace.tokens)))
        return
    won = sum(line.outcome == "accepted" for line in lines)
    lost = sum(line.outcome == "rejected" for line in lines)
    told = _("{won} of {rounds} rounds kept every draft that was judged, {lost} ended at a rejection.")
    question.answer(told.format(won=won, rounds=len(lines), lost=lost), *_numbers(trace))
    if lost:
        question.note(
            _("The costliest rejection leaves the most drafts unused behind it; of equals, its q − p is largest.")
        )


def _numbers(trace: Trace) -> list[tuple[str, str, str]]:
    streak, cost = timeline.longest_streak(trace), timeline.costliest_rejection(trace)
    cells = []
    if streak is not None:
        told = _("accepted in a row, with no rejection between them: rounds {first} to {last}")
        told = told.format(first=streak.first_round + 1, last=streak.last_round + 1)
        cells.append((_("Longest streak"), str(streak.accepted), told))
    if cost is not None:
        told = _("round {round}, place {place}: q = {q}, p = {p}; drafts unused behind it: {behind}").format(
            round=cost.round + 1,
            place=cost.depth,
            q=number(cost.draft_prob),
            p=number(cost.target_prob),
            behind=cost.behind,
        )
        cells.append((_("Costliest rejection"), quoted(cost.token, cost.text), told))
    return cells


def _table(shown: runs.Shown, lines: Sequence[Line]) -> None:
    """The rounds as rows, to sort; a click opens one on the stage."""
    told = _("{n} of {rounds} rounds. Sort by a column's head; click on a row to open it on the stage.")
    question.note(told.format(n=len(lines), rounds=len(shown.trace.rounds)))
    if not lines:
        return
    chosen = st.dataframe(
        _frame(lines),
        key="rounds_table",
        hide_index=True,
        height=min(300, 37 + 35 * len(lines)),
        on_select="rerun",
        selection_mode="single-row",
        column_config=_columns(),
        alt=_("A row per round: its outcome, tokens, mean β, entropy and time"),
    )
    rows = [row for row in chosen["selection"]["rows"] if row < len(lines)]
    if rows:
        at = (lines[rows[0]].round, 0)
        turn_to(shown.id, at)
        # Its address is said here, since Streamlit refuses to clear one that filters are bound to.
        st.switch_page(links.watch(), query_params={"run": shown.id, "round": str(at[0] + 1), "step": "1"})


def _frame(lines: Sequence[Line]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "round": [line.round + 1 for line in lines],
            "outcome": [_told(line) for line in lines],
            "accepted": [line.accepted for line in lines],
            "tokens": [line.emitted for line in lines],
            "text": [label(0, line.text, _TEXT) if line.text else "" for line in lines],
            "beta": [line.beta for line in lines],
            "entropy": [line.entropy for line in lines],
            "ms": [1000 * line.seconds for line in lines],
        }
    )


def _told(line: Line) -> str:
    return {
        "accepted": f"{MARKS['accepted']} {_('no rejection')}",
        "rejected": f"{MARKS['rejected']} {_('rejected')}",
        "undrafted": f"{MARKS['unjudged']} {_('no draft')}",
    }[line.outcome]


def _columns() -> dict[str, Any]:
    number_, text = st.column_config.NumberColumn, st.column_config.TextColumn
    return {
        "round": number_(_("Round"), width=60),
        "outcome": text(_("Outcome"), width=100),
        "accepted": number_(_("Accepted"), width=70, help=_("Drafts accepted")),
        "tokens": number_(_("Tokens"), width=60, help=_("Tokens that it added to the text")),
        "text": text(_("Text"), width=200),
        "beta": number_(_("Mean β"), format="%.3f", width=70, help=_("Of its judged places")),
        "entropy": number_(
            _("Entropy ≥, nats"),
            format="%.2f",
            width=80,
            help=_(
                "Of the target's law, in nats, mean over the places of its tokens. A record keeps the top tokens of "
                "each place; all others are counted as one, so the entropy is at least this."
            ),
        ),
        "ms": number_(_("ms"), format="%.1f", width=60, help=_("Milliseconds of the whole round")),
    }


def _text(trace: Trace, places: Sequence[Place]) -> None:
    """Where α is high and where low, in the text and along it."""
    rate = measure.alpha(trace)
    if rate.n:
        question.formula(
            rf"\hat\alpha = \frac{{1}}{{n}}\sum_{{i=1}}^{{n}} \beta_i = {number(rate.estimate)},\quad n = {rate.n}"
            r",\quad \beta_i = \sum_x \min(p_i(x), q_i(x))"
        )
    st.html(f"<style>{SHEET}</style>{heat_html(trace.prompt, places)}{legend_html() if rate.n else ''}")
    ends = timeline.stretches(places, _STRETCH)
    if ends is not None:
        (low, low_beta), (high, high_beta) = ((_stretch(places, one), number(one.beta)) for one in ends)
        told = _(
            "Over {n} judged places in a row, mean β is lowest in {low}, {low_beta}, highest in {high}, {high_beta}."
        )
        question.note(told.format(n=_STRETCH, low=low, low_beta=low_beta, high=high, high_beta=high_beta))
    if rate.n:
        question.figure(
            beta_figure(places, theme=shell.theme()),
            key="rounds_beta",
            alt=_("β at each judged token's place along the text; their mean, α̂, is {alpha}").format(
                alpha=number(rate.estimate)
            ),
            frame=lambda: _places_frame(places),
        )


def _stretch(places: Sequence[Place], stretch: Stretch) -> str:
    text = "".join(place.text for place in places[stretch.first : stretch.last + 1])
    return quoted(places[stretch.first].token, text)


def _places_frame(places: Sequence[Place]) -> pd.DataFrame:
    return pd.DataFrame(
        [(i, p.round + 1, p.token, label(p.token, p.text), p.outcome, p.beta) for i, p in enumerate(places, 1)],
        columns=["token", "round", "id", "text", "outcome", "beta"],
    )
