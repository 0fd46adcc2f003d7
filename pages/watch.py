"""Watch: decode a prompt with the bundled pair and read every number of every round."""

from specviz.ui import controls, rounds, runs, shell, views

shell.begin()
controls.settings()
live = views.Live()
live.show(runs.trace())
with live.status():
    runs.prepare()
trace = runs.trace()
live.show(trace)
if trace is not None and trace.rounds:
    rounds.show(trace)
runs.play(live.show)
