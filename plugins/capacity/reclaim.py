"""Reclaim: which tasks of other queues may give way, so that a queue gets what it deserves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyroclast.model.ids import QueueName
from pyroclast.model.queues import ROOT_QUEUE
from pyroclast.plugins.capacity.queue_usage import QueueUsage
from pyroclast.plugins.capacity.tree import Tree

__all__ = ["Taking"]


@dataclass(slots=True, kw_only=True)
class Taking:
    """One reclaimer, and what is left to the queues as victims are taken one by one."""

    books: Mapping[QueueName, QueueUsage]
    tree: Tree
    levels: int
    """How many levels of ancestors take part; 0 where queues have none."""
    pods_row: int
    queue: QueueName
    """The reclaimer's."""
    request: Sequence[int] = ()
    """The reclaimer's; nothing where it is a whole gang."""
    _running: dict[QueueName, list[int]] = field(default_factory=dict)

    def take(self, name: QueueName, request: Sequence[int]) -> bool:
        """Take a task of a queue, or spare it."""
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
        """Take a task of a queue for a whole gang, which asks neither what it has nor about its ancestors."""
        if not (self._keeps_guarantee(name, request) and self._has_too_much(name, request)):
            return False
        self._subtract((name,), request)
        return True

    def _subtract(self, names: Iterable[QueueName], request: Sequence[int]) -> None:
        for each in names:
            self._running[each] = [used - amount for used, amount in zip(self._left(each), request, strict=True)]

    def _left(self, name: QueueName) -> Sequence[int]:
        return self._running.get(name) or self.books[name].allocated

    def _keeps_guarantee(self, name: QueueName, request: Sequence[int]) -> bool:
        book = self.books[name]
        return all(
            least <= used - amount
            for least, used, amount in zip(book.guarantee, self._left(name), request, strict=True)
        )

    def _queue_allows(self, name: QueueName, request: Sequence[int]) -> bool:
        if self._share_an_ancestor(name) and not _meet(request, self.books[name].deserved):
            # relatives that are promised nothing do not take from each other
            return _meet(self.request, self.books[self.queue].deserved)
        return self._has_too_much(name, request)

    def _has_too_much(self, name: QueueName, request: Sequence[int]) -> bool:
        """Tell whether a queue is promised nothing that the task has, or has more than promised of some of it."""
        book, left = self.books[name], self._left(name)
        return not _meet(request, book.deserved) or any(
            request[row] > 0 and left[row] > book.deserved[row] for row in book.spoken if row != self.pods_row
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
    """Tell whether two vectors both have some of a resource."""
    return any(one > 0 and other > 0 for one, other in zip(left, right, strict=True))
