"""The cluster state of objects."""

from typing import Any

import numpy as np
import pytest

from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.node_selector import NodeFilter
from pyroclast.cache.sync.ring import HashRing, Ownership
from pyroclast.model import wire
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import JobId, NodeName, QueueName
from pyroclast.model.jobs import NO_QUEUE
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import TaskStatus
from tests.unit.cache.builders import filled, group, node, pod, queue, task, used


def reasons(snapshot: Snapshot) -> dict[str, str]:
    """Return the reason of each orphan pod."""
    return {each.task.name: each.refusal.reason for each in snapshot.orphan_pods}


def test_an_unchanged_cluster_has_the_same_snapshot() -> None:
    """The object and the generation are the same."""
    cluster_state = filled(ClusterState(), queue(), node(), group("g"), pod("p", group="g"))

    first = cluster_state.snapshot()

    assert cluster_state.snapshot() is first


def test_a_heartbeat_changes_nothing() -> None:
    """An update of a Node that differs only in times does not make a new snapshot."""
    cluster_state = filled(ClusterState(), node())
    first = cluster_state.snapshot()
    condition = wire.Condition(type="Ready", status="True", last_transition_time="2026-01-01T00:00:00Z")
    beaten = wire.Node(metadata=node().metadata, status=wire.NodeStatus(allocatable=node().status.allocatable))
    cluster_state.apply("Node", beaten)

    assert cluster_state.snapshot() is first
    ready = wire.NodeStatus(allocatable=node().status.allocatable, conditions=(condition,))
    cluster_state.apply("Node", wire.Node(metadata=node().metadata, status=ready))
    assert cluster_state.snapshot() is not first


