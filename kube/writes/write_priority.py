"""Write priority: low-priority writes wait while pods are bound."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["WritePriority"]


class WritePriority:
    """Counts the binds under way, so that status writes and events can wait for a quiet moment."""

    def __init__(self) -> None:
        """Start quiet."""
        self.binding = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    @contextmanager
    def bind(self) -> Iterator[None]:
        """Mark the block as binding."""
        self.binding += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self.binding -= 1
            if not self.binding:
                self._quiet.set()

    async def quiet(self, at_most: float) -> None:
        """Wait until no bind is under way, at most `at_most` seconds, so that no write waits for ever."""
        if self._quiet.is_set() or at_most <= 0:
            return
        try:
            async with asyncio.timeout(at_most):
                await self._quiet.wait()
        except TimeoutError:
            return
