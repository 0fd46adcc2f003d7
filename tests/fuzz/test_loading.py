"""Loading with wrong names, devices and the rest: a pair, or one sentence. Nothing is fetched: the hub is offline."""

from hypothesis import strategies as st

import specviz as sv
from tests.fuzz.harness import fuzz, tried
from tests.fuzz.wrong import wrong

NAMES = [
    "bundled",
    "bundled/none",
    "a/b/c",
    "~nosuch",
    "a\0b",
    "\ud800",
    "x" * 5000,
    "/",
    ".",
    "README.md",
    "owner/name",
]
RIGHT = {"target": "no/such/folder", "draft": "lookup", "device": "cpu", "dtype": "float32"}
RIGHT |= {"quantize": None, "device_map": None, "progress": None}


@fuzz(60, data=st.data())
def test_any_wrong_option_is_refused_in_a_sentence(data):
    names = data.draw(st.lists(st.sampled_from(sorted(RIGHT)), min_size=1, max_size=2, unique=True))
    given = {n: data.draw(st.sampled_from(NAMES) | wrong() if n in ("target", "draft") else wrong()) for n in names}
    answered, pair = tried(sv.load_pair, **RIGHT | given)
    assert not answered or isinstance(pair, sv.Pair)
