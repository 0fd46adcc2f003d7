"""Records as a viewer sees them: steps with captions and formulas, the coloured text, the rows of a round's table.

A round is draft 1..K, verify, judge 1.., residual or bonus, emit. Everything that a stage, a table or an export says
about a round is said here, so that they cannot disagree. p is the target's law and q the draft's.

    steps     what happens, in order             told       the words of each step: title, caption, formula
    text      the coloured text and the table    laws       the laws at one place
    overview  a whole run at a glance
    labels    tokens and numbers in few characters

Captions and labels are plain text that may hold whatever a token holds: show them as text, never as markup.
"""

from specviz.timeline.labels import LABEL, apart, label, number, outcome_name, signed
from specviz.timeline.laws import Law, Share, Tail, draft_law, final_law, shares
from specviz.timeline.overview import (
    Line,
    Place,
    Rejection,
    Streak,
    Stretch,
    costliest_rejection,
    lines,
    longest_streak,
    places,
    stretches,
)
from specviz.timeline.steps import Card, Kind, Step, Tally, steps
from specviz.timeline.text import Outcome, Row, Span, rows, spans
from specviz.timeline.told import Formula, balance

__all__ = [
    "LABEL",
    "Card",
    "Formula",
    "Kind",
    "Law",
    "Line",
    "Outcome",
    "Place",
    "Rejection",
    "Row",
    "Share",
    "Span",
    "Step",
    "Streak",
    "Stretch",
    "Tail",
    "Tally",
    "apart",
    "balance",
    "costliest_rejection",
    "draft_law",
    "final_law",
    "label",
    "lines",
    "longest_streak",
    "number",
    "outcome_name",
    "places",
    "rows",
    "shares",
    "signed",
    "spans",
    "steps",
    "stretches",
]
