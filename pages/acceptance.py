"""Acceptance: α from two laws: how much of p and q overlaps."""

from specviz.ui.calculators import acceptance

acceptance.show()
