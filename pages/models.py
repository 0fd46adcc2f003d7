"""Models: choose the pair that decodes, a named one or one of your own."""

from specviz.ui import models

models.show()
