"""Situations: small clusters rebuilt from public reports of users, each with the outcome that a user rightly expects.

`cases/*.jsonl` holds one situation a line: a case of `pyroclast simulate --batch` with these further fields.

`id`: a stable name.
`origin`: `source` names the report, `kind` what it is about.
`words`: the situation and its right end.
`expect`: what `tests/reports/judge.py` checks.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from pyroclast.framework.extension.registry import Registry
from pyroclast.scheduler.data import default_configuration
from pyroclast.scheduler.registry import load_registry
from pyroclast.scheduler.simulation.batch import answer_lines

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True, eq=False)
class Situation:
    """One situation; equal to itself alone, so that its answer can be cached."""

    raw: dict[str, Any]

    @property
    def id(self) -> str:
        """Name of the situation."""
        return str(self.raw["id"])


@cache
def situations() -> tuple[Situation, ...]:
    """Return all situations, file by file."""
    return tuple(
        Situation(raw=msgspec.json.decode(line))
        for file in sorted(CASES.glob("*.jsonl"))
        for line in file.read_bytes().splitlines()
        if line.strip()
    )


@cache
def _registry() -> Registry:
    return load_registry()


@cache
def answer(situation: Situation) -> dict[str, Any]:
    """Return what the batch mode of simulate answers."""
    text = default_configuration().read_text(encoding="utf-8")
    (line,) = answer_lines([msgspec.json.encode(situation.raw)], _registry(), default_config=text)
    decoded: dict[str, Any] = msgspec.json.decode(line)
    return decoded
