"""Exact laws by enumeration: what an accept rule really emits, for one position and for whole sequences.

Nothing here samples and nothing trusts the theorem: every draft and every judgement is followed with its probability,
by the very `accept_prob` and `residual` that the decoder uses. The broken rules stand beside the exact one, so that
their bias is a number and not an opinion.

p is the target's law and q the draft's.
"""

from specviz.exact.lessons import Worst, random_laws, random_pair, worse_draft
from specviz.exact.parts import Parts, emitted_parts
from specviz.exact.position import RULES, emitted_law, judged_law
from specviz.exact.rounding import UNIFORM_BITS, Format, rounded, rounded_law
from specviz.exact.rounds import round_counts, text_law
from specviz.exact.sequences import SequenceLaw, sequence_law, sequence_total_variation, target_sequence_law

__all__ = [
    "RULES",
    "UNIFORM_BITS",
    "Format",
    "Parts",
    "SequenceLaw",
    "Worst",
    "emitted_law",
    "emitted_parts",
    "judged_law",
    "random_laws",
    "random_pair",
    "round_counts",
    "rounded",
    "rounded_law",
    "sequence_law",
    "sequence_total_variation",
    "target_sequence_law",
    "text_law",
    "worse_draft",
]
