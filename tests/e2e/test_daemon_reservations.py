"""Reservations on a server: placed, used, ended, and rebuilt by a daemon that starts again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.cli.main import main
from tests.devices import CORE, RATIO, device, gpu
from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import controllers
from tests.e2e.ground import Ground, standing_on
from tests.e2e.reserving import CONFIGURATION, CONTROLLER, LABELS, RESERVATIONS, reserve, status
from tests.reservations import ALLOCATED, affinity


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One node of eight CPUs, and controllers."""
    folder = tmp_path_factory.mktemp("reservations")
    with (
        standing_on(cluster_with_crds, "reservations", folder=folder, nodes=1) as ground,
        controllers(cluster_with_crds, folder, CONTROLLER),
    ):
        yield ground


def events_of(ground: Ground, name: str) -> list[tuple[str, str]]:
    """Return reasons and messages of the events about a Reservation."""
    found = ground.items("/api/v1/events?fieldSelector=involvedObject.kind%3DReservation")
    return [(each["reason"], each["message"]) for each in found if each["involvedObject"]["name"] == name]


def test_a_reservation_is_placed_used_and_ended(
    ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It keeps its node from another pod, its owner uses it, and a daemon that starts again counts the owner."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    with ground.daemon(tmp_path, f"--scheduler-conf={file}") as daemon:
        reserve(ground, "large", cpu=99)
        daemon.wait_for(lambda: bool(status(ground, "large").get("conditions")))
        (condition,) = status(ground, "large")["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Scheduled", "False", "Unschedulable")
        assert "Insufficient cpu" in condition["message"]
        assert status(ground, "large")["phase"] == "Pending"

        reserve(ground, "shared", cpu=6, allocateOnce=False)
        daemon.wait_for(lambda: status(ground, "shared").get("phase") == "Available")
        assert status(ground, "shared")["allocatable"] == {"cpu": "6"}
        (node,) = ground.nodes()
        told = f"Successfully assigned shared to {node['metadata']['name']}"
        daemon.wait_for(lambda: ("Scheduled", told) in events_of(ground, "shared"))
        assert [reason for reason, _ in events_of(ground, "large")] == ["FailedScheduling"]
        ground.group("other", 1)
        ground.pod("other-0", "4", group="other")
        ground.group("owner", 1)
        ground.pod("owner-0", "4", group="owner", labels=LABELS, annotations=affinity(name="shared"))
        daemon.wait_for(lambda: ground.is_placed("owner"))
        assert not ground.is_placed("other")
        daemon.wait_for(lambda: status(ground, "shared").get("allocated") == {"cpu": "4"})
        pod = json.loads(ground.kubectl("get", "pod", "owner-0", "-n", ground.name, "-o", "json"))
        assert json.loads(pod["metadata"]["annotations"][ALLOCATED])["name"] == "shared"

    with ground.daemon(tmp_path, f"--scheduler-conf={file}") as daemon:
        ground.group("second", 1)
        ground.pod("second-0", "2", group="second", labels=LABELS, annotations=affinity(name="shared"))
        daemon.wait_for(lambda: ground.is_placed("second"))
        daemon.wait_for(lambda: status(ground, "shared").get("allocated") == {"cpu": "6"})
        seen = tmp_path / "seen.json"
        seen.write_text(daemon.get("/debug/snapshot"))
        ground.kubectl("delete", RESERVATIONS, "shared", "large")

    (tmp_path / "conf.yaml").write_text(CONFIGURATION)
    options = ("--scheduler-name", ground.name, "--config", str(tmp_path / "conf.yaml"), "-o", "json")
    assert main(["simulate", "-f", str(seen), *options]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"][0]["binds"] == {}


DEVICES = "scheduling.koordinator.sh/device-allocated"
WITH_DEVICES = """\
actions: enqueue, allocate
tiers:
- plugins:
  - {name: gang}
  - {name: predicates}
  - {name: deviceshare, arguments: {deviceshare.KoordinatorEnable: true}}
  - {name: reservation}
"""
ONE_GPU = {CORE: "100", RATIO: "100"}


def minor_of(found: dict[str, Any]) -> int | None:
    """Return the GPU that the annotation of an object names."""
    text = found["metadata"].get("annotations", {}).get(DEVICES)
    return json.loads(text)["gpu"][0]["minor"] if text else None


def test_owners_get_the_reserved_gpu(ground: Ground, tmp_path: Path) -> None:
    """A stranger gets the other one of two GPUs, and after a restart the owner gets the reserved one."""
    (node,) = ground.nodes()
    name = node["metadata"]["name"]
    ground.kubectl("apply", "-f", "-", input=json.dumps(device(name, gpu(0), gpu(1))))
    offered = json.dumps({"status": dict.fromkeys(("capacity", "allocatable"), dict.fromkeys(ONE_GPU, "200"))})
    ground.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", offered)
    file = tmp_path / "scheduler.yaml"
    file.write_text(WITH_DEVICES)

    def pod(name: str, **more: Any) -> None:
        resources = {"limits": ONE_GPU, "requests": {**ONE_GPU, "cpu": "1"}}
        ground.group(name, 1)
        ground.pod(name, group=name, containers=[{"name": "c", "image": "none", "resources": resources}], **more)

    with ground.daemon(tmp_path, f"--scheduler-conf={file}") as daemon:
        reserve(ground, "gpu", cpu=1, resources=ONE_GPU, allocateOnce=False, allocatePolicy="Restricted")
        daemon.wait_for(lambda: status(ground, "gpu").get("phase") == "Available")
        reserved = minor_of(json.loads(ground.kubectl("get", RESERVATIONS, "gpu", "-o", "json")))
        pod("stranger")
        pod("waiting")
        daemon.wait_for(lambda: ground.is_placed("stranger") or ground.is_placed("waiting"))

    with ground.daemon(tmp_path, f"--scheduler-conf={file}") as daemon:
        pod("owner-of-gpu", labels=LABELS, annotations=affinity(name="gpu"))
        daemon.wait_for(lambda: ground.is_placed("owner-of-gpu"))
        assert minor_of(ground.pods("owner-of-gpu")[0]) == reserved
        placed = [each for each in ("stranger", "waiting") if ground.is_placed(each)]
        assert [minor_of(ground.pods(each)[0]) for each in placed] == [1 - (reserved or 0)]
        ground.kubectl("delete", RESERVATIONS, "gpu")
        ground.kubectl("delete", "device", name)
        ground.clear_workload()


def test_a_reservation_takes_over_a_pod_and_keeps_its_place(ground: Ground, tmp_path: Path) -> None:
    """The pod runs on as its owner. When it ends, another owner gets its place, and deletion frees the rest."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    with ground.daemon(tmp_path, f"--scheduler-conf={file}") as daemon:
        ground.group("old", 1)
        ground.pod("old-0", "7", group="old", labels=LABELS)
        daemon.wait_for(lambda: ground.is_placed("old"))
        fields: dict[str, Any] = {"allocateOnce": False, "allocatePolicy": "Restricted", "preAllocation": True}
        reserve(ground, "kept", cpu=7, **fields)
        daemon.wait_for(lambda: status(ground, "kept").get("allocated") == {"cpu": "7"})
        note = ground.pods("old")[0]["metadata"]["annotations"][ALLOCATED]
        assert json.loads(note)["name"] == "kept"
        assert [each["name"] for each in status(ground, "kept")["currentOwners"]] == ["old-0"]

        ground.group("other", 1)
        ground.pod("other-0", "3", group="other")
        ground.remove("old")
        daemon.wait_for(lambda: status(ground, "kept").get("allocated", {}) == {})
        ground.group("new", 1)
        ground.pod("new-0", "4", group="new", labels=LABELS)
        daemon.wait_for(lambda: ground.is_placed("new"))
        assert not ground.is_placed("other")

        ground.kubectl("delete", RESERVATIONS, "kept")
        daemon.wait_for(lambda: ground.is_placed("other"))
        assert ground.is_placed("new")
        ground.clear_workload()


def test_a_ttl_that_cannot_be_parsed_is_a_condition(ground: Ground, tmp_path: Path) -> None:
    """The Reservation is placed all the same."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    with ground.daemon(tmp_path, f"--scheduler-conf={file}") as daemon:
        reserve(ground, "odd", cpu=1, ttl="tomorrow")

        def has_both() -> bool:
            conditions = {each["type"]: each["reason"] for each in status(ground, "odd").get("conditions", [])}
            return conditions == {"Scheduled": "Scheduled", "Ready": "Available", "Valid": "InvalidLifetime"}

        daemon.wait_for(has_both)
        ground.kubectl("delete", RESERVATIONS, "odd")
