"""Drafts: α against c over candidates."""

from specviz.ui.calculators import drafts

drafts.show()
