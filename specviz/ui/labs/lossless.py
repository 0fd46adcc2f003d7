"""To come."""

from specviz.ui import question


def show() -> None:
    question.begin("lossless", title="lossless", lead="")
