"""Background work: begun again after surprises, told, and known as failing when it never lasts."""

import asyncio
from collections.abc import Callable

from pyroclast.cache.sync.background import Background
from pyroclast.model import wire
from tests.unit.cache.conftest import Following
from tests.unit.controllers.moving import settled
from tests.unit.kube.world import FakeClock


class Frail:
    """Work that a surprise ends so many times, after so many seconds each; then it goes on."""

    def __init__(self, clock: FakeClock, deaths: int, *, lasting: float = 0.0) -> None:
        """Take how often to die, and after how long."""
        self.clock, self.deaths, self.lasting = clock, deaths, lasting
        self.begun = 0
        self.is_well = asyncio.Event()

    async def run(self) -> None:
        """Die, or go on for ever."""
        self.begun += 1
        self.clock.now += self.lasting
        if self.begun <= self.deaths:
            raise RuntimeError("surprise")
        self.is_well.set()
        await asyncio.Event().wait()


async def kept(frail: Frail, on_surprise: Callable[[str], None] = lambda _: None) -> Background:
    """Keep the work until it goes on."""
    background = Background(frail.clock, on_surprise=on_surprise)
    background.keep("frail", frail.run)
    async with asyncio.timeout(60):
        await frail.is_well.wait()
    return background


async def test_work_that_dies_is_begun_again_later_each_time() -> None:
    """Each surprise is told, and the waits grow."""
    told: list[str] = []
    frail = Frail(FakeClock(), 3)
    background = await kept(frail, told.append)

    assert told == ["frail"] * 3
    first, second, third = frail.clock.slept
    assert 0 < first <= 0.1
    assert 0.1 <= second <= 0.2
    assert 0.2 <= third <= 0.4
    await background.stop()


async def test_work_that_never_lasts_is_failing_until_it_has_lasted() -> None:
    """Five surprises in a row; a minute of quiet clears them."""
    frail = Frail(FakeClock(), 5)
    background = await kept(frail)

    assert background.failing() == {"frail": "RuntimeError: surprise"}
    frail.clock.now += 61.0
    assert background.failing() == {}
    await background.stop()


async def test_surprises_far_apart_are_each_a_first_one() -> None:
    """Work that ran for a minute in between is not failing, and is begun again soon."""
    frail = Frail(FakeClock(), 8, lasting=60.0)
    background = await kept(frail)

    assert background.failing() == {}
    assert max(frail.clock.slept) <= 0.1
    await background.stop()


async def test_work_that_ends_by_itself_is_over() -> None:
    """It is not begun again."""
    begun: list[int] = []

    async def brief() -> None:
        begun.append(1)

    background = Background(FakeClock())
    background.keep("brief", brief)
    await settled()

    assert begun == [1]
    await background.stop()


async def test_work_to_be_tried_once_is_told_when_it_dies() -> None:
    """A surprise in it is counted, and is no failing."""
    told: list[str] = []
    frail = Frail(FakeClock(), 1)
    background = Background(frail.clock, on_surprise=told.append)
    background.once("frail", frail.run)
    await settled()

    assert (told, frail.begun, background.failing()) == (["frail"], 1, {})
    await background.stop()


async def test_a_cluster_is_followed_on_after_a_surprise(following: Following) -> None:
    """A reflector that dies is begun again: what comes afterwards reaches the books."""
    await following.node()
    assert await following.cache.start(patience_seconds=10)
    reflector = following.cache.reflectors["Node"]
    take, surprises = reflector._learn, [RuntimeError("surprise")]

    def learn(key: str, new: wire.Node) -> bool:
        if surprises:
            raise surprises.pop()
        return take(key, new)

    reflector._learn = learn  # type: ignore[method-assign] # where a surprise would come from
    await following.node("n2")
    await following.seen("Node", 2)

    assert not surprises
