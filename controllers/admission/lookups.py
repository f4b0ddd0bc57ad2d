"""What rules must know of other objects: queues, their tree, and namespaces."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from model.api.scheduling import Queue

__all__ = ["Lookups", "QueuesByName"]


class Lookups(Protocol):
    """What is there, as far as it has been seen."""

    def queue(self, name: str) -> Queue | None:
        """Return a queue, None where there is none."""
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
        """Take the queues."""
        self._queues: Mapping[str, Queue] = {
            queue.metadata.name: queue for queue in sorted(queues, key=lambda queue: queue.metadata.name)
        }

    def queue(self, name: str) -> Queue | None:
        """Return a queue, None where there is none."""
        return self._queues.get(name)

    def children(self, name: str) -> Sequence[Queue]:
        """Return the queues whose parent is `name`."""
        return [queue for queue in self._queues.values() if queue.spec.parent == name]

    def queues(self) -> Sequence[Queue]:
        """Return all queues."""
        return list(self._queues.values())
