"""Tables of words and numbers: text stays text, and rows stand out as they are told to."""

from specviz.ui.tables import Html, table_html


def test_a_table_shows_text_as_text_and_sets_off_what_it_is_told_to():
    rows = [["<b>x</b>", "1"], ["y", Html("<b>2</b>")]]
    shown = table_html("<n>", ["a", ("b", "<told>")], rows, bold=0, final=True, caption=True, scrolls=True)
    assert shown.count("&lt;b&gt;x&lt;/b&gt;") == shown.count("<b>2</b>") == 1
    assert shown.count("&lt;n&gt;") == 2
    assert 'title="&lt;told&gt;"' in shown
    assert shown.index("font-weight") < shown.index("&lt;b&gt;x") < shown.index("sv-final") < shown.index("<b>2")
    assert shown.count('class="sv-left"') == 3
    plain = table_html("n", ["a", "b"], rows)
    assert not [word for word in ("caption", "font-weight", "sv-final", "max-height", "title=") if word in plain]
