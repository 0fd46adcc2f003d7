"""Home: what this is, a recorded run on the stage, and the way to one's own."""

from specviz.ui import shell, welcome

shell.begin("home")
welcome.show()
