"""Reclaim: select victims in other queues until a queue has its deserved amount."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyroclast.model.ids import QueueName
from pyroclast.model.queues import ROOT_QUEUE
from pyroclast.plugins.capacity.queue_usage import QueueUsage
from pyroclast.plugins.capacity.tree import Tree

__all__ = ["VictimSelection"]


@dataclass(slots=True, kw_only=True)
class VictimSelection:
    """Selection of victims for one reclaimer. It tracks the remaining usage of queues."""

    usage: Mapping[QueueName, QueueUsage]
    tree: Tree
    levels: int
    """Number of ancestor levels that take part; 0 without a tree."""
    pods_row: int
    queue: QueueName
    """Queue of the reclaimer."""
    request: Sequence[int] = ()
    """Request of the reclaimer; empty for a whole gang."""
    _running: dict[QueueName, list[int]] = field(default_factory=dict)

    def take(self, name: QueueName, request: Sequence[int]) -> bool:
        """Select a task of a queue as a victim if the rules permit it. Return whether it was selected."""
        if not any(
            own > 0 and other > 0 and row != self.pods_row
            for row, (own, other) in enumerate(zip(self.request, request, strict=True))
        ):
            return False
        checked = self._ancestors_to_check(name)
        may_go = self._keeps_guarantee(name, request) and self._queue_allows(name, request)
        if not may_go or not all(self._has_too_much(each, request) for each in checked):
            return False
        self._subtract((name, *checked), request)
        return True

    def take_for_gang(self, name: QueueName, request: Sequence[int]) -> bool:
        """Select a task of a queue for a whole gang. The request and the ancestors are not checked."""
        if not (self._keeps_guarantee(name, request) and self._has_too_much(name, request)):
            return False
        self._subtract((name,), request)
        return True

    def _subtract(self, names: Iterable[QueueName], request: Sequence[int]) -> None:
        for each in names:
            self._running[each] = [used - amount for used, amount in zip(self._left(each), request, strict=True)]

    def _left(self, name: QueueName) -> Sequence[int]:
        return self._running.get(name) or self.usage[name].allocated

    def _keeps_guarantee(self, name: QueueName, request: Sequence[int]) -> bool:
        queue = self.usage[name]
        return all(
            least <= used - amount
            for least, used, amount in zip(queue.guarantee, self._left(name), request, strict=True)
        )

    def _queue_allows(self, name: QueueName, request: Sequence[int]) -> bool:
        if self._share_an_ancestor(name) and not _meet(request, self.usage[name].deserved):
            # Siblings without a deserved amount in these resources do not reclaim from each other.
            return _meet(self.request, self.usage[self.queue].deserved)
        return self._has_too_much(name, request)

    def _has_too_much(self, name: QueueName, request: Sequence[int]) -> bool:
        """Return whether a queue has too much of the task's resources.

        It deserves none of them, or exceeds its deserved amount in one of them.
        """
        queue, left = self.usage[name], self._left(name)
        return not _meet(request, queue.deserved) or any(
            request[row] > 0 and left[row] > queue.deserved[row] for row in queue.declared if row != self.pods_row
        )

    def _near(self, name: QueueName) -> tuple[QueueName, ...]:
        return self.tree.paths[name][1 : 1 + self.levels]

    def _share_an_ancestor(self, name: QueueName) -> bool:
        return bool((set(self._near(name)) & set(self._near(self.queue))) - {ROOT_QUEUE})

    def _ancestors_to_check(self, name: QueueName) -> list[QueueName]:
        own = self._near(self.queue)
        return [
            ancestor
            for level, ancestor in enumerate(self._near(name))
            if ancestor != ROOT_QUEUE and own[level : level + 1] != (ancestor,)
        ]


def _meet(left: Sequence[int], right: Sequence[int]) -> bool:
    """Return whether two vectors have a resource in common."""
    return any(one > 0 and other > 0 for one, other in zip(left, right, strict=True))
