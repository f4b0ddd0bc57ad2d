"""The cache on an API server: it watches, executes plans, corrects its state, and publishes reports."""

import asyncio
from typing import Any

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.execution.first_queues import make_first_queues
from pyroclast.cache.options import StateOptions
from pyroclast.cache.sync.ring import HashRing, Ownership
from pyroclast.kube.api.client import MediaType
from pyroclast.kube.api.clock import SystemClock
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.plan import Bind, Eviction, Nomination, Plan
from pyroclast.model.report import CycleReport, EventNote, GroupCondition, GroupStatus, PodCondition, QueueAllocation
from pyroclast.model.tasks import TaskStatus
from tests.unit.cache.conftest import WatchedCluster

JOB = JobId("default/g")


def bind(uid: str, name: str, node: str = "n1") -> Bind:
    """Bind a pod of the group."""
    return Bind(
        task=TaskId(uid),
        job=JOB,
        namespace="default",
        name=name,
        node=NodeName(node),
        annotations={"decided": "yes"},
    )


def evict(uid: str, name: str) -> Eviction:
    """Evict a pod of the group."""
    return Eviction(
        task=TaskId(uid), job=JOB, namespace="default", name=name, node=NodeName("n1"), reason="preempt", message="why"
    )


def plan(*binds: Bind, evictions: tuple[Eviction, ...] = (), nominations: tuple[Nomination, ...] = ()) -> Plan:
    """A plan."""
    return Plan(
        number=0,
        cycle=1,
        configuration=1,
        action="allocate",
        job=JOB,
        queue=QueueName("default"),
        binds=binds,
        evictions=evictions,
        nominations=nominations,
    )


def report(**parts: Any) -> CycleReport:
    """A report that is empty except for the given parts."""
    nothing: dict[str, Any] = {
        "plans": (),
        "pipelined": {},
        "phases": {},
        "group_statuses": (),
        "pod_conditions": (),
        "queue_statuses": (),
        "events": (),
        "refusals": {},
        "task_refusals": {},
        "vetoes": {},
        "shares": {},
        "status_counts": {},
        "samples": (),
    }
    return CycleReport(cycle=1, configuration=1, **(nothing | parts))


async def started(watched: WatchedCluster, *members: str) -> list[str]:
    """Start the cache on a cluster of one node and a group with these members; return their UIDs."""
    await watched.node()
    await watched.world.pod_group("g", minMember=len(members), queue="default")
    uids = [await watched.member(name) for name in members]
    assert await watched.cache.take_over()
    assert await watched.cache.start(patience_seconds=10)
    return uids


def status_of(watched: WatchedCluster, uid: str) -> TaskStatus | None:
    """Return the status of a task in the cluster state."""
    task = watched.cache.state.task(TaskId(uid))
    return None if task is None else task.status


async def test_existing_objects_are_in_the_first_snapshot(watched: WatchedCluster) -> None:
    """Kinds that the server does not know count as empty."""
    await started(watched, "a", "b")
    snapshot = watched.cache.snapshot()

    assert snapshot.nodes.names == ("n1",)
    assert [len(job.tasks) for job in snapshot.jobs.values()] == [2]
    assert set(snapshot.queues) == {"root", "default"}
    assert watched.cache.lagging() == []


async def test_the_start_waits_until_pods_are_listed(watched: WatchedCluster) -> None:
    """While the server refuses to list pods, the start is not complete, and pods are named as lagging."""
    watched.world.faults.add(effect="error", verb="list", code=503, resource="pods", count=-1)

    assert not await watched.cache.start(patience_seconds=0.5)
    assert "Pod" in watched.cache.lagging()


async def test_changes_are_in_the_next_snapshot(watched: WatchedCluster) -> None:
    """A pod is created, and another pod is deleted."""
    await started(watched, "a")
    before = watched.cache.snapshot()
    await watched.member("b")
    await watched.seen("Pod", 2)
    assert watched.cache.snapshot().generation > before.generation

    await watched.world.delete_pod("b")
    await watched.seen("Pod", 1)
    assert [len(job.tasks) for job in watched.cache.snapshot().jobs.values()] == [1]


async def test_the_root_and_the_default_queue_are_created_once(watched: WatchedCluster) -> None:
    """`root` is not reclaimable, the default queue is. Existing queues do not change."""
    await watched.world.post(
        "/apis/scheduling.volcano.sh/v1beta1/queues",
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "default"},
            "spec": {"weight": 7},
        },
    )

    assert await make_first_queues(watched.world.client, SystemClock(), QueueName("default"))

    assert (await watched.queue("default"))["spec"] == {"weight": 7}
    assert (await watched.queue("root"))["spec"] == {"weight": 1, "reclaimable": False}


