"""Drafts that the notes and the paper print: what they were given, and what is said of them. No result is ours."""

from __future__ import annotations

from dataclasses import dataclass

from specviz import theory
from specviz.i18n import _


@dataclass(frozen=True, slots=True)
class NotesRow:
    """A row of the notes' table 8.2: α and c as given there, and the K* and speed-up that they print."""

    label: str
    alpha: float
    cost_ratio: float
    printed_length: int
    printed: float

    @property
    def draft_length(self) -> int:
        """K*, computed."""
        return int(theory.best_draft_length(self.alpha, self.cost_ratio))

    @property
    def speedup(self) -> float:
        """At K*, computed."""
        return float(theory.best_speedup(self.alpha, self.cost_ratio))


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A row of Leviathan et al., Table 4 (appendix A.3): T5-XXL (11B) with this draft on one task.

    inverse_ratio: the paper's c, T_q/T_p. draft_length: its γ. expected, measured: speed-ups that it prints.
    """

    draft: str
    inverse_ratio: float
    task: str
    temperature: int
    draft_length: int
    alpha: float
    expected: float
    measured: float

    @property
    def cost_ratio(self) -> float:
        """Our c, T_p/T_q."""
        return 1 / self.inverse_ratio

    @property
    def speedup(self) -> float:
        """At the paper's γ, computed."""
        return float(theory.speedup(self.alpha, self.cost_ratio, self.draft_length))


def notes_rows() -> tuple[NotesRow, ...]:
    return (
        NotesRow(_("tiny (~1% of the target)"), 0.55, 25, 4, 1.41),
        NotesRow(_("small (~5%)"), 0.70, 15, 5, 2.07),
        NotesRow(_("medium (~10%)"), 0.80, 10, 6, 2.47),
        NotesRow(_("large (~30%)"), 0.88, 4, 5, 1.91),
        NotesRow(_("close to the target"), 0.95, 1.3, 3, 1.19),
    )


SMALL_SIZE = 77  # million parameters of T5-small
_SMALL, _BASE, _LARGE = (f"T5-small {SMALL_SIZE}M", 0.02), ("T5-base 250M", 0.04), ("T5-large 800M", 0.11)

PAPER_ROWS = tuple(
    PaperRow(*draft, task, temperature, k, alpha, expected, measured)
    for draft, task, temperature, k, alpha, expected, measured in (
        (_SMALL, "EnDe", 0, 7, 0.75, 3.2, 3.4),
        (_SMALL, "EnDe", 1, 7, 0.62, 2.3, 2.6),
        (_SMALL, "CNNDM", 0, 5, 0.65, 2.4, 3.1),
        (_SMALL, "CNNDM", 1, 5, 0.53, 1.9, 2.3),
        (_BASE, "EnDe", 0, 7, 0.80, 3.3, 2.8),
        (_BASE, "EnDe", 1, 5, 0.68, 2.4, 2.4),
        (_BASE, "CNNDM", 0, 5, 0.73, 2.6, 3.0),
        (_BASE, "CNNDM", 1, 3, 0.55, 1.8, 2.2),
        (_LARGE, "EnDe", 0, 7, 0.82, 2.5, 1.7),
        (_LARGE, "EnDe", 1, 3, 0.71, 2.0, 1.4),
        (_LARGE, "CNNDM", 0, 3, 0.74, 2.0, 2.2),
        (_LARGE, "CNNDM", 1, 3, 0.56, 1.6, 1.7),
    )
)
TASKS = tuple(dict.fromkeys((row.task, row.temperature) for row in PAPER_ROWS))


def paper_rows(task: str, temperature: int) -> tuple[PaperRow, ...]:
    """T5-XXL's three drafts on one task."""
    return tuple(row for row in PAPER_ROWS if (row.task, row.temperature) == (task, temperature))


def small_measured() -> tuple[float, float]:
    """The least and the greatest speed-up that the paper measured with T5-small."""
    found = [row.measured for row in PAPER_ROWS if row.draft == _SMALL[0]]
    return min(found), max(found)


def agrees(row: NotesRow) -> bool:
    """Whether the notes print the computed speed-up, to two decimals."""
    return abs(row.printed - row.speedup) <= 0.005


def furthest() -> float:
    """The greatest distance of the paper's expected speed-ups from the computed ones."""
    return max(abs(row.expected - row.speedup) for row in PAPER_ROWS)
