"""What is looked at again and again. That each look asks for the next is in tests/hosting/test_server.py."""

from streamlit.testing.v1 import AppTest

from specviz.ui import polling


def test_a_page_drawn_whole_is_not_looked_at():
    assert not polling.looked_at()
    at = AppTest.from_function(_page).run()
    assert at.text[0].value == "False"


def _page():
    import streamlit as st

    from specviz.ui import polling

    polling.poll(lambda: st.text(polling.looked_at()), every=1.0)
