"""Every key of the session state, in this one place, and what each holds at first."""

from __future__ import annotations

from typing import Any

import streamlit as st

from specviz.models import presets

# The settings: each is the key of one widget on the Watch page.
EXAMPLE = "example"
PROMPT = "prompt"
DRAFT = "draft"
DRAFT_LENGTH = "draft_length"
TEMPERATURE = "temperature"
TOP_K = "top_k"
TOP_P = "top_p"
MIN_P = "min_p"
SEED = "seed"
MAX_NEW_TOKENS = "max_new_tokens"

NAVIGATED = "navigated"  # this run of the script came through app.py
SENT_BACK = "sent_back"  # one that did not was sent there

# The run.
OWN_PROMPT = "own_prompt"  # what was typed, while an example stands in the box
ASKED = "asked"  # Run was pressed: the settings to run with, or None
RUN = "run"  # runs.Player, under way or ended, or None
ERROR = "error"  # a sentence, or None

# What is looked at: places count from 1, as they are shown.
ROUND = "round"
PLACE = "place"

PROSE = "prose"
CODE = "code"
OWN = "own"
EXAMPLES = {PROSE: "It is a truth universally acknowledged", CODE: "def main(argv=None):\n    "}

_AT_FIRST: dict[str, Any] = {
    EXAMPLE: PROSE,
    PROMPT: EXAMPLES[PROSE],
    DRAFT: presets.DRAFT,
    DRAFT_LENGTH: 4,
    TEMPERATURE: 0.6,
    TOP_K: None,
    TOP_P: None,
    MIN_P: None,
    SEED: 0,
    MAX_NEW_TOKENS: 128,
    OWN_PROMPT: "",
    SENT_BACK: False,
    ASKED: None,
    RUN: None,
    ERROR: None,
    ROUND: 1,
    PLACE: None,
}


def begin() -> None:
    """Fill in what is missing, so that every page can be the first one."""
    for key, value in _AT_FIRST.items():
        st.session_state.setdefault(key, value)


def get(key: str) -> Any:
    return st.session_state[key]


def take(key: str) -> Any:
    """The value, which is forgotten; None if there is none."""
    return st.session_state.pop(key, None)


def put(key: str, value: Any) -> None:
    st.session_state[key] = value
