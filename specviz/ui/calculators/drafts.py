"""To come."""

from specviz.ui import question


def show() -> None:
    question.begin("drafts", title="drafts", lead="")
