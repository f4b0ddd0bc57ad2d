"""Requests take turns; temporary refusals are retried separately, so that others do not wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from pyroclast.kube.api.backoff import Backoff
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.retrying import RetryLimiter

TROUBLE, GONE = ApiError(500, "InternalError", "a webhook fails"), ApiError(404, "NotFound", "no such pod")


@dataclass
class HeldClock:
    """Sleeping lasts until the test says so; the time moves by as much."""

    now: float = 0.0
    asleep: int = 0
    wakes: asyncio.Event = field(default_factory=asyncio.Event)

    def monotonic(self) -> float:
        """Tell the time that sleeping moved."""
        return self.now

    def wall(self) -> float:
        """Tell the same."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Sleep until woken."""
        self.asleep += 1
        await self.wakes.wait()
        self.asleep -= 1
        self.now += seconds


@dataclass
class Server:
    """Refuses each request so often, with one refusal."""

    refusals: int
    refusal: ApiError = TROUBLE
    asked: int = 0

    async def ask(self) -> str:
        """Answer, or refuse."""
        self.asked += 1
        await asyncio.sleep(0)
        if self.asked <= self.refusals:
            raise self.refusal
        return "done"


@dataclass
class Ground:
    """Turns of four, of two that are tried again, by a clock that is held."""

    clock: HeldClock
    turns: RetryLimiter
    tasks: list["asyncio.Task[str]"] = field(default_factory=list)

    def start(self, server: Server) -> "asyncio.Task[str]":
        """Begin to ask a server."""
        self.tasks.append(asyncio.ensure_future(self.take(server.ask)))
        return self.tasks[-1]

    async def take(self, ask: Callable[[], Awaitable[str]]) -> str:
        """Ask in turn, in bounded time."""
        return await asyncio.wait_for(self.turns.take(ask, backoff=Backoff()), 30)

    async def rest(self) -> None:
        """Let all come as far as they can."""
        for _ in range(50):
            await asyncio.sleep(0)


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    """One whose requests are patient for a minute."""
    clock = HeldClock()
    made = Ground(clock, RetryLimiter(4, clock=clock, patience_seconds=60.0))
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


async def test_a_refused_request_delays_no_other(ground: Ground) -> None:
    """More than have turns wait for a server that refuses them; another is answered meanwhile, then they are."""
    ill = [ground.start(Server(refusals=1)) for _ in range(5)]
    await ground.rest()
    assert ground.clock.asleep == 2

    assert await ground.take(Server(refusals=0).ask) == "done"

    ground.clock.wakes.set()
    assert await asyncio.gather(*ill) == ["done"] * 5


async def test_a_server_in_trouble_is_not_stormed(ground: Ground) -> None:
    """Each request is tried once; of those that are refused only so many are tried again at a time."""
    servers = [Server(refusals=1) for _ in range(7)]
    waiting = [ground.start(server) for server in servers]
    await ground.rest()

    assert [server.asked for server in servers] == [1] * 7
    assert ground.clock.asleep == 2

    ground.clock.wakes.set()
    assert await asyncio.gather(*waiting) == ["done"] * 7
    assert [server.asked for server in servers] == [2] * 7


async def test_an_answer_waits_for_no_turn_of_those_that_are_tried_again(ground: Ground) -> None:
    """A final refusal is reported at once."""
    for _ in range(4):
        ground.start(Server(refusals=1))
    await ground.rest()

    with pytest.raises(ApiError, match="no such pod"):
        await ground.take(Server(refusals=1, refusal=GONE).ask)


async def test_patience_begins_with_the_turn(ground: Ground) -> None:
    """However long others took before it, each is tried for as long; then its last refusal is reported."""
    ground.clock.wakes.set()
    servers = [Server(refusals=1000) for _ in range(6)]

    ended = await asyncio.gather(*map(ground.start, servers), return_exceptions=True)

    assert ended == [TROUBLE] * 6
    assert ground.clock.now > 60.0
    assert min(server.asked for server in servers) > 3
