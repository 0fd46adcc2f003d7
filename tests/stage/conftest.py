"""The pages from disk that the stage's tests share."""

import pytest

from specviz import replay


@pytest.fixture(scope="session")
def path(trace, tmp_path_factory):
    path = tmp_path_factory.mktemp("stage") / "run.html"
    trace.to_html(path)
    return path


@pytest.fixture(scope="session")
def talk_path(trace, tmp_path_factory):
    path = tmp_path_factory.mktemp("talk") / "talk.html"
    replay.to_html(trace, path, talk=True)
    return path
