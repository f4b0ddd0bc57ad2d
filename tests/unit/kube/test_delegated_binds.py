"""Delegated binds: preparations are ours, and the pod itself shows the result."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from pyroclast.kube.writes.binder import ApiBinder
from pyroclast.kube.writes.binding import DelegateError
from pyroclast.model.plan import Bind, Preparation
from tests.unit.kube.test_binder import bind, bind_of
from tests.unit.kube.world import World


class Delegate:
    """Binds as a test says."""

    def __init__(self, does: Callable[[Bind], Awaitable[bool]]) -> None:
        self._does = does
        self.asked: list[str] = []

    async def bind(self, bind: Bind) -> bool:
        """Do it."""
        self.asked.append(bind.name)
        return await self._does(bind)


def delegated(name: str, uid: str, *steps: Preparation) -> Bind:
    """A bind that is delegated."""
    return msgspec.structs.replace(bind_of(name, uid, "n1", *steps), delegate="extender")


async def never(_: Bind) -> bool:
    """Say that it went wrong."""
    raise DelegateError("no licence left")


async def told_done(_: Bind) -> bool:
    """Say that it is done."""
    return True


async def leave(_: Bind) -> bool:
    """Leave it to the scheduler."""
    return False


async def test_an_external_binder_is_trusted(world: World) -> None:
    """The server gets no request; the watch shows whether it is true."""
    uid = await world.pod("a")
    delegate = Delegate(told_done)

    outcome = await bind(ApiBinder(world.client, clock=world.clock, delegate=delegate), delegated("a", uid))

    assert outcome.is_complete
    assert delegate.asked == ["a"]
    assert "nodeName" not in (await world.get_pod("a"))["spec"]


async def test_only_what_is_left_to_him_is(world: World) -> None:
    """The other pod of the plan is bound by us."""
    uids = {name: await world.pod(name) for name in ("a", "b")}
    delegate = Delegate(told_done)

    outcome = await bind(
        ApiBinder(world.client, clock=world.clock, delegate=delegate),
        delegated("a", uids["a"]),
        bind_of("b", uids["b"]),
    )

    assert outcome.is_complete
    assert delegate.asked == ["a"]
    assert (await world.get_pod("b"))["spec"]["nodeName"] == "n1"


async def test_what_he_leaves_to_us_we_bind(world: World) -> None:
    """As if no delegate were configured."""
    uid = await world.pod("a")

    outcome = await bind(ApiBinder(world.client, clock=world.clock, delegate=Delegate(leave)), delegated("a", uid))

    assert outcome.is_complete
    assert (await world.get_pod("a"))["spec"]["nodeName"] == "n1"


async def test_a_refusal_is_a_bind_that_failed(world: World) -> None:
    """With his words."""
    uid = await world.pod("a")

    outcome = await bind(ApiBinder(world.client, clock=world.clock, delegate=Delegate(never)), delegated("a", uid))

    (failed,) = outcome.failed
    assert (failed.reason, failed.message) == ("DelegateFailed", "no licence left")
    assert "nodeName" not in (await world.get_pod("a"))["spec"]


async def test_an_answer_that_was_lost_is_no_failure(world: World) -> None:
    """The pod is bound, whatever the answer."""
    uid = await world.pod("a")
    plain = ApiBinder(world.client, clock=world.clock)

    async def bind_and_be_lost(_: Bind) -> bool:
        assert (await bind(plain, bind_of("a", uid))).is_complete
        raise DelegateError("no answer within 1 s")

    outcome = await bind(
        ApiBinder(world.client, clock=world.clock, delegate=Delegate(bind_and_be_lost)), delegated("a", uid)
    )

    assert outcome.is_complete


async def test_where_he_bound_it_elsewhere_the_bind_failed(world: World) -> None:
    """The watch will show where it is, so nothing is written about it: an answer that was lost may have come late."""
    uid = await world.pod("a")
    plain = ApiBinder(world.client, clock=world.clock)

    async def bind_elsewhere(_: Bind) -> bool:
        assert (await bind(plain, bind_of("a", uid, "n2"))).is_complete
        raise DelegateError("I know better")

    outcome = await bind(
        ApiBinder(world.client, clock=world.clock, delegate=Delegate(bind_elsewhere)), delegated("a", uid)
    )

    assert [(each.reason, each.message) for each in outcome.failed] == [("BoundElsewhere", "it runs on n2")]


async def test_where_another_pod_took_the_name_the_first_is_gone(world: World) -> None:
    """Nothing is written about a pod that never was."""
    await world.pod("a")

    outcome = await bind(ApiBinder(world.client, clock=world.clock, delegate=Delegate(never)), delegated("a", "before"))

    assert [each.reason for each in outcome.failed] == ["Gone"]


async def test_preparations_come_first_and_are_undone_when_he_refuses(world: World) -> None:
    """They are the plan's, for every binder."""
    uid = await world.pod("a")
    story: list[str] = []

    class Preparer:
        async def prepare(self, *_: object) -> None:
            await asyncio.sleep(0)
            story.append("prepared")

        async def revert(self, *_: object) -> None:
            story.append("reverted")

    async def refuse(_: Bind) -> bool:
        story.append("asked")
        raise DelegateError("no")

    binder = ApiBinder(world.client, clock=world.clock, preparers={"copy": Preparer()}, delegate=Delegate(refuse))
    await bind(binder, delegated("a", uid, Preparation(kind="copy", namespace="default", name="x")))

    assert story == ["prepared", "asked", "reverted"]


async def test_without_a_delegate_the_bind_fails(world: World) -> None:
    """The pod is not bound by us: that is not what was decided."""
    uid = await world.pod("a")

    outcome = await bind(ApiBinder(world.client, clock=world.clock), delegated("a", uid))

    assert [each.message for each in outcome.failed] == ["no binder for extender is configured"]
