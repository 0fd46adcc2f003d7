"""To come."""

from specviz.ui import question


def show() -> None:
    question.begin("acceptance", title="acceptance", lead="")
