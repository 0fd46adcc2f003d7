"""What several test modules need: the bundled pair and two runs of it, a Chromium, one torch thread per process."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
from hypothesis import settings

import specviz as sv
from benchmarks.browser import FLAGS, chromium, serving
from tests.stage.shows import long_run, missing, short_run

settings.register_profile("specviz", deadline=None, derandomize=True)  # a shared machine is slow now and then
settings.load_profile("specviz")


@pytest.fixture(scope="session")
def pair() -> sv.Pair:
    return sv.load_pair()


@pytest.fixture(scope="session")
def trace(pair):
    return short_run(pair)


@pytest.fixture(scope="session")
def long_trace(pair):
    return long_run(pair)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
    path = chromium() or missing("chromium")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address():
    """A server of the app."""
    chromium() or missing("chromium")
    with serving() as address:
        yield address
