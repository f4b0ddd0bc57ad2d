"""On-demand informer: watches a kind only while the configuration requires it.

    idle ──objects are required──▶ watching ──other objects are required──▶ watching those
      ▲                              │
      └──no objects are required─────┘   the watched objects are removed from the cluster state

If only one object is required, the right to read that object is enough: the list and the watch name it.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import structlog

from pyroclast.cache.state import ClusterState
from pyroclast.cache.sync.event_handlers import EventHandlers
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.kube.api.resources import Resource
from pyroclast.kube.reflector import Handler, ObjectLimit, Reflector
from pyroclast.model.errors import ObjectError

__all__ = ["EVERY_OBJECT", "OnDemandInformer", "RequiredObjects"]

_PAGE_SIZE: Final = 500
_LIMITED_PAGE_SIZE: Final = 50
"""Objects a page of a kind with a limit: at most 75 MiB, because etcd takes objects of 1.5 MiB."""

_log = structlog.get_logger(__name__)


class RequiredObjects(NamedTuple):
    """The required objects of a kind."""

    namespace: str = ""
    """Their namespace; empty for all namespaces."""
    name: str = ""
    """The name of the only required object; empty for all objects."""
    label_selector: str = ""
    """Only objects with these labels are required."""


EVERY_OBJECT: Final = RequiredObjects()


class OnDemandInformer:
    """Watches the required objects of a kind. All methods run on the thread of one event loop."""

    def __init__(
        self,
        state: ClusterState,
        client: Client,
        resource: Resource[Any],
        *,
        handlers: Sequence[Handler[Any]] = (),
        limit: ObjectLimit | None = None,
        on_broken: Callable[[ObjectError], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare to watch; `run` starts the watch.

        Args:
            state: Receives the objects.
            client: The client of the API server.
            resource: The kind.
            handlers: Receive changes after the state.
            limit: Maximum of objects that are held.
            on_broken: Receives each object that cannot be decoded.
            clock: Clock for waits.
        """
        self._state, self._client, self._resource = state, client, resource
        self._handlers, self._limit = tuple(handlers), limit
        self.reflector: Reflector[Any] | None = None
        """The reflector while it watches."""
        self._on_broken = on_broken
        self._clock = clock or SystemClock()
        self._required: RequiredObjects | None = None
        self._changed = asyncio.Event()
        self._is_synced = asyncio.Event()
        """Set when the required objects that exist are applied to the cluster state."""

    def require(self, required: RequiredObjects | None) -> None:
        """Watch these objects from now on; None stops the watch."""
        if required != self._required:
            self._required = required
            self._is_synced.clear()
            self._changed.set()

    async def wait(self, patience_seconds: float) -> bool:
        """Wait until the required objects are applied, and return whether they are."""
        try:
            async with asyncio.timeout(patience_seconds):
                await self._is_synced.wait()
        except TimeoutError:
            _log.warning("required_objects_slow", kind=self._resource.kind, required=self._required)
        return self.is_synced

    @property
    def is_synced(self) -> bool:
        """Whether the required objects are applied to the cluster state."""
        return self._is_synced.is_set()

    async def run(self) -> None:
        """Watch the required objects until cancelled."""
        while True:
            self._changed.clear()
            required = self._required
            if required is None:
                self._is_synced.set()
                await self._changed.wait()
            else:
                await self._watch(required)

    async def _watch(self, required: RequiredObjects) -> None:
        """Watch objects until other objects are required."""
        kind = self._resource.name
        reflector = self.reflector = Reflector(
            self._client,
            self._resource,
            [EventHandlers(kind, self._state), *self._handlers],
            namespace=required.namespace,
            label_selector=required.label_selector,
            field_selector=f"metadata.name={required.name}" if required.name else "",
            page_size=_PAGE_SIZE if self._limit is None else _LIMITED_PAGE_SIZE,
            limit=self._limit,
            on_broken=self._on_broken,
            clock=self._clock,
        )
        watching, syncing = (
            asyncio.create_task(reflector.run()),
            asyncio.create_task(self._wait_for_sync(reflector, required)),
        )
        changing = asyncio.create_task(self._wait_for_change())
        try:
            await asyncio.wait((watching, changing), return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                watching.result()  # raises the error of the watch, so that the caller restarts `run`
        finally:
            for each in (watching, syncing, changing):
                each.cancel()
            await asyncio.gather(watching, syncing, changing, return_exceptions=True)
            self.reflector = None
            for known in list(self._state.stored(kind).values()):
                self._state.remove(kind, known)

    async def _wait_for_change(self) -> None:
        await self._changed.wait()

    async def _wait_for_sync(self, reflector: Reflector[Any], required: RequiredObjects) -> None:
        await reflector.synced.wait()
        if required == self._required:
            self._is_synced.set()
