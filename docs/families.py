"""Writes the families that the tests play into README.md, as a table: `python -m docs.families`."""

from __future__ import annotations

from pathlib import Path

from tests.families.table import DRAFTERS, FAMILIES, Family

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- families: python -m docs.families -->\n", "<!-- end of families -->\n"


def table() -> str:
    head = ["family", "what is particular", "cache", *DRAFTERS]
    rows = [head, ["---"] * len(head)]
    for name, family in FAMILIES.items():
        cells = ["–" if family.refused else "✓ ✓"] * len(DRAFTERS)
        rows.append([name, family.has, _cache(family), *cells])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cache(family: Family) -> str:
    if family.refused:
        return f"refused: “{family.refused}”"
    if "rolls back" not in family.way:
        return "recomputed"
    return "rolled back, lean" if "lean" in family.way else "rolled back"


def between(text: str) -> str:
    """What stands between the two marks."""
    return text.split(BEGIN)[1].split(END)[0]


if __name__ == "__main__":
    old = README.read_text(encoding="utf-8")
    README.write_text(old.replace(BEGIN + between(old), BEGIN + table()), encoding="utf-8", newline="\n")
    print(table())