async def test_a_deleted_default_queue_is_created_again(watched: WatchedCluster) -> None:
    """Otherwise pods without a queue name would wait without end."""
    await started(watched, "a")
    assert not watched.cache.lacks_first_queues()

    await watched.world.client.request("DELETE", "/apis/scheduling.volcano.sh/v1beta1/queues/default")
    await watched.seen("Queue", 1)
    assert watched.cache.lacks_first_queues()

    assert await watched.cache.make_first_queues()
    await watched.seen("Queue", 2)
    assert not watched.cache.lacks_first_queues()


async def test_the_creation_of_default_queues_is_repeated_for_a_minute(watched: WatchedCluster) -> None:
    """Then the scheduler continues without them."""
    await watched.world.client.request(
        "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queues.scheduling.volcano.sh"
    )

    assert not await make_first_queues(watched.world.client, watched.clock, QueueName("default"))
    assert watched.clock.slept == [1.0] * 60


async def test_a_plan_is_assumed_bound_and_confirmed(watched: WatchedCluster) -> None:
    """The pod is Binding until the watch shows its node. It has the annotations of the binding and an event."""
    a, b = await started(watched, "a", "b")
    made = plan(bind(a, "a"), bind(b, "b"))
    assert watched.cache.assume(made)
    assert status_of(watched, a) is TaskStatus.BINDING

    await watched.cache.execute_plan(made)
    await watched.world.soon(lambda: not watched.cache.state.assumed())

    assert status_of(watched, a) is TaskStatus.BOUND
    pod = await watched.world.get_pod("a")
    assert (pod["spec"]["nodeName"], pod["metadata"]["annotations"]["decided"]) == ("n1", "yes")
    assert [event["message"] for event in await watched.events("Scheduled")] == [
        "Successfully assigned default/a to n1",
        "Successfully assigned default/b to n1",
    ]
    assert await watched.cache.audit() == []


async def test_a_plan_for_a_changed_cluster_is_refused(watched: WatchedCluster) -> None:
    """The pod is gone, so nothing is assumed."""
    a, b = await started(watched, "a", "b")
    await watched.world.delete_pod("b")
    await watched.seen("Pod", 1)

    assert not watched.cache.assume(plan(bind(a, "a"), bind(b, "b")))
    assert status_of(watched, a) is TaskStatus.PENDING


async def test_a_failed_bind_is_forgotten_and_reported(watched: WatchedCluster) -> None:
    """The other member stays bound, the gang is broken, and the condition of the pod has the reason."""
    a, b = await started(watched, "a", "b")
    made = plan(bind(a, "a"), bind(b, "b"))
    watched.world.faults.add(subresource="binding", name="b", code=403, message="not today")
    watched.cache.assume(made)
    await watched.cache.execute_plan(made)
    await watched.world.soon(lambda: not watched.cache.state.assumed())

    assert status_of(watched, b) is TaskStatus.PENDING
    assert watched.cache.snapshot().broken_gangs == {JOB}
    await watched.writers.statuses.drain()
    (condition,) = (await watched.world.get_pod("b"))["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")
    assert condition["message"] == "binding to node n1 failed: not today"
    assert len(await watched.events("FailedScheduling")) == 1


async def test_an_eviction_is_executed_and_reported(watched: WatchedCluster) -> None:
    """The pod is deleted. Pod and group have an event."""
    (a,) = await started(watched, "a")
    bound = plan(bind(a, "a"))
    watched.cache.assume(bound)
    await watched.cache.execute_plan(bound)
    await watched.world.soon(lambda: not watched.cache.state.assumed())
    leaving = plan(evictions=(evict(a, "a"),))
    assert watched.cache.assume(leaving)
    assert status_of(watched, a) is TaskStatus.RELEASING

    await watched.cache.execute_plan(leaving)
    await watched.world.soon(lambda: not watched.cache.state.assumed())

    messages = {
        (event["involvedObject"]["kind"], event["type"]): event["message"] for event in await watched.events("Evict")
    }
    assert messages == {("Pod", "Warning"): "why", ("PodGroup", "Normal"): "preempt"}


async def test_a_plan_whose_binds_all_fail_evicts_no_pod(watched: WatchedCluster) -> None:
    """The beneficiary is gone when its bind is sent. The victim stays and is no longer releasing."""
    a, b = await started(watched, "a", "b")
    first = plan(bind(a, "a"))
    watched.cache.assume(first)
    await watched.cache.execute_plan(first)
    await watched.world.soon(lambda: not watched.cache.state.assumed())
    made = plan(bind(b, "b"), evictions=(evict(a, "a"),))
    assert watched.cache.assume(made)
    await watched.world.delete_pod("b")

    await watched.cache.execute_plan(made)

    assert status_of(watched, a) is TaskStatus.BOUND
    assert "deletionTimestamp" not in (await watched.world.get_pod("a"))["metadata"]


