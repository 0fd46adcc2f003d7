"""The runs, their pages and the browser that the stage's tests share."""

import pytest

from benchmarks.browser import FLAGS, chromium
from specviz import replay
from tests.stage.shows import long_run, missing, short_run


@pytest.fixture(scope="session")
def trace(pair):
    return short_run(pair)


@pytest.fixture(scope="session")
def long_trace(pair):
    return long_run(pair)


@pytest.fixture(scope="package")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
    path = chromium() or missing("chromium")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


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
