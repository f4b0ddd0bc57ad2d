"""The reflector follows a kind through everything a server does to its clients."""

import asyncio
from itertools import accumulate
from typing import Any

import pytest
from msgspec import structs
from structlog.testing import capture_logs

from pyroclast.kube.api import resources
from pyroclast.kube.api.errors import ApiError, NoAnswerError
from pyroclast.kube.reflector import Reflector, _ExpiredError
from pyroclast.model.errors import CacheError, ObjectError
from pyroclast.model.wire import ObjectMeta, Pod
from tests.unit.kube.world import World

PODS = "/api/v1/pods"


@pytest.fixture
def pods(world: World) -> Reflector[Pod]:
    """A reflector of pods that tells the recorder."""
    return Reflector(world.client, resources.PODS, [world.recorder], clock=world.clock, page_size=2)


async def test_lists_in_pages_then_follows(world: World, pods: Reflector[Pod]) -> None:
    """Existing objects are delivered once, then changes, with the object as it was."""
    for name in ("a", "b", "c", "d", "e"):
        await world.pod(name)
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    assert world.log == [("added", name) for name in "abcde"]

    await world.label_pod("b", turn="1")
    await world.delete_pod("c")
    await world.pod("f")
    await world.soon(lambda: ("added", "f") in world.log)

    # Servers mark even what goes at once, so an update comes before the deletion.
    assert world.log[5:] == [("updated", "b"), ("updated", "c"), ("deleted", "c"), ("added", "f")]
    assert sorted(pods.objects) == ["default/a", "default/b", "default/d", "default/e", "default/f"]


async def test_an_empty_kind_is_synced(world: World, pods: Reflector[Pod]) -> None:
    """Nothing to tell is no reason to wait."""
    world.start(pods.run())

    await asyncio.wait_for(pods.synced.wait(), 30)
    assert pods.is_present


async def test_a_cut_stream_resumes_where_it_was(world: World, pods: Reflector[Pod]) -> None:
    """An event cut in its middle comes again, once."""
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    world.faults.add(effect="half", resource="pods", verb="watch", count=1)

    await world.pod("a")
    await world.pod("b")
    await world.soon(lambda: len(world.log) == 2)
    await world.pod("c")
    await world.soon(lambda: len(world.log) == 3)

    assert world.log == [("added", "a"), ("added", "b"), ("added", "c")]


async def test_an_expired_version_is_listed_again_and_handlers_get_the_difference(
    world: World, pods: Reflector[Pod]
) -> None:
    """After a 410 only changes are delivered: deletions too, and nothing twice."""
    for name in ("a", "b", "c"):
        await world.pod(name)
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    world.faults.add(effect="error", verb="watch", code=503, resource="pods", count=-1)
    world.end_watches()
    await asyncio.sleep(0)
    await world.delete_pod("a")
    await world.label_pod("b", turn="1")
    await world.pod("d")
    world.faults.clear()
    world.faults.add(effect="error", verb="watch", code=410, resource="pods", count=1)
    await world.soon(lambda: len(world.log) >= 6)

    assert sorted(world.log[3:]) == [("added", "d"), ("deleted", "a"), ("updated", "b")]


async def test_an_expired_continue_token_starts_the_list_over(world: World, pods: Reflector[Pod]) -> None:
    """Half a list is never delivered."""
    for name in ("a", "b", "c"):
        await world.pod(name)
    world.faults.add(effect="error", verb="list", code=410, resource="pods", skip=1, count=1)
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)

    assert world.log == [("added", "a"), ("added", "b"), ("added", "c")]


async def test_a_server_away_for_half_a_minute_is_waited_for(world: World, pods: Reflector[Pod]) -> None:
    """Waits grow to their cap, at no more than a few requests in thirty seconds; nothing is lost."""
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    world.clock.slept.clear()
    world.faults.add(effect="cut", resource="pods", verb="watch")
    world.end_watches()
    await world.soon(lambda: sum(world.clock.slept) > 30)
    trouble = pods.trouble
    world.faults.clear()
    await world.pod("a")
    await world.soon(lambda: world.log == [("added", "a")])
    await world.pod("b")
    await world.soon(lambda: pods.trouble is None)

    assert isinstance(trouble, NoAnswerError)
    assert max(world.clock.slept) <= 30
    passed = accumulate(world.clock.slept)  # it goes on for a moment after half a minute
    assert len([wait for wait, end in zip(world.clock.slept, passed, strict=True) if wait >= 0.05 and end <= 30]) <= 14


