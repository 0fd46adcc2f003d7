"""Watch: decode a prompt with the bundled pair and follow every number of every round on the stage."""

from specviz.i18n import _
from specviz.ui import controls, shell, show

shown = show.begin(entered=shell.begin("watch", title=_("Watch a run")))
controls.settings(shown)
show.watch(shown)
