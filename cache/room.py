"""Room: whether what a plan binds fits, all of it together."""

from collections.abc import Iterable, Iterator

import numpy as np

from cache.effects import Effects
from cache.node_book import NodeBook
from model.arrays import IntArray
from model.ids import NodeName
from model.resources import ResourceSpace
from model.tasks import Task

__all__ = ["unmet"]


def unmet(
    binds: Iterable[tuple[Task, NodeName]], nodes: NodeBook, effects: Effects, space: ResourceSpace
) -> Iterator[str]:
    """Say of each bind that does not fit, after the ones before it, which resources are short on its node."""
    idle_by_node: dict[NodeName, IntArray] = {}
    for task, node in binds:
        if node not in idle_by_node:
            idle_by_node[node] = nodes.idle(node)
        idle = idle_by_node[node]
        request = effects.request(task.template)
        short = np.flatnonzero((request > 0) & (request > idle))
        if short.size:
            names = ", ".join(space.names[row] for row in short)
            yield f"{task.key}: node {node} has no room: insufficient {names}"
        else:
            idle -= request
