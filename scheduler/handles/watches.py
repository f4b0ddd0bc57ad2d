"""Watches of the kinds that plugins declare, one for each kind. They run on every replica, also before it leads."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.cache.cache import SchedulerCache
from pyroclast.cache.sync.on_demand_informer import OnDemandInformer, RequiredObjects
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import resource_of
from pyroclast.kube.reflector import HasMetadata, ObjectLimit
from pyroclast.model.watched import WatchedKind

__all__ = ["LIMIT", "OnChange", "PluginWatches"]

LIMIT: Final = ObjectLimit(objects=10_000, bytes=64 * 2**20, size=lambda each: each.size)
"""Maximum of objects that are held of one kind; further ones are left out."""

OnChange = Callable[[str, str, str], None]
"""Receives the name of a watched kind, and the namespace and the name of an object that changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """Reports changes of a kind, after the cluster state has them."""

    kind: str
    on_change: OnChange

    def added(self, new: HasMetadata) -> None:
        """Report a new object."""
        self.on_change(self.kind, new.metadata.namespace, new.metadata.name)

    def updated(self, _old: HasMetadata, new: HasMetadata) -> None:
        """Report a changed object."""
        self.added(new)

    def deleted(self, old: HasMetadata) -> None:
        """Report a deleted object."""
        self.added(old)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watch:
    """One kind that is watched."""

    kind: WatchedKind
    informer: OnDemandInformer
    task: asyncio.Task[None]


class PluginWatches:
    """The watched kinds. All methods run on the thread of one event loop."""

    def __init__(self, cache: SchedulerCache, on_change: OnChange) -> None:
        """Start without kinds."""
        self._cache, self._on_change = cache, on_change
        self._watches: dict[str, _Watch] = {}

    async def follow(self, kinds: Mapping[str, WatchedKind]) -> None:
        """Watch these kinds from now on. Objects of other kinds leave the cluster state."""
        gone = [self._watches.pop(name) for name in self._watches.keys() - kinds.keys()]
        for each in gone:
            each.task.cancel()
        await asyncio.gather(*(each.task for each in gone), return_exceptions=True)
        for name in kinds.keys() - self._watches.keys():
            self._watches[name] = self._begin(kinds[name])

    def _begin(self, kind: WatchedKind) -> _Watch:
        changes = _Changes(kind=kind.name, on_change=self._on_change)
        informer = self._cache.on_demand_informer(resource_of(kind), handlers=[changes], limit=LIMIT)
        informer.require(RequiredObjects(namespace=kind.namespace, label_selector=kind.label_selector))
        task = self._cache.background.keep(f"follow-{kind.name}", informer.run)
        return _Watch(kind=kind, informer=informer, task=task)

    async def wait(self, patience_seconds: float) -> None:
        """Wait until the objects of all kinds are in the cluster state, or the time is over."""
        await asyncio.gather(*(each.informer.wait(patience_seconds) for each in self._watches.values()))

    def is_synced(self, kind: WatchedKind) -> bool:
        """Return whether the objects of a kind are in the cluster state."""
        watch = self._watches.get(kind.name)
        return watch is not None and watch.informer.is_synced

    def objects(self, kind: WatchedKind) -> Mapping[str, Any]:
        """Return the objects of a kind as the watch shows them now."""
        return self._cache.state.stored(kind.name) if kind.name in self._watches else {}

    def counts(self) -> dict[str, int]:
        """Return the number of objects by kind."""
        return {name: len(self.objects(each.kind)) for name, each in self._watches.items()}

    def troubles(self) -> Iterator[tuple[str, str]]:
        """Yield the names of kinds that are not there as a plugin expects, each with the reason and the remedy."""
        for name, watch in sorted(self._watches.items()):
            reflector = watch.informer.reflector
            if reflector is None:
                continue
            if reflector.is_full:
                yield name, f"only {LIMIT.objects} objects of {LIMIT.bytes >> 20} MiB are held; others are left out"
            elif isinstance(reflector.trouble, ApiError) and reflector.trouble.is_forbidden:
                kind = watch.kind
                rule = f'{{apiGroups: ["{kind.group}"], resources: [{kind.resource}], verbs: [list, watch]}}'
                yield name, f"{reflector.trouble}; add the rule {rule} to the chart's scheduler.additionalRules"
