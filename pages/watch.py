"""Watch: decode a prompt with the bundled pair and follow every number of every round on the stage."""

from specviz.ui import controls, shell, show

show.begin(entered=shell.begin("watch"))
controls.settings()
show.watch()
