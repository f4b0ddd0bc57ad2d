"""The operator follows kinds, makes keys of their changes, and has them reconciled."""

import asyncio
from collections.abc import Iterable
from typing import Any, ClassVar

import pytest

from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, key_of
from pyroclast.kube.api.resources import POD_GROUPS, PODS, QUEUES, Resource
from pyroclast.model.api.scheduling import Queue
from pyroclast.model.wire import Pod, Service
from tests.unit.controllers.ground import Ground

QUEUE_PATH = QUEUES.collection()


def own_key(old: Any, new: Any) -> Iterable[Key]:
    """An object concerns itself."""
    return [key_of(new or old)]


class Noting:
    """Notes the keys it is called for, and what the store shows then."""

    name: ClassVar[str] = "noting"

    def __init__(self, operator: Operator) -> None:
        self.queues = operator.store(QUEUES)
        self.calls: list[tuple[str, bool]] = []
        operator.reconciler(self, watches=[Watch(resource=QUEUES, keys=own_key)])

    async def reconcile(self, key: Key) -> float | None:
        """Note."""
        self.calls.append((key[1], self.queues.get(*key) is not None))
        return None


async def make(ground: Ground, *names: str) -> None:
    """Create queues."""
    for name in names:
        await ground.writer.create(QUEUES, {"metadata": {"name": name}})


async def test_everything_there_is_is_reconciled_first(ground: Ground) -> None:
    """A process that begins knows nothing of what was done before it."""
    await make(ground, "b", "a")
    operator = ground.operator()
    noting = Noting(operator)
    async with ground.working(operator):
        await ground.soon(lambda: len(noting.calls) == 2)

    assert noting.calls == [("a", True), ("b", True)]


async def test_what_changes_is_reconciled_with_the_store_up_to_date(ground: Ground) -> None:
    """Additions, changes and deletions alike."""
    operator = ground.operator()
    noting = Noting(operator)
    async with ground.working(operator):
        await make(ground, "a")
        await ground.soon(lambda: noting.calls == [("a", True)])
        await ground.patch(f"{QUEUE_PATH}/a", {"spec": {"weight": 5}})
        await ground.soon(lambda: len(noting.calls) == 2)
        await ground.delete(f"{QUEUE_PATH}/a")
        await ground.soon(lambda: noting.calls[-1] == ("a", False))


async def test_a_standby_follows_and_does_nothing(ground: Ground) -> None:
    """It knows everything, and keeps no list of what it would have done."""
    await make(ground, "a")
    operator = ground.operator()
    noting = Noting(operator)
    following = asyncio.create_task(operator.follow())
    await asyncio.wait_for(operator.synced(), 30)
    await make(ground, "b")
    await ground.soon(lambda: len(noting.queues) == 2)
    assert (noting.calls, operator.queues["noting"].depth) == ([], 0)

    working = asyncio.create_task(operator.work())
    await ground.soon(lambda: len(noting.calls) == 2)
    for task in (working, following):
        task.cancel()
    await asyncio.gather(working, following, return_exceptions=True)


async def test_controllers_share_one_copy_of_a_kind(ground: Ground) -> None:
    """Each adds the index it needs."""
    operator = ground.operator()
    first = operator.store(PODS)
    second = operator.store(PODS, {"node": lambda pod: [pod.spec.node_name]})

    assert first is second
    assert first.by("node", "n1") == []


async def test_one_kind_has_one_struct(ground: Ground) -> None:
    """Two copies of all pods, in two forms, are a mistake that is reported at once."""
    operator = ground.operator()
    operator.store(PODS)

    with pytest.raises(ValueError, match="pods are followed as Pod already"):
        operator.store(Resource(version="v1", plural="pods", kind="Pod", struct=Service, is_namespaced=True))


async def test_names_of_reconcilers_are_their_own(ground: Ground) -> None:
    """Metrics and logs would mix them up."""
    operator = ground.operator()
    Noting(operator)
    with pytest.raises(ValueError, match="noting"):
        Noting(operator)


async def test_what_the_first_list_waits_for_is_named(ground: Ground) -> None:
    """For the probe and the log."""
    operator = ground.operator()
    operator.store(QUEUES)
    operator.store(POD_GROUPS)
    assert operator.lagging() == ["podgroups", "queues"]
    async with ground.working(operator):
        assert operator.lagging() == []


