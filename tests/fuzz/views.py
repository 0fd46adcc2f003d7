"""All that shows a trace: one that was let in must not break any of it."""

import json
from io import StringIO

import pandas

import specviz as sv
from specviz import race, replay, timeline
from specviz.cli import terminal
from specviz.export import COLUMNS
from specviz.replay.payload import payload


def seen_everywhere(trace):
    """Written and read again, measured, told step by step, shown on a terminal, and replayed."""
    again = sv.Trace.from_json(trace.to_json())
    assert again == trace or trace != trace
    table = pandas.read_csv(StringIO(trace.to_csv()))
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == trace.n_drafted + sum(round_.final is not None for round_ in trace.rounds)
    assert "".join(span.text for span in timeline.spans(trace)) == trace.text
    timeline.steps(trace)
    for told in (timeline.lines, timeline.places, timeline.longest_streak, timeline.costliest_rejection):
        told(trace)
    measured = sv.measure
    for of in (measured.acceptance, measured.accepted_of_drafted, measured.acceptance_by_position):
        of(trace)
    for of in (measured.alpha, measured.tokens_per_round, measured.round_lengths):
        of([trace])
    measured.alpha_by_round(trace)
    measured.times(trace)
    measured.first_difference(trace, trace)
    plain = terminal.painter("never")
    shown = [terminal.header(trace), terminal.text_lines(trace, plain)]
    shown += [terminal.round_lines(round_, plain) for round_ in trace.rounds]
    list(terminal.measured([trace]))
    "\n".join(shown).encode("utf-8", "replace")
    json.loads(json.dumps(payload(trace)))
    assert replay.to_html(trace).startswith("<!doctype html>")
    if trace.draft_length == 0:
        return
    race.race(trace, sv.Trace.from_json(ALONE))


ALONE = "specviz/examples/prose-alone.json"
