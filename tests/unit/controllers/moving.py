"""A clock that stands still until a test moves it."""

import asyncio
import heapq
from dataclasses import dataclass, field
from itertools import count


@dataclass
class MovedClock:
    """Sleepers wake when the test moves the time to theirs."""

    now: float = 1000.0
    wall_offset: float = 1_767_225_600.0
    _sleepers: list[tuple[float, int, asyncio.Event]] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)

    def monotonic(self) -> float:
        """Tell the time that the test set."""
        return self.now

    def wall(self) -> float:
        """Tell the time of day."""
        return self.now + self.wall_offset

    async def sleep(self, seconds: float) -> None:
        """Wait for the test."""
        woken = asyncio.Event()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), woken))
        await woken.wait()

    async def move(self, seconds: float) -> None:
        """Move the time, stopping at each moment that a task waits for."""
        end = self.now + seconds
        await settled()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, woken = heapq.heappop(self._sleepers)
            self.now = max(self.now, due)
            woken.set()
            await settled()
        self.now = end


async def settled() -> None:
    """Run all tasks that can run without waiting."""
    for _ in range(50):
        await asyncio.sleep(0)
