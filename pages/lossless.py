"""Lossless: proofs and tests, and the shortcuts that break it."""

from specviz.ui.labs import lossless

lossless.show()
