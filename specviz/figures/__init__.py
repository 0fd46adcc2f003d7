"""Records drawn as plotly figures. `style` holds every colour; `laws` draws the laws at one place."""
