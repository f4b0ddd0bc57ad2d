"""The cache on a server: it follows, carries out, corrects itself, writes and reports."""

import asyncio
from typing import Any

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.execution.first_queues import make_first_queues
from pyroclast.cache.options import StateOptions
from pyroclast.cache.sync.ring import HashRing, Ownership
from pyroclast.kube.client import MediaType
from pyroclast.kube.clock import SystemClock
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.plan import Bind, Eviction, Nomination, Plan
from pyroclast.model.report import CycleReport, EventNote, GroupCondition, GroupStatus, PodCondition, QueueAllocation
from pyroclast.model.tasks import TaskStatus
from tests.unit.cache.conftest import Following

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
    """A report that says nothing but what is given."""
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


async def started(following: Following, *members: str) -> list[str]:
    """Start the cache on a cluster of one node and a group with these members; return their UIDs."""
    await following.node()
    await following.world.pod_group("g", minMember=len(members), queue="default")
    uids = [await following.member(name) for name in members]
    assert await following.cache.take_over()
    assert await following.cache.start(patience_seconds=10)
    return uids


def status_of(following: Following, uid: str) -> TaskStatus | None:
    """The status of a task in the books."""
    task = following.cache.state.task(TaskId(uid))
    return None if task is None else task.status


async def test_what_is_there_is_in_the_first_snapshot(following: Following) -> None:
    """Kinds that the server lacks count as empty."""
    await started(following, "a", "b")
    snapshot = following.cache.snapshot()

    assert snapshot.nodes.names == ("n1",)
    assert [len(job.tasks) for job in snapshot.jobs.values()] == [2]
    assert set(snapshot.queues) == {"root", "default"}
    assert following.cache.lagging() == []


async def test_changes_reach_the_next_snapshot(following: Following) -> None:
    """A new pod, and a deleted one."""
    await started(following, "a")
    before = following.cache.snapshot()
    await following.member("b")
    await following.seen("Pod", 2)
    assert following.cache.snapshot().generation > before.generation

    await following.world.delete_pod("b")
    await following.seen("Pod", 1)
    assert [len(job.tasks) for job in following.cache.snapshot().jobs.values()] == [1]


async def test_first_queues_are_made_once(following: Following) -> None:
    """`root` cannot be reclaimed from, the default queue can; existing ones are left alone."""
    await following.world.post(
        "/apis/scheduling.volcano.sh/v1beta1/queues",
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": "default"},
            "spec": {"weight": 7},
        },
    )

    assert await make_first_queues(following.world.client, SystemClock(), QueueName("default"))

    assert (await following.queue("default"))["spec"] == {"weight": 7}
    assert (await following.queue("root"))["spec"] == {"weight": 1, "reclaimable": False}


async def test_a_first_queue_that_is_deleted_is_missed(following: Following) -> None:
    """Work that names no queue would wait for ever: it is made again."""
    await started(following, "a")
    assert not following.cache.lacks_first_queues()

    await following.world.client.request("DELETE", "/apis/scheduling.volcano.sh/v1beta1/queues/default")
    await following.seen("Queue", 1)
    assert following.cache.lacks_first_queues()

    assert await following.cache.make_first_queues()
    await following.seen("Queue", 2)
    assert not following.cache.lacks_first_queues()


async def test_a_server_without_queues_is_asked_a_minute_long(following: Following) -> None:
    """Then the scheduler goes on without."""
    await following.world.client.request(
        "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/queues.scheduling.volcano.sh"
    )

    assert not await make_first_queues(following.world.client, following.clock, QueueName("default"))
    assert following.clock.slept == [1.0] * 60


async def test_a_plan_is_assumed_bound_and_echoed(following: Following) -> None:
    """Binding until the watch shows the node; the pod has the binding's annotations and an event."""
    a, b = await started(following, "a", "b")
    made = plan(bind(a, "a"), bind(b, "b"))
    assert following.cache.assume(made)
    assert status_of(following, a) is TaskStatus.BINDING

    await following.cache.execute_plan(made)
    await following.world.soon(lambda: not following.cache.state.assumed())

    assert status_of(following, a) is TaskStatus.BOUND
    pod = await following.world.get_pod("a")
    assert (pod["spec"]["nodeName"], pod["metadata"]["annotations"]["decided"]) == ("n1", "yes")
    assert [event["message"] for event in await following.events("Scheduled")] == [
        "Successfully assigned default/a to n1",
        "Successfully assigned default/b to n1",
    ]
    assert await following.cache.audit() == []


async def test_a_plan_for_a_changed_cluster_is_refused(following: Following) -> None:
    """The pod is gone: nothing is assumed."""
    a, b = await started(following, "a", "b")
    await following.world.delete_pod("b")
    await following.seen("Pod", 1)

    assert not following.cache.assume(plan(bind(a, "a"), bind(b, "b")))
    assert status_of(following, a) is TaskStatus.PENDING


