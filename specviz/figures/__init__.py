"""Records drawn as plotly figures. `style` holds every colour, `small` the shape of a side view."""
