"""Rounds: every round of the last run."""

from specviz.ui.labs import rounds

rounds.show()
