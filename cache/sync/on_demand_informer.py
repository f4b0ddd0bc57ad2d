"""On-demand informer: watches a kind only while the configuration requires it.

    idle ──some are wanted──▶ following ──others are wanted──▶ following them instead
      ▲                           │
      └──none are any more────────┘   what was followed leaves the books

Where one object is wanted, rights to read it are enough: lists and watches name it.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import structlog

from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.event_handlers import EventHandlers
from pyroclast.kube.client import Client
from pyroclast.kube.clock import Clock, SystemClock
from pyroclast.kube.reflector import Reflector
from pyroclast.kube.resources import Resource
from pyroclast.model.errors import ObjectError

__all__ = ["EVERY", "OnDemandInformer", "Wanted"]

_log = structlog.get_logger(__name__)


class Wanted(NamedTuple):
    """Which objects of the kind."""

    namespace: str = ""
    """Where they are; empty for anywhere."""
    name: str = ""
    """The only one; empty for all."""


EVERY: Final = Wanted()


class OnDemandInformer:
    """Follows what is wanted of a kind; everything happens on the loop's thread."""

    def __init__(
        self,
        state: ClusterState,
        client: Client,
        resource: Resource[Any],
        *,
        on_broken: Callable[[ObjectError], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare to follow; `run` does, and tells `on_broken` of each object that does not fit its kind."""
        self._state, self._client, self._resource = state, client, resource
        self._on_broken = on_broken
        self._clock = clock or SystemClock()
        self._wanted: Wanted | None = None
        self._changed = asyncio.Event()
        self._is_there = asyncio.Event()
        """What is wanted is in the books, if the server has it."""

    def follow(self, wanted: Wanted | None) -> None:
        """Follow these from now on; None for none."""
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
            _log.warning("wanted_objects_slow", kind=self._resource.kind, wanted=self._wanted)
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

    async def _follow(self, wanted: Wanted) -> None:
        """Follow some until others are wanted."""
        kind = self._resource.kind
        reflector = Reflector(
            self._client,
            self._resource,
            [EventHandlers(kind, self._state)],
            namespace=wanted.namespace,
            field_selector=f"metadata.name={wanted.name}" if wanted.name else "",
            on_broken=self._on_broken,
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
            for known in list(self._state.stored(kind).values()):
                self._state.remove(kind, known)

    async def _wait_for_change(self) -> None:
        await self._changed.wait()

    async def _note(self, reflector: Reflector[Any], wanted: Wanted) -> None:
        await reflector.synced.wait()
        if wanted == self._wanted:
            self._is_there.set()
