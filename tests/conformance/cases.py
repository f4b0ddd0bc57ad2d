"""Cases: where decision tables are kept, which of them this build can run, and which are excepted, with a reason.

`cases/` holds clusters of our own with what Volcano decided for them. The inputs of Volcano's own unit tests are read
from beside the checkout, or from the folder named by PYROCLAST_UPSTREAM_CASES.
"""

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from pyroclast.framework.extension.registry import Registry
from pyroclast.scheduler.registry import load_registry

ROOT = Path(__file__).parents[2]
GENERATED = Path(__file__).parent / "cases"
EXCEPTIONS = ROOT / "docs" / "compatibility" / "conformance.md"
UNKNOWN_ON_PURPOSE = frozenset({"nosuch"})
"""Names in the data that no scheduler knows."""


@dataclass(frozen=True)
class Table:
    """One case with what is known of its outcome."""

    raw: dict[str, Any]
    file: str

    @property
    def id(self) -> str:
        """Name of the case; `upstream/` tells the cases of Volcano's tests from ours of the same name."""
        return f"upstream/{self.raw['id']}" if self.is_upstream else str(self.raw["id"])

    @property
    def is_upstream(self) -> bool:
        """Whether its outcome is an assertion of Volcano's own tests."""
        return "expect" in self.raw

    def awaits(self, registry: Registry) -> list[str]:
        """Return what this build lacks to run it: actions, plugins."""
        config = self.raw["config"]
        actions = [each for each in config["actions"] if each not in registry.actions]
        named = [plugin["name"] for tier in config["tiers"] for plugin in tier["plugins"]]
        plugins = [each for each in named if each not in registry.plugins and each not in UNKNOWN_ON_PURPOSE]
        return sorted({*actions, *plugins})


def upstream_folder() -> Path:
    """Return where the cases of Volcano's own tests are looked for."""
    return Path(os.environ.get("PYROCLAST_UPSTREAM_CASES") or ROOT.parent / "shared" / "conformance" / "upstream")


def upstream_is_required() -> bool:
    """Return whether their absence is a failure."""
    return os.environ.get("PYROCLAST_REQUIRE_UPSTREAM", "") not in {"", "0"}


@cache
def registry() -> Registry:
    """Return the plugins and actions of this build."""
    return load_registry()


@cache
def tables() -> tuple[Table, ...]:
    """Return all cases that are there."""
    files = [*sorted(GENERATED.glob("*.jsonl")), *sorted(upstream_folder().glob("*.jsonl"))]
    return tuple(
        Table(raw=msgspec.json.decode(line), file=file.stem)
        for file in files
        for line in file.read_bytes().splitlines()
        if line.strip()
    )


def runnable() -> list[Table]:
    """Return the cases whose actions and plugins this build has."""
    return [table for table in tables() if not table.awaits(registry())]


@cache
def exceptions() -> frozenset[str]:
    """Return the cases in the first column of the table of exceptions."""
    lines = EXCEPTIONS.read_text(encoding="utf-8").splitlines()
    first_cells = (line.split("|")[1] for line in lines if line.startswith("| `"))
    return frozenset(name for cell in first_cells for name in re.findall(r"`([^`]+)`", cell))
