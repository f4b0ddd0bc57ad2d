"""Reservations on a server: placed, used, ended, and rebuilt by a daemon that starts again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.cli.main import main
from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import controllers
from tests.e2e.ground import Ground, standing_on
from tests.reservations import ALLOCATED, affinity, reservation

CONFIGURATION = """\
actions: enqueue, allocate
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: reservation}]
"""
LABELS = {"app": "a"}
RESERVATIONS = "reservations.scheduling.koordinator.sh"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One node of eight CPUs, and controllers."""
    folder = tmp_path_factory.mktemp("reservations")
    with (
        standing_on(cluster_with_crds, "reservations", folder=folder, nodes=1) as ground,
        controllers(cluster_with_crds, folder, "--controllers=reservation-controller"),
    ):
        yield ground


def reserve(ground: Ground, name: str, **fields: Any) -> None:
    """Create a Reservation of this test's scheduler."""
    wanted = reservation(name, template={"schedulerName": ground.name}, **fields)
    wanted.pop("status")
    wanted["metadata"] = {"name": name}
    ground.kubectl("apply", "-f", "-", input=json.dumps(wanted))


def status(ground: Ground, name: str) -> dict[str, Any]:
    """Return the status of a Reservation."""
    found: dict[str, Any] = json.loads(
        ground.kubectl("get", "reservations.scheduling.koordinator.sh", name, "-o", "json")
    )
    shown: dict[str, Any] = found.get("status", {})
    return shown


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
