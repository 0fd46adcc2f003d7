"""Talk: the stage alone, large, for a projector; one bundled run or the last one."""

from specviz.ui import shell, show

show.begin(entered=shell.begin("talk", chrome=False))
show.talk()