def test_an_old_snapshot_does_not_change() -> None:
    """The input of a cycle stays the same, and it is read-only."""
    cluster_state = filled(ClusterState(), queue(), node(), group("g"), pod("p", group="g", cpu="1"))
    before = cluster_state.snapshot()
    filled(cluster_state, pod("p", group="g", node="n1", cpu="1", phase="Running"))

    assert before.nodes.state.sum() == 0
    assert before.jobs[JobId("ns/g")].tasks[task(cluster_state, "p").id].status is TaskStatus.PENDING
    with pytest.raises(ValueError, match="read-only"):
        before.nodes.state[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        before.job_table.counts[0, 0] = 1


def test_nodes_are_sorted_by_name() -> None:
    """The order of their events has no effect, and the columns have the order of the names."""
    cluster_state = filled(ClusterState(), node("b"), node("c", cpu="1"), node("a", cpu="2"))
    cluster_state.snapshot()
    filled(cluster_state, node("aa", cpu="3"))

    nodes = cluster_state.snapshot().nodes

    assert nodes.names == ("a", "aa", "b", "c")
    assert list(nodes.allocatable[0]) == [2000, 3000, 4000, 1000]
    assert [each.name for each in nodes.facts.nodes] == ["a", "aa", "b", "c"]


def test_facts_are_shared_while_no_node_changes() -> None:
    """Masks computed from Node objects stay valid while pods change."""
    cluster_state = filled(ClusterState(), queue(), node(), group("g"))
    facts = cluster_state.snapshot().nodes.facts
    filled(cluster_state, pod("p", group="g", node="n1", cpu="1", phase="Running"))

    assert cluster_state.snapshot().nodes.facts is facts


@pytest.mark.parametrize(
    ("phase", "leaving", "blocks"),
    [
        ("Pending", False, (1000, 0, 1000, 1000)),
        ("Running", False, (1000, 0, 1000, 1000)),
        ("Running", True, (1000, 1000, 1000, 1000)),
        ("Unknown", False, (1000, 0, 1000, 1000)),
        ("Succeeded", False, (0, 0, 0, 0)),
        ("Failed", True, (0, 0, 0, 0)),
    ],
)
def test_the_amounts_of_a_task_on_its_node(phase: str, leaving: bool, blocks: tuple[int, int, int, int]) -> None:
    """Releasing tasks count as used and releasing. Finished tasks do not count. All others count as used."""
    cluster_state = filled(ClusterState(), node(), pod("p", node="n1", phase=phase, leaving=leaving, cpu="1"))
    table = cluster_state.snapshot().nodes
    cpu = [int(table.state[block, 0][0]) for block in (table.rows.used, table.rows.releasing, table.rows.viewed)]

    assert (*cpu, int(table.state[table.rows.scored, 0][0])) == blocks
    assert len(table.tasks[0]) == bool(blocks[0])


def test_a_new_resource_name_keeps_all_amounts() -> None:
    """The space grows, rows move and are rescaled, and the numbers stay exact."""
    offered: dict[str, Any] = {"cpu": "4", "pods": "10", "nvidia.com/gpu": "8"}
    asked: dict[str, Any] = {"nvidia.com/gpu": "2"}
    more: dict[str, Any] = {"aaa.com/x": "3", "nvidia.com/gpu": "500m"}
    running = pod("p", group="g", node="n1", phase="Running", **asked)
    cluster_state = filled(ClusterState(), queue(), node(**offered), group("g"), running)
    before = used(cluster_state)
    filled(cluster_state, pod("q", group="g", **more))

    assert used(cluster_state) == before == {"pods": 1000, "nvidia.com/gpu": 2000}
    snapshot = cluster_state.snapshot()
    column = snapshot.jobs[JobId("ns/g")].column
    assert snapshot.resources.amounts(snapshot.job_table.total[:, column]) == {
        "pods": 2000,
        "aaa.com/x": 3000,
        "nvidia.com/gpu": 2500,
    }


def test_the_job_table_counts_by_status() -> None:
    """It has pending, allocated, gated and total requests, and the number of tasks by status."""
    cluster_state = filled(
        ClusterState(),
        queue(),
        node(),
        group("g", minimum=2, phase="Inqueue", min_resources={"cpu": "3"}),
        pod("a", group="g", cpu="1"),
        pod("b", group="g", node="n1", phase="Running", cpu="2"),
        pod("c", group="g", cpu="4", gates="some.example.com/gate"),
        pod("d", group="g", cpu="8", gates="scheduling.volcano.sh/queue-allocation-gate"),
        pod("e", group="g"),
    )
    snapshot = cluster_state.snapshot()
    table, column = snapshot.job_table, snapshot.jobs[JobId("ns/g")].column

    assert table.counts[TaskStatus.PENDING, column] == 4
    assert table.counts[TaskStatus.RUNNING, column] == 1
    assert table.pending_best_effort[column] == 1
    assert [int(each[0, column]) for each in (table.allocated, table.pending, table.total, table.gated)] == [
        2000,
        13000,
        15000,
        4000,
    ]
    assert (table.min_available[column], table.min_resources[0, column]) == (2, 3000)
    assert (bool(table.has_min_resources[column]), bool(table.phase_inqueue[column])) == (True, True)
    assert snapshot.queue_names[table.queue[column]] == "q"


def test_jobs_and_tasks_are_sorted_by_id() -> None:
    """The order of events has no effect."""
    cluster_state = filled(ClusterState(), queue(), group("b"), group("a"), pod("z", group="a"), pod("y", group="a"))

    jobs = cluster_state.snapshot().jobs

    assert list(jobs) == ["ns/a", "ns/b"]
    assert list(jobs[JobId("ns/a")].tasks) == ["y", "z"]


def test_orphan_pods_have_a_reason() -> None:
    """The pod names no group, or its group or queue is missing, or its group or the pod itself is broken."""
    cluster_state = filled(
        ClusterState(),
        queue(),
        group("lost", queue="nowhere"),
        group("broken", min_resources={"cpu": "-4"}),
        pod("none"),
        pod("missing", group="missing"),
        pod("lost", group="lost"),
        pod("broken", group="broken"),
        pod("odd", group="lost", cpu="much"),
        pod("running", node="n1", phase="Running"),
        pod("foreign", scheduler="default-scheduler"),
    )

    assert reasons(cluster_state.snapshot()) == {
        "none": "NoPodGroup",
        "missing": "PodGroupNotFound",
        "lost": "QueueNotFound",
        "broken": "InvalidPodGroup",
        "odd": "InvalidPod",
    }


def test_a_broken_queue_affects_only_its_own_jobs() -> None:
    """The message names the queue and the field."""
    cluster_state = filled(
        ClusterState(),
        queue("bad", capability={"cpu": "lots"}),
        queue(),
        group("b", queue="bad"),
        group("g"),
        pod("p", group="b"),
        pod("q", group="g"),
    )
    snapshot = cluster_state.snapshot()

    assert list(snapshot.jobs) == ["ns/g"]
    (orphan,) = snapshot.orphan_pods
    assert orphan.refusal.reason == "InvalidQueue"
    assert orphan.refusal.message == "queue bad: spec.capability: 'lots' is not a quantity"


def test_a_broken_pod_counts_as_one_pod_of_its_node() -> None:
    """It is reported once with its name and the path of the field."""
    seen: list[ObjectError] = []
    cluster_state = filled(ClusterState(report=seen.append), node(), pod("p", node="n1", phase="Running", cpu="much"))

    assert used(cluster_state) == {"pods": 1000}
    assert [(fault.name, fault.path) for fault in seen] == [("ns/p", "spec.containers[0].resources.requests.cpu")]
    assert cluster_state.fault_counts == {"Pod": 1}


def test_a_job_is_in_the_snapshot_while_its_queue_exists() -> None:
    """While the queue is missing, the column of the job keeps its numbers and has no queue."""
    cluster_state = filled(ClusterState(), group("g"), pod("p", group="g", cpu="1"))
    assert not cluster_state.snapshot().jobs

    filled(cluster_state, queue())
    assert list(cluster_state.snapshot().jobs) == ["ns/g"]

    cluster_state.remove("Queue", queue())
    snapshot = cluster_state.snapshot()
    assert not snapshot.jobs
    assert list(snapshot.job_table.queue) == [NO_QUEUE]
    assert snapshot.job_table.counts[TaskStatus.PENDING, 0] == 1


def test_a_group_without_a_queue_name_is_in_the_default_queue() -> None:
    """An empty `spec.queue` means the configured default queue."""
    cluster_state = ClusterState(StateOptions(default_queue=QueueName("q")))
    filled(cluster_state, queue(), group("g", queue=""))

    assert cluster_state.snapshot().jobs[JobId("ns/g")].queue == "q"


def test_the_priority_class_determines_the_priority() -> None:
    """It is the named class, or the global default, or 0. A change of a class affects existing jobs."""
    cluster_state = filled(ClusterState(), queue(), group("g", priority_class_name="high"), group("h"))
    assert [job.priority for job in cluster_state.snapshot().jobs.values()] == [0, 0]

    high = wire.PriorityClass(metadata=wire.ObjectMeta(name="high"), value=9)
    base = wire.PriorityClass(metadata=wire.ObjectMeta(name="base"), value=3, global_default=True)
    filled(cluster_state, high, base)
    assert [job.priority for job in cluster_state.snapshot().jobs.values()] == [9, 3]

    cluster_state.remove("PriorityClass", base)
    assert [job.priority for job in cluster_state.snapshot().jobs.values()] == [9, 0]


def test_an_empty_queue_state_is_open() -> None:
    """A queue whose status no controller has written accepts jobs."""
    queues = filled(ClusterState(), queue("new"), queue("shut", state="Closed")).snapshot().queues

    assert [queues[QueueName(name)].is_open for name in ("new", "shut")] == [True, False]


def test_a_node_that_is_created_again_has_the_same_usage() -> None:
    """The deletion of a Node object does not change the accounting of its pods."""
    cluster_state = filled(ClusterState(), node(), pod("p", node="n1", phase="Running", cpu="1"))
    cluster_state.remove("Node", node())
    assert not cluster_state.snapshot().nodes.names

    filled(cluster_state, node())

    assert used(cluster_state) == {"cpu": 1000, "pods": 1000}


def test_a_pod_may_be_known_before_its_node() -> None:
    """A node without an object is not in the table."""
    cluster_state = filled(ClusterState(), pod("p", node="n1", phase="Running", cpu="1"))
    assert len(cluster_state.snapshot().nodes) == 0

    assert used(filled(cluster_state, node())) == {"cpu": 1000, "pods": 1000}


def test_pods_of_other_schedulers_only_use_resources() -> None:
    """A bound pod of another scheduler counts on its node. A pending one is ignored."""
    cluster_state = filled(
        ClusterState(),
        node(),
        pod("bound", scheduler="default-scheduler", node="n1", phase="Running", cpu="1"),
        pod("waiting", scheduler="default-scheduler", cpu="1"),
    )

    assert used(cluster_state) == {"cpu": 1000, "pods": 1000}
    assert not cluster_state.snapshot().orphan_pods


def test_every_pod_is_scheduled_if_scheduler_names_are_ignored() -> None:
    """Simulations use this option."""
    cluster_state = ClusterState(StateOptions(ignore_scheduler_name=True))
    filled(cluster_state, queue(), group("g"), pod("p", group="g", scheduler="default-scheduler"))

    assert len(cluster_state.snapshot().jobs[JobId("ns/g")].tasks) == 1


def test_a_pod_without_a_group_is_a_gang_of_one_with_the_option_single() -> None:
    """The job is in the queue that the pod names, and is removed with the pod."""
    cluster_state = ClusterState(StateOptions(ungrouped_pods="single"))
    filled(cluster_state, queue(), pod("p", cpu="1", annotations={"scheduling.volcano.sh/queue-name": "q"}))
    (job,) = cluster_state.snapshot().jobs.values()

    assert (job.id, job.min_available, job.queue, job.phase) == ("ns/podgroup-p", 1, "q", PodGroupPhase.PENDING)
    assert cluster_state.is_made_up(job.id)
    assert not cluster_state.snapshot().orphan_pods

    cluster_state.remove("Pod", pod("p"))
    assert not cluster_state.snapshot().jobs


def test_a_gang_of_one_joins_the_group_that_a_controller_adds() -> None:
    """The made-up group is removed."""
    cluster_state = ClusterState(StateOptions(ungrouped_pods="single", default_queue=QueueName("q")))
    filled(cluster_state, queue(), pod("p"))
    filled(cluster_state, group("g"), pod("p", group="g"))

    assert list(cluster_state.snapshot().jobs) == ["ns/g"]


def test_a_node_that_stops_matching_the_selector_is_removed() -> None:
    """It is added again with its usage when it matches again."""
    cluster_state = ClusterState(StateOptions(node_selector=NodeFilter.parse(["pool:batch", "broken"])))
    filled(cluster_state, node(labels={"pool": "batch"}), pod("p", node="n1", phase="Running", cpu="1"))
    assert cluster_state.snapshot().nodes.names == ("n1",)

    filled(cluster_state, node(labels={"pool": "web"}))
    assert cluster_state.snapshot().nodes.names == ()

    filled(cluster_state, node(labels={"pool": "batch"}))
    assert used(cluster_state) == {"cpu": 1000, "pods": 1000}


def test_each_object_belongs_to_one_scheduler_of_a_ring() -> None:
    """Each pod, group and node is in the state of exactly one of two schedulers."""
    ring = HashRing(("s-0", "s-1"))
    both = [ClusterState(StateOptions(ownership=Ownership(ring, member))) for member in ring.members]
    for number in range(20):
        for cluster_state in both:
            filled(cluster_state, queue(), node(f"n{number}"), group(f"g{number}"), pod(f"p{number}"))
    snapshots = [cluster_state.snapshot() for cluster_state in both]

    for count in (
        [len(each.nodes) for each in snapshots],
        [len(each.jobs) for each in snapshots],
        [len(each.orphan_pods) for each in snapshots],
    ):
        assert sum(count) == 20
        assert min(count) > 0


def test_pods_of_one_owner_belong_to_one_scheduler_of_a_ring() -> None:
    """The key is the name of the owner, for pods and for their group."""
    ring = HashRing(("s-0", "s-1"))
    owner = ring.owner("train")
    cluster_state = ClusterState(StateOptions(ownership=Ownership(ring, owner)))
    filled(cluster_state, *(pod(f"p{number}", owner="train") for number in range(10)))

    assert len(cluster_state.snapshot().orphan_pods) == 10


def test_a_shard_lacks_the_nodes_that_other_shards_use() -> None:
    """Nodes 1 to 4 are desired, and other shards use 2, 3 and 4, so node 1 is left. A missing shard has no nodes."""

    def shard(name: str, desired: tuple[str, ...], used_now: tuple[str, ...] = ()) -> wire.NodeShard:
        return wire.NodeShard(
            metadata=wire.ObjectMeta(name=name),
            spec=wire.NodeShardSpec(nodes_desired=desired),
            status=wire.NodeShardStatus(nodes_in_use=used_now),
        )

    cluster_state = ClusterState(StateOptions(shard_mode="hard", shard_name="mine"))
    filled(cluster_state, *(node(f"n{number}") for number in range(1, 5)))
    assert not cluster_state.snapshot().nodes.in_shard.any()

    filled(
        cluster_state, shard("mine", ("n1", "n2", "n3", "n4")), shard("a", (), ("n2",)), shard("b", (), ("n3", "n4"))
    )
    assert list(cluster_state.snapshot().nodes.in_shard) == [True, False, False, False]

    cluster_state.remove("NodeShard", shard("b", ()))
    assert list(cluster_state.snapshot().nodes.in_shard) == [True, False, True, True]

    cluster_state.remove("NodeShard", shard("mine", ()))
    assert not cluster_state.snapshot().nodes.in_shard.any()


def test_all_nodes_are_in_the_shard_without_sharding() -> None:
    """The mode `none` ignores NodeShard objects."""
    assert filled(ClusterState(), node()).snapshot().nodes.in_shard.all()


def test_a_new_pod_with_the_same_name_replaces_the_old_one() -> None:
    """The old UID is forgotten, even if its deletion was not reported."""
    cluster_state = filled(
        ClusterState(), queue(), node(), group("g"), pod("p", group="g", node="n1", phase="Running", cpu="1")
    )
    filled(cluster_state, pod("p", group="g", uid="other", cpu="1"))
    (job,) = cluster_state.snapshot().jobs.values()

    assert [(each.id, each.status) for each in job.tasks.values()] == [("other", TaskStatus.PENDING)]
    assert used(cluster_state) == {}


def test_a_new_group_survives_the_late_deletion_of_the_old_one() -> None:
    """A deletion applies to a UID, not to a name."""
    cluster_state = filled(ClusterState(), queue(), group("g", uid="second"))
    cluster_state.remove("PodGroup", group("g", uid="first"))

    assert list(cluster_state.snapshot().jobs) == ["ns/g"]


def test_a_job_without_its_group_is_removed_and_its_running_pods_stay_accounted() -> None:
    """Its running pods count on their nodes until they are gone."""
    cluster_state = filled(
        ClusterState(), queue(), node(), group("g"), pod("p", group="g", node="n1", phase="Running", cpu="1")
    )
    cluster_state.remove("PodGroup", group("g"))

    assert not cluster_state.snapshot().jobs
    assert used(cluster_state) == {"cpu": 1000, "pods": 1000}
    cluster_state.remove("Pod", pod("p"))
    assert used(cluster_state) == {}
    assert not cluster_state.snapshot().job_table.counts.any()


def test_placed_tasks_with_affinity_are_listed() -> None:
    """Only tasks on nodes of the table are listed."""

    def with_anti_affinity(name: str, on: str) -> wire.Pod:
        made = pod(name, node=on, phase="Running" if on else "Pending", group="g")
        spec = wire.PodSpec(
            scheduler_name="volcano", node_name=on, affinity=wire.Affinity(pod_anti_affinity=wire.PodAffinity())
        )
        return wire.Pod(metadata=made.metadata, spec=spec, status=made.status)

    cluster_state = filled(
        ClusterState(),
        node(),
        with_anti_affinity("b", "n1"),
        with_anti_affinity("a", "n1"),
        with_anti_affinity("c", ""),
        with_anti_affinity("d", "unknown"),
    )

    assert [each.id for each in cluster_state.snapshot().tasks_with_affinity] == ["a", "b"]


def test_lookups_are_frozen_and_shared_until_their_kind_changes() -> None:
    """A change of another kind copies nothing."""
    space = wire.Namespace(metadata=wire.ObjectMeta(name="ns"))
    service = wire.Service(metadata=wire.ObjectMeta(name="s", namespace="ns"))
    cluster_state = filled(ClusterState(), space)
    before = cluster_state.snapshot().objects
    filled(cluster_state, service)
    after = cluster_state.snapshot().objects

    assert after.namespaces is before.namespaces
    assert (dict(before.services), dict(after.services)) == ({}, {"ns/s": service})


def test_templates_of_deleted_pods_are_forgotten() -> None:
    """Memory does not grow without end while new templates appear."""
    cluster_state = ClusterState()
    for number in range(5000):
        filled(cluster_state, pod("p", node="n1", phase="Running", cpu=f"{number + 1}m"))
        cluster_state.snapshot()

    assert len(cluster_state.translator.templates) <= 1001


def test_freed_columns_are_reused() -> None:
    """The number of columns is the largest number of jobs at one time."""
    cluster_state = filled(ClusterState(), queue())
    for number in range(500):
        filled(cluster_state, group(f"g{number}"), pod("p", group=f"g{number}", uid=f"u{number}"))
        cluster_state.remove("PodGroup", group(f"g{number}"))
        cluster_state.remove("Pod", pod("p", uid=f"u{number}"))
    snapshot = cluster_state.snapshot()

    assert snapshot.job_table.counts.shape[1] <= 2
    assert np.all(snapshot.job_table.queue == NO_QUEUE)


def test_a_node_of_another_ring_member_is_not_used() -> None:
    """Only pods of this scheduler are tracked on it."""
    ring = HashRing(("s-0", "s-1"))
    ours = Ownership(ring, "s-0")
    name = next(f"n{number}" for number in range(99) if ring.owner(f"n{number}") == "s-1")
    cluster_state = ClusterState(StateOptions(ownership=ours))
    filled(cluster_state, node(name), pod("p", node=name, phase="Running", scheduler="other"))

    assert NodeName(name) not in cluster_state.snapshot().nodes.column
    assert not cluster_state.stored("Pod")
