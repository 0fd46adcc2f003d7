"""What stands below the stage and follows it: the laws and the table of a round, the numbers of the run, the race."""

from __future__ import annotations

from html import escape
from typing import Any

import streamlit as st

from specviz import examples, measure, theory
from specviz.figures.acceptance import acceptance_figure
from specviz.figures.alpha import alpha_figure
from specviz.figures.laws import law_figure
from specviz.figures.lengths import lengths_figure
from specviz.figures.style import Theme
from specviz.i18n import _
from specviz.race import race as race_of
from specviz.records import Round, Trace
from specviz.timeline import Step, number, steps
from specviz.ui import runs, shell, state
from specviz.ui.race import SHEET, race_html
from specviz.ui.rounds import table_html
from specviz.ui.stage import Position

_PLAIN = {"displayModeBar": False}
_CHARTS = 32  # that the server keeps drawn: some 50 kB each
_FEW = 4  # with fewer rounds of a run under way there is little to draw yet


def follow(shown: runs.Shown, at: Position) -> None:
    """Everything that goes with where the stage stands."""
    trace, theme = shown.trace, shell.theme()
    lines = [progress(shown), *([examples.told(shown.id)] if shown.id in examples.NAMES else [])]
    st.html("".join(f'<p class="sv-progress">{escape(line)}</p>' for line in lines) + numbers_html(trace))
    if shown.running and len(trace.rounds) < _FEW:
        return  # the first round has to be on the stage at once
    round_ = trace.rounds[at.round]
    step = law_step(round_, at.step)
    left, right = st.columns([5, 7], gap="large")
    with left:
        if step is not None and step.law is not None:
            figure = law_figure(step.law, theme=theme)
            st.plotly_chart(figure, theme=None, config=_PLAIN, key="law_chart", alt=step.title)
    with right:
        st.html(table_html(round_))
    if trace.draft_length:
        for place, (name, round, alt) in zip(
            st.columns(3),
            (
                ("acceptance", None, _("Acceptance at each place of the draft")),
                ("lengths", None, _("Tokens per target pass")),
                ("alpha", at.round, _("α̂ over the rounds")),
            ),
            strict=True,
        ):
            figure = _chart(name, (shown.id, len(trace.rounds), trace.stop_reason), theme, round, trace)
            place.plotly_chart(figure, theme=None, config=_PLAIN, key=f"{name}_chart", alt=alt)
    race(shown)


@st.cache_resource(max_entries=_CHARTS, show_spinner=False)
def _chart(
    name: str,
    of: tuple[str, int, str],  # noqa: ARG001 - the key
    theme: Theme,
    round: int | None,
    _trace: Trace,
) -> Any:
    """A chart of a run, drawn once.

    of: the run's id, rounds and end, which tell its trace, since a run only grows. round: where the viewer stands, of a
    chart that shows it.
    """
    if name == "alpha":
        return alpha_figure(_trace, theme=theme, round=round)
    return {"acceptance": acceptance_figure, "lengths": lengths_figure}[name](_trace, theme=theme)


def law_step(round_: Round, at: int) -> Step | None:
    """The step whose laws are looked at: the one that stands, or the last one before it that has laws, or the next."""
    told = steps(round_)
    at = min(at, len(told) - 1)
    before = [step for step in told[: at + 1] if step.law is not None]
    return before[-1] if before else next((step for step in told if step.law is not None), None)


def race(shown: runs.Shown) -> None:
    """The two lanes, once the target alone has been measured as well."""
    trace, alone = shown.trace, shown.alone
    if not trace.draft_length:
        return
    if alone is not None and alone.rounds:
        with st.container(key="race"):
            st.button(_("Play the race"), key="race_button", on_click=_play, args=(shown.id,))
            run, times = state.get(state.RACED)
            key = f"{run} {times}" if run == shown.id else None
            st.html(f"<style>{SHEET}</style>{race_html(race_of(trace, alone), key=key)}")
    elif shown.running:
        st.html(f'<p class="sv-progress">{escape(_("Next, the target alone decodes the same prompt: the race."))}</p>')


def _play(run: str) -> None:
    """Another key plays the race anew."""
    state.put(state.RACED, (run, state.get(state.RACED)[1] + 1))


def progress(shown: runs.Shown) -> str:
    """One line: which run this is, how far it is, how fast, and why it ended."""
    trace = shown.trace
    ends = {
        "eos": _("the text ended by itself"),
        "length": _("reached the limit"),
        "stop": _("met a stop string"),
        "context": _("the context is full"),
        "cancelled": _("decoding") if shown.running else _("stopped"),
    }
    return _("{tokens} of {most} tokens · target passes: {rounds} · {speed} tokens per second · {end}").format(
        tokens=len(trace.tokens),
        most=trace.max_new_tokens,
        rounds=len(trace.rounds),
        speed=number(measure.times(trace).tokens_per_s),
        end=ends[trace.stop_reason],
    )


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
