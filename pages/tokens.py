"""Tokens: E[N] and the law of N."""

from specviz.ui.calculators import tokens

tokens.show()
