"""What is looked at again and again. With a real server: tests/hosting/test_server.py."""

import pytest
import streamlit as st

from specviz.ui import polling


@pytest.fixture
def drawn(monkeypatch):
    """The names of the parts that were drawn, and what each was asked with."""
    names = []

    def fragment(part, run_every):
        names.append((part.__module__, part.__qualname__, run_every))
        return part

    monkeypatch.setattr(st, "fragment", fragment)
    return names


def test_a_part_is_drawn_at_once_and_has_another_name_each_time(drawn):
    seen = []
    for number in range(2):
        polling.poll(seen.append, number, every=0.5)
    assert seen == [0, 1]
    assert len(set(drawn)) == 2
    assert {every for *_name, every in drawn} == {0.5}
