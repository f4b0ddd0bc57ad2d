"""Plan faults: why a plan cannot be assumed, because the cluster has changed since the decision."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from pyroclast.cache.stores.node_store import NodeStore, occupies_node
from pyroclast.cache.translation.template_deltas import TemplateDeltas
from pyroclast.model.arrays import IntArray
from pyroclast.model.counted import COUNTED, read_counted
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind, Plan
from pyroclast.model.resources import Amounts, ResourceSpace
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["bind_faults", "eviction_faults"]


def bind_faults(
    plan: Plan,
    tasks: Mapping[TaskId, Task],
    nodes: NodeStore,
    deltas: TemplateDeltas,
    space: ResourceSpace,
    *,
    lent: Callable[[Bind], Amounts],
) -> Iterator[str]:
    """Yield a fault for each bind whose pod is not pending, or whose node is gone or lacks resources.

    Args:
        plan: The plan.
        tasks: All tasks.
        nodes: All nodes.
        deltas: Requests of templates.
        space: Rows of resources.
        lent: Returns the amounts that the pod of a bind uses together with a pod of its node, thousandths by name.
    """
    sound: list[tuple[Task, NodeName, Amounts, Amounts]] = []
    for bind in plan.binds:
        task = tasks.get(bind.task)
        if task is None:
            yield f"{bind.namespace}/{bind.name}: the pod is gone"
        elif task.status is not TaskStatus.PENDING:
            yield f"{task.key}: the pod is {task.status.label}, not Pending"
        elif nodes.node(bind.node) is None:
            yield f"{task.key}: node {bind.node} is gone"
        else:
            try:
                counted = read_counted(bind.annotations)
            except ValueError as error:
                yield f"{task.key}: annotation {COUNTED}: {error}"
                continue
            sound.append((task, bind.node, lent(bind), counted))
    yield from _capacity_faults(sound, nodes, deltas, space)


def eviction_faults(plan: Plan, tasks: Mapping[TaskId, Task]) -> Iterator[str]:
    """Yield a fault for each eviction whose pod is gone, moved or finished; a terminating pod is no fault."""
    for eviction in plan.evictions:
        task = tasks.get(eviction.task)
        if task is None:
            yield f"{eviction.namespace}/{eviction.name}: the pod is gone"
        elif task.node != eviction.node:
            yield f"{task.key}: the pod is not on node {eviction.node}"
        elif not occupies_node(task):
            yield f"{task.key}: the pod has finished"
        elif task.status is TaskStatus.BINDING:
            yield f"{task.key}: the pod is being bound, and the API server has not confirmed its node"


def _capacity_faults(
    binds: Iterable[tuple[Task, NodeName, Amounts, Amounts]],
    nodes: NodeStore,
    deltas: TemplateDeltas,
    space: ResourceSpace,
) -> Iterator[str]:
    """Yield a fault for each bind whose node lacks a requested resource.

    Other resources are not compared: a node whose allocatable amounts have shrunk may be overcommitted in them.
    """
    idle_by_node: dict[NodeName, IntArray] = {}
    for task, node, lent, counted in binds:
        if node not in idle_by_node:
            idle_by_node[node] = nodes.idle(node)
        idle = idle_by_node[node]
        request = np.maximum(deltas.request(task.template), space.vector(counted))
        if lent:
            request = np.maximum(request - space.vector(lent), 0)
        short = np.flatnonzero((request > 0) & (request > idle))
        if short.size:
            names = ", ".join(space.names[row] for row in short)
            yield f"{task.key}: insufficient {names} on node {node}"
        else:
            idle -= request
