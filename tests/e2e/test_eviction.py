"""Eviction as an operator sees it: with the configuration of Volcano's chart, unchanged, and with kubectl."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import AT_ONCE, GROUP_API, Ground, Object, queue, standing_on

CHART = """\
actions: "enqueue, allocate, backfill, reclaim, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: sla
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
    arguments:
      predicate.DynamicResourceAllocationEnable: true
  - name: proportion
  - name: nodeorder
  - name: binpack
  - name: network-topology-aware
"""
"""What Volcano's chart installs for those who evict."""

GRACE_SECONDS = 60
"""Time that a victim may take to end: a test that has looked at what waits for it ends it sooner."""
NODES = 4
RIVALS_QUEUE = "evicting-other"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs, another queue, and three priority classes."""
    flags = ("--termination-seconds", str(GRACE_SECONDS))
    folder = tmp_path_factory.mktemp("evicting")
    with standing_on(cluster_with_crds, "evicting", folder=folder, nodes=NODES, node_flags=flags) as ground:
        ground.create(f"{GROUP_API}/queues", queue(RIVALS_QUEUE))
        ground.client.create_priority_class("evicting-low", 10)
        ground.client.create_priority_class("evicting-high", 1000)
        ground.client.create_priority_class("evicting-top", 2000, preemptionPolicy="Never")
        ground.cluster.start_controllers()
        yield ground


@contextmanager
def scheduled(ground: Ground, folder: Path) -> Iterator[Daemon]:
    """Run a daemon with the chart's file; what was placed is gone afterwards."""
    file = folder / "volcano-scheduler.conf"
    file.write_text(CHART)
    try:
        with ground.daemon(folder, f"--scheduler-conf={file}") as daemon:
            yield daemon
    finally:
        ground.clear_workload()
        ground.client.send("DELETE", f"/apis/policy/v1/namespaces/{ground.name}/poddisruptionbudgets")


def fill(ground: Ground, daemon: Daemon, *, grace_seconds: int = GRACE_SECONDS) -> None:
    """Fill each node with a pod of little importance, which its gang can spare."""
    ground.group("filler", 1, priorityClassName="evicting-low")
    for number in range(NODES):
        ground.pod(
            f"filler-worker-{number}",
            "8",
            group="filler",
            priorityClassName="evicting-low",
            terminationGracePeriodSeconds=grace_seconds,
        )
    daemon.wait_for(lambda: ground.phases_of("filler") == ["Running"] * NODES)


def urgent(ground: Ground, name: str, priority: str = "evicting-high", **spec: Any) -> None:
    """Create a job of one pod that needs a whole node."""
    ground.group(name, 1, priorityClassName=priority)
    ground.pod(f"{name}-worker-0", "8", group=name, priorityClassName=priority, **spec)


def leaving(ground: Ground, gang: str) -> list[Object]:
    """Return the pods of a gang that are on their way out."""
    return [pod for pod in ground.pods(gang) if pod["metadata"].get("deletionTimestamp")]


def end(ground: Ground, pod: Object) -> None:
    """Let a pod that is on its way out be gone, as its kubelet does."""
    ground.client.send("DELETE", f"/api/v1/namespaces/{ground.name}/pods/{pod['metadata']['name']}", AT_ONCE)


def condition(pod: Object, kind: str) -> Object:
    """Return a condition of a pod; empty where it has none."""
    found: list[Object] = pod["status"].get("conditions", [])
    return next((each for each in found if each["type"] == kind), {})


def nominated(ground: Ground, gang: str) -> str:
    """Return the node that is kept for the first pod of a gang; empty where none is."""
    (pod, *_) = ground.pods(gang)
    node: str = pod["status"].get("nominatedNodeName", "")
    return node


