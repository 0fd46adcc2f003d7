"""specviz in a browser: `streamlit run app.py`. Navigation and theme; the rest is in `pages` and `specviz.ui`."""

from specviz.ui import shell

page = shell.navigate()
page.run()