async def test_a_reconciler_can_make_what_it_saw_missing(ground: Ground) -> None:
    """With expectations it is made once, however often its key comes before the store shows it."""

    class Making:
        name: ClassVar[str] = "making"

        def __init__(self, operator: Operator) -> None:
            self.pods = operator.store(PODS)
            self.expectations = operator.expectations()
            self.writer = operator.writer
            self.made = 0
            operator.reconciler(self, watches=[Watch(resource=QUEUES, keys=own_key)])

        async def reconcile(self, key: Key) -> float | None:
            wait = self.expectations.wait(key)
            if wait is not None:
                return wait
            if len(self.pods) < 3:
                body = {
                    "metadata": {"generateName": "p-", "namespace": "default"},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                }
                made = await self.writer.create(PODS, body)
                self.expectations.wrote(key, self.pods, made.object)
                self.made += 1
                return 0.0
            return None

    operator = ground.operator()
    making = Making(operator)
    async with ground.working(operator):
        await make(ground, "a")
        await ground.soon(lambda: len(making.pods) == 3)
        for weight in range(2, 20):
            await ground.patch(f"{QUEUE_PATH}/a", {"spec": {"weight": weight}})
        await operator.queues["making"].idle()

    assert making.made == 3


async def test_a_kind_whose_following_breaks_begins_anew_and_the_others_go_on(ground: Ground) -> None:
    """A surprise in one list ends neither the others nor the process."""
    operator = ground.operator()
    noting = Noting(operator)
    operator.store(POD_GROUPS)
    following = asyncio.create_task(operator.follow())
    await operator.synced()
    (broken,) = (each for each in operator.reflectors if each.resource is POD_GROUPS)
    runs = 0

    async def run() -> None:
        nonlocal runs
        runs += 1
        raise RuntimeError("no such thing")

    following.cancel()
    await asyncio.wait((following,))
    broken.run = run  # type: ignore[method-assign]  # a surprise that no server can be made to cause
    following = asyncio.create_task(operator.follow())
    await make(ground, "late")
    await ground.soon(lambda: runs > 0 and noting.queues.get("", "late") is not None)

    assert not following.done()
    following.cancel()
    await asyncio.wait((following,))


async def test_events_are_sent_while_working(ground: Ground) -> None:
    """A reconciler records; the operator sees to the sending."""
    await make(ground, "a")
    queue: Queue = QUEUES.decoder.decode(await ground.client.request("GET", f"{QUEUE_PATH}/a"))
    operator = ground.operator()
    operator.record(QUEUES, queue, "Normal", "Seen", "it is there")

    async def sent() -> bool:
        events = await ground.get("/api/v1/namespaces/default/events")
        return [event["reason"] for event in events["items"]] == ["Seen"]

    async with ground.working(operator):
        await ground.soon(sent)


async def test_a_stopped_operator_ends_by_itself(ground: Ground) -> None:
    """With what ran done and the events of it sent."""
    await make(ground, "a")
    operator = ground.operator()
    Noting(operator)
    following = asyncio.create_task(operator.follow())
    await operator.synced()
    working = asyncio.create_task(operator.work())
    await operator.idle()
    queue: Queue = QUEUES.decoder.decode(await ground.client.request("GET", f"{QUEUE_PATH}/a"))
    operator.record(QUEUES, queue, "Normal", "Seen", "it is there")
    operator.stop()
    await asyncio.wait_for(working, 30)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)

    events = await ground.get("/api/v1/namespaces/default/events")
    assert [event["reason"] for event in events["items"]] == ["Seen"]


async def test_an_operator_that_is_stopped_while_it_begins_ends_too(ground: Ground) -> None:
    """Stopped before its first reconciliation, it makes none."""
    await make(ground, "a")
    operator = ground.operator()
    noting = Noting(operator)
    following = asyncio.create_task(operator.follow())
    await operator.synced()
    working = asyncio.create_task(operator.work())
    await asyncio.sleep(0)
    operator.stop()
    await asyncio.wait_for(working, 30)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)

    assert noting.calls == []


async def test_pods_of_a_kind_are_the_struct_of_controllers(ground: Ground) -> None:
    """The store gives out what reconcilers are typed for."""
    operator = ground.operator()
    pods = operator.store(PODS)
    await ground.writer.create(
        PODS, {"metadata": {"name": "a", "namespace": "default"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    async with ground.working(operator):
        assert isinstance(pods.get("default", "a"), Pod)
