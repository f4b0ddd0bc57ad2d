"""A queue's capability as limits, for all plugins that divide the cluster among queues."""

from model.arrays import IntArray
from model.queues import Queue
from model.resources import CPU, MEMORY, UNLIMITED, ResourceSpace

__all__ = ["capability_limits"]


def capability_limits(space: ResourceSpace, queue: Queue) -> IntArray:
    """Return a queue's capability as limits, shape (R,): cpu and memory of 0 mean unlimited, as in Volcano."""
    limits = space.limits(queue.capability).copy()
    for name in (CPU, MEMORY):
        row = space.rows[name]
        if limits[row] <= 0:
            limits[row] = UNLIMITED
    return limits
