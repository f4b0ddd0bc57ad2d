"""Limits: how much a queue may have, and how much it deserves, given what the queues above it have."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from framework.queue_limits import capability_limits
from model.arrays import BoolArray, IntArray
from model.ids import QueueName
from model.queues import ROOT_QUEUE, Queue
from model.resources import UNLIMITED, ResourceSpace
from plugins.capacity.tree import Tree

__all__ = ["Limits", "flat_limits", "tree_limits"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """What one queue is promised and allowed, base units, shape (R,)."""

    guarantee: IntArray
    deserved: IntArray
    capability: IntArray
    """As declared, or as inherited."""
    limit: IntArray
    """What the capability, and guarantees of others, leave."""


def flat_limits(space: ResourceSpace, queues: Mapping[QueueName, Queue], total: IntArray) -> dict[QueueName, Limits]:
    """Return limits of queues side by side: what is deserved is cut to what the queue may have."""
    guarantees = {name: space.vector(queue.guarantee) for name, queue in queues.items()}
    promised = sum(guarantees.values(), start=np.zeros_like(total))
    others = np.maximum(total - promised, 0)
    # a resource that no node has and nobody is promised cannot cut what is deserved of it
    unknown: BoolArray = (total == 0) & (promised == 0)
    made = {}
    for name, queue in queues.items():
        capability = capability_limits(space, queue)
        limit = np.minimum(others + guarantees[name], capability)
        asked = space.vector(queue.deserved)
        deserved = np.maximum(np.where(unknown, asked, np.minimum(asked, limit)), guarantees[name])
        made[name] = Limits(guarantee=guarantees[name], deserved=deserved, capability=capability, limit=limit)
    return made


def tree_limits(space: ResourceSpace, queues: Mapping[QueueName, Queue], tree: Tree) -> dict[QueueName, Limits]:
    """Return limits handed down from the root; the root promises what its children are promised together."""
    declared = {name: _declared(space, queue) for name, queue in queues.items()}
    made = {name: declared[name] for name in queues if len(tree.paths[name]) == 1}
    for name in tree.downwards():
        above, below = made[name], tree.children[name]
        promised = sum((declared[child].guarantee for child in below), start=np.zeros(len(space), dtype=np.int64))
        if name == ROOT_QUEUE:
            deserved = sum((declared[child].deserved for child in below), start=np.zeros(len(space), dtype=np.int64))
            made[name] = Limits(guarantee=promised, deserved=deserved, capability=above.capability, limit=above.limit)
        for child in below:
            made[child] = _handed_down(above, declared[child], promised)
    return made


def _declared(space: ResourceSpace, queue: Queue) -> Limits:
    guarantee = space.vector(queue.guarantee)
    capability = capability_limits(space, queue)
    deserved = np.maximum(space.vector(queue.deserved), guarantee)
    return Limits(guarantee=guarantee, deserved=deserved, capability=capability, limit=capability)


def _handed_down(above: Limits, own: Limits, promised: IntArray) -> Limits:
    capability = np.where(own.capability >= UNLIMITED, above.capability, own.capability)
    limit = np.minimum(np.maximum(above.limit - promised, 0) + own.guarantee, capability)
    return Limits(guarantee=own.guarantee, deserved=own.deserved, capability=capability, limit=limit)
