"""Blocking client: calls extenders from a program without an event loop, such as `pyroclast simulate`."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.extension.outside import Outside
from pyroclast.scheduler.extenders.client import ExtenderClient
from pyroclast.scheduler.extenders.thread_client import Waiting

__all__ = ["calling_extenders", "no_extenders"]

Answering = Callable[[Configuration], Mapping[str, Outside]]


def no_extenders(_: Configuration) -> Mapping[str, Outside]:
    """Return no extenders."""
    return {}


@contextmanager
def calling_extenders() -> Iterator[Answering]:
    """Call extenders within a block, through an event loop in a thread."""
    loop, client = asyncio.new_event_loop(), ExtenderClient()
    thread = threading.Thread(target=loop.run_forever, name="extenders")
    thread.start()
    try:
        yield Waiting(client, loop).outside
    finally:
        asyncio.run_coroutine_threadsafe(client.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
