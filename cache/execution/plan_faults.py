"""Faults of plans: what speaks against taking a plan as done, in a cluster that has moved on since it was decided."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from pyroclast.cache.stores.node_store import NodeStore, takes_room
from pyroclast.cache.translation.template_deltas import TemplateDeltas
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.resources import ResourceSpace
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["bind_faults", "eviction_faults"]


def bind_faults(
    plan: Plan, tasks: Mapping[TaskId, Task], nodes: NodeStore, effects: TemplateDeltas, space: ResourceSpace
) -> Iterator[str]:
    """Say of each bind whose pod is not pending, whose node is gone, or that does not fit after those before it."""
    sound: list[tuple[Task, NodeName]] = []
    for bind in plan.binds:
        task = tasks.get(bind.task)
        if task is None:
            yield f"{bind.namespace}/{bind.name}: the pod is gone"
        elif task.status is not TaskStatus.PENDING:
            yield f"{task.key}: the pod is {task.status.label}, no longer Pending"
        elif nodes.node(bind.node) is None:
            yield f"{task.key}: node {bind.node} is gone"
        else:
            sound.append((task, bind.node))
    yield from _short_of_room(sound, nodes, effects, space)


def eviction_faults(plan: Plan, tasks: Mapping[TaskId, Task]) -> Iterator[str]:
    """Say of each eviction whose pod is not there to be evicted; one that is leaving already is no fault."""
    for eviction in plan.evictions:
        task = tasks.get(eviction.task)
        if task is None:
            yield f"{eviction.namespace}/{eviction.name}: the pod is gone"
        elif task.node != eviction.node:
            yield f"{task.key}: the pod is not on node {eviction.node}"
        elif not takes_room(task):
            yield f"{task.key}: the pod has finished"
        elif task.status is TaskStatus.BINDING:
            yield f"{task.key}: the pod is on its way, the server has not confirmed its node"


def _short_of_room(
    binds: Iterable[tuple[Task, NodeName]], nodes: NodeStore, effects: TemplateDeltas, space: ResourceSpace
) -> Iterator[str]:
    """Only what a pod asks for must fit: a node may be overcommitted in something else since it shrank."""
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