async def test_an_absent_kind_counts_as_empty_until_it_appears(world: World) -> None:
    """A custom kind may be defined later, without a restart."""
    groups = Reflector(world.client, resources.POD_GROUPS, clock=world.clock)
    world.start(groups.run())
    await asyncio.wait_for(groups.synced.wait(), 30)
    assert not groups.is_present

    await world.define_pod_groups()
    await world.soon(lambda: groups.is_present)
    await world.pod_group("train", minMember=2)
    await world.soon(lambda: "default/train" in groups.objects)

    assert groups.objects["default/train"].spec.min_member == 2


async def test_a_kind_that_is_defined_anew_is_followed_again(world: World) -> None:
    """From another product's definition to ours and back: its objects go and come with the definitions."""
    await world.define_pod_groups()
    await world.pod_group("old", minMember=1)
    groups = Reflector(world.client, resources.POD_GROUPS, [world.recorder], clock=world.clock)
    world.start(groups.run())
    await asyncio.wait_for(groups.synced.wait(), 30)
    for name, has_status in (("other", True), ("own", False)):
        await world.client.request(
            "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/podgroups.scheduling.volcano.sh"
        )
        world.end_watches()
        await world.soon(lambda: not groups.objects)
        await world.define_pod_groups(has_status=has_status)
        await world.pod_group(name, minMember=2)
        await world.soon(lambda: bool(groups.objects))

    assert world.log == [
        ("added", "old"),
        ("deleted", "old"),
        ("added", "other"),
        ("deleted", "other"),
        ("added", "own"),
    ]
    assert groups.is_present


async def test_a_broken_object_is_fenced(world: World) -> None:
    """An object that does not fit is left out and named; repaired, it is there."""
    await world.define_pod_groups()
    path = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups"
    for name, members in (("bad", "two"), ("good", 2)):
        await world.pod_group(name, minMember=members)
    named: list[ObjectError] = []
    groups = Reflector(world.client, resources.POD_GROUPS, [world.recorder], clock=world.clock, on_broken=named.append)
    world.start(groups.run())
    await asyncio.wait_for(groups.synced.wait(), 30)
    assert world.log == [("added", "good")]
    assert [error.name for error in named] == ["default/bad"]
    assert named[0].path == "spec.minMember"

    for name, members in (("bad", 3), ("good", "none")):
        await world.patch(f"{path}/{name}", {"spec": {"minMember": members}})
    await world.soon(lambda: len(world.log) == 3)

    assert world.log[1:] == [("added", "bad"), ("deleted", "good")]
    assert list(groups.broken) == ["default/good"]


async def test_an_unchanged_version_is_no_news(world: World, pods: Reflector[Pod]) -> None:
    """A duplicate event is dropped."""
    await world.pod("a")
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    body = await world.client.request("GET", "/api/v1/namespaces/default/pods/a")

    pods._take(b'{"type":"ADDED","object":' + body + b"}")
    pods._take(b'{"type":"MODIFIED","object":' + body + b"}")
    pods._take(b'{"type":"DELETED","object":' + body + b"}")
    pods._take(b'{"type":"DELETED","object":' + body + b"}")

    assert world.log == [("added", "a"), ("deleted", "a")]


async def test_a_successor_of_the_same_name_is_another_object(world: World, pods: Reflector[Pod]) -> None:
    """A new UID means that the old one was deleted meanwhile."""
    await world.pod("a")
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    body = await world.client.request_json("GET", "/api/v1/namespaces/default/pods/a")
    body["metadata"] |= {"uid": "another", "resourceVersion": "999999"}

    pods._learn("default/a", resources.PODS.decoder.convert(body))

    assert world.log == [("added", "a"), ("deleted", "a"), ("added", "a")]


async def test_a_bookmark_moves_the_version_alone(world: World, pods: Reflector[Pod]) -> None:
    """The version to resume from moves on, without an event."""
    pods._take(b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"4711"}}}')

    assert pods.resource_version == "4711"
    assert world.log == []


