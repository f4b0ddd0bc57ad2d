"""Reservations, and a daemon or controllers killed at each of their writes: the next ones end what was begun."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import controllers
from tests.e2e.daemon import PATIENCE
from tests.e2e.gate import gate_to
from tests.e2e.ground import Ground, standing_on
from tests.e2e.reserving import CONFIGURATION, CONTROLLER, LABELS, RESERVATIONS, reserve, status
from tests.reservations import ALLOCATED, affinity

OPERATING = "scheduling.koordinator.sh/operating-mode"
OWNERS = "scheduling.koordinator.sh/reservation-owners"
USER = "scheduling.koordinator.sh/reservation-current-owner"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One node of eight CPUs."""
    folder = tmp_path_factory.mktemp("reservations-killed")
    with standing_on(cluster_with_crds, "reservations-killed", folder=folder, nodes=1) as ground:
        yield ground


@pytest.fixture
def conf(tmp_path: Path) -> str:
    """The flag of the configuration."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    return f"--scheduler-conf={file}"


def counts(path: str) -> bool:
    """Return whether a write is one about pods or Reservations. Events and PodGroups are not counted."""
    return "/pods/" in path or "/reservations/" in path


@contextmanager
def killed(ground: Ground, folder: Path, conf: str, number: int, *, is_carried_out: bool) -> Iterator[None]:
    """Run a daemon until its write of some number, which the test causes in the block."""
    with gate_to(ground.cluster, folder, counts) as (gate, seen), ground.daemon(folder, conf, seen=seen) as daemon:
        gate.kill_at(number, daemon.process.kill, is_carried_out=is_carried_out)
        yield
        assert gate.has_killed.wait(PATIENCE)


def annotation(ground: Ground, pod: str, key: str) -> dict[str, str]:
    """Return an annotation of a pod that is JSON; empty if it has none."""
    found: dict[str, str] = json.loads(ground.pods(pod)[0]["metadata"].get("annotations", {}).get(key, "{}"))
    return found


@pytest.mark.parametrize("is_carried_out", [False, True])
@pytest.mark.parametrize("number", [0, 1])
def test_a_takeover_that_was_begun_is_ended(
    ground: Ground, tmp_path: Path, conf: str, number: int, is_carried_out: bool
) -> None:
    """The annotation of the pod is the first write, the status of the Reservation the second one."""
    with ground.daemon(tmp_path, conf) as daemon:
        ground.group("old", 1)
        ground.pod("old", "7", group="old", labels=LABELS)
        daemon.wait_for(lambda: ground.phases_of("old") == ["Running"])
    with killed(ground, tmp_path, conf, number, is_carried_out=is_carried_out):
        reserve(ground, "kept", cpu=7, allocateOnce=False, allocatePolicy="Restricted", preAllocation=True)
    is_annotated, is_available = (number, is_carried_out) != (0, False), (number, is_carried_out) == (1, True)
    assert bool(annotation(ground, "old", ALLOCATED)) == is_annotated
    assert (status(ground, "kept").get("phase") == "Available") == is_available

    with controllers(ground.cluster, tmp_path, CONTROLLER), ground.daemon(tmp_path, conf) as daemon:
        daemon.wait_for(lambda: status(ground, "kept").get("allocated") == {"cpu": "7"})
        assert annotation(ground, "old", ALLOCATED)["name"] == "kept"
        ground.remove("old")
        daemon.wait_for(lambda: status(ground, "kept").get("allocated", {}) == {})
        ground.group("other", 1)
        ground.pod("other", "3", group="other")
        ground.group("new", 1)
        ground.pod("new", "7", group="new", labels=LABELS)
        daemon.wait_for(lambda: ground.is_placed("new"))
        assert not ground.is_placed("other")
        assert daemon.get_json("/debug/audit")["differences"] == []
    ground.kubectl("delete", RESERVATIONS, "kept")
    ground.clear_workload()


def stand_in(ground: Ground) -> None:
    """Create a pod in operating mode."""
    ground.group("stand-in", 1)
    owners = json.dumps([{"labelSelector": {"matchLabels": LABELS}}])
    ground.pod("stand-in", "4", group="stand-in", labels={OPERATING: "Reservation"}, annotations={OWNERS: owners})


def owner(ground: Ground) -> None:
    """Create a pod that must use it."""
    ground.group("owner", 1)
    ground.pod("owner", "4", group="owner", labels=LABELS, annotations=affinity())


def set_ready(ground: Ground, is_ready: bool) -> None:
    """Write the condition Ready of the pod in operating mode."""
    change = {"status": {"conditions": [{"type": "Ready", "status": str(is_ready)}]}}
    ground.kubectl("patch", "pod", "stand-in", "--subresource=status", "--type=strategic", "-p", json.dumps(change))


def test_a_pod_in_operating_mode_offers_its_capacity_while_it_is_ready(
    ground: Ground, tmp_path: Path, conf: str
) -> None:
    """An owner waits for it, and uses it once it is ready; the annotation of the pod names the owner (R37)."""
    with ground.daemon(tmp_path, conf) as daemon:
        stand_in(ground)
        daemon.wait_for(lambda: ground.phases_of("stand-in") == ["Running"])
        set_ready(ground, False)
        owner(ground)
        daemon.wait_for(lambda: "no reservations match" in ground.condition_of("owner").get("message", ""))
        set_ready(ground, True)
        daemon.wait_for(lambda: ground.phases_of("owner") == ["Running"])

        (pod,) = ground.pods("owner")
        assert annotation(ground, "stand-in", USER) == {
            "namespace": ground.name,
            "name": "owner",
            "uid": pod["metadata"]["uid"],
        }
        assert annotation(ground, "owner", ALLOCATED)["name"] == "stand-in"
    ground.clear_workload()


@pytest.mark.parametrize("is_carried_out", [False, True])
@pytest.mark.parametrize("number", [0, 1])
def test_the_use_of_a_pod_in_operating_mode_that_was_begun_is_ended(
    ground: Ground, tmp_path: Path, conf: str, number: int, is_carried_out: bool
) -> None:
    """The annotation of the pod in operating mode is the first write, the binding of its user the second one."""
    with ground.daemon(tmp_path, conf) as daemon:
        stand_in(ground)
        daemon.wait_for(lambda: ground.phases_of("stand-in") == ["Running"])
        set_ready(ground, True)
    with killed(ground, tmp_path, conf, number, is_carried_out=is_carried_out):
        owner(ground)
    assert bool(annotation(ground, "stand-in", USER)) == ((number, is_carried_out) != (0, False))
    assert ground.is_placed("owner") == ((number, is_carried_out) == (1, True))

    with ground.daemon(tmp_path, conf) as daemon:
        daemon.wait_for(lambda: ground.phases_of("owner") == ["Running"])
        assert annotation(ground, "stand-in", USER)["name"] == "owner"
        assert annotation(ground, "owner", ALLOCATED)["name"] == "stand-in"
        assert daemon.get_json("/debug/audit")["differences"] == []
    ground.clear_workload()


@pytest.mark.parametrize("is_carried_out", [False, True])
@pytest.mark.parametrize("number", [0, 1])
def test_the_end_of_a_reservation_that_was_begun_is_ended(
    ground: Ground, tmp_path: Path, conf: str, number: int, is_carried_out: bool
) -> None:
    """The status of a Reservation for one pod is the first write of the controller, its deletion the second one."""
    flags = (CONTROLLER, "--reservation-gc-duration=1s")
    with ground.daemon(tmp_path, conf) as daemon:
        reserve(ground, "once", cpu=4)
        daemon.wait_for(lambda: status(ground, "once").get("phase") == "Available")
        with (
            gate_to(ground.cluster, tmp_path, counts) as (gate, seen),
            controllers(seen, tmp_path, *flags) as process,
        ):
            gate.kill_at(number, process.process.kill, is_carried_out=is_carried_out)
            ground.group("user", 1)
            ground.pod("user", "4", group="user", labels=LABELS, annotations=affinity(name="once"))
            assert gate.has_killed.wait(PATIENCE)
        phases = {(0, False): ["Available"], (0, True): ["Succeeded"], (1, False): ["Succeeded"], (1, True): []}
        assert phases_of(ground) == phases[number, is_carried_out]

        with controllers(ground.cluster, tmp_path, *flags):
            daemon.wait_for(lambda: not phases_of(ground))
        daemon.wait_for(lambda: ground.phases_of("user") == ["Running"])
        assert daemon.get_json("/debug/audit")["differences"] == []
    ground.clear_workload()


def phases_of(ground: Ground) -> list[str]:
    """Return the phases of all Reservations."""
    return [each["status"]["phase"] for each in json.loads(ground.kubectl("get", RESERVATIONS, "-o", "json"))["items"]]
