"""The prompt of the run decoded anew: greedy beside sampling, and under several K."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import pandas as pd
import streamlit as st

from specviz import measure, theory, timeline
from specviz.figures.rounds import several_figure
from specviz.i18n import _
from specviz.records import Trace
from specviz.timeline import number
from specviz.ui import jobs, question, shell, state
from specviz.ui.labs import anew
from specviz.ui.labs.anew import Setting
from specviz.ui.tables import table_html

_GREEDY, _SEVERAL = "rounds_greedy", "rounds_several"


def show(trace: Trace) -> None:
    """Two experiments, each run when it is asked for."""
    asked = anew.setting(trace, state.get(state.MODELS))
    question.part(_("Greedy against sampling, on the same prompt"))
    if not asked.own:
        question.note(_("The models of this run are not here: the bundled pair decodes its prompt instead."))
    job = _job(_GREEDY, _("Decode greedily, and sample"), asked, anew.greedy)
    if job is not None and job.value:
        _greedy(job.value)
    question.part(_("The same prompt under several K, at one seed"))
    job = _job(_SEVERAL, _("Decode with K = 1, 2, 4, 8, 16"), asked, anew.several)
    if job is not None and job.value:
        _several(job.value)


def _job(key: str, label: str, asked: Setting, steps: Callable[[Setting], jobs.Steps]) -> jobs.Job | None:
    job = jobs.button(key, label, lambda: steps(asked), asked=asked)
    if job is not None and job.value and job.asked != asked:
        question.note(_("These numbers are of the run that was on the stage when the button was pressed."))
    return job


def _greedy(traces: Sequence[Trace]) -> None:
    """The draft changes nothing in a greedy run: token for token. Sampling only keeps the law."""
    names = [_("Greedy, with the draft"), _("Greedy, the target alone"), _("Sampled, with the draft")]
    if len(traces) > 1:
        _sameness(*traces[:2])
    st.html(
        table_html(
            _("Greedy and sampled runs of one prompt"),
            [(_("Run"), ""), *_heads()],
            [[name, *_measured(trace)] for name, trace in zip(names, traces, strict=False)],
        )
    )
    for place, name, trace in zip(st.columns(3, gap="medium"), names, traces, strict=False):
        place.html(
            f'<p class="sv-told"><b>{escape(name)}</b></p><p class="sv-replayed">{_text_html(trace)}</p>{_SHEET}'
        )


def _sameness(speculative: Trace, plain: Trace) -> None:
    difference = measure.first_difference(speculative, plain)
    if difference is None:
        told = _("Greedy with the draft equals greedy without it, token for token: all {n} are the same.")
        question.answer(told.format(n=len(plain.tokens)))
        return
    told = _("The greedy runs part at token {i}, where the target's best two logits lie {gap} apart: rounding decided.")
    question.answer(told.format(i=difference.position + 1, gap=number(difference.target_gap or 0.0)))


def _several(traces: Sequence[Trace]) -> None:
    left, right = st.columns([6, 5], gap="medium")
    with left:
        st.html(
            table_html(
                _("One prompt under several draft lengths"),
                [("K", _("Draft length")), *_heads()],
                [[str(trace.draft_length), *_measured(trace)] for trace in traces],
            )
        )
        question.note(
            _(
                "One seed does not give one text: each K uses the random numbers in another order. The law of the text "
                "is the same for all."
            )
        )
    with right:
        question.figure(
            several_figure(traces, theme=shell.theme()),
            key="rounds_lengths",
            alt=_("Tokens per target pass for each K, measured and by formula: {told}").format(
                told=", ".join(
                    f"K = {t.draft_length}: {number(measure.tokens_per_round(t).estimate)}, {_expected(t)}"
                    for t in traces
                )
            ),
            frame=lambda: _frame(traces),
        )


def _heads() -> list[tuple[str, str]]:
    return [
        ("α̂", _("Mean β of the judged places")),
        (_("Passes"), _("Target passes")),
        (_("Tokens per pass"), _("Measured")),
        ("E[N]", _("By the formula, from α̂ and K")),
        (_("Wasted"), _("Drafts that were not accepted")),
        (_("Tokens/s"), _("Tokens per second on this machine, reading the prompt included")),
    ]


def _measured(trace: Trace) -> list[str]:
    return [
        number(measure.alpha(trace).estimate),
        str(len(trace.rounds)),
        number(measure.tokens_per_round(trace).estimate),
        _expected(trace),
        str(trace.n_drafted - trace.n_accepted),
        number(measure.times(trace).tokens_per_s),
    ]


def _expected(trace: Trace) -> str:
    rate = measure.alpha(trace)
    return number(theory.expected_tokens(rate.estimate, trace.draft_length)) if rate.n else "1"


def _frame(traces: Sequence[Trace]) -> pd.DataFrame:
    rows = []
    for trace in traces:
        rate, mean = measure.alpha(trace), measure.tokens_per_round(trace)
        expected = theory.expected_tokens(rate.estimate, trace.draft_length) if rate.n else 1.0
        rows.append((trace.draft_length, rate.estimate, mean.estimate, *mean.interval, expected, trace.total_s))
    return pd.DataFrame(
        rows, columns=["draft_length", "alpha_hat", "tokens_per_pass", "low", "high", "expected_tokens", "total_s"]
    )


_SHEET = """<style>.sv-replayed { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; max-height: 16rem;
  overflow-y: auto; color: var(--sv-text); } .sv-replayed span { unicode-bidi: isolate; }</style>"""


def _text_html(trace: Trace) -> str:
    """The text, each token marked as on the stage; a run of the target alone has nothing to mark."""
    return "".join(
        f'<span class="sv-{span.outcome}">{escape(span.text)}</span>'
        if trace.draft_length
        else f"<span>{escape(span.text)}</span>"
        for span in timeline.spans(trace)
    )
