"""Libraries that are imported are declared, and none is declared in vain."""

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
OF_EMULATOR = ("emulator/", "scheduler/demo/")
"""What needs the extra of that name."""
DISTRIBUTIONS = packages_distributions()
IMPORT = re.compile(r"^ *(?:from (\w+)[\w.]* import |import (\w+)[\w.]*(?: as \w+)?$)", re.MULTILINE)
DATA = {"tzdata"}
"""Declared for what is in it; no module of it is imported."""


def declared(lines: list[str]) -> set[str]:
    """Return the names of requirements."""
    return {re.split(r"[><=\[]", line)[0].lower() for line in lines}


def imported(path: Path) -> Iterator[str]:
    """Yield the distributions that a file imports from, those of Python and of our own left out."""
    tops = {top or other for top, other in IMPORT.findall(path.read_text())}
    for top in tops - {*PACKAGES, *sys.stdlib_module_names}:
        yield DISTRIBUTIONS[top][0].lower().replace("_", "-")


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    """Not what comes along with another library: it may cease to."""
    always: set[str] = set()
    of_emulator: set[str] = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            is_extra = str(path.relative_to(ROOT)).startswith(OF_EMULATOR)
            (of_emulator if is_extra else always).update(imported(path))

    assert always | DATA == declared(PROJECT["project"]["dependencies"])
    assert of_emulator - always == declared(PROJECT["project"]["optional-dependencies"]["emulator"])
