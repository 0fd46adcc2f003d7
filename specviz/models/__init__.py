"""Models for the decoder: the protocol (`base`), transformers models (`hf`, `load`), named ones, and toys."""

from specviz.models import base, presets, toy

__all__ = ["base", "presets", "toy"]
