"""What the benchmark of the pages moves, and what it says of its goals."""

from itertools import islice
from types import SimpleNamespace

import pytest

from benchmarks import pages
from specviz.ui import state


def slider(value, least, most, step):
    return SimpleNamespace(value=value, min=least, max=most, step=step)


@pytest.mark.parametrize(
    ("widget", "moved"),
    [
        (slider(4, 1, 6, 1), [5, 6, 3, 2, 1]),
        (slider(6, 1, 6, 1), [5, 4, 3, 2, 1]),
        (slider(0.1, 0.0, 0.4, 0.1), [0.2, 0.3, 0.4, 0.0]),
        (slider(None, 0, 2, 1), [1, 2]),  # an empty box
        (slider((1, 3), 0, 9, 1), [(2, 3), (3, 3), (0, 3)]),
        (slider(1, 1, 1, 1), []),
    ],
)
def test_an_input_moves_to_a_new_value_each_time_and_stays_inside_its_ends(widget, moved):
    assert list(pages.others("slider", widget)) == moved
    assert widget.value not in moved
    assert len(set(moved)) == len(moved)


def test_a_box_without_an_end_has_values_enough():
    assert list(islice(pages.others("number_input", slider(0, None, None, 1)), 5)) == [1, 2, 3, 4, 5]


def test_a_switch_and_a_choice_move_once_to_each_of_their_other_values():
    assert list(pages.others("toggle", SimpleNamespace(value=True))) == [False]
    assert list(pages.others("button_group", SimpleNamespace(indices=[1], options=["a", "b", "c"]))) == ["a", "c"]
    assert list(pages.others("selectbox", SimpleNamespace(index=0, options=["a", "b"]))) == ["b"]
    assert list(pages.others("selectbox", SimpleNamespace(index=None, options=["a", "b"]))) == []


def test_every_part_of_a_page_is_timed():
    found = pages.parts("pages/lossless.py")
    assert found[:2] == ["Exact", "Sampled"]
    assert len(found) == 7
    assert pages.parts("pages/tokens.py") == [""]
    assert pages.PARTED == {"pages/lossless.py": state.PROOF}


def test_a_part_is_moved_in_and_its_choice_is_timed_too(monkeypatch):
    shown = []

    def timed(at):
        at.run()
        shown.append(next(w for w in at.get("button_group") if w.key == state.PROOF).value)
        return 0.0

    monkeypatch.setattr(pages, "_timed", timed)
    _which, times = pages.moves("pages/lossless.py", "Rounding", 1)
    assert times == [0.0]
    assert len(shown) > 1
    assert set(shown) == {"rounding"}


def test_the_goals_are_told_of_each_time():
    assert pages.told([0.1, 0.2, 0.9], 0.15) == "200 (900)!"
    assert pages.told([0.1, 0.1, 0.9], 0.15) == "100 (900) "
    assert pages.told([], 0.15) == "–"
    assert pages.meets([0.9], [0.14])
    assert pages.meets([0.9], [])
    assert not pages.meets([1.1], [0.14])
    assert not pages.meets([0.9], [0.16])
