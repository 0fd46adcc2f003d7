"""Named models. The bundled ones are folders beside this code, so that everything works offline."""

from __future__ import annotations

from pathlib import Path

BUNDLED = Path(__file__).parent.parent / "bundled"

TARGET = "bundled/target"
DRAFT = "bundled/draft"
WEAK_DRAFT = "bundled/draft-weak"

NAMED: dict[str, Path] = {
    TARGET: BUNDLED / "target",
    DRAFT: BUNDLED / "draft",
    WEAK_DRAFT: BUNDLED / "draft-weak",
}
