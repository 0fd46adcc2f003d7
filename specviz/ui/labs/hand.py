"""To come."""

from specviz.ui import question


def show() -> None:
    question.begin("hand", title="hand", lead="")
