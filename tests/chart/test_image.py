"""The image, without a builder: its steps in a clean folder, on what it copies and nothing else."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
STAGES = re.split(r"^FROM .*$", DOCKERFILE, flags=re.MULTILINE)[1:]
SECONDS = 600.0

pytestmark = pytest.mark.skipif(
    os.environ.get("PYROCLAST_TEST_IMAGE") != "1", reason="takes a minute and a package index: PYROCLAST_TEST_IMAGE=1"
)


def instructions(stage: str) -> list[tuple[str, str]]:
    """Return the instructions of a stage, lines joined, as word and rest."""
    joined = re.sub(r"\\\n(?:\s*#.*\n)*", " ", stage)
    lines = [line.strip() for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Carry out the first stage with `/opt` and `/src` moved to a folder."""
    root = tmp_path_factory.mktemp("image")
    source = root / "src"
    source.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "PYTHON"))}
    environment["PATH"] = f"{Path(sys.executable).resolve().parent}:{environment.get('PATH', '')}"
    for word, rest in instructions(STAGES[0]):
        match word:
            case "COPY":
                *names, target = shlex.split(rest)
                for name in names:
                    copy(ROOT / name, source / target / name if target == "./" else source / target)
            case "RUN":
                command = rest.replace("/opt/", f"{root}/opt/").replace("python -m venv", f"{sys.executable} -m venv")
                done = subprocess.run(
                    command, shell=True, cwd=source, env=environment, capture_output=True, text=True, timeout=SECONDS,
                    check=False,
                )  # fmt: skip
                assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return root / "opt" / "pyroclast"


def copy(origin: Path, target: Path) -> None:
    """Copy a file or a folder, without what .dockerignore keeps out."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if origin.is_dir():
        shutil.copytree(origin, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(origin, target)


def test_what_is_installed_runs_from_anywhere(image: Path, tmp_path: Path) -> None:
    """The command, its data and its definitions are in the image, as the lock says."""
    done = subprocess.run(
        [image / "bin" / "python", "-I", image / "bin" / "pyroclast", "scheduler", "--help"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "--scheduler-conf" in done.stdout
    assert list(image.rglob("*_podgroups.yaml"))


def test_modules_of_python_are_compiled_once(image: Path, tmp_path: Path) -> None:
    """The last stage leaves compiled what a start loads of Python itself, since the base comes without."""
    (command,) = [rest for word, rest in instructions(STAGES[-1]) if word == "RUN" and rest.startswith("/opt/")]
    compiled = tmp_path / "compiled"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command.replace("/opt/pyroclast", str(image)), shell=True, cwd=tmp_path, capture_output=True, text=True,
        env={**environment, "PYTHONPYCACHEPREFIX": str(compiled)}, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    stems = {file.stem.partition(".")[0] for file in compiled.rglob("*.pyc")}
    assert {"base_events", "dataclasses", "ssl"} <= stems


def test_versions_are_those_of_the_lock(image: Path) -> None:
    """Each package of the bill of materials has the version of the lock."""
    # a name may stand there more than once, each time for other versions of Python
    locked = set(re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "requirements-image.lock").read_text(), re.MULTILINE))
    bill = json.loads((image / "sbom.cdx.json").read_text())
    found = {(each["name"].lower().replace("_", "-"), each["version"]) for each in bill["components"]}

    assert {"aiohttp", "msgspec", "numpy", "uvloop"} <= {name for name, _ in found}
    assert {each for each in found if each[0] not in {"pip", "setuptools", "pyroclast-scheduler"}} <= locked


def test_the_image_runs_as_a_user_without_rights() -> None:
    """The last stage names a number that is not root's, has a health check and starts the scheduler."""
    last = dict(instructions(STAGES[-1]))

    assert last["USER"] == "65532:65532"
    assert "livez" in last["HEALTHCHECK"]
    assert json.loads(last["ENTRYPOINT"]) == ["pyroclast"]
