"""Queues: shares of the cluster, with their limits and weights."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from pyroclast.model import wire
from pyroclast.model.api import names
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import QueueName
from pyroclast.model.resources import CPU, MEMORY, NO_AMOUNTS, UNLIMITED, Amounts, ResourceSpace

__all__ = ["OPEN", "ROOT_QUEUE", "Queue", "capability_limits", "rooted", "usable_guarantee", "with_ancestors"]

OPEN: Final = "Open"
ROOT_QUEUE: Final = QueueName(names.ROOT_QUEUE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Queue:
    """One Queue object, its amounts parsed."""

    name: QueueName
    uid: str = ""
    weight: int = 1
    priority: int = 0
    created: float = 0.0
    """Seconds since 1970."""
    state: str = OPEN
    """`Open`, `Closed`, `Closing` or `Unknown`; an empty state of the object reads as open."""
    reclaimable: bool = True
    capability: Amounts = field(default_factory=lambda: NO_AMOUNTS)
    """Upper limit; absent resources are unlimited."""
    guarantee: Amounts = field(default_factory=lambda: NO_AMOUNTS)
    deserved: Amounts = field(default_factory=lambda: NO_AMOUNTS)
    parent: QueueName | None = None
    """As in the object; None if absent."""
    hierarchy: str = ""
    """`volcano.sh/hierarchy`: path from the root, for hierarchical DRF."""
    hierarchy_weights: str = ""
    """`volcano.sh/hierarchy-weights`: weights along that path."""
    object: wire.Queue | None = None
    """The object as the API server gave it; None for queues made in tests."""

    @property
    def is_open(self) -> bool:
        """Return whether the queue accepts new jobs."""
        return self.state == OPEN


def rooted(path: str, weights: str) -> tuple[str, str]:
    """Return a queue's path and weights from the root on: a path that begins elsewhere is one below it.

    Args:
        path: Annotation `volcano.sh/hierarchy`; without weights it stays as it is, and so do weights without it.
        weights: Annotation `volcano.sh/hierarchy-weights`.
    """
    if not path or not weights or path.partition("/")[0] == ROOT_QUEUE:
        return path, weights
    return f"{ROOT_QUEUE}/{path}", f"1/{weights}"


def with_ancestors(queues: Mapping[QueueName, Queue], name: QueueName) -> Iterator[QueueName]:
    """Iterate over a queue and its ancestors up to the root; a missing parent or a circle ends the walk."""
    seen: set[QueueName] = set()
    while name in queues and name not in seen:
        seen.add(name)
        yield name
        if name == ROOT_QUEUE:
            return
        name = queues[name].parent or ROOT_QUEUE


def capability_limits(space: ResourceSpace, queue: Queue) -> IntArray:
    """Return a queue's capability as limits, shape (R,): cpu and memory of 0 mean unlimited, as in Volcano."""
    limits = space.limits(queue.capability).copy()
    for name in (CPU, MEMORY):
        row = space.rows[name]
        if limits[row] <= 0:
            limits[row] = UNLIMITED
    return limits


def usable_guarantee(space: ResourceSpace, queue: Queue) -> IntArray:
    """Return the part of a queue's guarantee that its capability lets it use, base units, shape (R,)."""
    return np.minimum(space.vector(queue.guarantee), capability_limits(space, queue))
