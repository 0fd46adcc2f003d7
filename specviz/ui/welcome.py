"""What Home says."""

from __future__ import annotations

from html import escape

import streamlit as st

from specviz.i18n import _
from specviz.ui import links, views


def show() -> None:
    st.title(_("Watch speculative decoding"))
    lead = _(
        "A small draft model guesses a few tokens ahead, a large target model checks them all in one pass, and the "
        "text follows exactly the law of the large model alone."
    )
    st.html(f'<p class="sv-lead">{escape(lead)}</p>{views.steps_html()}')
    with st.container(key="to_watch"):
        st.page_link(links.watch(), label=_("Watch a run"))
