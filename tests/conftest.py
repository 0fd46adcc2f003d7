"""What several test modules need: the bundled pair, loaded once, and one torch thread per test process."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
from hypothesis import settings

import specviz as sv

settings.register_profile("specviz", deadline=None, derandomize=True)  # a shared machine is slow now and then
settings.load_profile("specviz")


@pytest.fixture(scope="session")
def pair() -> sv.Pair:
    return sv.load_pair()
