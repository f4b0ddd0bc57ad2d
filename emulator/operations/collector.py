"""Garbage collection: what happens to the dependents of an object that goes.

`Background` deletes them when the owner has gone, `Foreground` before it goes, `Orphan` lets them live without it.
Unlike the real collector this one does not delete objects whose owner never existed: tests invent owners.
"""

import asyncio
from collections import deque
from typing import Any

from pyroclast.emulator.operations import deletion
from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.storage.resources import Resource
from pyroclast.emulator.storage.store import DELETED, Collection, Event, Record

__all__ = ["Collector"]

Object = dict[str, Any]
Dependent = tuple[str, str, str, str]
"""Group, plural, namespace and name."""

BATCH = 100
"""Objects handled before other requests get a turn."""


class Collector:
    """Knows who depends on whom, and follows deletions."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._dependents: dict[str, dict[Dependent, None]] = {}
        self._uids: set[str] = set()
        self._waiting: dict[str, Dependent] = {}
        """Owners that are held until their dependents have gone."""
        self._work: deque[tuple[str, Dependent, str]] = deque()
        self._scheduled = False

    def on_change(self, collection: Collection, event: Event) -> None:
        """Keep the index, and begin what a deletion asks for."""
        record, before = event.record, event.before
        if event.type == DELETED:
            self._uids.discard(record.uid)
        else:
            self._uids.add(record.uid)
        if record.owners or (before is not None and before.owners):
            self._index(collection, event)
        if event.type == DELETED:
            self._owner_gone(record)
        elif b'"deletionTimestamp"' in record.raw and (
            b"foregroundDeletion" in record.raw or b'"orphan"' in record.raw
        ):
            self._push("finalize", self._key(collection, record), record.uid)

    def _key(self, collection: Collection, record: Record) -> Dependent:
        return collection.group, collection.plural, record.namespace, record.name

    def _index(self, collection: Collection, event: Event) -> None:
        key = self._key(collection, event.record)
        for uid in event.before.owners if event.before is not None else ():
            known = self._dependents.get(uid)
            if known is not None:
                known.pop(key, None)
                if not known:
                    del self._dependents[uid]
            if event.type == DELETED or uid not in event.record.owners:
                self._look_at_owner(uid)
        if event.type != DELETED:
            for uid in event.record.owners:
                self._dependents.setdefault(uid, {})[key] = None

    def _look_at_owner(self, uid: str) -> None:
        """A dependent has gone: an owner that waited for it may go on."""
        waiting = self._waiting.get(uid)
        if waiting is not None:
            self._push("finalize", waiting, uid)

    def _owner_gone(self, record: Record) -> None:
        self._waiting.pop(record.uid, None)
        for key in self._dependents.get(record.uid, ()):
            self._push("release", key, record.uid)

    def _push(self, what: str, key: Dependent, uid: str) -> None:
        self._work.append((what, key, uid))
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._step)

    def _step(self) -> None:
        """Do some of the work, then let others have a turn."""
        for _ in range(min(BATCH, len(self._work))):
            what, key, uid = self._work.popleft()
            group, plural, namespace, name = key
            resource = self._cluster.registry.storage_resource(group, plural)
            record = self._cluster.store.collection(group, plural).get(namespace, name)
            if resource is None or record is None:
                continue
            if what == "release":
                self._release(resource, record, uid)
            elif record.uid == uid:
                self._finalize(resource, record)
        self._scheduled = bool(self._work)
        if self._scheduled:
            asyncio.get_running_loop().call_soon(self._step)

    def _release(self, resource: Resource, record: Record, owner: str) -> None:
        """One owner has gone: the dependent goes with the last, and else forgets this one."""
        if any(uid != owner and self._exists(uid) for uid in record.owners):
            self._drop_reference(resource, record, owner)
        elif owner in record.owners:
            deletion.delete(self._cluster, resource, record, deletion.DeleteOptions(propagation="Background"))

    def _exists(self, uid: str) -> bool:
        return uid in self._uids

    def _drop_reference(self, resource: Resource, record: Record, owner: str) -> None:
        tree = record.object()
        references = [one for one in tree["metadata"].get("ownerReferences") or () if one["uid"] != owner]
        if references:
            tree["metadata"]["ownerReferences"] = references
        else:
            tree["metadata"].pop("ownerReferences", None)
        self._cluster.collection(resource).put(tree)

    def _finalize(self, resource: Resource, record: Record) -> None:
        """Do what an owner's `orphan` or `foregroundDeletion` finalizer waits for."""
        tree = record.object()
        metadata = tree["metadata"]
        finalizers = metadata.get("finalizers") or []
        if not metadata.get("deletionTimestamp"):
            return
        if "orphan" in finalizers:
            for key in list(self._dependents.get(record.uid, ())):
                self._with(key, lambda kind, one: self._drop_reference(kind, one, record.uid))
            self._remove_finalizer(resource, record, "orphan")
        elif "foregroundDeletion" in finalizers:
            blocking = [self._blocks(key, record.uid) for key in list(self._dependents.get(record.uid, ()))]
            if any(blocking):
                self._waiting[record.uid] = (resource.group, resource.plural, record.namespace, record.name)
            else:
                self._remove_finalizer(resource, record, "foregroundDeletion")

    def _blocks(self, key: Dependent, owner: str) -> bool:
        """Delete a dependent; says whether its owner has to wait for it."""
        group, plural, namespace, name = key
        collection = self._cluster.store.collection(group, plural)
        self._with(key, self._delete_foreground)
        record = collection.get(namespace, name)
        if record is None:
            return False
        references = record.object()["metadata"].get("ownerReferences") or ()
        return any(one["uid"] == owner and one.get("blockOwnerDeletion") for one in references)

    def _delete_foreground(self, resource: Resource, record: Record) -> None:
        if b'"deletionTimestamp"' in record.raw and record.object()["metadata"].get("deletionTimestamp"):
            return
        policy = "Foreground" if self._dependents.get(record.uid) else "Background"
        deletion.delete(self._cluster, resource, record, deletion.DeleteOptions(propagation=policy))

    def _with(self, key: Dependent, action: Any) -> None:
        group, plural, namespace, name = key
        resource = self._cluster.registry.storage_resource(group, plural)
        record = self._cluster.store.collection(group, plural).get(namespace, name)
        if resource is not None and record is not None:
            action(resource, record)

    def _remove_finalizer(self, resource: Resource, record: Record, finalizer: str) -> None:
        collection = self._cluster.collection(resource)
        current = collection.get(record.namespace, record.name)
        if current is None:
            return
        tree = current.object()
        metadata = tree["metadata"]
        metadata["finalizers"] = [one for one in metadata.get("finalizers") or () if one != finalizer]
        if metadata["finalizers"] or metadata.get("deletionGracePeriodSeconds"):
            collection.put(tree)
        else:
            collection.remove(current, tree)
