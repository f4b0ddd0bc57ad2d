"""Leadership: standbys that are stopped, leaders that finish, leaders that lose their lease."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from pyroclast.kube.lease import Elector
from pyroclast.scheduler.cli.options import parse_options
from pyroclast.scheduler.daemon.leadership import LeadershipLostError, lead, lead_to_the_end, lease_options
from tests.unit.controllers.moving import settled


class FakeElector:
    """An elector that gives and takes the lease as a test says; it works as the real one does."""

    def __init__(self) -> None:
        """Start as a candidate."""
        self.won, self.taken = asyncio.Event(), asyncio.Event()
        self.released = False

    async def run(self, on_started: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease, work, and release or lose it."""
        await self.won.wait()
        work = asyncio.ensure_future(on_started())
        taken = asyncio.ensure_future(self.taken.wait())
        try:
            await asyncio.wait((work, taken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            work.cancel()
            taken.cancel()
            await asyncio.wait((work,))
        if work.done() and not work.cancelled():
            work.result()
            self.released = True
            return
        await asyncio.Event().wait()


async def test_leader_finishes_its_work_and_releases_the_lease() -> None:
    """When the process is stopped, the work ends first, then the lease is released."""
    elector, stopping = FakeElector(), asyncio.Event()
    elector.won.set()

    async def work() -> None:
        await stopping.wait()
        await asyncio.sleep(0.01)

    leading = asyncio.create_task(lead(cast("Elector", elector), work, stopping=stopping))
    await settled()
    stopping.set()
    await leading

    assert elector.released


async def test_a_standby_stops_on_request() -> None:
    """A process that never led does not wait for the lease any longer."""
    stopping = asyncio.Event()
    leading = asyncio.create_task(lead(cast("Elector", FakeElector()), never, stopping=stopping))
    await asyncio.sleep(0)
    stopping.set()

    await asyncio.wait_for(leading, 30)


async def test_lost_lease_cancels_the_work_and_is_raised() -> None:
    """A leader whose lease is taken ends, with its work cancelled before."""
    elector, cancelled = FakeElector(), asyncio.Event()
    elector.won.set()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    leading = asyncio.create_task(lead(cast("Elector", elector), work, stopping=asyncio.Event()))
    await settled()
    elector.taken.set()

    with pytest.raises(LeadershipLostError):
        await asyncio.wait_for(leading, 30)
    assert cancelled.is_set()


async def test_lease_lost_while_ending_is_raised_too() -> None:
    """A stopped leader that loses its lease meanwhile ends at once."""
    elector, stopping = FakeElector(), asyncio.Event()
    elector.won.set()
    leading = asyncio.create_task(lead(cast("Elector", elector), never, stopping=stopping))
    await settled()
    stopping.set()
    await settled()
    elector.taken.set()

    with pytest.raises(LeadershipLostError):
        await asyncio.wait_for(leading, 30)


async def test_failure_of_the_work_is_passed_on() -> None:
    """A bug in the work does not look like a lost lease."""
    elector = FakeElector()
    elector.won.set()

    async def work() -> None:
        raise RuntimeError("bug")

    with pytest.raises(RuntimeError, match="bug"):
        await asyncio.wait_for(lead(cast("Elector", elector), work, stopping=asyncio.Event()), 30)


def test_each_process_has_an_identity_of_its_own() -> None:
    """Two processes on one host never take each other's lease for theirs."""
    options = parse_options(["--leader-elect-lease-duration=20500ms"], {}).options

    assert lease_options(options).identity != lease_options(options).identity
    assert lease_options(options).lease_seconds == 21


async def never() -> None:
    """Work that never ends by itself."""
    await asyncio.Event().wait()


async def test_the_exit_status_shows_that_the_lease_was_lost() -> None:
    """1 when it was lost; 0 when the work came to its end, elected or alone."""

    async def work() -> None:
        await asyncio.sleep(0)

    loser, winner, stopping = FakeElector(), FakeElector(), asyncio.Event()
    loser.won.set()
    loser.taken.set()
    winner.won.set()

    assert await lead_to_the_end(cast("Elector", loser), never, stopping=stopping) == 1
    assert await lead_to_the_end(cast("Elector", winner), work, stopping=stopping) == 0
    assert await lead_to_the_end(None, work, stopping=stopping) == 0
