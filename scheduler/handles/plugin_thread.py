"""The thread of a plugin: it has an event loop of its own, so that code that blocks stops this plugin alone.

It is a daemon thread, because a plugin may never return from a call.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final

__all__ = ["PluginThread"]

_END_SECONDS: Final = 1.0
"""Time that cancelled calls have to end before the event loop is closed."""


class PluginThread:
    """An event loop in a thread, started by the first call."""

    def __init__(self, plugin: str) -> None:
        self._name = f"plugin-{plugin}"
        self._loop: asyncio.AbstractEventLoop | None = None

    async def call(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Run a coroutine function in the thread, and return its result or raise its exception.

        If this call is cancelled, it ends at once, and the coroutine is cancelled.
        """
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(self._loop,), name=self._name, daemon=True).start()
        answer, error = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_outcome(work), self._loop))
        if error is not None:
            raise error
        return answer

    async def is_blocked(self, seconds: float) -> bool:
        """Return whether the thread does nothing else for some seconds than what it runs now."""
        try:
            async with asyncio.timeout(seconds):
                await self.call(_nothing)
        except TimeoutError:
            return True
        return False

    def close(self) -> None:
        """End the thread, unless it is blocked."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)


async def _nothing() -> None:
    pass


async def _outcome(work: Callable[[], Awaitable[Any]]) -> tuple[Any, BaseException | None]:
    """Return the result and the exception of a call: some exceptions would end the event loop."""
    try:
        return await work(), None
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001  # it belongs to the caller
        return None, error


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for each in tasks:
        each.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=_END_SECONDS))
    loop.close()
