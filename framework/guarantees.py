"""Guarantees of queues: what each keeps from other queues, and an event for one that the cluster cannot keep."""

from typing import Final

import numpy as np

from framework.queue_notes import queue_note
from framework.session import Session
from model.arrays import BoolArray, IntArray
from model.ids import QueueName
from model.report import EventNote

__all__ = ["guarantee_notes", "kept_guarantees"]

_BEYOND: Final = "GuaranteeBeyondCluster"


def kept_guarantees(session: Session) -> dict[QueueName, IntArray]:
    """Return by queue what its guarantee keeps from other queues, base units, shape (R,).

    Where a guarantee is more than all nodes have together, it keeps only what the jobs of its queue ask for. Otherwise
    one mistyped amount would stop all other queues while nothing uses what is kept.
    """
    declared = {name: session.resources.vector(queue.guarantee) for name, queue in session.queues.items()}
    beyond = {name: rows for name, each in declared.items() if (rows := _beyond(session, each)).any()}
    if not beyond:
        return declared
    table, names = session.snapshot.job_table, session.snapshot.queue_names
    asked = table.by_queue(table.allocated + table.pending, len(names))
    for number, name in enumerate(names):
        if name in beyond:
            kept = np.minimum(declared[name], asked[:, number])
            declared[name] = np.where(beyond[name], kept, declared[name])
    return declared


def guarantee_notes(session: Session) -> list[EventNote]:
    """Return events about guarantees that are more than all nodes have together."""
    notes = []
    for queue in session.queues.values():
        rows = np.flatnonzero(_beyond(session, session.resources.vector(queue.guarantee))).tolist()
        if rows:
            names = " and ".join(session.resources.names[row] for row in rows)
            message = (
                f"the guarantee of {names} is more than all nodes have together: "
                "it keeps from other queues only what the jobs of this queue ask for"
            )
            notes.append(queue_note(session, queue, _BEYOND, message))
    return [note for note in notes if note is not None]


def _beyond(session: Session, guarantee: IntArray) -> BoolArray:
    """Return the resources of which a guarantee is more than there is; of what no node has there is nothing to keep."""
    rows: BoolArray = (guarantee > session.total) & (session.total > 0)
    return rows
