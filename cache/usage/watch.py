"""Watch: measurements come into the books again and again, as long as a source is configured.

    idle ──a source is named──▶ collecting ──▶ waiting for the interval ──┐
      ▲                            ▲ └──────────────◀─────────────────────┘
      └──none is named any more────┘   another source is asked at once

A source that fails changes nothing: what was measured stays in the books with its moment, and grows too old to be used.
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
from pyroclast.kube.client import Client
from pyroclast.kube.clock import Clock, SystemClock
from pyroclast.model.ids import NodeName
from pyroclast.model.usage import NodeUsage, UsageSource

__all__ = ["UsageWatch"]

COLLECTION_SECONDS: Final = 60.0
"""Time that one collection has."""
LEAST_INTERVAL_SECONDS: Final = 1.0

_log = structlog.get_logger(__name__)


class UsageWatch:
    """Collects measurements; everything happens on the loop's thread."""

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
            state: Where measurements go, and whose nodes are asked about.
            client: Speaks to the API server, behind which an adaptor may be.
            on_failure: Is told the type of a source that failed, each time.
            clock: For waiting and for moments.
            collection_seconds: Time that one collection has.
        """
        self._state = state
        self._client = client
        self._on_failure = on_failure
        self._clock = clock or SystemClock()
        self._collection_seconds = collection_seconds
        self._source: UsageSource | None = None
        self._changed = asyncio.Event()
        self._is_failing = False

    def follow(self, source: UsageSource | None) -> None:
        """Ask this source from now on, at once where it is another; None for none."""
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
                found = await self._made(source).measure(names, self._clock.wall())
            if names and not found:
                raise SourceError("of no node of the cluster: are its series named by node?")  # noqa: TRY301 - told as all failures are
        except (SourceError, TimeoutError) as error:
            self._is_failing = True
            self._on_failure(source.type)
            why = str(error) or f"no answer within {self._collection_seconds:g} s"
            _log.warning("usage_not_measured", source=source.type, address=source.address, error=why)
            return
        if self._is_failing:
            self._is_failing = False
            _log.info("usage_measured_again", source=source.type, nodes=len(found))
        if source == self._source:
            self._state.measure(self._with_earlier(found))

    def _made(self, source: UsageSource) -> UsageReader:
        match source.type:
            case "prometheus":
                return Prometheus(source)
            case "elasticsearch":
                return Elasticsearch(source)
            case _:
                return Adaptor(self._client)

    def _with_earlier(self, found: Mapping[NodeName, NodeUsage]) -> dict[NodeName, NodeUsage]:
        """Return what was found, and what was known of other nodes that are still there."""
        known, earlier = self._state.stored("Node"), self._state.usage
        return {name: each for name, each in {**earlier, **found}.items() if name in known}

    async def _pause(self, seconds: float) -> None:
        """Wait, but not when another source is named."""
        waiting = [asyncio.create_task(self._clock.sleep(seconds)), asyncio.create_task(self._wait_for_change())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _wait_for_change(self) -> None:
        await self._changed.wait()
