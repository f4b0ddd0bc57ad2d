"""Lookups: other objects that rules read, which are queues, their tree, and namespaces."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from pyroclast.controllers.runtime.store import Store
from pyroclast.model.api.scheduling import Queue

__all__ = ["QUEUE_PARENT", "Lookups", "QueuesByName", "StoredQueues", "parent_index"]

QUEUE_PARENT: Final = "parent-of-queue"
"""Index of queues by their parent."""


def parent_index(queue: Queue) -> tuple[str, ...]:
    """Return the index value of a queue: its parent."""
    return (queue.spec.parent,) if queue.spec.parent else ()


class Lookups(Protocol):
    """Objects that exist, as far as the stores show them."""

    def queue(self, name: str) -> Queue | None:
        """Return a queue, None if it does not exist."""
        ...

    def children(self, name: str) -> Sequence[Queue]:
        """Return the queues whose parent is `name`, in order of names."""
        ...

    def queues(self) -> Sequence[Queue]:
        """Return all queues, in order of names."""
        ...


class QueuesByName:
    """Lookups of given queues."""

    def __init__(self, queues: Iterable[Queue]) -> None:
        """Store the queues."""
        self._queues: Mapping[str, Queue] = {
            queue.metadata.name: queue for queue in sorted(queues, key=lambda queue: queue.metadata.name)
        }
        self._by_parent: defaultdict[str, list[Queue]] = defaultdict(list)
        for queue in self._queues.values():
            self._by_parent[queue.spec.parent].append(queue)

    def queue(self, name: str) -> Queue | None:
        """Return a queue, None if it does not exist."""
        return self._queues.get(name)

    def children(self, name: str) -> Sequence[Queue]:
        """Return the queues whose parent is `name`."""
        return self._by_parent.get(name, ())

    def queues(self) -> Sequence[Queue]:
        """Return all queues."""
        return list(self._queues.values())


class StoredQueues:
    """Lookups of a store that has the index `QUEUE_PARENT`."""

    def __init__(self, store: Store[Queue]) -> None:
        """Use the store."""
        self._store = store

    def queue(self, name: str) -> Queue | None:
        """Return a queue, None if it does not exist."""
        return self._store.get("", name)

    def children(self, name: str) -> Sequence[Queue]:
        """Return the queues whose parent is `name`."""
        return self._store.by(QUEUE_PARENT, name)

    def queues(self) -> Sequence[Queue]:
        """Return all queues."""
        return self._store.values()
