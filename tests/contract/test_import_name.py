"""Everything is imported as `pyroclast.<folder>`, so that it lives beside a user's own `model.py` or `plugins/`."""

import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pyroclast"
FOLDERS = sorted(
    path.parent.name
    for path in ROOT.glob("*/__init__.py")
    if path.parent.name not in {"benchmarks", "pyroclast", "tests"}
)
SEARCHED = (*FOLDERS, "pyroclast", "tests", "benchmarks", "tools", "docs", "examples")
BARE = re.compile(rf"^\s*(?:from|import) (?:{'|'.join(FOLDERS)})\b(?! = )", re.MULTILINE)
NEIGHBOURS = ("model.py", "cache.py", "plugins/__init__.py", "scheduler.py", "framework.py")


def sources() -> Iterator[Path]:
    """Yield the files whose code imports something."""
    for folder in SEARCHED:
        for pattern in ("*.py", "*.md"):
            yield from (ROOT / folder).rglob(pattern)


def test_each_folder_of_code_has_a_link_in_the_package() -> None:
    """The links are what gives the folders their import name."""
    links = {path.name: path.readlink().as_posix() for path in PACKAGE.iterdir() if path.is_symlink()}

    assert links == {name: f"../{name}" for name in [*FOLDERS, "config"]}


def test_no_folder_is_imported_by_its_bare_name() -> None:
    """A module imported by two names would exist twice."""
    assert [str(path.relative_to(ROOT)) for path in sources() if BARE.search(path.read_text())] == []


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as the image builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_one_import_package(wheel: Path) -> None:
    """Beside it there is only what describes the distribution."""
    names = ZipFile(wheel).namelist()

    assert {name.partition("/")[0] for name in names} == {"pyroclast", "pyroclast_scheduler-0.1.0.dist-info"}
    assert {"pyroclast/config/scheduler.yaml", "pyroclast/framework/cycle.py", "pyroclast/testing/__init__.py"} <= set(
        names
    )


def test_it_is_imported_beside_modules_with_the_names_of_its_folders(wheel: Path, tmp_path: Path) -> None:
    """Installed into a fresh environment, it works in a folder whose files are named as its folders are."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    (packages,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(packages)]
    subprocess.run([*install, str(wheel)], check=True)
    # The libraries it needs come from this environment: the line adds its folder, not what its own .pth files name.
    (packages / "libraries.pth").write_text(f"{Path(np.__file__).parents[1]}\n")
    for name in NEIGHBOURS:
        file = tmp_path / "work" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("raise ImportError('this module belongs to the user')\n")

    code = "import pyroclast, pyroclast.testing; print(pyroclast.__file__, pyroclast.Session.__module__)"
    done = subprocess.run([python, "-c", code], cwd=tmp_path / "work", capture_output=True, text=True, check=False)
    told = subprocess.run(
        [python, "-m", "pyroclast.scheduler", "version"],
        cwd=tmp_path / "work",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.split() == [
        str(packages / "pyroclast" / "__init__.py"),
        "pyroclast.framework.session.session",
    ], done.stderr
    assert "0.1.0" in told.stdout, told.stderr
