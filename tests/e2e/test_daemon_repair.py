"""Gangs that were placed and then lost members: what is missing is placed first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.emulatorprocess import clear_faults, tell_faults
from tests.e2e.ground import Ground, standing_on


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "repair", folder=tmp_path_factory.mktemp("repair")) as ground:
        yield ground


def test_a_member_that_its_node_refuses_is_replaced_first(ground: Ground, tmp_path: Path) -> None:
    """The kubelet fails a pod with OutOfcpu; its successor is placed before a fresh gang that came earlier."""
    names = sorted(node["metadata"]["name"] for node in ground.nodes())
    with ground.daemon(tmp_path, "--v=4") as daemon:
        # Kubelets see the room that this pod takes; the daemon does not, for its node is hidden from it meanwhile.
        ground.kubectl("label", "node", names[0], "pyroclast.test/ground=hidden", "--overwrite")
        ground.gang("torn", 3, "8")
        daemon.wait_for(lambda: ground.phase_of("torn") == "Running")
        ground.kubectl("label", "node", names[0], f"pyroclast.test/ground={ground.name}", "--overwrite")
        victim = ground.pods("torn")[0]
        refuse(ground, victim["metadata"]["name"])
        daemon.wait_for(lambda: "Failed" in ground.phases_of("torn"))
        ground.kubectl("delete", "pod", victim["metadata"]["name"], "--wait=true")
        ground.pod("torn-new", "8", group="torn")
        daemon.wait_for(lambda: ground.phases_of("torn") == ["Running"] * 3)

        assert len(set(ground.nodes_of("torn"))) == 3


def test_a_member_that_finds_its_node_full_is_replaced(ground: Ground, tmp_path: Path) -> None:
    """The daemon does not know of a pod that fills a node; the node refuses the member, and the gang is completed."""
    if ground.cluster.kind != "emulator":
        pytest.skip("only the emulator keeps an event from one watcher")
    names = sorted(node["metadata"]["name"] for node in ground.nodes())
    with ground.daemon(tmp_path) as daemon:
        hidden = {"effect": "drop", "resource": "pods", "namespace": ground.name, "name": "unseen"}
        tell_faults(ground.cluster.url, {**hidden, "user_agent": f"*({ground.name})*"})
        try:
            ground.pod("unseen", "8", schedulerName="default-scheduler", nodeName=names[0])
            daemon.wait_for(lambda: ground.phases_of("unseen") == ["Running"])
            ground.gang("blind", 4, "8")
            daemon.wait_for(lambda: "Failed" in ground.phases_of("blind"))
        finally:
            clear_faults(ground.cluster.url)
        (failed,) = [pod for pod in ground.pods("blind") if pod["status"]["phase"] == "Failed"]
        assert failed["status"]["reason"] == "OutOfcpu"
        assert failed["spec"]["nodeName"] == names[0]
        ground.remove("unseen")
        ground.kubectl("delete", "pod", failed["metadata"]["name"], "--wait=true")
        ground.pod("blind-again", "8", group="blind")
        daemon.wait_for(lambda: ground.phases_of("blind") == ["Running"] * 4)

        assert sorted(ground.nodes_of("blind")) == names


def refuse(ground: Ground, pod: str) -> None:
    """Fail a pod as a kubelet does that finds no room for it."""
    status = {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: Node didn't have enough resource"}
    path = f"/api/v1/namespaces/{ground.name}/pods/{pod}/status"
    answer = ground.client.send("PATCH", path, {"status": status}, as_type="application/merge-patch+json")
    assert answer.code == 200, answer.body


def test_a_gang_whose_binds_fail_in_part_is_completed(ground: Ground, tmp_path: Path) -> None:
    """Two of four binds are refused for good; they are placed again before other jobs."""
    if ground.cluster.kind != "emulator":
        pytest.skip("only the emulator refuses chosen binds")
    with ground.daemon(tmp_path) as daemon:
        binding = {"resource": "pods", "subresource": "binding", "namespace": ground.name, "effect": "error"}
        for number in (1, 2):
            tell_faults(ground.cluster.url, {**binding, "name": f"part-worker-{number}", "code": 403, "count": 1})
        try:
            ground.gang("part", 4, "5")
            daemon.wait_for(lambda: ground.phase_of("part") == "Running")
        finally:
            clear_faults(ground.cluster.url)

        assert len(set(ground.nodes_of("part"))) == 4
        daemon.wait_metric('pyroclast_binds_total{result="failed"}', 2)
        assert any("binding to node" in message for _, message in ground.events_of("part-worker-1"))


@pytest.mark.parametrize("effect", ["lost", "cut"])
def test_a_bind_whose_answer_is_lost_happens_once(ground: Ground, tmp_path: Path, effect: str) -> None:
    """The connection is cut after the bind, or before it: all the same, each pod is bound and nothing failed."""
    if ground.cluster.kind != "emulator":
        pytest.skip("only the emulator loses chosen answers")
    with ground.daemon(tmp_path) as daemon:
        words = {"resource": "pods", "subresource": "binding", "namespace": ground.name, "effect": effect, "count": 3}
        tell_faults(ground.cluster.url, words)
        try:
            ground.gang(effect, 6, "2")
            daemon.wait_for(lambda: ground.phase_of(effect) == "Running")
        finally:
            clear_faults(ground.cluster.url)

        daemon.wait_metric('pyroclast_binds_total{result="succeeded"}', 6)
        assert not daemon.metric('pyroclast_binds_total{result="failed"}')


def test_a_server_that_was_away_finds_the_daemon_at_work(ground: Ground, tmp_path: Path) -> None:
    """The server does not answer for some seconds; then pods created before and after are bound by the same process."""
    with ground.daemon(tmp_path) as daemon:
        ground.gang("before", 2, "1")
        with ground.cluster.away():
            cycles = daemon.cycles()
            daemon.wait_for(lambda: daemon.cycles() > cycles + 20)  # two seconds and more
            assert daemon.is_ready
        ground.gang("after", 2, "1")
        daemon.wait_for(lambda: ground.phase_of("before") == "Running" and ground.phase_of("after") == "Running")

        assert daemon.get_json("/debug/audit") == {"differences": []}
