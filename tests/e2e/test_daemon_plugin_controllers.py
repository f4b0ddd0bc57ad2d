"""A plugin with a custom resource of its own, on a server: watched by every replica, controlled by the leader."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.ground import Ground, standing_on

EXAMPLE = Path(__file__).parents[2] / "examples" / "09-licences"
NAME = "licensed"
LEASE = (
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=300ms",
    f"--leader-elect-resource-namespace={NAME}",
)
FLAGS = (f"--plugins-dir={EXAMPLE}", f"--scheduler-conf={EXAMPLE / 'scheduler.yaml'}")
RUNNING = 'pyroclast_plugin_controller_running{controller="used-seats",plugin="licences"}'
LICENCES = 'pyroclast_plugin_watched_objects{kind="licences.v1.example.com"}'
WRONG = """
from pyroclast import Plugin


class Wrong(Plugin):
    name = "wrong"

    def on_session_open(self, session): ...

    def watched_kinds(self):
        return ["pods"]
"""
NEEDED = {"example.com/licence": "mesher"}


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes, the definition of the custom resource, and a licence of two seats."""
    with standing_on(cluster_with_crds, NAME, folder=tmp_path_factory.mktemp(NAME)) as ground:
        ground.kubectl("apply", "-f", str(EXAMPLE / "crd.yaml"))
        ground.kubectl("wait", "--for=condition=Established", "crd/licences.example.com", "--timeout=60s")
        licence = {"apiVersion": "example.com/v1", "kind": "Licence", "metadata": {"name": "mesher"}}
        ground.kubectl("apply", "-f", "-", input=json.dumps({**licence, "spec": {"seats": 2}}))
        yield ground


def used(ground: Ground) -> int | None:
    """Return the number of used seats that the status shows."""
    status = json.loads(ground.kubectl("get", "licences", "mesher", "-o", "json")).get("status", {})
    found: int | None = status.get("used")
    return found


def licensed(ground: Ground, name: str) -> None:
    """Create a pod that needs a seat."""
    ground.group(name, 1)
    ground.pod(f"{name}-0", group=name, labels={"example.com/licensed": "true"}, annotations=NEEDED)


def test_the_controller_moves_with_the_leader_and_decisions_follow_the_objects(ground: Ground, tmp_path: Path) -> None:
    """Two replicas: the standby watches and controls nothing, and takes over when the leader is killed."""
    with ExitStack() as stack:
        leader, standby = (
            stack.enter_context(ground.daemon(tmp_path, *FLAGS, *LEASE, is_alone=False)) for _ in range(2)
        )
        if standby.metric("pyroclast_leader") == 1:
            leader, standby = standby, leader
        leader.wait_metric("pyroclast_leader", 1)
        leader.wait_metric(RUNNING, 1)
        standby.wait_metric(LICENCES, 1)
        assert standby.metric(RUNNING) is None
        for name in ("one", "two"):
            licensed(ground, name)
        leader.wait_for(lambda: used(ground) == 2)
        licensed(ground, "three")
        why = "all 2 seats of licence licensed/mesher are in use"
        leader.wait_for(lambda: why in ground.condition_of("three-0").get("message", ""))

        leader.process.kill()
        standby.wait_metric("pyroclast_leader", 1)
        standby.wait_metric(RUNNING, 1)
        ground.kubectl("patch", "licences", "mesher", "--type=merge", "-p", '{"spec":{"seats":3}}')

        standby.wait_for(lambda: used(ground) == 3)
        assert ground.is_placed("three")
        licensed(ground, "four")
        why = "all 3 seats of licence licensed/mesher are in use"
        standby.wait_for(lambda: why in ground.condition_of("four-0").get("message", ""))
        ground.kubectl("patch", "licences", "mesher", "--type=merge", "-p", '{"spec":{"seats":4}}')
        standby.wait_for(lambda: ground.is_placed("four"))
        assert standby.get_json("/debug/audit") == {"differences": []}
        assert 'pyroclast_reconciles_total{name="licences/used-seats",result="done"}' in standby.get("/metrics")


def test_a_plugin_with_a_wrong_declaration_is_refused_and_work_goes_on(ground: Ground, tmp_path: Path) -> None:
    """As any fault of the configuration: the last good one stays in force."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "licences.py").write_text((EXAMPLE / "licences.py").read_text())
    (folder / "wrong.py").write_text(WRONG)
    settings = tmp_path / "scheduler.yaml"
    settings.write_text((EXAMPLE / "scheduler.yaml").read_text())
    with ground.daemon(tmp_path, f"--plugins-dir={folder}", f"--scheduler-conf={settings}") as daemon:
        settings.write_text(settings.read_text() + "      - name: wrong\n")
        daemon.wait_logged("watched_kinds() returned a str, expected a WatchedKind")
        ground.group("free", 1)
        ground.pod("free-0", group="free")

        daemon.wait_for(lambda: ground.is_placed("free"))
        assert daemon.metric("pyroclast_configuration_reload_ok") == 0
        daemon.wait_metric(RUNNING, 1)
