"""The bundled pairs, loaded once per server. Sessions share the weights; each run has caches of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    from specviz.models.base import Pair


@st.cache_resource(show_spinner=False, max_entries=4)
def load(draft: str) -> Pair:
    """The bundled target with this draft. torch is imported here, on first use."""
    from specviz.models.load import load_pair

    return load_pair(draft=draft)
