"""The tree of queues: parents, children and faults.

A broken branch is fenced: its queues accept no new work, and each reports the fault. Other branches are not affected.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyroclast.model.ids import QueueName
from pyroclast.model.queues import ROOT_QUEUE, Queue

__all__ = ["Tree", "flat", "grow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Paths of all queues."""

    paths: Mapping[QueueName, tuple[QueueName, ...]]
    """Each queue, followed by its ancestors up to the root. A fenced queue has no ancestors."""
    children: Mapping[QueueName, tuple[QueueName, ...]]
    """Children of each queue that has any, sorted, without fenced queues."""
    faults: Mapping[QueueName, str]
    """The fault of each fenced queue's branch."""

    def is_leaf(self, name: QueueName) -> bool:
        """Return whether a queue has no children."""
        return name not in self.children

    def downwards(self) -> Iterator[QueueName]:
        """Iterate over the queues with children, parents before their children."""
        return iter(sorted(self.children, key=lambda name: (len(self.paths[name]), name)))


def flat(queues: Mapping[QueueName, Queue]) -> Tree:
    """Return queues without a tree."""
    return Tree(paths={name: (name,) for name in queues}, children={}, faults={})


def grow(queues: Mapping[QueueName, Queue]) -> Tree:
    """Build the tree from the parents that queues name. A queue without a parent is a child of the root."""
    paths: dict[QueueName, tuple[QueueName, ...]] = {}
    faults: dict[QueueName, str] = {}
    children: dict[QueueName, list[QueueName]] = {}
    for name in sorted(queues):
        path, fault = _climb(queues, name)
        if fault:
            faults[name] = fault
        paths[name] = (name,) if fault else path
        if not fault and len(path) > 1:
            children.setdefault(path[1], []).append(name)
    return Tree(paths=paths, children={name: tuple(below) for name, below in children.items()}, faults=faults)


def _climb(queues: Mapping[QueueName, Queue], name: QueueName) -> tuple[tuple[QueueName, ...], str]:
    """Return the path from a queue to the root, and the fault of the path."""
    path = [name]
    while path[-1] != ROOT_QUEUE:
        parent = queues[path[-1]].parent or ROOT_QUEUE
        if parent in path:
            return (), f"its ancestors form a circle at queue {parent}"
        if parent not in queues:
            return (), f"parent {parent} of queue {path[-1]} does not exist"
        path.append(parent)
    return tuple(path), ""
