"""A daemon with a long period: it reacts to what can be decided, and stays at rest otherwise."""

import time
from collections.abc import Iterator

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

PERIOD = "10m"
REST_SECONDS = 4.0
"""Time without a cycle that makes a rest; whatever begins one comes more often."""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "rest", folder=tmp_path_factory.mktemp("rest")) as ground:
        yield ground


@pytest.fixture(scope="module")
def daemon(ground: Ground) -> Iterator[Daemon]:
    """A daemon that would wait for ten minutes between cycles."""
    with ground.daemon(ground.folder, f"--schedule-period={PERIOD}") as daemon:
        yield daemon


def test_new_work_and_freed_room_are_used_at_once(ground: Ground, daemon: Daemon) -> None:
    """A gang is bound when it is complete; one that waits for room is bound when the first has gone."""
    ground.gang("first", 4, "8")
    daemon.wait_for(lambda: ground.is_placed("first"))
    ground.gang("second", 4, "8")
    daemon.wait_for(lambda: ground.phase_of("second") in {"Inqueue", "Pending"})
    ground.remove("first")

    daemon.wait_for(lambda: ground.is_placed("second"))


def test_the_daemon_comes_to_rest_beside_work_that_waits(ground: Ground, daemon: Daemon) -> None:
    """Its own conditions, events and statuses, and heartbeats of nodes, begin no further cycle."""
    ground.gang("impossible", 2, "64")
    daemon.wait_for(lambda: bool(ground.condition_of("impossible-worker-0")))

    def rests() -> bool:
        before = daemon.cycles()
        time.sleep(REST_SECONDS)
        return daemon.cycles() == before

    daemon.wait_for(rests)
