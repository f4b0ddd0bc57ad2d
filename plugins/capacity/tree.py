"""The tree of queues: who stands below whom, and which branches are broken.

A broken branch is fenced: its queues take nothing new, and each says why. The other branches go on.
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
    """Each queue, then its ancestors up to the root; a fenced queue stands alone."""
    children: Mapping[QueueName, tuple[QueueName, ...]]
    """Of queues that have any, ascending; without fenced ones."""
    faults: Mapping[QueueName, str]
    """What is wrong with the branch of each fenced queue."""

    def is_leaf(self, name: QueueName) -> bool:
        """Tell whether no queue stands below this one."""
        return name not in self.children

    def downwards(self) -> Iterator[QueueName]:
        """Iterate over the queues that have children, parents before their children."""
        return iter(sorted(self.children, key=lambda name: (len(self.paths[name]), name)))


def flat(queues: Mapping[QueueName, Queue]) -> Tree:
    """Return queues side by side, without a root."""
    return Tree(paths={name: (name,) for name in queues}, children={}, faults={})


def grow(queues: Mapping[QueueName, Queue]) -> Tree:
    """Arrange queues by the parents that they name; who names none stands below the root."""
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
    """Return the way from a queue to the root, and what blocks it."""
    path = [name]
    while path[-1] != ROOT_QUEUE:
        parent = queues[path[-1]].parent or ROOT_QUEUE
        if parent in path:
            return (), f"its ancestors form a circle at queue {parent}"
        if parent not in queues:
            return (), f"parent {parent} of queue {path[-1]} does not exist"
        path.append(parent)
    return tuple(path), ""
