"""Every colour of the project, and the shapes that say the same without colour. `.streamlit/config.toml` agrees.

Fills and borders, not small text: text is drawn in `text` or `muted`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Theme = Literal["light", "dark"]

FONT = '"Source Sans", "Source Sans Pro", system-ui, sans-serif'
HATCH = {"draft": "/", "residual": "x"}  # the target's bars are plain

MARKS = {"accepted": "✓", "rejected": "✕", "unjudged": "–", "resampled": "↻", "bonus": "★"}


@dataclass(frozen=True, slots=True)
class Palette:
    """One theme's colours. target: the bonus's too. shared: what p and q both give. more: for further series."""

    draft: str
    target: str
    accepted: str
    rejected: str
    resampled: str
    background: str
    surface: str
    text: str
    muted: str
    line: str
    shared: str
    more: tuple[str, ...]

    @property
    def series(self) -> tuple[str, ...]:
        """Chart colours in order, ten of them (Streamlit's charts break with fewer)."""
        return (self.target, self.draft, self.accepted, self.rejected, self.resampled, *self.more)


PALETTES: dict[Theme, Palette] = {
    "light": Palette(
        draft="#A5800A",
        target="#223F82",
        accepted="#208267",
        rejected="#A32A00",
        resampled="#E83CCB",
        background="#FFFFFF",
        surface="#F4F5F8",
        text="#1D2330",
        muted="#596072",
        line="#D5D9E2",
        shared="#C3C9D6",
        more=("#4C7FB8", "#6D5A9C", "#5F6B1E", "#8A5A44", "#5D6675"),
    ),
    "dark": Palette(
        draft="#FEC352",
        target="#889EF4",
        accepted="#45EBB0",
        rejected="#B57A66",
        resampled="#FA2FB3",
        background="#12151B",
        surface="#1D222B",
        text="#E9ECF2",
        muted="#A7AFBD",
        line="#3A4150",
        shared="#4A5366",
        more=("#7CC4F0", "#C3A6F2", "#C2CC74", "#D9A98F", "#A9B2C0"),
    ),
}


def palette(theme: Theme) -> Palette:
    return PALETTES[theme]


def layout(theme: Theme) -> dict[str, Any]:
    """What all figures share: the page's font and background, nothing that moves or zooms."""
    colours = palette(theme)
    axis = {"gridcolor": colours.line, "zeroline": False, "linecolor": colours.line, "fixedrange": True}
    return {
        "template": "none",
        "paper_bgcolor": colours.background,  # its own: the page's theme may change before the figure is drawn again
        "plot_bgcolor": colours.background,
        "colorway": colours.series,
        "font": {"family": FONT, "size": 13, "color": colours.text},
        "hoverlabel": {
            "bgcolor": colours.surface,
            "bordercolor": colours.line,
            "font": {"family": FONT, "size": 13, "color": colours.text},
        },
        "margin": {"l": 8, "r": 8, "t": 32, "b": 8},
        "xaxis": axis,
        "yaxis": axis,
    }


def hatched(colour: str, shape: str, ink: str, line: dict[str, Any]) -> dict[str, Any]:
    """The marker of bars that are told apart without colour: a shape of `HATCH` in ink over the colour."""
    pattern = {"shape": shape, "fillmode": "replace", "fgcolor": ink, "bgcolor": colour, "size": 6, "solidity": 0.25}
    return {"color": colour, "pattern": pattern, "line": line}


def faint(colour: str, opacity: float) -> str:
    """A colour of the palette that lets shine through what it covers."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"


def escaped(text: str) -> str:
    """Text that plotly shows as it is: its labels know some HTML, entities, and TeX between dollars."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("%", "&#37;")):
        text = text.replace(character, entity)
    return text
