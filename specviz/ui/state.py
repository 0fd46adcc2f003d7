"""Every key of the session state, in this one place, and what each holds at first."""

from __future__ import annotations

from copy import copy
from typing import Any

import streamlit as st

from specviz import drafters, examples
from specviz.models import presets
from specviz.ui import pairs

# The settings: each is the key of one widget on the Watch page.
PROMPT = "prompt"
MODELS = "models"  # pairs.Choice: the target that runs are decoded with, and the draft that came with it
DRAFT = "draft"
DRAFT_LENGTH = "draft_length"
TEMPERATURE = "temperature"
TOP_K = "top_k"
TOP_P = "top_p"
MIN_P = "min_p"
SEED = "seed"
MAX_NEW_TOKENS = "max_new_tokens"
PACE = "pace"
CHAT = "chat"
SYSTEM = "system"
REPETITION_PENALTY = "repetition_penalty"
PRESENCE_PENALTY = "presence_penalty"
FREQUENCY_PENALTY = "frequency_penalty"
MIN_NEW_TOKENS = "min_new_tokens"
BAD_WORDS = "bad_words"  # one a line

NAVIGATED = "navigated"  # this run of the script came through app.py
SENT_BACK = "sent_back"  # one that did not was sent there

# What is shown.
PLAYER = "player"  # runs.Player of the last Run, or None
COMING = "coming"  # whether the player's first round is waited for
SHOWN = "shown"  # the id of what is on the stage: an example's name, a run's or a file's id
HELD = "held"  # what is on the stage, runs.Shown, which the server may have forgotten
START = "start"  # (round, step) that it opens at, or None
AT = "at"  # (id, round, step) where the reader rested last, or None
LINK = "link"  # the run that the address named when it was last read, or None before that
ERROR = "error"  # a sentence, or None
PAGE = "page"  # the page that was drawn last
EXAMPLE = "example"  # the recorded run that is being chosen
UPLOAD = "upload"  # the file that was opened last

# The inputs of calculators and labs: each is the key of a widget, and its name in the address.
ALPHA = "alpha"
K = "K"
COST_RATIO = "c"
SURCHARGE = "s"

ROUNDS = "rounds"  # E[N]: rounds that are drawn, their seed, and the two rates that take turns
ROUNDS_SEED = "draws"
SHARE = "share"
SPREAD = "spread"
PERSISTENCE = "lasting"

OPERATION_RATIO = "ops"  # Best K: ĉ, and the tables whose rows can be taken
NOTES_ROW = "notes_row"
PAPER_ROW = "paper_row"

LAWS = "laws"  # α from two laws: names, p and q, and what changes them
WARP = "warp"
WARP_TEMPERATURE = "wT"
WARP_TOP_K = "wk"
WARP_TOP_P = "wp"

# Which draft?
DRAFTS = "drafts"  # in the address, the rows of the table
CANDIDATES = "candidates"  # how often the table was filled anew, and the rows that it began with
PRICED = "cost"  # what the cost column holds
PRICED_BEFORE = "cost_before"  # and held when the page was drawn last
TARGET_MS = "Tp"
TARGET_SIZE = "P"

HAND_NAMES = "hv"  # One round by hand; its K is its own, since the round has its own drafts
HAND_TARGET = "hp"
HAND_DRAFT = "hq"
HAND_K = "hk"
HAND_TOKENS = "hd"
HAND_R = "hr"
HAND_U = "hu"
HAND_EXERCISE = "hx"
HAND_SEED = "hs"
HAND_SHEET = "hand_sheet"  # exercise.Sheet of the round that was asked about last, or None
HAND_ANSWER = "hand_answer"
HAND_GOOD = "hand_good"  # the byhand.Given that the fields said last, for while they say none

PROOF = "proof"  # Lossless or not?: the part that is shown, and what its parts ask for
PROOF_LAWS = "of"
PROOF_SIZE = "V"
PROOF_SEED = "lawseed"
PROOF_CONCENTRATION = "conc"
PROOF_PLACE = "place"
PROOF_LENGTH = "len"
PROOF_ROUNDS = "n"
PROOF_DRAWS = "sampleseed"
PROOF_RULE = "rule"
PROOF_BESIDE = "beside"
PROOF_TEMPERATURE = "qT"
PROOF_TOP_K = "qk"
PROOF_WORSE = "worse"
PROOF_WORST = "worst"
PROOF_FORMAT = "bits"
PROOF_JOB = "proof_job"  # jobs.Job
PROOF_RULES_JOB = "proof_rules_job"

# Rounds of the last run
OUTCOME = "outcome"
ACCEPTED = "accepted"
ENTROPY = "entropy"

MODELS_PAIR = "pair"  # Which models?
MODELS_TARGET = "target"
MODELS_WAY = "who"
MODELS_DRAFT = "with"
MODELS_DEVICE = "device"
MODELS_DRAFT_DEVICE = "draft_device"
MODELS_DTYPE = "dtype"
MODELS_QUANTIZE = "quantize"
MODELS_JOB = "models_job"  # jobs.Job

DRAWN = "drawn"  # the keys that this page has drawn since the reader came to it
KEPT = "kept"  # their last values by key, for when the reader comes back to a page

RACED = "raced"  # the run whose race was played last, and how many were
PART = "part"  # the part of the stage that the tour on Home shows, or None

_AT_FIRST: dict[str, Any] = {
    PROMPT: examples.load(examples.NAMES[0]).prompt,
    MODELS: pairs.Choice(),
    DRAFT: presets.DRAFT,
    DRAFT_LENGTH: 4,
    TEMPERATURE: 0.6,
    TOP_K: None,
    TOP_P: None,
    MIN_P: None,
    SEED: 0,
    MAX_NEW_TOKENS: 128,
    PACE: drafters.PACES[0],
    CHAT: True,
    SYSTEM: "",
    REPETITION_PENALTY: None,
    PRESENCE_PENALTY: None,
    FREQUENCY_PENALTY: None,
    MIN_NEW_TOKENS: None,
    BAD_WORDS: "",
    SENT_BACK: False,
    PLAYER: None,
    COMING: False,
    SHOWN: examples.NAMES[0],
    HELD: None,
    START: None,
    AT: None,
    LINK: None,
    ERROR: None,
    PAGE: None,
    RACED: ("", 0),
    PART: None,
    HAND_SHEET: None,
    HAND_GOOD: None,
    KEPT: {},
    DRAWN: set(),
}


def begin() -> None:
    """Fill in what is missing, so that every page can be the first one."""
    for key, value in _AT_FIRST.items():
        st.session_state.setdefault(key, copy(value))


def get(key: str) -> Any:
    return st.session_state[key]


def take(key: str) -> Any:
    """The value, which is forgotten; None if there is none."""
    return st.session_state.pop(key, None)


def put(key: str, value: Any) -> None:
    st.session_state[key] = value