async def test_nominations_are_written(watched: WatchedCluster) -> None:
    """The status of the pod has the nominated node."""
    (a,) = await started(watched, "a")
    nomination = Nomination(task=TaskId(a), job=JOB, namespace="default", name="a", node=NodeName("n1"))
    await watched.cache.execute_plan(plan(nominations=(nomination,)))
    await watched.writers.statuses.drain()

    assert (await watched.world.get_pod("a"))["status"]["nominatedNodeName"] == "n1"


async def test_a_report_is_published(watched: WatchedCluster) -> None:
    """It has a group status with conditions, a pod condition, a queue status and events."""
    (a,) = await started(watched, "a")
    group = watched.cache.state.stored("PodGroup")["default/g"]
    said = report(
        group_statuses=(
            GroupStatus(
                job=JOB,
                uid=group.metadata.uid,
                phase=PodGroupPhase.INQUEUE,
                running=0,
                succeeded=0,
                failed=0,
                conditions=(
                    GroupCondition(
                        type="Unschedulable", status="True", reason="NotEnoughResources", message="m", transition_id="7"
                    ),
                ),
                annotations={"x": "y"},
            ),
        ),
        pod_conditions=(
            PodCondition(task=TaskId(a), namespace="default", name="a", reason="Unschedulable", message="no room"),
        ),
        queue_statuses=(
            QueueAllocation(
                queue=QueueName("default"),
                allocated={"cpu": 1500, "memory": 2**30 * 1000, "pods": 1000, "x.y/gpu": 2000},
            ),
        ),
        events=(
            EventNote(
                kind="PodGroup",
                namespace="default",
                name="g",
                uid=group.metadata.uid,
                type="Warning",
                reason="Unschedulable",
                message="0/1 tasks",
            ),
        ),
    )

    watched.cache.write(said)
    await watched.writers.statuses.drain()

    written = await watched.world.client.request_json(
        "GET", "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/g"
    )
    assert written["status"]["phase"] == "Inqueue"
    (condition,) = written["status"]["conditions"]
    assert (condition["reason"], condition["transitionID"]) == ("NotEnoughResources", "7")
    assert written["metadata"]["annotations"] == {"x": "y"}
    pod = await watched.world.get_pod("a")
    assert [each["message"] for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"] == ["no room"]
    assert (await watched.queue("default"))["status"]["allocated"] == {
        "cpu": "1500m",
        "memory": "1Gi",
        "pods": "1",
        "x.y/gpu": "2",
    }
    assert len(await watched.events("Unschedulable")) == 1


async def test_an_assumed_pod_has_no_condition_of_a_waiting_pod(watched: WatchedCluster) -> None:
    """A condition that was decided before the pod was bound is stale."""
    (a,) = await started(watched, "a")
    watched.cache.assume(plan(bind(a, "a")))
    stale = PodCondition(task=TaskId(a), namespace="default", name="a", reason="Unschedulable", message="no room")

    watched.cache.write(report(pod_conditions=(stale,)))

    assert watched.writers.statuses.backlog == 0


async def test_an_overdue_bind_that_never_happened_is_forgotten(watched: WatchedCluster) -> None:
    """The pod that is read again has no node. It is pending, and its gang is broken."""
    (a,) = await started(watched, "a")
    watched.cache.assume(plan(bind(a, "a")))

    await watched.cache.resync(TaskId(a))

    assert status_of(watched, a) is TaskStatus.PENDING


async def test_an_overdue_bind_in_execution_is_extended(watched: WatchedCluster) -> None:
    """A volume may be provisioned for minutes. A second decision could send the pod to two nodes."""
    (a,) = await started(watched, "a")
    watched.world.faults.add(effect="hold", subresource="binding", delay_seconds=0.3, count=1)
    made = plan(bind(a, "a"))
    watched.cache.assume(made)
    executing = asyncio.create_task(watched.cache.execute_plan(made))
    await asyncio.sleep(0)

    await watched.cache.resync(TaskId(a))
    assert status_of(watched, a) is TaskStatus.BINDING

    await executing
    assert status_of(watched, a) in {TaskStatus.BINDING, TaskStatus.BOUND}
    assert not watched.cache._in_execution


async def test_an_overdue_bind_that_happened_is_extended(watched: WatchedCluster) -> None:
    """The watch lags, and the assumption stays until the watch shows the node."""
    (a,) = await started(watched, "a")
    await watched.cache.background.stop()
    made = plan(bind(a, "a"))
    watched.cache.assume(made)
    await watched.cache.execute_plan(made)
    before = watched.cache.state.assumed()[TaskId(a)].deadline

    await watched.cache.resync(TaskId(a))

    assert watched.cache.state.assumed()[TaskId(a)].deadline > before
    assert status_of(watched, a) is TaskStatus.BINDING


async def test_an_overdue_pod_that_is_gone_is_removed(watched: WatchedCluster) -> None:
    """It is removed even if the watch did not report its deletion."""
    (a,) = await started(watched, "a")
    await watched.cache.background.stop()
    watched.cache.assume(plan(bind(a, "a")))
    await watched.world.delete_pod("a")

    await watched.cache.resync(TaskId(a))

    assert status_of(watched, a) is None


async def test_a_broken_object_is_ignored_and_reported(watched: WatchedCluster) -> None:
    """A group whose minimum is not a number is ignored. Other objects are not affected."""
    await watched.world.pod_group("odd", minMember="three", queue="default")
    await started(watched, "a")

    assert [(fault.kind, fault.name) for fault in watched.faults] == [("PodGroup", "default/odd")]
    assert list(watched.cache.snapshot().jobs) == [JOB]


async def test_overdue_assumptions_are_checked_every_second(watched: WatchedCluster) -> None:
    """The pod of an overdue assumption is read, and then the cluster state is correct again."""
    (a,) = await started(watched, "a")
    watched.cache.state.assume(plan(bind(a, "a")), -1e9)

    await watched.world.soon(lambda: not watched.cache.state.assumed())

    assert status_of(watched, a) is TaskStatus.PENDING


async def test_an_unavailable_server_gets_one_request_per_check(watched: WatchedCluster) -> None:
    """Thousands of pods may be overdue, and each request would fail."""
    uids = await started(watched, "a", "b", "c")
    await watched.cache.background.stop()
    watched.world.faults.add(effect="error", verb="get", resource="pods", code=503)
    watched.cache.state.assume(plan(*(bind(uid, name) for uid, name in zip(uids, "abc", strict=True))), -1e9)

    await watched.cache._resync_overdue()
    assert watched.world.faults.used == 1

    watched.world.faults.clear()
    await watched.cache._resync_overdue()
    assert not watched.cache.state.assumed()


async def test_an_audit_runs_in_another_thread_and_finds_drift(watched: WatchedCluster) -> None:
    """It reports a fault that the test adds to the running state."""
    (a,) = await started(watched, "a")
    assert await watched.cache.audit() == []
    state = watched.cache.state
    known = state.task(TaskId(a))
    assert known is not None
    state._replace(known, known.moved(TaskStatus.RUNNING, NodeName("n1")))

    found = await watched.cache.audit()

    assert {difference.split(":")[0] for difference in found} == {"jobs default/g", "nodes n1"}


async def test_the_shard_status_lists_the_nodes_in_use(watched: WatchedCluster) -> None:
    """The status of this scheduler's NodeShard lists its nodes, and the nodes to add."""
    world = watched.world
    await world.define("nodeshards", "NodeShard", group="shard.volcano.sh", version="v1alpha1", has_status=True)
    shard = {"apiVersion": "shard.volcano.sh/v1alpha1", "kind": "NodeShard"}
    path = "/apis/shard.volcano.sh/v1alpha1/nodeshards"
    await world.post(path, shard | {"metadata": {"name": "volcano"}, "spec": {"nodesDesired": ["n2", "n1"]}})
    await world.post(path, shard | {"metadata": {"name": "other"}})
    await world.client.request_json(
        "PATCH",
        f"{path}/other/status",
        body={"status": {"nodesInUse": ["n2"]}},
        media_type=MediaType.MERGE_PATCH,
    )
    cache = SchedulerCache(world.client, watched.writers, StateOptions(shard_mode="hard"), audit_seconds=0)
    assert await cache.start(patience_seconds=10)
    cache.write(report())
    status = {"nodesInUse": ["n1"], "nodesToAdd": ["n2"], "nodesToRemove": []}
    await world.soon(lambda: len(cache.state.stored("NodeShard")["volcano"].status.nodes_in_use) == 1)

    assert (await world.client.request_json("GET", f"{path}/volcano"))["status"] == status
    await cache.stop()


async def test_two_schedulers_on_a_ring_divide_the_objects(watched: WatchedCluster) -> None:
    """In a ring of two, each node and each pod is in exactly one of the two caches."""
    ring = HashRing(("volcano-0", "volcano-1"))
    for number in range(6):
        await watched.node(f"n{number}")
        await watched.member(f"p{number}")
    caches = [
        SchedulerCache(
            watched.world.client, watched.writers, StateOptions(ownership=Ownership(ring, member)), audit_seconds=0
        )
        for member in ring.members
    ]
    for cache in caches:
        assert await cache.start(patience_seconds=10)

    for kind in ("Node", "Pod"):
        one, other = (set(cache.state.stored(kind)) for cache in caches)
        assert len(one) + len(other) == 6
        assert not one & other
    for cache in caches:
        await cache.stop()