async def test_a_failed_bind_is_forgotten_and_told(following: Following) -> None:
    """The other member stays bound; the gang is to be repaired first; the pod's condition says why."""
    a, b = await started(following, "a", "b")
    made = plan(bind(a, "a"), bind(b, "b"))
    following.world.faults.add(subresource="binding", name="b", code=403, message="not today")
    following.cache.assume(made)
    await following.cache.execute_plan(made)
    await following.world.soon(lambda: not following.cache.state.assumed())

    assert status_of(following, b) is TaskStatus.PENDING
    assert following.cache.snapshot().broken_gangs == {JOB}
    await following.writers.statuses.drain()
    (condition,) = (await following.world.get_pod("b"))["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")
    assert condition["message"] == "binding to node n1 failed: not today"
    assert len(await following.events("FailedScheduling")) == 1


async def test_an_eviction_is_carried_out_and_told(following: Following) -> None:
    """The pod leaves; pod and group have their events."""
    (a,) = await started(following, "a")
    bound = plan(bind(a, "a"))
    following.cache.assume(bound)
    await following.cache.execute_plan(bound)
    await following.world.soon(lambda: not following.cache.state.assumed())
    leaving = plan(evictions=(evict(a, "a"),))
    assert following.cache.assume(leaving)
    assert status_of(following, a) is TaskStatus.RELEASING

    await following.cache.execute_plan(leaving)
    await following.world.soon(lambda: not following.cache.state.assumed())

    told = {
        (event["involvedObject"]["kind"], event["type"]): event["message"] for event in await following.events("Evict")
    }
    assert told == {("Pod", "Warning"): "why", ("PodGroup", "Normal"): "preempt"}


async def test_nobody_is_evicted_for_a_plan_that_binds_nothing(following: Following) -> None:
    """The beneficiary is gone when its bind arrives: the victim stays, and is no longer releasing."""
    a, b = await started(following, "a", "b")
    first = plan(bind(a, "a"))
    following.cache.assume(first)
    await following.cache.execute_plan(first)
    await following.world.soon(lambda: not following.cache.state.assumed())
    made = plan(bind(b, "b"), evictions=(evict(a, "a"),))
    assert following.cache.assume(made)
    await following.world.delete_pod("b")

    await following.cache.execute_plan(made)

    assert status_of(following, a) is TaskStatus.BOUND
    assert "deletionTimestamp" not in (await following.world.get_pod("a"))["metadata"]


async def test_nominations_are_written(following: Following) -> None:
    """The pod shows the node that will have room for it."""
    (a,) = await started(following, "a")
    nomination = Nomination(task=TaskId(a), job=JOB, namespace="default", name="a", node=NodeName("n1"))
    await following.cache.execute_plan(plan(nominations=(nomination,)))
    await following.writers.statuses.drain()

    assert (await following.world.get_pod("a"))["status"]["nominatedNodeName"] == "n1"


