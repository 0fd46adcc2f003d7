"""Reads the Dockerfile: its steps in order, and the environment and words that they see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


@dataclass(frozen=True, slots=True)
class Step:
    instruction: str
    text: str  # what follows the instruction, on one line

    @property
    def words(self) -> list[str]:
        """The words of the text, without flags (--interval=30s); of its JSON list where it is one."""
        text = re.sub(r"--[a-z-]+=\S+ ", "", self.text).removeprefix("CMD ")
        return list(json.loads(text)) if text.startswith("[") else text.split()


def steps(text: str) -> Iterator[Step]:
    """Comments are dropped, and lines that end in a backslash go on in the next."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        instruction, _, rest = line.strip().partition(" ")
        yield Step(instruction, rest.strip())


def expanded(text: str, values: Mapping[str, str]) -> str:
    """With $NAME and ${NAME} replaced. An unknown name is empty, as for Docker."""
    return _VARIABLE.sub(lambda found: values.get(found[1] or found[2], ""), text)


def assigned(step: Step, values: Mapping[str, str]) -> dict[str, str]:
    """What an ENV or ARG step sets: NAME=value pairs, none of them quoted."""
    return {name: expanded(value, values) for name, _, value in (word.partition("=") for word in step.text.split())}
