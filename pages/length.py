"""Length: the best draft length K."""

from specviz.ui.calculators import length

length.show()
