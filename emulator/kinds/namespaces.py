"""Namespaces: what a new one gets, and how one that is deleted is emptied before it goes."""

import asyncio
from typing import Any

from pyroclast.emulator.operations import deletion
from pyroclast.emulator.operations.cluster import Cluster
from pyroclast.emulator.operations.strategies import Context, Strategy, section
from pyroclast.emulator.statuses import forbidden
from pyroclast.emulator.storage.resources import Resource
from pyroclast.emulator.storage.store import DELETED, Collection, Event, Record

__all__ = ["FIRST_NAMESPACES", "NamespaceStrategy", "Terminator", "first_namespace"]

Object = dict[str, Any]

FINALIZER = "kubernetes"
"""In `spec.finalizers`: the contents are still to be removed."""
FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
IMMORTAL = frozenset({"default", "kube-public", "kube-system"})
BATCH = 200
"""Objects deleted before other requests get a turn."""


class NamespaceStrategy(Strategy):
    """Phase, finalizer and the label with the name."""

    def prepare_create(self, tree: Object, context: Context) -> None:
        """Give a new namespace its finalizer and phase."""
        super().prepare_create(tree, context)
        finalizers = section(tree, "spec").get("finalizers") or []
        tree["spec"]["finalizers"] = sorted({*finalizers, FINALIZER})
        tree["status"] = {"phase": "Active"}

    def fill(self, tree: Object, context: Context) -> None:
        """Set the label that selectors of other objects rely on."""
        del context
        if name := tree["metadata"].get("name"):
            section(tree["metadata"], "labels")["kubernetes.io/metadata.name"] = name

    def prepare_update(self, new: Object, old: Object, context: Context) -> None:
        """Keep the finalizers: only the `finalize` subresource changes them."""
        super().prepare_update(new, old, context)
        new["spec"] = old.get("spec", {})

    def check_delete(self, record: Record) -> None:
        """Refuse to delete what the cluster itself needs.

        Raises:
            ApiError: 403.
        """
        if record.name in IMMORTAL:
            raise forbidden("", "namespaces", record.name, "this namespace may not be deleted")

    def is_held(self, tree: Object) -> bool:
        """Whether the contents are still to be removed."""
        return bool((tree.get("spec") or {}).get("finalizers"))


class Terminator:
    """Empties namespaces that are going, then lets them go."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._namespaces = cluster.core("namespaces")
        self._going: set[str] = set()
        self._scheduled: set[str] = set()

    def on_change(self, collection: Collection, event: Event) -> None:
        """Begin with a namespace that goes; look again when something in it has gone."""
        if collection is self._namespaces:
            phase = event.record.facets.get("status", {}).get("phase")
            if event.type == DELETED:
                self._going.discard(event.record.name)
            elif phase == "Terminating" and event.record.name not in self._going:
                self._going.add(event.record.name)
                self._schedule(event.record.name)
        elif event.type == DELETED and event.record.namespace in self._going:
            self._schedule(event.record.namespace)

    def _schedule(self, name: str) -> None:
        if name not in self._scheduled:
            self._scheduled.add(name)
            asyncio.get_running_loop().call_soon(self._step, name)

    def _step(self, name: str) -> None:
        """Delete some of what is left; when nothing is, finish."""
        self._scheduled.discard(name)
        if name not in self._going:
            return
        left = 0
        for resource in self._cluster.registry.storage_resources():
            if resource.namespaced:
                left += self._empty(resource, name, BATCH - left)
            if left >= BATCH:
                self._schedule(name)
                return
        if not any(self._holds(resource, name) for resource in self._cluster.registry.storage_resources()):
            self._finish(name)

    def _empty(self, resource: Resource, namespace: str, limit: int) -> int:
        """Delete up to `limit` objects that are not going yet; says how many."""
        collection = self._cluster.collection(resource)
        live: list[Record] = []
        for record in collection.records(namespace):
            if len(live) >= limit:
                break
            if b'"deletionTimestamp"' not in record.raw or "deletionTimestamp" not in record.object()["metadata"]:
                live.append(record)
        options = deletion.DeleteOptions(propagation="Background")
        for record in live:
            current = collection.get(record.namespace, record.name)
            if current is not None:
                deletion.delete(self._cluster, resource, current, options)
        return len(live)

    def _holds(self, resource: Resource, namespace: str) -> bool:
        """Whether something of a kind is left."""
        return resource.namespaced and any(True for _ in self._cluster.collection(resource).records(namespace))

    def _finish(self, name: str) -> None:
        """Take the finalizer away; the namespace goes unless its metadata has others."""
        record = self._namespaces.get("", name)
        if record is None:
            return
        tree = record.object()
        tree["spec"]["finalizers"] = [one for one in tree["spec"].get("finalizers") or () if one != FINALIZER]
        if tree["metadata"].get("finalizers") or tree["spec"]["finalizers"]:
            if tree["spec"] != record.object()["spec"]:
                self._namespaces.put(tree)
            return
        self._namespaces.remove(record, tree)


def first_namespace(name: str, uid: str, now: str) -> Object:
    """A namespace that is there from the start."""
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": uid,
            "creationTimestamp": now,
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": [FINALIZER]},
        "status": {"phase": "Active"},
    }
