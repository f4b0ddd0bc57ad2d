"""What admission knows of the cluster: queues and namespaces, followed, and asked anew where a refusal hangs on them.

A reflector lags by moments. A Job that arrives right behind its queue must not be refused because the queue was not
seen yet, so before anything is refused the queues are listed once more; who asks meanwhile shares that list.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from controllers.admission.lookups import QUEUE_PARENT, Lookups, QueuesByName, StoredQueues, parent_index
from controllers.kinds import QUEUES
from controllers.operating.store import Store
from kube.client import Client
from kube.errors import ApiError
from kube.reflector import Reflector
from kube.resources import NAMESPACES
from model.api.scheduling import Queue
from model.errors import CacheError, ObjectError
from model.wire import Namespace

__all__ = ["Cluster"]

_ASK_SECONDS: Final = 2.0
"""Longest wait for the API server while somebody waits for an answer."""

_log = structlog.get_logger(__name__)


class Cluster:
    """Queues and namespaces."""

    def __init__(self, client: Client) -> None:
        """Prepare to follow; `run` does."""
        self._client = client
        self._queues: Store[Queue] = Store({QUEUE_PARENT: parent_index})
        self._namespaces: Store[Namespace] = Store()
        self._queue_reflector = Reflector(client, QUEUES, (self._queues,))
        self._namespace_reflector = Reflector(client, NAMESPACES, (self._namespaces,))
        self._listing: asyncio.Task[Lookups | None] | None = None

    @property
    def is_synced(self) -> bool:
        """Both lists were read."""
        return self._queue_reflector.synced.is_set() and self._namespace_reflector.synced.is_set()

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._queue_reflector.run())
            tasks.create_task(self._namespace_reflector.run())

    async def lookups(self) -> Lookups | None:
        """Return the queues as followed; before they were listed, as `fresh` does."""
        return StoredQueues(self._queues) if self._queue_reflector.synced.is_set() else await self.fresh()

    async def fresh(self) -> Lookups | None:
        """List the queues now; None when the API server does not answer."""
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._list())
        return await asyncio.shield(self._listing)

    async def namespace_annotations(self, name: str) -> Mapping[str, str]:
        """Return the annotations of a namespace; none when there is no such namespace."""
        known = self._namespaces.get("", name)
        if known is None:
            try:
                body = await self._client.request("GET", NAMESPACES.path("", name), timeout=_ASK_SECONDS)
                known = NAMESPACES.decoder.decode(body)
            except (ApiError, CacheError, ObjectError) as error:
                _log.warning("namespace_not_read", namespace=name, error=str(error))
                return {}
        return known.metadata.annotations

    async def _list(self) -> Lookups | None:
        try:
            body = await self._client.request("GET", QUEUES.collection(), timeout=_ASK_SECONDS)
            page = QUEUES.decoder.page(body)
        except (ApiError, CacheError) as error:
            _log.warning("queues_not_read", error=str(error))
            return None
        return QueuesByName(page.items)
