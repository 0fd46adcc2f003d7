"""To come."""

from specviz.ui import question


def show() -> None:
    question.begin("length", title="length", lead="")
