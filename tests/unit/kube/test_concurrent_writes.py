"""Independent writes do not wait: a gang is bound concurrently, pods get conditions whatever becomes of their group."""

import asyncio
from typing import Any

from pyroclast.kube.api.client import Client
from pyroclast.kube.api.discovery import Discovery
from pyroclast.kube.api.resources import POD_GROUPS, PODS
from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.kube.writes.status import StatusWriter
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Bind, Plan
from pyroclast.model.wire import Condition, PodGroupStatus
from tests.unit.kube.world import World

MEMBERS = ("a", "b", "c")


class Meeting:
    """A client that sends no bind before all are there to be sent."""

    def __init__(self, client: Client, parties: int) -> None:
        self._client = client
        self._barrier = asyncio.Barrier(parties)

    async def request(self, method: str, path: str, **options: Any) -> Any:
        """Wait for the others, then send."""
        if path.endswith("/binding"):
            await self._barrier.wait()
        return await self._client.request(method, path, **options)


async def test_members_of_a_gang_are_bound_side_by_side(world: World) -> None:
    """One after the other they would wait for each other for ever."""
    uids = {name: await world.pod(name) for name in MEMBERS}
    binds = tuple(
        Bind(task=TaskId(uid), job=JobId("default/j"), namespace="default", name=name, node=NodeName("n1"))
        for name, uid in uids.items()
    )
    plan = Plan(number=0, cycle=1, configuration=1, action="allocate", job=JobId("default/j"), queue=None, binds=binds)
    binder = ApiBinder(Meeting(world.client, len(MEMBERS)), clock=world.clock)  # type: ignore[arg-type]  # sends alone

    outcome = await asyncio.wait_for(binder.bind(plan), 30)

    assert outcome.is_complete


async def test_a_conflict_on_a_group_drops_nothing_of_its_pods(world: World) -> None:
    """Another writer changed the group; the pod has its reason all the same."""
    writer = StatusWriter(world.client, Discovery(world.client), clock=world.clock)
    world.start(writer.run())
    await world.pod("a")
    await world.define_pod_groups(has_status=False)
    await world.pod_group("g", minMember=1)
    group = POD_GROUPS.decoder.convert(await world.client.request_json("GET", POD_GROUPS.path("default", "g")))
    world.faults.add(effect="error", resource="podgroups", code=409)
    waits = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no room")

    writer.pod_group(group, PodGroupStatus(phase="Inqueue"))
    writer.pod(PODS.decoder.convert(await world.get_pod("a")), condition=waits)
    await asyncio.wait_for(writer.drain(), 30)

    assert world.faults.used == 1
    assert (await world.get_pod("a"))["status"]["conditions"][0]["reason"] == "Unschedulable"
