"""Pods and groups come and go: after they are deleted, neither the cache nor its writers have anything of them left."""

from collections import Counter
from typing import Any, Final

from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import NodeName, QueueName, TaskId
from pyroclast.model.plan import Nomination
from pyroclast.model.report import EventNote, GroupCondition, GroupStatus, PodCondition, QueueAllocation
from tests.laws.test_churn import sizes
from tests.unit.cache.conftest import WatchedCluster
from tests.unit.cache.test_cache import JOB, bind, evict, plan, report

PODS: Final = 4
BOUNDED: Final = {"._buckets": 4096, "._similar": 4096, "._sent": 4096, "_memo": 1 << 18, "._written": 1 << 14}
"""Containers that keep entries on purpose, and their bounds: events, masks by selector, writes of half a minute."""


async def wave(watched: WatchedCluster, number: int) -> None:
    """Create a group, decide about its pods, write about them, and delete everything; some writes fail."""
    cache, world = watched.cache, watched.world
    await world.pod_group("g", minMember=PODS, queue="default")
    names = [f"w{number}-{each}" for each in range(PODS)]
    uids = [await watched.member(name) for name in names]
    await watched.seen("Pod", PODS)
    await watched.seen("PodGroup", 1)
    group = cache.state.stored("PodGroup")["default/g"]
    world.faults.add(subresource="binding", name=names[1], code=403, message="not today")
    world.faults.add(subresource="status", name=names[2], code=422, message="never")
    cache.write(said(number, group.metadata.uid, uids, names))
    made = plan(bind(uids[0], names[0]), bind(uids[1], names[1]))
    assert cache.assume(made)
    await cache.execute_plan(made)
    await world.soon(lambda: not cache.state.assumed())
    nomination = Nomination(task=TaskId(uids[3]), job=JOB, namespace="default", name=names[3], node=NodeName("n1"))
    await cache.execute_plan(plan(nominations=(nomination,)))
    leaving = plan(evictions=(evict(uids[0], names[0]),))
    assert cache.assume(leaving)
    await cache.execute_plan(leaving)
    await world.soon(lambda: not cache.state.assumed())
    for name in names:
        await world.delete_pod(name)
    await world.client.request("DELETE", "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/g")
    await watched.seen("PodGroup", 0)
    await watched.seen("Pod", 0)


def said(number: int, group: str, uids: list[str], names: list[str]) -> Any:
    """A report with statuses, conditions and events."""
    reason, message = "NotEnoughResources", f"in wave {number}"
    condition = GroupCondition(type="Unschedulable", status="True", reason=reason, message=message, transition_id="7")
    status = GroupStatus(
        job=JOB,
        uid=group,
        phase=PodGroupPhase.INQUEUE,
        running=0,
        succeeded=0,
        failed=0,
        conditions=(condition,),
        annotations={"wave": str(number)},
    )
    note = EventNote(
        kind="PodGroup", namespace="default", name="g", uid=group, type="Warning", reason=reason, message=message
    )
    return report(
        group_statuses=(status,),
        pod_conditions=tuple(
            PodCondition(task=TaskId(uid), namespace="default", name=name, reason=reason, message=message)
            for uid, name in zip(uids[2:], names[2:], strict=True)
        ),
        queue_statuses=(QueueAllocation(queue=QueueName("default"), allocated={f"x.y/r{number}": 1000}),),
        events=(note,),
    )


async def at_rest(watched: WatchedCluster) -> Counter[str]:
    """Count once everything is written."""
    watched.writers.statuses.begin_cycle()
    await watched.writers.statuses.drain()
    await watched.writers.events.drain()
    for _ in range(2):
        watched.cache.snapshot()
    return sizes(watched.cache, watched.writers, watched.world.client)


async def test_nothing_is_left_of_pods_that_came_and_went(watched: WatchedCluster) -> None:
    """Compare the sizes at rest after two waves with those after six more."""
    await watched.node()
    assert await watched.cache.take_over()
    assert await watched.cache.start(patience_seconds=10)
    for number in range(2):
        await wave(watched, number)
    before = await at_rest(watched)
    for number in range(2, 8):
        await wave(watched, number)
    after = await at_rest(watched)

    left = {
        path: (before[path], count)
        for path, count in after.items()
        if count > before[path] and not any(part in path for part in BOUNDED)
    }
    assert not left
    for part, most in BOUNDED.items():
        assert max((count for path, count in after.items() if path.endswith(part)), default=0) <= most, part