def test_preemption_is_sent_as_it_happens(ground: Ground, tmp_path: Path) -> None:
    """The victim says who evicts it and why, the beneficiary where it will run; it is bound when the victim is gone."""
    with scheduled(ground, tmp_path) as daemon:
        fill(ground, daemon)
        urgent(ground, "urgent")
        daemon.wait_for(lambda: leaving(ground, "filler") != [])
        daemon.wait_for(lambda: nominated(ground, "urgent") != "")
        (victim,) = leaving(ground, "filler")
        name = victim["metadata"]["name"]
        daemon.wait_for(lambda: any(reason == "Evict" for reason, _ in ground.events_of(name)))
        daemon.wait_for(lambda: condition(leaving(ground, "filler")[0], "DisruptionTarget") != {})

        assert nominated(ground, "urgent") == victim["spec"]["nodeName"]
        assert ground.nodes_of("urgent") == [""]
        marked = condition(leaving(ground, "filler")[0], "DisruptionTarget")
        assert marked["reason"] == "PreemptionByScheduler"
        assert "urgent" in marked["message"]
        described = ground.kubectl("describe", "pod", name)
        assert "DisruptionTarget" in described
        assert "Evict" in described
        waiting = " ".join(ground.kubectl("describe", "pod", "urgent-worker-0").split())
        assert f"NominatedNodeName: {victim['spec']['nodeName']}" in waiting

        end(ground, victim)
        daemon.wait_for(lambda: ground.phases_of("urgent") == ["Running"])
        assert ground.nodes_of("urgent") == [victim["spec"]["nodeName"]]
        assert len(ground.pods("filler")) == NODES - 1


def test_reclaim_gives_a_queue_what_it_deserves(ground: Ground, tmp_path: Path) -> None:
    """Two queues of equal weight: the second takes back half, no more, victims and beneficiaries one by one."""
    with scheduled(ground, tmp_path) as daemon:
        fill(ground, daemon, grace_seconds=0)
        for number in range(3):
            ground.group(f"poor-{number}", 1, queue=RIVALS_QUEUE)
            ground.pod(f"poor-{number}-worker-0", "8", group=f"poor-{number}", gang="poor")
        daemon.wait_for(lambda: ground.phases_of("poor").count("Running") == 2)
        daemon.wait_cycles(5)

        assert sorted(ground.phases_of("poor")) == ["Pending", "Running", "Running"]
        assert ground.phases_of("filler") == ["Running"] * (NODES - 2)


def protect(ground: Ground, pod: str) -> None:
    """Let a disruption budget forbid that a pod is evicted."""
    ground.kubectl("label", "pod", pod, "protected=yes")
    path = f"/apis/policy/v1/namespaces/{ground.name}/poddisruptionbudgets"
    ground.create(
        path,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": pod},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"protected": "yes"}}},
        },
    )


def test_a_budget_that_the_server_holds_sends_the_daemon_to_another_victim(ground: Ground, tmp_path: Path) -> None:
    """The Eviction API says 429 for the first choice; the urgent job runs all the same, in another pod's place."""
    with scheduled(ground, tmp_path) as daemon:
        fill(ground, daemon, grace_seconds=0)
        # Nodes are alike, so the first by name is taken.
        first_choice = next(
            pod["metadata"]["name"]
            for pod in ground.pods("filler")
            if pod["spec"]["nodeName"] == min(node["metadata"]["name"] for node in ground.nodes())
        )
        protect(ground, first_choice)
        daemon.wait_for(lambda: budget_is_told(ground, first_choice))
        urgent(ground, "urgent")
        daemon.wait_for(lambda: ground.phases_of("urgent") == ["Running"])

        assert first_choice in {pod["metadata"]["name"] for pod in ground.pods("filler")}
        assert len(ground.pods("filler")) == NODES - 1
        daemon.wait_for(lambda: any("disruption budget" in said for _, said in ground.events_of("urgent-worker-0")))


