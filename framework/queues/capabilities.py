"""Capabilities: which queues hold a job to their capability, and whether the members it needs ask for more."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import capability_limits, with_ancestors
from pyroclast.model.resources import UNLIMITED
from pyroclast.model.tasks import Task

__all__ = ["Excess", "beyond_capability"]

_LIMITING: Final = frozenset({"capacity", "proportion"})
_LIMITS: Final = "enabledAllocatable"
"""Plugins that hold jobs to the capabilities of queues, and the flag that lets them."""
_KNOWN: Final = ScratchKey("capabilities that limit queues")


_Limit = tuple[QueueName, IntArray]
"""A queue and its capability, base units, shape (R,)."""


class Excess(NamedTuple):
    """A queue whose capability is too small."""

    queue: QueueName
    rows: list[int]
    """Resources in which it is too small."""
    asked: IntArray
    """Minimum request of the job, base units, shape (R,)."""
    limit: IntArray
    """The capability, base units by row."""


def beyond_capability(
    session: Session, queue: QueueName, allocated: IntArray, tasks: Sequence[Task], needed: int
) -> Excess | None:
    """Return the first queue whose capability is less than a job has and its smallest members ask for.

    Args:
        session: The session.
        queue: The job's queue.
        allocated: What the job has, base units, shape (R,).
        tasks: Its pending tasks, one at least.
        needed: How many of them it needs.
    """
    known: dict[QueueName, list[_Limit]] = session.scratch.setdefault(_KNOWN, {})
    limits = known.get(queue)
    if limits is None:
        limits = known[queue] = list(_limits_of(session, queue))
    if not limits:
        return None
    more = _least_request(session, tasks, needed)
    asked: IntArray = allocated + more
    for name, limit in limits:
        rows = np.flatnonzero((more > 0) & (asked > limit)).tolist()
        if rows:
            return Excess(name, rows, asked, limit)
    return None


def _least_request(session: Session, tasks: Sequence[Task], needed: int) -> IntArray:
    """Return what the `needed` smallest tasks, by resource, ask for, shape (R,)."""
    if all(task.template is tasks[0].template for task in tasks):  # most jobs: nothing to sort
        return session.nodes.needs(tasks[0].template).request * min(needed, len(tasks))
    requests = np.sort(np.stack([session.nodes.needs(task.template).request for task in tasks]), axis=0)
    least: IntArray = requests[:needed].sum(axis=0)
    return least


def _limits_of(session: Session, queue: QueueName) -> Iterator[_Limit]:
    """Yield the limits that jobs of a queue are held to; queues without any limit are left out."""
    for name in _limiting_queues(session, queue):
        limit = capability_limits(session.resources, session.queues.by_name[name])
        if (limit < UNLIMITED).any():
            yield name, limit


def _limiting_queues(session: Session, queue: QueueName) -> Sequence[QueueName]:
    """Return the queues whose capabilities limit a job of a queue: the queue, and those above it in a tree."""
    options = [
        each for each in session.extensions.profile.plugins if each.plugin in _LIMITING and each.enabled(_LIMITS)
    ]
    if any(option.hierarchy for option in options):
        return list(with_ancestors(session.queues.by_name, queue))
    return [queue] if options else []
