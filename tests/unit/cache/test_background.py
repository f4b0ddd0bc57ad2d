"""Background work: restarted after exceptions, reported, and failing if it raises repeatedly."""

import asyncio
from collections.abc import Callable

from pyroclast.cache.sync.background import Background
from pyroclast.model import wire
from tests.unit.cache.conftest import WatchedCluster
from tests.unit.controllers.moving import settled
from tests.unit.kube.world import FakeClock


class FailingWork:
    """Work that raises a number of times, each time after some seconds, and then continues."""

    def __init__(self, clock: FakeClock, failures: int, *, lasting: float = 0.0) -> None:
        """Prepare to raise `failures` times, each time after `lasting` seconds."""
        self.clock, self.failures, self.lasting = clock, failures, lasting
        self.starts = 0
        self.is_running = asyncio.Event()

    async def run(self) -> None:
        """Raise, or run without end."""
        self.starts += 1
        self.clock.now += self.lasting
        if self.starts <= self.failures:
            raise RuntimeError("broken")
        self.is_running.set()
        await asyncio.Event().wait()


async def restarted(work: FailingWork, on_failure: Callable[[str], None] = lambda _: None) -> Background:
    """Start the work, and wait until it no longer raises."""
    background = Background(work.clock, on_failure=on_failure)
    background.keep("work", work.run)
    async with asyncio.timeout(60):
        await work.is_running.wait()
    return background


async def test_work_that_raises_is_restarted_after_increasing_waits() -> None:
    """Each failure is reported, and the waits increase."""
    reported: list[str] = []
    work = FailingWork(FakeClock(), 3)
    background = await restarted(work, reported.append)

    assert reported == ["work"] * 3
    first, second, third = work.clock.slept
    assert 0 < first <= 0.1
    assert 0.1 <= second <= 0.2
    assert 0.2 <= third <= 0.4
    await background.stop()


async def test_work_that_raises_repeatedly_is_failing_until_it_recovers() -> None:
    """It is failing after five failures in a row, until it runs for a minute."""
    work = FailingWork(FakeClock(), 5)
    background = await restarted(work)

    assert background.failing() == {"work": "RuntimeError: broken"}
    work.clock.now += 61.0
    assert background.failing() == {}
    await background.stop()


async def test_failures_far_apart_do_not_add_up() -> None:
    """Work that ran for a minute in between is not failing, and its wait is short again."""
    work = FailingWork(FakeClock(), 8, lasting=60.0)
    background = await restarted(work)

    assert background.failing() == {}
    assert max(work.clock.slept) <= 0.1
    await background.stop()


async def test_work_that_returns_is_not_restarted() -> None:
    """It runs once."""
    starts: list[int] = []

    async def brief() -> None:
        starts.append(1)

    background = Background(FakeClock())
    background.keep("brief", brief)
    await settled()

    assert starts == [1]
    await background.stop()


async def test_work_that_runs_once_reports_its_failure() -> None:
    """The failure is reported, and the work does not count as failing."""
    reported: list[str] = []
    work = FailingWork(FakeClock(), 1)
    background = Background(work.clock, on_failure=reported.append)
    background.once("work", work.run)
    await settled()

    assert (reported, work.starts, background.failing()) == (["work"], 1, {})
    await background.stop()


async def test_a_reflector_is_restarted_after_an_exception(watched: WatchedCluster) -> None:
    """The cluster state contains objects that are created after the restart."""
    await watched.node()
    assert await watched.cache.start(patience_seconds=10)
    reflector = watched.cache.reflectors["Node"]
    learn_before, exceptions = reflector._learn, [RuntimeError("broken")]

    def learn(key: str, new: wire.Node) -> bool:
        if exceptions:
            raise exceptions.pop()
        return learn_before(key, new)

    reflector._learn = learn  # type: ignore[method-assign] # the method raises once
    await watched.node("n2")
    await watched.seen("Node", 2)

    assert not exceptions
