"""Uncounted amounts: requests beyond the allocatable amounts of nodes, which no queue and no quota counts.

A user may create a pod with any request and any node name in its spec, even that of a missing node. Queues therefore
count the tasks on a node only up to its allocatable amounts, and do not count tasks on a node without a Node object.
Running tasks are counted first, then the oldest.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from pyroclast.cache.stores.amounts.columns import frozen
from pyroclast.cache.translation.template_deltas import TemplateDeltas
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import TaskId
from pyroclast.model.tasks import Task, TaskStatus, by_name

__all__ = ["Uncounted", "beyond"]


class Uncounted(NamedTuple):
    """A task whose request is not counted completely."""

    task: Task
    amounts: IntArray
    """The uncounted part of its request, base units, shape (R,)."""


def beyond(tasks: Iterable[Task], offered: IntArray, deltas: TemplateDeltas) -> Mapping[TaskId, Uncounted]:
    """Return the tasks of one node whose requests are not counted completely.

    Args:
        tasks: All tasks on the node.
        offered: The allocatable amounts of the node, base units, shape (R,); zeros if the node is missing.
        deltas: The requests of templates.
    """
    found = {}
    left = offered
    for task in sorted(tasks, key=_counting_order):
        request = deltas.request(task.template)
        counted = np.minimum(request, np.maximum(left, 0))
        left = left - counted
        if (counted < request).any():
            found[task.id] = Uncounted(task, frozen(request - counted))
    return found


def _counting_order(task: Task) -> tuple[bool, float, tuple[str, str, str]]:
    return task.status in (TaskStatus.BOUND, TaskStatus.BINDING), task.created, by_name(task)
