"""Every public function, some of its arguments wrong: an answer, or one sentence of a SpecvizError."""

import pytest
from hypothesis import strategies as st

import specviz as sv
from tests.fuzz.entries import ENTRIES, WITHOUT_A_DOOR, public
from tests.fuzz.harness import fuzz, tried
from tests.fuzz.views import seen_everywhere
from tests.fuzz.wrong import wrong

EACH = 70


def test_every_public_name_has_an_entry_or_none_on_purpose():
    assert public() - set(ENTRIES) == WITHOUT_A_DOOR - set(ENTRIES)


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_what_is_right_is_answered(name):
    call, right = ENTRIES[name]
    if name not in ("Pair.from_transformers", "Vocabulary", "SkippedLayers", "Chat", "export.from_json"):
        assert tried(call, **right)[0]


@pytest.mark.parametrize("name", sorted(ENTRIES))
@fuzz(EACH, data=st.data())
def test_what_is_wrong_is_answered_or_refused_in_a_sentence(name, data):
    call, right = ENTRIES[name]
    names = data.draw(st.lists(st.sampled_from(sorted(right)), min_size=1, max_size=2, unique=True))
    answered, answer = tried(call, **right | {name: data.draw(wrong(), label=name) for name in names})
    if answered and isinstance(answer, sv.Trace):
        seen_everywhere(answer)
