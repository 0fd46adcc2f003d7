"""Hand: a round played by hand, and as an exercise."""

from specviz.ui.labs import hand

hand.show()
