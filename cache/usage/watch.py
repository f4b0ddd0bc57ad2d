"""Usage watch: collects measurements at intervals while a source is configured.

    idle ──source configured──▶ collecting ──▶ waiting for the interval ──┐
      ▲                           ▲ └──────────────◀──────────────────────┘
      └──source removed───────────┘   a changed source is read immediately

If a source fails, the earlier measurements stay in the cluster state until they are too old.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from pyroclast.cache.state import ClusterState
from pyroclast.cache.usage.adaptor import Adaptor
from pyroclast.cache.usage.elasticsearch import Elasticsearch
from pyroclast.cache.usage.prometheus import Prometheus
from pyroclast.cache.usage.source import SourceError, UsageReader
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.clock import Clock, SystemClock
from pyroclast.model.ids import NodeName
from pyroclast.model.usage import NodeUsage, UsageSource

__all__ = ["UsageWatch"]

COLLECTION_SECONDS: Final = 60.0
"""Timeout of one collection."""
LEAST_INTERVAL_SECONDS: Final = 1.0

_log = structlog.get_logger(__name__)


class UsageWatch:
    """Collects measurements. All methods run on the thread of one event loop."""

    def __init__(
        self,
        state: ClusterState,
        client: Client,
        *,
        on_failure: Callable[[str], None] = lambda _: None,
        clock: Clock | None = None,
        collection_seconds: float = COLLECTION_SECONDS,
    ) -> None:
        """Prepare to collect.

        Args:
            state: The cluster state, which stores the measurements of its nodes.
            client: The client of the API server, for the custom metrics API.
            on_failure: Receives the type of the source after each failure.
            clock: Clock for waits and timestamps.
            collection_seconds: Timeout of one collection.
        """
        self._state = state
        self._client = client
        self._on_failure = on_failure
        self._clock = clock or SystemClock()
        self._collection_seconds = collection_seconds
        self._source: UsageSource | None = None
        self._changed = asyncio.Event()
        self._is_failing = False

    def set_source(self, source: UsageSource | None) -> None:
        """Read this source from now on, immediately if it has changed; None stops the collection."""
        if source != self._source:
            self._source = source
            self._changed.set()

    async def run(self) -> None:
        """Collect until cancelled."""
        while True:
            self._changed.clear()
            source = self._source
            if source is None:
                self._state.measure({})
                await self._changed.wait()
            else:
                await self._collect(source)
                await self._pause(max(source.interval_seconds, LEAST_INTERVAL_SECONDS))

    async def _collect(self, source: UsageSource) -> None:
        names = [NodeName(name) for name in self._state.stored("Node")]
        try:
            async with asyncio.timeout(self._collection_seconds):
                found = await self._source_of(source).measure(names, self._clock.wall())
            if names and not found:
                raise SourceError("no node of the cluster is measured: check the node names of its series")  # noqa: TRY301 - handled below like every failure
        except (SourceError, TimeoutError) as error:
            self._is_failing = True
            self._on_failure(source.type)
            reason = str(error) or f"no answer within {self._collection_seconds:g} s"
            _log.warning("usage_not_measured", source=source.type, address=source.address, error=reason)
            return
        if self._is_failing:
            self._is_failing = False
            _log.info("usage_measured_again", source=source.type, nodes=len(found))
        if source == self._source:
            self._state.measure(self._with_earlier(found))

    def _source_of(self, source: UsageSource) -> UsageReader:
        match source.type:
            case "prometheus":
                return Prometheus(source)
            case "elasticsearch":
                return Elasticsearch(source)
            case _:
                return Adaptor(self._client)

    def _with_earlier(self, found: Mapping[NodeName, NodeUsage]) -> dict[NodeName, NodeUsage]:
        """Return the new measurements, and the earlier ones of the other nodes that still exist."""
        known, earlier = self._state.stored("Node"), self._state.usage
        return {name: each for name, each in {**earlier, **found}.items() if name in known}

    async def _pause(self, seconds: float) -> None:
        """Wait for the interval, or until the source changes."""
        waiting = [asyncio.create_task(self._clock.sleep(seconds)), asyncio.create_task(self._wait_for_change())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _wait_for_change(self) -> None:
        await self._changed.wait()
