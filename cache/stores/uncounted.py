"""Uncounted: what tasks ask for beyond what their nodes offer, so that it counts for no queue and no quota.

A pod may be created with the name of a node in its specification, whatever it asks for, and whether there is such a
node or not. Queues therefore count of the tasks on a node what that node offers, and nothing on a node without a Node
object. Tasks that run are counted first, then the oldest.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from pyroclast.cache.stores.columns import frozen
from pyroclast.cache.translation.template_deltas import TemplateDeltas
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import TaskId
from pyroclast.model.tasks import Task, TaskStatus, by_name

__all__ = ["Uncounted", "beyond"]


class Uncounted(NamedTuple):
    """A task of which a part is not counted."""

    task: Task
    amounts: IntArray
    """That part of its request, base units, shape (R,)."""


def beyond(tasks: Iterable[Task], offered: IntArray, effects: TemplateDeltas) -> Mapping[TaskId, Uncounted]:
    """Return the tasks of one node of which a part is not counted.

    Args:
        tasks: All tasks that take room on the node.
        offered: What the node offers, base units, shape (R,); zeros where there is no such node.
        effects: What templates ask for.
    """
    found = {}
    left = offered
    for task in sorted(tasks, key=_standing):
        request = effects.request(task.template)
        counted = np.minimum(request, np.maximum(left, 0))
        left = left - counted
        if (counted < request).any():
            found[task.id] = Uncounted(task, frozen(request - counted))
    return found


def _standing(task: Task) -> tuple[bool, float, tuple[str, str, str]]:
    return task.status in (TaskStatus.BOUND, TaskStatus.BINDING), task.created, by_name(task)
