"""The cycle's thread: runs the blocking calls of a cycle, one after the other. Endpoints of plugins have another one.

The thread is a daemon thread, because a plugin may never return from a call.
"""

import asyncio
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from types import FrameType
from typing import Any, TypeVar

from pyroclast.framework.extension.outside import CycleCut
from pyroclast.model.texts import said_by

__all__ = ["CycleThread"]

Anything = TypeVar("Anything")


class CycleThread:
    """A worker thread, started by the first call."""

    def __init__(self, name: str = "cycle") -> None:
        self._name = name
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def run(self, call: Callable[..., Anything], *arguments: Any) -> "asyncio.Future[Anything]":
        """Run a call in the thread. The future belongs to the running loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Anything] = loop.create_future()

        def work() -> None:
            try:
                settle, outcome = _succeed, call(*arguments)
            except BaseException as error:  # noqa: BLE001  # it belongs to the caller
                settle, outcome = _fail, _storable(error)  # type: ignore[assignment]  # an outcome too
            with suppress(RuntimeError):  # the loop is closed: the process ends
                loop.call_soon_threadsafe(settle, future, outcome)

        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
            self._thread.start()
        self._calls.put(work)
        return future

    def close(self) -> None:
        """End the thread after the calls that are queued."""
        self._calls.put(None)

    @property
    def is_daemon(self) -> bool:
        """Whether the process may end while the thread runs."""
        return self._thread is None or self._thread.daemon

    @property
    def frame(self) -> FrameType | None:
        """The frame that the thread executes now; None before the first call."""
        ident = None if self._thread is None else self._thread.ident
        return None if ident is None else sys._current_frames().get(ident)  # noqa: SLF001  # documented, in spite of its name

    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            work()


def _succeed(future: "asyncio.Future[Any]", outcome: Any) -> None:
    if not future.done():
        future.set_result(outcome)


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _storable(error: BaseException) -> BaseException:
    """Return an exception that a future can hold.

    SystemExit and the like end only the cycle: a plugin must not end the process.
    """
    if isinstance(error, (Exception, CycleCut)) and not isinstance(error, StopIteration):
        return error
    storable = RuntimeError(f"{type(error).__name__}: {said_by(error)}")
    storable.__cause__ = error
    return storable
