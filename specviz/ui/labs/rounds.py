"""To come."""

from specviz.ui import question


def show() -> None:
    question.begin("rounds", title="rounds", lead="")