async def test_a_report_is_written(following: Following) -> None:
    """Group status with conditions, pod condition, queue status, events."""
    (a,) = await started(following, "a")
    group = following.cache.state.stored("PodGroup")["default/g"]
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

    following.cache.write(said)
    await following.writers.statuses.drain()

    written = await following.world.client.request_json(
        "GET", "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/g"
    )
    assert written["status"]["phase"] == "Inqueue"
    (condition,) = written["status"]["conditions"]
    assert (condition["reason"], condition["transitionID"]) == ("NotEnoughResources", "7")
    assert written["metadata"]["annotations"] == {"x": "y"}
    pod = await following.world.get_pod("a")
    assert [each["message"] for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"] == ["no room"]
    assert (await following.queue("default"))["status"]["allocated"] == {
        "cpu": "1500m",
        "memory": "1Gi",
        "pods": "1",
        "x.y/gpu": "2",
    }
    assert len(await following.events("Unschedulable")) == 1


async def test_a_pod_on_its_way_is_not_told_that_it_waits(following: Following) -> None:
    """A condition decided before the pod was bound is stale."""
    (a,) = await started(following, "a")
    following.cache.assume(plan(bind(a, "a")))
    stale = PodCondition(task=TaskId(a), namespace="default", name="a", reason="Unschedulable", message="no room")

    following.cache.write(report(pod_conditions=(stale,)))

    assert following.writers.statuses.backlog == 0


async def test_an_overdue_bind_that_never_happened_is_forgotten(following: Following) -> None:
    """The pod, read again, has no node: it is pending, and its gang is repaired first."""
    (a,) = await started(following, "a")
    following.cache.assume(plan(bind(a, "a")))

    await following.cache.resync(TaskId(a))

    assert status_of(following, a) is TaskStatus.PENDING


async def test_an_overdue_bind_that_is_still_tried_gets_more_time(following: Following) -> None:
    """A volume that is made for minutes, say: a pod decided anew meanwhile would be sent to two nodes."""
    (a,) = await started(following, "a")
    following.world.faults.add(effect="hold", subresource="binding", delay_seconds=0.3, count=1)
    made = plan(bind(a, "a"))
    following.cache.assume(made)
    carrying = asyncio.create_task(following.cache.execute_plan(made))
    await asyncio.sleep(0)

    await following.cache.resync(TaskId(a))
    assert status_of(following, a) is TaskStatus.BINDING

    await carrying
    assert status_of(following, a) in {TaskStatus.BINDING, TaskStatus.BOUND}
    assert not following.cache._under_way


async def test_an_overdue_bind_that_happened_gets_more_time(following: Following) -> None:
    """The watch lags: the assumption holds until it catches up."""
    (a,) = await started(following, "a")
    await following.cache.background.stop()
    made = plan(bind(a, "a"))
    following.cache.assume(made)
    await following.cache.execute_plan(made)
    before = following.cache.state.assumed()[TaskId(a)].deadline

    await following.cache.resync(TaskId(a))

    assert following.cache.state.assumed()[TaskId(a)].deadline > before
    assert status_of(following, a) is TaskStatus.BINDING


async def test_an_overdue_pod_that_is_gone_is_removed(following: Following) -> None:
    """Even when the watch did not say so."""
    (a,) = await started(following, "a")
    await following.cache.background.stop()
    following.cache.assume(plan(bind(a, "a")))
    await following.world.delete_pod("a")

    await following.cache.resync(TaskId(a))

    assert status_of(following, a) is None


async def test_a_broken_object_is_fenced_and_named(following: Following) -> None:
    """A group whose minimum is no number is left out; the rest is served."""
    await following.world.pod_group("odd", minMember="three", queue="default")
    await started(following, "a")

    assert [(fault.kind, fault.name) for fault in following.faults] == [("PodGroup", "default/odd")]
    assert list(following.cache.snapshot().jobs) == [JOB]


async def test_overdue_echoes_are_looked_for(following: Following) -> None:
    """A second's pause between looks; after the time is up the pod is read and the books are right again."""
    (a,) = await started(following, "a")
    following.cache.state.assume(plan(bind(a, "a")), -1e9)

    await following.world.soon(lambda: not following.cache.state.assumed())

    assert status_of(following, a) is TaskStatus.PENDING


async def test_a_server_that_is_away_is_asked_about_one_pod_at_a_look(following: Following) -> None:
    """Thousands may be overdue then; each would be asked about in vain."""
    uids = await started(following, "a", "b", "c")
    await following.cache.background.stop()
    following.world.faults.add(effect="error", verb="get", resource="pods", code=503)
    following.cache.state.assume(plan(*(bind(uid, name) for uid, name in zip(uids, "abc", strict=True))), -1e9)

    await following.cache._resync_overdue()
    assert following.world.faults.used == 1

    following.world.faults.clear()
    await following.cache._resync_overdue()
    assert not following.cache.state.assumed()


async def test_an_audit_runs_beside_the_loop_and_finds_drift(following: Following) -> None:
    """A fault planted into the running books is named."""
    (a,) = await started(following, "a")
    assert await following.cache.audit() == []
    state = following.cache.state
    known = state.task(TaskId(a))
    assert known is not None
    state._replace(known, known.moved(TaskStatus.RUNNING, NodeName("n1")))

    found = await following.cache.audit()

    assert {difference.split(":")[0] for difference in found} == {"jobs default/g", "nodes n1"}


async def test_shards_are_told_what_is_used(following: Following) -> None:
    """The status of our NodeShard names our nodes, and what we lack."""
    world = following.world
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
    cache = SchedulerCache(world.client, following.writers, StateOptions(shard_mode="hard"), audit_seconds=0)
    assert await cache.start(patience_seconds=10)
    cache.write(report())
    status = {"nodesInUse": ["n1"], "nodesToAdd": ["n2"], "nodesToRemove": []}
    await world.soon(lambda: len(cache.state.stored("NodeShard")["volcano"].status.nodes_in_use) == 1)

    assert (await world.client.request_json("GET", f"{path}/volcano"))["status"] == status
    await cache.stop()


async def test_two_schedulers_on_one_server_share_its_objects(following: Following) -> None:
    """With a ring of two, each node and each pod is followed by exactly one of their caches."""
    ring = HashRing(("volcano-0", "volcano-1"))
    for number in range(6):
        await following.node(f"n{number}")
        await following.member(f"p{number}")
    caches = [
        SchedulerCache(
            following.world.client, following.writers, StateOptions(ownership=Ownership(ring, member)), audit_seconds=0
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
