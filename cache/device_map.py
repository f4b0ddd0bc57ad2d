"""The device ConfigMap: the one object of its kind that is followed, as long as the configuration asks for it.

    idle ──a map is named──▶ following ──another one is named──▶ following it instead
      ▲                          │
      └──none is named any more──┘   what was followed leaves the books

Rights to read one ConfigMap are enough: lists and watches name it.
"""

import asyncio
from typing import Final, NamedTuple

import structlog

from cache.books import Books
from cache.following import Feeder
from kube.client import Client
from kube.clock import Clock, SystemClock
from kube.reflector import Reflector
from kube.resources import CONFIG_MAPS
from model import wire

__all__ = ["DeviceMapWatch", "MapName"]

_KIND: Final = "ConfigMap"

_log = structlog.get_logger(__name__)


class MapName(NamedTuple):
    """Which ConfigMap."""

    namespace: str
    name: str


class DeviceMapWatch:
    """Follows the ConfigMap; everything happens on the loop's thread."""

    def __init__(self, books: Books, client: Client, *, clock: Clock | None = None) -> None:
        """Prepare to follow; `run` does."""
        self._books, self._client = books, client
        self._clock = clock or SystemClock()
        self._wanted: MapName | None = None
        self._changed = asyncio.Event()
        self._is_there = asyncio.Event()
        """What is wanted is in the books, if the server has it."""

    def follow(self, wanted: MapName | None) -> None:
        """Follow this one from now on; None for none."""
        if wanted != self._wanted:
            self._wanted = wanted
            self._is_there.clear()
            self._changed.set()

    async def wait(self, patience_seconds: float) -> bool:
        """Wait until what is wanted is in the books; tell whether it is."""
        try:
            async with asyncio.timeout(patience_seconds):
                await self._is_there.wait()
        except TimeoutError:
            _log.warning("device_map_slow", map=None if self._wanted is None else "/".join(self._wanted))
        return self._is_there.is_set()

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            self._changed.clear()
            wanted = self._wanted
            if wanted is None:
                self._is_there.set()
                await self._changed.wait()
            else:
                await self._follow(wanted)

    async def _follow(self, wanted: MapName) -> None:
        """Follow one until another is wanted."""
        reflector = Reflector(
            self._client,
            CONFIG_MAPS,
            [Feeder(_KIND, self._books)],
            namespace=wanted.namespace,
            field_selector=f"metadata.name={wanted.name}",
            clock=self._clock,
        )
        following, noting = asyncio.create_task(reflector.run()), asyncio.create_task(self._note(reflector, wanted))
        changing = asyncio.create_task(self._wait_for_change())
        try:
            await asyncio.wait((following, changing), return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()  # a surprise, which begins the work anew
        finally:
            for each in (following, noting, changing):
                each.cancel()
            await asyncio.gather(following, noting, changing, return_exceptions=True)
            for known in list(self._books.stored(_KIND).values()):
                self._books.remove(_KIND, known)

    async def _wait_for_change(self) -> None:
        await self._changed.wait()

    async def _note(self, reflector: Reflector[wire.ConfigMap], wanted: MapName) -> None:
        await reflector.synced.wait()
        if wanted == self._wanted:
            self._is_there.set()
