"""Models for the decoder: the protocol (`base`), those of transformers (`hf`, `load`), named ones, what fits, toys."""

from specviz.models import base, machine, presets, toy

__all__ = ["base", "machine", "presets", "toy"]
