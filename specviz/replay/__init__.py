"""A trace as the stage shows it: a compact payload, and one HTML file that holds the stage and the trace."""

from specviz.replay.page import frame, script, style, to_html
from specviz.replay.payload import payload

__all__ = ["frame", "payload", "script", "style", "to_html"]
