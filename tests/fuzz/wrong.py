"""What people really hand over by mistake, and what files hold by accident: strategies of wrong values."""

import io
from collections import deque
from datetime import date
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

import specviz as sv


class Lookalike:
    """A tensor by its methods alone."""

    shape = (1, 2)
    ndim = 2

    def __init__(self, rows):
        self.rows = rows

    def tolist(self):
        return self.rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class BadLength:
    def __len__(self):
        return -1

    def __getitem__(self, i):
        raise KeyError(i)


class BadIterator:
    def __iter__(self):
        raise RuntimeError("a reader that was closed")


class BadRepr:
    def __repr__(self):
        raise ValueError("nobody can tell what this is")


class BadArray:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("a tensor on a device that is gone")


HUGE = [2**63 - 1, 2**63, -(2**63) - 1, 10**12, 10**30, 10**400, 10**5000, -(10**5000)]
FLOATS = [0.5, -0.5, 1.5, 1e308, -1e308, 5e-324, -0.0, float("nan"), float("inf"), float("-inf")]
TEXTS = [
    *(
        "",
        " ",
        "a",
        "\0",
        "\ud800",
        "a\udc00b",
        "\n",
        "a\nb\rc",
        "\u202e",
        "é",
        "e\u0301",
        "🙂",
        "1",
        "nan",
        "None",
        "{}",
    ),
    *(
        "exact",
        "always accept",
        "EXACT",
        "float8",
        "uniform",
        "cuda",
        "mps:7",
        "auto ",
        "x" * 5000,
        "-1",
        "0.5",
        "1e400",
    ),
]
FRESH = [  # made anew for each example: some can be read once only
    lambda: iter(()),
    lambda: iter([0, 1]),
    lambda: (i for i in [0, "1"]),
    lambda: [],
    lambda: (),
    lambda: {},
    lambda: {0: 1},
    lambda: {1, 2},
    lambda: [[0, 1], [1]],
    lambda: [[[]]],
    lambda: [None],
    lambda: [True, False],
    lambda: ["a", 0],
    lambda: [0.5, 0.5],
    lambda: [0.5, float("nan")],
    lambda: [10**400, 1],
    lambda: [-1, 2],
    lambda: ["\ud800"],
    lambda: [""],
    lambda: [b"a"],
    lambda: deque([1]),
    lambda: range(3),
    lambda: range(0),
    lambda: np.array([]),
    lambda: np.array(0.5),
    lambda: np.array([[0.5, 0.5]]),
    lambda: np.array([[[1]]]),
    lambda: np.array(["a", "b"]),
    lambda: np.array([None, 1], dtype=object),
    lambda: np.array([1 + 2j]),
    lambda: np.array([2**63], dtype=np.uint64),
    lambda: np.array(["2020-01-01"], dtype="M8[D]"),
    lambda: np.zeros((2, 0)),
    lambda: np.ma.masked_array([0.5, 0.5], [True, False]),
    lambda: np.float32(0.5),
    lambda: np.float64("nan"),
    lambda: np.int64(-1),
    lambda: np.uint8(200),
    lambda: np.bool_(True),
    lambda: np.str_("a"),
    lambda: np.datetime64("NaT"),
    lambda: 1 + 2j,
    lambda: b"",
    lambda: b"\xff\x00",
    lambda: bytearray(b"abc"),
    lambda: memoryview(b"abc"),
    lambda: date(2020, 1, 1),
    lambda: Path("nowhere"),
    lambda: io.StringIO("x"),
    lambda: io.BytesIO(b"x"),
    lambda: object(),
    lambda: object,
    lambda: len,
    lambda: lambda *_: None,
    lambda: NotImplemented,
    lambda: ...,
    lambda: Lookalike([[0, 1]]),
    lambda: Lookalike([0, 1]),
    lambda: Lookalike([[0], [1]]),
    lambda: Lookalike([[0.5, 0.5]]),
    BadLength,
    BadIterator,
    BadRepr,
    BadArray,
    lambda: sv.Sampling(),
    lambda: sv.Chat("a"),
    lambda: sv.Chat("a\ud800", "\0"),
    lambda: sv.Candidate(0, "a", 0.5, 0.5, 0.5),
    lambda: sv.CacheWork(),
    lambda: sv.PromptLookup(),
    lambda: sv.UniformDraft,
    lambda: sv.ConfigError("an error as a value"),
]


def texts():
    return st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=()), max_size=8)


def wrong():
    """Any one of these, and lists and mappings of a few."""
    plain = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 9),
        st.sampled_from(HUGE),
        st.sampled_from(FLOATS),
        st.floats(),
        texts(),
        st.binary(max_size=4),
    )
    fresh = st.sampled_from(FRESH).map(lambda make: make())
    return st.one_of(plain, fresh, fresh, st.lists(plain | fresh, max_size=3), st.tuples(plain, plain))
