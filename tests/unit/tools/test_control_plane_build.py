"""`tools/kube-apiserver/build.sh`: where it builds, when it does not, and what it says when it cannot."""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "tools" / "kube-apiserver"
BINARIES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
PROGRAMS = ("sh", "dirname", "mkdir", "mv", "rm", "sed", "touch")
"""Programs the script, and the make-believe compiler of these tests, may use."""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder for PATH that has the usual programs and no go."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    return folder


def build(programs: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script with nothing but these programs and variables."""
    return subprocess.run(
        [FOLDER / "build.sh", *arguments],
        env={"PATH": str(programs), "HOME": str(programs.parent), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def install_go(programs: Path, script: str) -> None:
    """Put a make-believe compiler on the PATH; `$output` in `script` is the file it is asked to write."""
    go = programs / "go"
    find_output = 'output=; for word; do [ "$previous" = -o ] && output=$word; previous=$word; done'
    go.write_text(f'#!/bin/sh\nprevious=\n{find_output}\n[ "$1" = build ] || exit 0\n{script}\n')
    go.chmod(0o755)


def put_binaries(folder: Path, *names: str) -> None:
    """Make files that look like finished binaries."""
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch(mode=0o755)


def kubernetes_version() -> str:
    """Return the version that go.mod requires."""
    (line,) = [line for line in (FOLDER / "go.mod").read_text().splitlines() if "\tk8s.io/kubernetes v" in line]
    return line.split()[1].removeprefix("v")


def test_the_cache_folder_is_named_after_the_version(programs: Path) -> None:
    """Each version of Kubernetes has a folder of its own below the user's cache."""
    expected = programs.parent / ".cache" / "pyroclast" / "kubebuilder" / kubernetes_version()

    assert build(programs, "--where").stdout.strip() == str(expected)


def test_the_cache_folder_can_be_moved(programs: Path) -> None:
    """PYROCLAST_CACHE takes the place of the user's cache."""
    answer = build(programs, "--where", PYROCLAST_CACHE="/elsewhere")

    assert answer.stdout.strip() == f"/elsewhere/kubebuilder/{kubernetes_version()}"


def test_the_users_own_binaries_are_used_as_they_are(programs: Path, tmp_path: Path) -> None:
    """With KUBEBUILDER_ASSETS set, nothing is built and no go is needed."""
    put_binaries(tmp_path / "mine", "etcd", "kube-apiserver")

    answer = build(programs, KUBEBUILDER_ASSETS=str(tmp_path / "mine"))

    assert (answer.returncode, answer.stdout.strip(), answer.stderr) == (0, str(tmp_path / "mine"), "")


def test_users_own_binaries_that_are_not_there_are_an_error(programs: Path, tmp_path: Path) -> None:
    """A folder of the user that lacks a binary is named, not built into."""
    put_binaries(tmp_path / "mine", "etcd")

    answer = build(programs, KUBEBUILDER_ASSETS=str(tmp_path / "mine"))

    assert answer.returncode == 1
    assert f"KUBEBUILDER_ASSETS is {tmp_path / 'mine'}, which holds no kube-apiserver" in answer.stderr


def test_what_is_built_is_not_built_again(programs: Path, tmp_path: Path) -> None:
    """A second run does nothing: it does not even need go."""
    assets = tmp_path / "kubebuilder" / kubernetes_version()
    put_binaries(assets, *BINARIES)

    answer = build(programs, PYROCLAST_CACHE=str(tmp_path))

    assert (answer.returncode, answer.stdout.strip(), answer.stderr) == (0, str(assets), "")


def test_a_missing_compiler_is_named(programs: Path, tmp_path: Path) -> None:
    """Without go the script says which one to install."""
    answer = build(programs, PYROCLAST_CACHE=str(tmp_path))

    assert answer.returncode == 1
    assert "no go on the PATH: install Go 1." in answer.stderr


def test_all_binaries_are_built(programs: Path, tmp_path: Path) -> None:
    """One run leaves the four binaries and nothing else."""
    install_go(programs, 'touch "$output"')

    answer = build(programs, PYROCLAST_CACHE=str(tmp_path))

    assert answer.returncode == 0, answer.stderr
    assert {path.name for path in Path(answer.stdout.strip()).iterdir()} == set(BINARIES)


def test_a_build_that_breaks_off_leaves_nothing(programs: Path, tmp_path: Path) -> None:
    """A half-written binary never looks finished."""
    install_go(programs, 'touch "$output"; exit 1')

    answer = build(programs, PYROCLAST_CACHE=str(tmp_path))

    assert answer.returncode == 1
    assert "etcd could not be built" in answer.stderr
    assert list((tmp_path / "kubebuilder" / kubernetes_version()).iterdir()) == []
