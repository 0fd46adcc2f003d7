"""Watch: decode a prompt with the bundled pair and follow every number of every round on the stage."""

import streamlit as st

from specviz.i18n import _
from specviz.ui import controls, shell, show

shown = show.begin(entered=shell.begin("watch", title=_("Watch a run")))
parts = [(st.container(), controls.settings), (st.container(), show.watch)]
for place, draw in parts[:: -1 if show.running() else 1]:  # a run's rounds come first, wherever they stand
    with place:
        draw(shown)
