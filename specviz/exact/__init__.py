"""Exact laws by enumeration: what an accept rule really emits, for one position and for whole sequences.

Nothing here samples and nothing trusts the theorem: every draft and every judgement is followed with its probability,
by the very `accept_prob` and `residual` that the decoder uses. The broken rules stand beside the exact one, so that
their bias is a number and not an opinion.

p is the target's law and q the draft's.
"""

from specviz.exact.parts import Parts, emitted_parts
from specviz.exact.position import RULES, Place, emitted_law
from specviz.exact.sequences import SequenceLaw, sequence_law, sequence_total_variation, target_sequence_law

__all__ = [
    "RULES",
    "Parts",
    "Place",
    "SequenceLaw",
    "emitted_law",
    "emitted_parts",
    "sequence_law",
    "sequence_total_variation",
    "target_sequence_law",
]
