"""Events are few, counted, and behind everything else."""

import asyncio
from typing import Any

import pytest
from prometheus_client import REGISTRY

from pyroclast.kube.api import resources
from pyroclast.kube.writes.events import EventRecorder, Regarding, regarding
from pyroclast.kube.writes.write_priority import WritePriority
from pyroclast.model.wire import ObjectMeta
from tests.unit.kube.world import World


def pod(name: str = "a") -> Regarding:
    """Refer to a pod."""
    return regarding(resources.PODS, ObjectMeta(name=name, namespace="default", uid=f"uid-{name}"))


@pytest.fixture
async def recorder(world: World) -> EventRecorder:
    """The recorder under test, at work."""
    made = EventRecorder(world.client, component="volcano", clock=world.clock)
    world.start(made.run())
    return made


async def events(world: World, namespace: str = "default") -> list[Any]:
    """What the server has."""
    found: list[Any] = (await world.client.request_json("GET", f"/api/v1/namespaces/{namespace}/events"))["items"]
    return found


def dropped(cause: str) -> float:
    """How many were dropped."""
    return REGISTRY.get_sample_value("pyroclast_events_dropped_total", {"cause": cause}) or 0.0


async def test_an_event_has_object_reason_and_message(world: World, recorder: EventRecorder) -> None:
    """As kubectl shows it."""
    recorder.record(pod(), "Normal", "Scheduled", "assigned to n1")
    await asyncio.wait_for(recorder.drain(), 30)

    (event,) = await events(world)

    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "default",
        "name": "a",
        "uid": "uid-a",
    }
    assert (event["type"], event["reason"], event["message"]) == ("Normal", "Scheduled", "assigned to n1")
    assert (event["count"], event["source"]["component"]) == (1, "volcano")


async def test_equal_events_are_one_with_a_count(world: World, recorder: EventRecorder) -> None:
    """Those that wait are counted before they are sent, later ones by a patch."""
    for _ in range(3):
        recorder.record(pod(), "Warning", "Unschedulable", "no room")
    await asyncio.wait_for(recorder.drain(), 30)
    recorder.record(pod(), "Warning", "Unschedulable", "no room")
    await asyncio.wait_for(recorder.drain(), 30)

    assert [event["count"] for event in await events(world)] == [4]


async def test_an_event_that_expired_is_made_anew(world: World, recorder: EventRecorder) -> None:
    """The server forgets events after an hour."""
    recorder.record(pod(), "Warning", "Unschedulable", "no room")
    await asyncio.wait_for(recorder.drain(), 30)
    (event,) = await events(world)
    await world.client.request("DELETE", f"/api/v1/namespaces/default/events/{event['metadata']['name']}")

    recorder.record(pod(), "Warning", "Unschedulable", "no room")
    await asyncio.wait_for(recorder.drain(), 30)

    assert [event["count"] for event in await events(world)] == [1]


async def test_many_similar_events_are_combined(world: World, recorder: EventRecorder) -> None:
    """After ten messages of one reason there is one more, for all the rest."""
    for number in range(15):
        recorder.record(pod(), "Warning", "FailedScheduling", f"message {number}")
    await asyncio.wait_for(recorder.drain(), 30)

    found = await events(world)
    assert len(found) == 11
    assert [event["count"] for event in found if "combined from similar events" in event["message"]] == [5]


async def test_the_rate_of_events_of_an_object_is_limited(world: World, recorder: EventRecorder) -> None:
    """Twenty-five at once, then one in five minutes."""
    before = dropped("spam")
    for number in range(30):
        recorder.record(pod(), "Normal", f"Reason{number}", "so")
    await asyncio.wait_for(recorder.drain(), 30)
    assert len(await events(world)) == 25
    assert dropped("spam") - before == 5

    world.clock.now += 301
    recorder.record(pod(), "Normal", "Later", "so")
    await asyncio.wait_for(recorder.drain(), 30)

    assert len(await events(world)) == 26


async def test_the_oldest_is_dropped_when_too_many_wait(world: World) -> None:
    """Recording never waits."""
    recorder = EventRecorder(world.client, component="volcano", capacity=2, clock=world.clock)
    before = dropped("full")
    for name in ("a", "b", "c"):
        recorder.record(pod(name), "Normal", "Scheduled", "so")
    world.start(recorder.run())
    await asyncio.wait_for(recorder.drain(), 30)

    assert sorted(event["involvedObject"]["name"] for event in await events(world)) == ["b", "c"]
    assert dropped("full") - before == 1


async def test_events_of_cluster_wide_objects_live_in_the_default_namespace(
    world: World, recorder: EventRecorder
) -> None:
    """A queue has no namespace, its events have one."""
    recorder.record(regarding(resources.QUEUES, ObjectMeta(name="q", uid="u")), "Warning", "Overused", "so")
    await asyncio.wait_for(recorder.drain(), 30)

    assert [event["involvedObject"]["name"] for event in await events(world)] == ["q"]


async def test_busy_servers_are_asked_again_and_refusals_dropped(world: World, recorder: EventRecorder) -> None:
    """No event is worth more than a few tries."""
    world.faults.add(effect="error", resource="events", code=503, count=2)
    recorder.record(pod("a"), "Normal", "Scheduled", "so")
    await asyncio.wait_for(recorder.drain(), 30)
    before = dropped("refused")
    world.faults.add(effect="error", resource="events", verb="create", code=403, count=1)
    recorder.record(pod("b"), "Normal", "Scheduled", "so")
    await asyncio.wait_for(recorder.drain(), 30)

    assert [event["involvedObject"]["name"] for event in await events(world)] == ["a"]
    assert dropped("refused") - before == 1


async def test_binds_pass_first(world: World) -> None:
    """An event waits while binds are under way."""
    traffic = WritePriority()
    recorder = EventRecorder(world.client, component="volcano", write_priority=traffic, clock=world.clock)
    world.start(recorder.run())
    with traffic.bind():
        recorder.record(pod(), "Normal", "Scheduled", "so")
        await asyncio.sleep(0.05)
        assert await events(world) == []
        assert REGISTRY.get_sample_value("pyroclast_events_waiting") == 1
    await asyncio.wait_for(recorder.drain(), 30)

    assert len(await events(world)) == 1
    assert REGISTRY.get_sample_value("pyroclast_events_waiting") == 0


async def test_old_events_let_no_bind_pass(world: World) -> None:
    """Where binds never end, each event waits its five seconds once, not one after the other."""
    traffic = WritePriority()
    recorder = EventRecorder(world.client, component="volcano", write_priority=traffic, clock=world.clock)
    with traffic.bind():
        for number in range(20):
            recorder.record(pod(f"p{number}"), "Normal", "Scheduled", "so")
        world.clock.now += 6.0
        world.start(recorder.run())
        await asyncio.wait_for(recorder.drain(), 30)

    assert len(await events(world)) == 20
