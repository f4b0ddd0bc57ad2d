"""Queues: the queues of the cluster, and the faults of those that cannot be read."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import Queue
from pyroclast.model.resources import Amounts

__all__ = ["QueueStore"]


class QueueStore:
    """Queues by name."""

    def __init__(self, translate: Callable[[wire.Queue], Queue], report: Callable[[ObjectError], None]) -> None:
        """Start without queues.

        Args:
            translate: Makes a queue of the model from an object, or raises `ObjectError`.
            report: Receives these errors.
        """
        self.objects: dict[QueueName, wire.Queue] = {}
        """The objects, also those that cannot be read."""
        self.faults: dict[QueueName, ObjectError] = {}
        """Why queues cannot be read."""
        self.names: tuple[QueueName, ...] = ()
        """The names of readable queues in order; the position of a queue is its number in arrays."""
        self._queues: dict[QueueName, Queue] = {}
        self._translate = translate
        self._report = report

    def set(self, queue: wire.Queue) -> Queue | None:
        """Take over a new or changed object, and return its queue; None if it cannot be read."""
        name = QueueName(queue.metadata.name)
        self.objects[name] = queue
        try:
            new = self._queues[name] = self._translate(queue)
        except ObjectError as fault:
            self._report(fault)
            self._queues.pop(name, None)
            self.faults[name] = fault
            return None
        self.faults.pop(name, None)
        return new

    def remove(self, name: QueueName) -> bool:
        """Forget a queue, and return whether it was known."""
        if self.objects.pop(name, None) is None:
            return False
        self._queues.pop(name, None)
        self.faults.pop(name, None)
        return True

    def renumber(self) -> bool:
        """Number the queues again after a change, and return whether a number is another than before."""
        names = tuple(sorted(self._queues))
        if names == self.names:
            return False
        self.names = names
        return True

    def by_name(self) -> Mapping[QueueName, Queue]:
        """Return the queues in the order of their names."""
        return MappingProxyType({name: self._queues[name] for name in self.names})

    def offers(self) -> Iterator[Amounts]:
        """Yield all amounts that queues name."""
        for queue in self._queues.values():
            yield from (queue.capability, queue.guarantee, queue.deserved)
