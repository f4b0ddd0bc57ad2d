"""A controller that is killed at a chosen write, before or after the server carried it out, and started again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.store import Key
from pyroclast.kube.api.client import Client, Lane

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class KilledError(Exception):
    """The process is no more."""


class MortalClient(Client):
    """Dies at a write."""

    dies_at = -1
    """Number of the write, from 0; -1 for never."""
    is_carried_out = False
    """The server has carried out the last write."""
    writes = 0

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        """Speak to the server, until death; events do not count."""
        if method not in WRITES or options.get("lane") is Lane.BACKGROUND:
            return await super().request(method, path, **options)
        number, self.writes = self.writes, self.writes + 1
        if number != self.dies_at:
            return await super().request(method, path, **options)
        if self.is_carried_out:
            await super().request(method, path, **options)
        raise KilledError


@dataclass(frozen=True)
class FixedClock:
    """Time of day that stands still; waiting is real."""

    seconds: float

    def monotonic(self) -> float:
        """Tell real time."""
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        """Tell the time that the test set."""
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


@asynccontextmanager
async def life(
    client: MortalClient, build: Callable[[Operator], Any], *, now: float
) -> AsyncIterator[Callable[[Key], Any]]:
    """One process: follows the server, and reconciles when the test asks it to.

    Args:
        client: Speaks for it.
        build: Plugs the controller in and returns its reconciler.
        now: Time of day.
    """
    operator = Operator(client, component="test-controllers", clock=FixedClock(now))
    reconciler = build(operator)
    following = asyncio.create_task(operator.follow())
    await asyncio.wait_for(operator.synced(), 30)
    try:
        yield reconciler.reconcile
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def rest(client: MortalClient, reconcile: Callable[[Key], Any], key: Key) -> None:
    """Reconcile until nothing is written any more, each time after the stores have caught up."""
    async with asyncio.timeout(30):
        while True:
            before = client.writes
            requeue_after = await reconcile(key)
            if client.writes == before and (requeue_after is None or requeue_after > 1):
                return
            await asyncio.sleep(0.01)
