"""Home: what this is, and the way to a run."""

from specviz.ui import shell, welcome

shell.begin()
welcome.show()
