"""Clusters for end-to-end tests: each test that takes `cluster` runs on the emulator and on a real control plane.

Without its binaries the real one is skipped; PYROCLAST_REQUIRE_REALSERVER=1 makes that a failure, so that a
machine which must prove it cannot forget to.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.controlplane import ControlPlane, assets_folder, missing_binaries
from tests.e2e.emulatorprocess import running_emulator, tell_faults


@pytest.fixture(scope="session")
def assets() -> Path:
    """The folder of the real control plane's binaries; without them, no test that asks for it goes on."""
    folder = assets_folder()
    missing = missing_binaries(folder)
    if not missing:
        return folder
    reason = f"no {' and no '.join(missing)} in {folder}: run `make kube-apiserver`, or set KUBEBUILDER_ASSETS"
    if os.environ.get("PYROCLAST_REQUIRE_REALSERVER") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session", params=["emulator", pytest.param("realserver", marks=pytest.mark.realserver)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running cluster, shared by all tests of the session: take names that no other test takes."""
    kind: str = request.param
    folder = tmp_path_factory.mktemp(kind)
    with emulated(folder) if kind == "emulator" else real(folder, request.getfixturevalue("assets")) as running:
        yield running


@pytest.fixture(scope="session")
def cluster_with_crds(cluster: Cluster) -> Cluster:
    """The same cluster, once every definition of `config/crd` is served."""
    cluster.serve_custom_resources()
    return cluster


@contextmanager
def emulated(folder: Path, *flags: str) -> Iterator[Cluster]:
    """Run an emulator."""
    with running_emulator(folder, *flags) as (url, kubeconfig):
        # The emulator is its own controller manager.
        yield Cluster(
            kind="emulator",
            url=url,
            kubeconfig=kubeconfig,
            start_controllers=lambda: None,
            away=lambda: paused(url),
            gone=lambda: paused(url),
        )


@contextmanager
def real(folder: Path, assets: Path, *flags: str) -> Iterator[Cluster]:
    """Run a real control plane."""
    with ControlPlane(folder, assets=assets, flags=flags) as plane:
        yield plane.cluster()


@contextmanager
def paused(url: str) -> Iterator[None]:
    """Let an emulator hold all requests, for the length of a block."""
    tell_faults(url, {"pause": True})
    try:
        yield
    finally:
        tell_faults(url, {"pause": False})


@pytest.fixture(autouse=True)
def _cleared(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that fails takes none of its neighbours with it: what it placed on a ground is gone in any case."""
    # asked for before the test, so that it is still there after it, whatever its scope
    ground = request.getfixturevalue("ground") if "ground" in request.fixturenames else None
    yield
    if ground is not None:
        ground.clear_workload()
