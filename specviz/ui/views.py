"""What a run looks like: its progress, its text by outcome, its numbers, its files. Text of models is escaped HTML."""

from __future__ import annotations

from contextlib import AbstractContextManager
from html import escape

import streamlit as st

from specviz import measure, theory
from specviz.figures.style import MARKS
from specviz.i18n import _
from specviz.records import Trace
from specviz.timeline import label, number, outcome_name, spans
from specviz.ui import runs, shell


class Live:
    """The part of the page that is drawn again with every round."""

    def __init__(self) -> None:
        self._status = st.empty()
        self._text = st.empty()
        self._numbers = st.empty()

    def status(self) -> AbstractContextManager[object]:
        """The place for what is said while nothing can be shown yet."""
        return self._status.container()

    def show(self, trace: Trace | None) -> None:
        error = runs.error()
        if error is not None:
            self._status.error(shell.plain(error))
        elif trace is not None:
            done = min(1.0, len(trace.tokens) / trace.max_new_tokens)
            self._status.progress(done, text=progress(trace, running=runs.running()))
        else:
            self._status.empty()
        self._text.html(text_html(trace))
        if trace is None:
            self._numbers.html(steps_html())
        elif trace.rounds:
            self._numbers.html(numbers_html(trace))


def progress(trace: Trace, *, running: bool) -> str:
    """One line: how far it is, how fast, and why it ended."""
    ends = {
        "eos": _("the text ended by itself"),
        "length": _("reached the limit"),
        "stop": _("met a stop string"),
        "context": _("the context is full"),
        "cancelled": _("decoding") if running else _("stopped"),
    }
    return _("{tokens} of {most} tokens · target passes: {rounds} · {speed} tokens per second · {end}").format(
        tokens=len(trace.tokens),
        most=trace.max_new_tokens,
        rounds=len(trace.rounds),
        speed=number(measure.times(trace).tokens_per_s),
        end=ends[trace.stop_reason],
    )


def text_html(trace: Trace | None) -> str:
    """The prompt and the text, each token underlined by its outcome."""
    if trace is None:
        hint = escape(_("Press Run: the text grows here, each token marked by how it came."))
        body = f'<span class="sv-quiet">{hint}</span>'
    else:
        body = f'<span class="sv-prompt">{escape(trace.prompt)}</span>' + "".join(
            _span_html(span.text, span.outcome, span.token, span.round) for span in spans(trace) if span.text
        )
    name = escape(_("The prompt and the decoded text"))
    region = f'<div class="sv-text" role="region" aria-label="{name}" tabindex="0"><div dir="auto">{body}</div></div>'
    return region + legend_html()


def _span_html(text: str, outcome: str, token: int, round_: int) -> str:
    title = _("{token}: {outcome} in round {round}").format(
        token=label(token, text), outcome=outcome_name(outcome), round=round_ + 1
    )
    shown = escape(text).replace("\n", '<span class="sv-break"></span>\n')
    return f'<span class="sv-{outcome}" title="{escape(title)}">{shown}</span>'


def steps_html() -> str:
    """A round in four cards, each with the border that marks its outcome everywhere."""
    cards = (
        ("draft", _("1. Draft"), _("The draft model writes K tokens, one after another. It is fast and often right.")),
        ("target", _("2. Verify"), _("One pass of the target model gives its own probabilities at all K + 1 places.")),
        (
            "accepted",
            _("3. Accept ✓ or reject ✕"),
            _("Left to right, a token stands with probability min(1, p/q): p by the target, q by the draft."),
        ),
        (
            "resampled",
            _("4. One token more"),
            _(
                "The first rejected token is drawn again ↻ from what the draft left out; "
                "if all stand, a bonus ★ follows."
            ),
        ),
    )
    items = "".join(f'<li class="sv-is-{kind}"><b>{escape(name)}</b>{escape(told)}</li>' for kind, name, told in cards)
    return f'<ol class="sv-steps">{items}</ol>'


def legend_html() -> str:
    items = "".join(
        f'<span>{MARKS[outcome]} <span class="sv-{outcome}">{escape(told)}</span></span>'
        for outcome, told in (
            ("accepted", _("accepted draft")),
            ("resampled", _("resampled after a rejection")),
            ("bonus", _("bonus after full acceptance")),
        )
    )
    return f'<div class="sv-legend">{items}</div>'


def numbers_html(trace: Trace) -> str:
    """The measured numbers, and beside tokens per pass what theory makes of the measured α."""
    alpha, rate, per_round = measure.alpha(trace), measure.acceptance(trace), measure.tokens_per_round(trace)
    times = measure.times(trace)
    predicted = theory.expected_tokens(alpha.estimate, trace.draft_length) if alpha.n else float("nan")
    items = [
        (
            _("α̂, mean of Σ min(p, q)"),
            number(alpha.estimate),
            _("95%: {low} to {high}").format(low=number(alpha.interval[0]), high=number(alpha.interval[1])),
        ),
        (
            _("Accepted of judged"),
            number(rate.estimate),
            _("{accepted} of {judged}; 95%: {low} to {high}").format(
                accepted=rate.successes,
                judged=rate.trials,
                low=number(rate.interval[0]),
                high=number(rate.interval[1]),
            ),
        ),
        (
            _("Tokens per target pass"),
            number(per_round.estimate),
            _("formula, from α̂ and K: {predicted}").format(predicted=number(predicted)),
        ),
        (
            _("Target pass"),
            _("{ms} ms").format(ms=number(times.verify_s * 1000)),
            _("draft pass: {ms} ms").format(ms=number(times.draft_pass_s * 1000)),
        ),
    ]
    cells = "".join(
        f"<div><dt>{escape(name)}</dt><dd><strong>{escape(value)}</strong> {escape(more)}</dd></div>"
        for name, value, more in items
    )
    return f'<dl class="sv-numbers">{cells}</dl>'


def downloads(player: runs.Player) -> None:
    """The trace as files, made when asked for: everything until then, also while rounds are being played."""
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            _("Download CSV"),
            lambda: player.trace.to_csv() or "",
            file_name="specviz.csv",
            mime="text/csv",
            on_click="ignore",
            key="csv_button",
        )
        st.download_button(
            _("Download JSON"),
            lambda: player.trace.to_json() or "",
            file_name="specviz.json",
            mime="application/json",
            on_click="ignore",
            key="json_button",
        )
