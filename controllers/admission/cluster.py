"""Cluster: stores of queues, elastic quotas and namespaces, which are listed again before a refusal.

A reflector lags behind the API server. A Job that arrives right after its queue must not be refused because the queue
was not seen yet. Therefore the kind is listed once more before an object is refused. Requests that arrive during a list
share the next one, because the current list may lack objects that were created in between.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import structlog

from pyroclast.controllers.admission.lookups import QUEUE_PARENT, Lookups, QueuesByName, StoredQueues, parent_index
from pyroclast.controllers.runtime.store import Index, Store
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import ELASTIC_QUOTA_PROFILES, ELASTIC_QUOTAS, NAMESPACES, QUEUES, Resource
from pyroclast.kube.reflector import HasMetadata, Reflector
from pyroclast.model.api.meta import LabelSelector
from pyroclast.model.api.quota import ElasticQuotaProfile
from pyroclast.model.api.scheduling import Queue
from pyroclast.model.elastic.names import TREE_ID
from pyroclast.model.elastic.quota import age, listed_namespaces
from pyroclast.model.errors import CacheError, ObjectError
from pyroclast.model.wire import ElasticQuota, Namespace

__all__ = ["AdmissionCluster"]

T = TypeVar("T", bound=HasMetadata)

_ASK_SECONDS: Final = 2.0
"""Longest wait for the API server while a request is pending."""

_BY_NAME: Final = "name"
_BY_NAMESPACE: Final = "listed-namespace"
_BY_TREE: Final = "tree"

_log = structlog.get_logger(__name__)


def _name_of(quota: ElasticQuota) -> tuple[str, ...]:
    return (quota.metadata.name,)


def _tree_of(profile: ElasticQuotaProfile) -> Iterable[str]:
    return filter(None, (profile.metadata.labels.get(TREE_ID),))


def _serves(each: ElasticQuota, quota: str, namespace: str) -> bool:
    metadata = each.metadata
    if quota:
        return metadata.name == quota
    return metadata.key == f"{namespace}/{namespace}" or namespace in listed_namespaces(each)


def _first(quota: str, found: Iterable[ElasticQuota], namespace: str) -> ElasticQuota | None:
    """Return the quota that counts, as in the scheduler.

    Of one name it is the oldest; else the one of the namespace's name, then of those that list it the first by name.
    """
    if quota:
        return min(found, key=age, default=None)
    return min(
        found, key=lambda each: (each.metadata.key != f"{namespace}/{namespace}", each.metadata.name), default=None
    )


class AdmissionCluster:
    """Queues, elastic quotas with their profiles, and namespaces."""

    def __init__(self, client: Client) -> None:
        """Create the stores. `run` fills them."""
        self._client = client
        self._queues: _Listed[Queue] = _Listed(client, QUEUES, {QUEUE_PARENT: parent_index})
        by_words = {_BY_NAME: _name_of, _BY_NAMESPACE: listed_namespaces}
        self._quotas: _Listed[ElasticQuota] = _Listed(client, ELASTIC_QUOTAS, by_words)
        self._profiles: _Listed[ElasticQuotaProfile] = _Listed(client, ELASTIC_QUOTA_PROFILES, {_BY_TREE: _tree_of})
        self._namespaces: _Listed[Namespace] = _Listed(client, NAMESPACES)
        self._followed: tuple[_Listed[Any], ...] = (self._queues, self._quotas, self._profiles, self._namespaces)

    @property
    def is_synced(self) -> bool:
        """Whether all lists have arrived. A kind that the server does not have needs none."""
        return all(each.is_synced for each in self._followed)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for each in self._followed:
                tasks.create_task(each.reflector.run())

    async def lookups(self) -> Lookups | None:
        """Return the queues of the store. Before its first list, return those of `fresh`."""
        return StoredQueues(self._queues.store) if self._queues.is_synced else await self.fresh()

    async def fresh(self) -> Lookups | None:
        """List the queues now. Return None if the API server does not answer."""
        queues = await self._queues.fresh()
        return None if queues is None else QueuesByName(queues)

    async def quotas(self, *, is_fresh: bool = False) -> Sequence[ElasticQuota] | None:
        """Return the elastic quotas of the store or, with `is_fresh`, of a new list.

        Return None if the API server does not answer.
        """
        return self._quotas.store.values() if self._quotas.is_synced and not is_fresh else await self._quotas.fresh()

    async def quota_of(self, quota: str, namespace: str) -> ElasticQuota | None:
        """Return the elastic quota of a pod, as the scheduler selects it; None if there is none.

        A quota that the pod names and that was not seen yet is looked up in a new list.

        Args:
            quota: That the pod names, or empty.
            namespace: Where it is.

        Raises:
            CacheError: The quota was not seen, and the API server did not answer.
        """
        found = self._selected(quota, namespace)
        if found is None and (quota or not self._quotas.is_synced):
            listed = await self._quotas.fresh()
            if listed is None:
                raise CacheError("the elastic quotas could not be listed; try again")
            found = _first(quota, [each for each in listed if _serves(each, quota, namespace)], namespace)
        return found

    def _selected(self, quota: str, namespace: str) -> ElasticQuota | None:
        store = self._quotas.store
        own = store.get(namespace, namespace)
        found = store.by(_BY_NAME, quota) if quota else [own] if own else store.by(_BY_NAMESPACE, namespace)
        return _first(quota, found, namespace)

    def nodes_of_tree(self, quota: str, namespace: str) -> LabelSelector | None:
        """Return the node selector of a pod's quota tree, None if the pod is in no tree.

        Args:
            quota: Quota of the pod's label, or empty.
            namespace: Namespace of the pod.
        """
        first = self._selected(quota, namespace)
        tree = first.metadata.labels.get(TREE_ID) if first is not None else ""
        profiles = self._profiles.store.by(_BY_TREE, tree) if tree else ()
        return profiles[0].spec.node_selector if profiles else None

    async def namespace_annotations(self, name: str) -> Mapping[str, str]:
        """Return the annotations of a namespace, empty if the namespace does not exist."""
        known = self._namespaces.store.get("", name)
        if known is None:
            try:
                body = await self._client.request("GET", NAMESPACES.path("", name), timeout=_ASK_SECONDS)
                known = NAMESPACES.decoder.decode(body)
            except (ApiError, CacheError, ObjectError) as error:
                _log.warning("namespace_not_read", namespace=name, error=str(error))
                return {}
        return known.metadata.annotations


class _Listed(Generic[T]):
    """A watched kind that is listed again on demand."""

    def __init__(self, client: Client, resource: Resource[T], indexes: Mapping[str, Index[T]] | None = None) -> None:
        self.store: Store[T] = Store(indexes)
        self.reflector = Reflector(client, resource, (self.store,))
        self._client = client
        self._listing: asyncio.Task[Sequence[T] | None] | None = None
        """The latest list."""
        self._next: asyncio.Task[Sequence[T] | None] | None = None
        """The list that starts after the latest one ends."""

    @property
    def is_synced(self) -> bool:
        return self.reflector.synced.is_set()

    async def fresh(self) -> Sequence[T] | None:
        """List all objects, not earlier than now. Return None if the API server does not answer."""
        if self._listing is None or self._listing.done():
            self._listing, self._next = asyncio.create_task(self._list()), None
            return await asyncio.shield(self._listing)
        if self._next is None:
            self._next = asyncio.create_task(self._list_after(self._listing))
        return await asyncio.shield(self._next)

    async def _list_after(self, listing: asyncio.Task[Sequence[T] | None]) -> Sequence[T] | None:
        if await listing is None:
            return None
        if self._next is asyncio.current_task():
            self._listing, self._next = self._next, None
        return await self._list()

    async def _list(self) -> Sequence[T] | None:
        resource = self.reflector.resource
        try:
            body = await self._client.request("GET", resource.collection(), timeout=_ASK_SECONDS)
            page = resource.decoder.page(body)
        except (ApiError, CacheError, ObjectError) as error:
            _log.warning(f"{resource.plural}_not_read", error=str(error))
            return None
        return page.items