async def test_a_failing_handler_stops_no_other(world: World) -> None:
    """The next handler and the next object get their events all the same."""

    class Failing:
        def added(self, new: object) -> None:  # noqa: ARG002  the shape of a handler
            raise RuntimeError("a bug")

        def updated(self, old: object, new: object) -> None: ...

        def deleted(self, old: object) -> None: ...

    await world.pod("a")
    await world.pod("b")
    pods = Reflector(world.client, resources.PODS, [Failing(), world.recorder], clock=world.clock)
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)

    assert world.log == [("added", "a"), ("added", "b")]


async def test_many_that_are_gone_let_others_have_their_turn(world: World, pods: Reflector[Pod]) -> None:
    """A kind that vanishes, or a namespace with all its pods, must not starve the lease."""
    pods.objects.update({f"default/{number}": Pod(metadata=ObjectMeta(name=str(number))) for number in range(2000)})
    told_at_turns: list[int] = []

    async def other() -> None:
        while True:
            told_at_turns.append(len(world.log))
            await asyncio.sleep(0)

    world.start(other())
    await pods._replace({}, {})

    assert len(world.log) == 2000
    assert {500, 1000, 1500} <= set(told_at_turns)


async def test_selectors_narrow_what_is_followed(world: World) -> None:
    """An object that leaves the selection counts as deleted."""
    await world.pod("a")
    await world.pod("b")
    pods = Reflector(world.client, resources.PODS, [world.recorder], clock=world.clock, label_selector="app=b,turn!=2")
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    await world.label_pod("b", turn="2")
    await world.soon(lambda: len(world.log) == 2)

    assert world.log == [("added", "b"), ("deleted", "b")]


async def test_a_server_that_refuses_the_list_is_asked_again(world: World, pods: Reflector[Pod]) -> None:
    """Retry-After is respected."""
    await world.pod("a")
    world.faults.add(effect="error", verb="list", code=429, retry_after=7, resource="pods", count=1)
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)

    assert world.log == [("added", "a")]
    assert max(world.clock.slept) == 7


async def test_a_list_that_is_not_answered_in_time_is_asked_for_again(world: World, pods: Reflector[Pod]) -> None:
    """A slow server costs waits, not objects."""
    await world.pod("a")
    world.client.timeout = 0.2
    world.faults.add(effect="hold", delay_seconds=1, resource="pods", verb="list", count=1)
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)

    assert world.log == [("added", "a")]


async def test_a_watch_that_falls_silent_is_given_up(
    world: World, pods: Reflector[Pod], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A half-open connection is noticed by the bookmarks that do not come."""
    monkeypatch.setattr("pyroclast.kube.reflector._SILENCE_SECONDS", 0.1)
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    await world.soon(lambda: len(world.clock.slept) >= 2)
    await world.pod("a")
    await world.soon(lambda: bool(world.log))

    assert world.log == [("added", "a")]


async def test_an_event_that_cannot_be_read_twice_is_gone_round(world: World, pods: Reflector[Pod]) -> None:
    """A line that is no JSON, again and again at the same place, is passed by listing."""
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    world.faults.add(effect="half", resource="pods", verb="watch", count=2)
    await world.pod("a")
    await world.soon(lambda: bool(world.log))

    assert world.log == [("added", "a")]


async def test_watches_that_fail_while_lists_work_do_not_leave_the_objects_stale(
    world: World, pods: Reflector[Pod]
) -> None:
    """After two failed watches at one version the kind is listed again, at growing intervals of at most 30 s."""
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    world.faults.add(effect="error", verb="watch", code=503, resource="pods")
    world.end_watches()
    await world.pod("a")
    await world.soon(lambda: bool(world.log))
    world.clock.slept.clear()
    await world.soon(lambda: sum(world.clock.slept) > 300 and pods.failing_seconds > 300)

    assert world.log == [("added", "a")]
    assert pods.trouble is not None
    assert sum(world.clock.slept[:80]) > 300
    world.faults.clear()
    await world.pod("b")
    await world.soon(lambda: world.log == [("added", "a"), ("added", "b")])
    await world.pod("c")  # a list may have brought the one before, the watch after it brings this one
    await world.soon(lambda: world.log == [("added", "a"), ("added", "b"), ("added", "c")])
    assert pods.failing_seconds == 0


async def test_a_watch_that_is_open_in_silence_ends_the_failing(world: World, pods: Reflector[Pod]) -> None:
    """A kind without changes is followed as soon as a watch stays open for five seconds, without any event."""
    await failing(world, pods)
    world.faults.clear()
    await world.soon(lambda: pods.is_watching)
    assert pods.failing_seconds > 0
    world.clock.now += 6.0

    assert pods.failing_seconds == 0


async def test_a_watch_as_silent_as_those_that_failed_does_not_end_the_failing(
    world: World, pods: Reflector[Pod], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a proxy that lets no event through each watch is open and silent until it is given up."""
    monkeypatch.setattr("pyroclast.kube.reflector._SILENCE_SECONDS", 0.1)
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    await world.soon(lambda: pods.is_watching)
    world.clock.now += 150.0
    await world.soon(lambda: pods.trouble is not None and pods.is_watching)
    world.clock.now += 150.0

    assert pods.failing_seconds >= 150


async def failing(world: World, pods: Reflector[Pod]) -> None:
    """Let watches fail for more than a minute."""
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    world.faults.add(effect="error", verb="watch", code=503, resource="pods")
    world.end_watches()
    await world.soon(lambda: pods.failing_seconds > 60)


async def test_continue_tokens_that_always_expire_are_done_without(world: World, pods: Reflector[Pod]) -> None:
    """After an expired continue token the kind is listed in one page."""
    for name in ("a", "b", "c"):
        await world.pod(name)
    request = world.client.request

    async def expire_continue(method: str, path: str, **options: Any) -> bytes:
        if "continue" in (options.get("params") or {}):
            raise ApiError(410, "Expired", "the continue token is too old")
        return await request(method, path, **options)

    world.client.request = expire_continue  # type: ignore[method-assign]  # a proxy between client and server
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)

    assert world.log == [("added", "a"), ("added", "b"), ("added", "c")]


