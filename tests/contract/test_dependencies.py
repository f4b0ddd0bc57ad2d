"""Libraries that are imported are declared, and none is declared in vain."""

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = sorted(path.resolve() for path in (ROOT / "pyroclast").iterdir() if path.is_dir())
"""Those of the import package, most of them behind links."""
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
    for top in tops - {"pyroclast", *sys.stdlib_module_names}:
        yield DISTRIBUTIONS[top][0].lower().replace("_", "-")


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    """Not what comes along with another library: it may cease to."""
    always: set[str] = set()
    of_emulator: set[str] = set()
    for folder in FOLDERS:
        for path in folder.rglob("*.py"):
            is_extra = str(path.relative_to(ROOT)).startswith(OF_EMULATOR)
            (of_emulator if is_extra else always).update(imported(path))

    assert always | DATA == declared(PROJECT["project"]["dependencies"])
    assert of_emulator - always == declared(PROJECT["project"]["optional-dependencies"]["emulator"])


LOCKS = ("requirements.lock", "requirements-image.lock", "requirements-build.lock")


def locked(name: str) -> dict[str, list[str]]:
    """Return, by `name==version` and its marker, the hashes that a lock has for it."""
    text = re.sub(r"#.*", "", (ROOT / name).read_text()).replace("\\\n", " ")
    entries = [line.split("--hash=") for line in text.splitlines() if line.strip()]
    return {first.strip(): [each.strip() for each in hashes] for first, *hashes in entries}


@pytest.mark.parametrize("name", LOCKS)
def test_each_locked_version_has_hashes(name: str) -> None:
    """Without one for each, `--require-hashes` refuses the whole lock."""
    entries = locked(name)

    assert entries
    assert all("==" in entry for entry in entries)
    assert [entry for entry, hashes in entries.items() if not hashes] == []
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", each) for hashes in entries.values() for each in hashes)


def test_the_image_has_the_versions_that_are_tested() -> None:
    """What the image installs are entries of the lock of development, hashes included."""
    image, tested = locked("requirements-image.lock"), locked("requirements.lock")

    assert {entry: tested.get(entry) for entry in image} == image


def test_the_build_back_end_is_pinned_to_the_locked_version() -> None:
    """Wherever it is named, so that a build in isolation takes the one that is tested."""
    (pinned,) = PROJECT["build-system"]["requires"]
    groups = PROJECT["project"]["optional-dependencies"]["dev"], PROJECT["dependency-groups"]["image"]

    assert [pinned in group for group in groups] == [True, True]
    assert [pinned in locked(name) for name in ("requirements.lock", "requirements-build.lock")] == [True, True]


def test_nothing_is_installed_without_its_hash() -> None:
    """Each installation from the index, by make and in the image, demands hashes; the base image has a digest."""
    for name in ("Makefile", "Dockerfile"):
        commands = re.findall(r"pip install[^&\n]*", (ROOT / name).read_text())
        assert commands
        assert [each for each in commands if "--require-hashes" not in each and "--no-deps" not in each] == []
    assert re.search(r"^ARG PYTHON_IMAGE=\S+@sha256:[0-9a-f]{64}$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
