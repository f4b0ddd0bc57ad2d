"""CPUs of pods on a server: a NodeResourceTopology describes them, annotations say which pod has which."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.scheduler.cli.main import main
from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on
from tests.e2e.reserving import LABELS, RESERVATIONS, reserve, status
from tests.nodenuma import QOS, SPEC, STATUS, policies, topology, topology_definition

CONFIGURATION = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: nodenuma}]\n"
RESERVATION_API = "/apis/scheduling.koordinator.sh/v1alpha1"
FULL = "0/1 nodes are unavailable: 1 not enough cpus available to satisfy request."


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One node of eight CPUs, of which half are in each of two NUMA nodes."""
    with standing_on(cluster_with_crds, "cpus", folder=tmp_path_factory.mktemp("cpus"), nodes=1) as ground:
        ground.kubectl("apply", "-f", "-", input=json.dumps(topology_definition()))
        ground.kubectl("wait", "--for=condition=Established", "crd/noderesourcetopologies.topology.node.k8s.io")
        describe(ground)
        yield ground
        ground.kubectl("delete", "noderesourcetopology", node_of(ground))


def node_of(ground: Ground) -> str:
    """Return the name of the node."""
    (node,) = ground.nodes()
    name: str = node["metadata"]["name"]
    return name


def describe(ground: Ground, **more: Any) -> None:
    """Write the topology of the node, as its agent does."""
    ground.kubectl("apply", "-f", "-", input=json.dumps(topology(node_of(ground), **more)))


def pin(ground: Ground, name: str, cpu: str, **given: str) -> None:
    """Create a pod with CPUs of its own."""
    ground.group(name, 1)
    ground.pod(name, cpu, group=name, labels={QOS: "LSR"}, annotations=policies(**given))


def status_of(ground: Ground, name: str) -> Any:
    """Return what the binding says about a pod."""
    (pod,) = ground.pods(name)
    return json.loads(pod["metadata"].get("annotations", {}).get(STATUS, "{}"))


def known(daemon: Daemon) -> list[str]:
    """Return the topologies that a daemon knows."""
    items = daemon.get_json("/debug/snapshot")["items"]
    return [item["metadata"]["name"] for item in items if item["kind"] == "NodeResourceTopology"]


def test_cpus_are_given_and_kept(ground: Ground, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two pods get a NUMA node each, over a restart too; another gets the CPUs that are freed; a dump decides alike."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    flag = f"--scheduler-conf={file}"
    with ground.daemon(tmp_path, flag) as daemon:
        daemon.wait_for(lambda: known(daemon) == [node_of(ground)])
        pin(ground, "a", "3", numa="SingleNUMANode")
        daemon.wait_for(lambda: ground.is_placed("a"))
        first = status_of(ground, "a")
        assert first == {"cpuset": "0-1,4", "numaNodeResources": [{"node": 0, "resources": {"cpu": "3"}}]}
        (pod,) = ground.pods("a")
        assert json.loads(pod["metadata"]["annotations"][SPEC]) == {"preferredCPUBindPolicy": "FullPCPUs"}

    with ground.daemon(tmp_path, flag) as daemon:
        pin(ground, "b", "4", required="FullPCPUs")
        daemon.wait_for(lambda: ground.is_placed("b"))
        assert status_of(ground, "b") == {"cpuset": "2-3,6-7"}
        pin(ground, "c", "1", required="FullPCPUs")
        pin(ground, "d", "2")
        daemon.wait_for(lambda: ground.condition_of("d").get("reason") == "Unschedulable")
        ground.remove("a")
        daemon.wait_for(lambda: ground.is_placed("d"))
        assert status_of(ground, "d") == {"cpuset": "0,4"}
        describe(ground, reservation={"reservedCPUs": "1"})
        pin(ground, "e", "2")
        daemon.wait_for(lambda: FULL in ground.condition_of("e").get("message", ""))
        seen = tmp_path / "seen.json"
        seen.write_text(json.dumps(daemon.get_json("/debug/snapshot")))

    options = ("--scheduler-name", ground.name, "--config", str(file), "-o", "json")
    assert main(["simulate", "-f", str(seen), *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rounds"][0]["binds"] == {}


def test_a_reservation_takes_over_cpus_and_its_owners_get_them(ground: Ground, tmp_path: Path) -> None:
    """The pod has CPUs 0, 1, 4 and 5. After it and a restart, its successors get them, and a stranger the others."""
    describe(ground)
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIGURATION.replace("{name: nodenuma}", "{name: nodenuma}, {name: reservation}"))
    flag, own = f"--scheduler-conf={file}", {**LABELS, QOS: "LSR"}
    taking: dict[str, Any] = {"allocatePolicy": "Restricted", "allocateOnce": False, "preAllocation": True}
    with ground.daemon(tmp_path, flag) as daemon:
        ground.group("old", 1)
        ground.pod("old", "4", group="old", labels=own)
        daemon.wait_for(lambda: ground.is_placed("old"))
        assert status_of(ground, "old") == {"cpuset": "0-1,4-5"}
        reserve(ground, "cpus", cpu=4, template_metadata={"labels": {QOS: "LSR"}}, **taking)
        daemon.wait_for(lambda: status(ground, "cpus").get("phase") == "Available")
        (kept,) = ground.items(f"{RESERVATION_API}/reservations")
        assert json.loads(kept["metadata"]["annotations"][STATUS]) == {"cpuset": "0-1,4-5"}
        ground.remove("old")

    with ground.daemon(tmp_path, flag) as daemon:
        pin(ground, "stranger", "4")
        daemon.wait_for(lambda: ground.is_placed("stranger"))
        for name, expected in (("first", "0,4"), ("second", "1,5")):
            ground.group(name, 1)
            ground.pod(name, "2", group=name, labels=own)
            daemon.wait_for(lambda name=name: ground.is_placed(name))  # type: ignore[misc]  # bound in the loop
            assert status_of(ground, name) == {"cpuset": expected}
        assert status_of(ground, "stranger") == {"cpuset": "2-3,6-7"}
        assert daemon.get_json("/debug/audit")["differences"] == []
    ground.kubectl("delete", RESERVATIONS, "cpus")


def test_topologies_are_watched_while_the_plugin_reads_them(ground: Ground, tmp_path: Path) -> None:
    """Not at first, and no more when the plugin is gone."""
    file = tmp_path / "scheduler.yaml"
    without = CONFIGURATION.replace(", {name: nodenuma}", "")
    file.write_text(without)
    with ground.daemon(tmp_path, f"--scheduler-conf={file}") as daemon:
        assert known(daemon) == []
        file.write_text(CONFIGURATION)
        daemon.wait_for(lambda: known(daemon) == [node_of(ground)])
        file.write_text(without)
        daemon.wait_for(lambda: known(daemon) == [])