async def test_watches_that_always_expire_do_not_list_without_end(world: World, pods: Reflector[Pod]) -> None:
    """The waits between the lists grow, although each list works."""
    world.faults.add(effect="error", verb="watch", code=410, resource="pods", count=-1)
    world.start(pods.run())
    await world.soon(lambda: sum(world.clock.slept) > 100)

    assert len(world.clock.slept) < 60
    assert pods.synced.is_set()


async def test_a_server_restored_from_a_backup_is_listed_again(world: World, pods: Reflector[Pod]) -> None:
    """A lower version leads to a list, in which equal versions may name different states."""
    await world.pod("a")
    world.start(pods.run())
    await asyncio.wait_for(pods.synced.wait(), 30)
    known = pods.objects["default/a"]
    pods.objects["default/a"] = structs.replace(known, metadata=structs.replace(known.metadata, labels={"app": "old"}))
    pods.resource_version = "999999999"
    world.faults.add(effect="error", verb="watch", code=504, message="Too large resource version", count=2)
    world.end_watches()
    with capture_logs() as logs:
        await world.soon(lambda: len(world.log) == 2)

    assert world.log == [("added", "a"), ("updated", "a")]
    assert pods.objects["default/a"].metadata.labels == {"app": "a"}
    assert "server_rewound" in [line["event"] for line in logs]


async def test_an_event_of_a_lower_version_leads_to_a_list(world: World, pods: Reflector[Pod]) -> None:
    """A bookmark below the version that was reached is not taken as progress."""
    pods.resource_version = "4711"
    with pytest.raises(_ExpiredError):
        pods._take(b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"17"}}}')

    assert pods.resource_version == "4711"


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
async def test_an_event_without_a_name_leaves_no_ghost(world: World, pods: Reflector[Pod], kind: str) -> None:
    """It is a fault of the stream, which is begun anew."""
    with pytest.raises(CacheError, match="without a name"):
        pods._take(b'{"type":"%b","object":{"metadata":{"resourceVersion":"4711"},"spec":{}}}' % kind.encode())

    assert pods.objects == {}
    assert world.log == []


async def test_an_event_out_of_order_leaves_no_ghost(world: World, pods: Reflector[Pod]) -> None:
    """An older state that comes late is not taken; the kind is listed again."""
    event = b'{"type":"%b","object":{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"%b"}}}'
    pods._take(event % (b"ADDED", b"10"))
    pods._take(event % (b"DELETED", b"12"))
    with pytest.raises(_ExpiredError):
        pods._take(event % (b"MODIFIED", b"11"))

    assert world.log == [("added", "a"), ("deleted", "a")]