def test_a_gang_that_cannot_go_whole_stays_whole(ground: Ground, tmp_path: Path) -> None:
    """A budget keeps one of two pods that would go together: both stay, until the budget is gone."""
    with scheduled(ground, tmp_path) as daemon:
        ground.group("pair", 2, priorityClassName="evicting-low")
        ground.group("rock", 1, priorityClassName="evicting-low")
        spare: dict[str, Any] = {"terminationGracePeriodSeconds": 0, "priorityClassName": "evicting-low"}
        for number in range(2):
            ground.pod(f"pair-worker-{number}", "8", group="pair", **spare)
        for number in range(NODES - 2):
            ground.pod(f"rock-worker-{number}", "8", group="rock", **spare)
            ground.kubectl("annotate", "pod", f"rock-worker-{number}", "volcano.sh/preemptable=false")
        daemon.wait_for(lambda: ground.phases_of("pair") + ground.phases_of("rock") == ["Running"] * NODES)
        protect(ground, "pair-worker-1")
        daemon.wait_for(lambda: budget_is_told(ground, "pair-worker-1"))
        ground.group("urgent", 2, priorityClassName="evicting-high")
        for number in range(2):
            ground.pod(f"urgent-worker-{number}", "8", group="urgent", priorityClassName="evicting-high")
        daemon.wait_for(lambda: any("disruption budget" in said for _, said in ground.events_of("urgent-worker-0")))
        daemon.wait_cycles(3)

        assert ground.phases_of("pair") == ["Running"] * 2
        assert leaving(ground, "pair") == []

        ground.client.send("DELETE", f"/apis/policy/v1/namespaces/{ground.name}/poddisruptionbudgets/pair-worker-1")
        daemon.wait_for(lambda: ground.phases_of("urgent") == ["Running"] * 2)
        assert ground.pods("pair") == []


def test_an_eviction_can_be_rehearsed(ground: Ground, tmp_path: Path) -> None:
    """A dry run is answered as the eviction would be, and nothing happens; it spends nothing of a budget."""
    with scheduled(ground, tmp_path) as daemon:
        fill(ground, daemon)
        protect(ground, "filler-worker-0")
        daemon.wait_for(lambda: budget_is_told(ground, "filler-worker-0"))

        assert rehearse(ground, "filler-worker-0") == (429, "DisruptionBudget")
        assert rehearse(ground, "filler-worker-1") == (201, "")
        assert leaving(ground, "filler") == []


def rehearse(ground: Ground, pod: str) -> tuple[int, str]:
    """Ask for a pod's eviction without effect; return status, and cause of a refusal."""
    path = f"/api/v1/namespaces/{ground.name}/pods/{pod}/eviction?dryRun=All"
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": ground.name}}
    answer = ground.client.send("POST", path, body)
    causes = (answer.body.get("details") or {}).get("causes") or [{}]
    return answer.code, causes[0].get("reason", "")


def budget_is_told(ground: Ground, name: str) -> bool:
    """Return whether the controller has looked at a budget."""
    path = f"/apis/policy/v1/namespaces/{ground.name}/poddisruptionbudgets/{name}"
    status = ground.client.send("GET", path).body.get("status", {})
    return bool(status.get("observedGeneration")) and status.get("currentHealthy", 0) > 0


def test_room_is_kept_for_its_beneficiary_by_a_daemon_that_was_killed(ground: Ground, tmp_path: Path) -> None:
    """Killed between eviction and bind: its successor gives the capacity to the nominated pod, and evicts nothing."""
    with scheduled(ground, tmp_path) as daemon:
        fill(ground, daemon)
        urgent(ground, "urgent")
        daemon.wait_for(lambda: leaving(ground, "filler") != [] and nominated(ground, "urgent") != "")
        (victim,) = leaving(ground, "filler")
        daemon.signal(signal.SIGKILL)
        # Before the room is free somebody comes who would be served first, but may evict nobody.
        urgent(ground, "rival", "evicting-top", preemptionPolicy="Never")
        folder = tmp_path / "successor"
        folder.mkdir()
        with scheduled(ground, folder) as successor:
            end(ground, victim)
            successor.wait_for(lambda: ground.phases_of("urgent") == ["Running"])
            successor.wait_cycles(5)

            assert ground.nodes_of("urgent") == [victim["spec"]["nodeName"]]
            assert ground.phases_of("filler") == ["Running"] * (NODES - 1)
            assert ground.nodes_of("rival") == [""]
