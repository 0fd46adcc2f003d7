"""Talk: the stage alone, large, for a projector; one bundled run or the last one."""

from specviz.i18n import _
from specviz.ui import shell, show

show.talk(show.begin(entered=shell.begin("talk", title=_("A run for a talk"), chrome=False)))
