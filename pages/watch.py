"""Watch: decode a prompt with the bundled pair and read every number of every round."""

from specviz.ui import controls, rounds, runs, shell, views

shell.begin()
controls.settings()
live = views.Live()
live.show(runs.trace())
with live.status():
    runs.prepare()
player = runs.current()
live.show(runs.trace())
if player is not None and player.trace.rounds:
    rounds.show(player)
runs.play(live.show)
