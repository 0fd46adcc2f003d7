"""Records drawn as plotly figures; `race` as records. `style` holds every colour, `small` the shape of a side view."""
