"""Guarantees of queues: what each keeps from other queues, and events about those that the cluster cannot keep."""

from typing import Final

import numpy as np

from pyroclast.framework.queues.notes import queue_note
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import usable_guarantee
from pyroclast.model.report import EventNote

__all__ = ["guarantee_notes", "kept_guarantees"]

_BEYOND: Final = "GuaranteeBeyondCluster"
_ABOVE: Final = "GuaranteeAboveCapability"
_KEEPS: Final = "it reserves only the requests of this queue's jobs"


def kept_guarantees(session: Session) -> dict[QueueName, IntArray]:
    """Return by queue what its guarantee keeps from other queues, base units, shape (R,).

    Where a guarantee, or all guarantees together, are more than all nodes have, each keeps only what the jobs of its
    queue ask for. Otherwise one mistyped amount would stop all other queues while nothing uses what is kept. For the
    same reason a guarantee above the capability of its queue keeps no more than the capability.
    """
    declared, (alone, together) = _declared(session), _beyond(session)
    if not together.any() and not any(rows.any() for rows in alone.values()):
        return declared
    table, names = session.snapshot.job_table, session.snapshot.queue_names
    asked = table.by_queue(table.allocated + table.pending, len(names))
    return {
        name: np.where(alone[name] | together, np.minimum(declared[name], asked[:, number]), declared[name])
        for number, name in enumerate(names)
    }


def guarantee_notes(session: Session) -> list[EventNote]:
    """Return events about guarantees that are more than all nodes have, or than the capability of their queue."""
    alone, together = _beyond(session)
    notes = []
    for queue in session.queues.by_name.values():
        above = session.resources.vector(queue.guarantee) > usable_guarantee(session.resources, queue)
        if above.any():
            message = f"the guarantee of {_names(session, above)} is more than the capability, which limits it"
            notes.append(queue_note(session, queue, _ABOVE, message))
        own, shared = alone[queue.name], together & (session.resources.vector(queue.guarantee) > 0) & ~alone[queue.name]
        parts = [f"the guarantee of {_names(session, own)} is more than all nodes have together"] if own.any() else []
        if shared.any():
            parts.append(f"the guarantees of {_names(session, shared)} of all queues are more than all nodes have")
        if parts:
            notes.append(queue_note(session, queue, _BEYOND, f"{', and '.join(parts)}: {_KEEPS}"))
    return [note for note in notes if note is not None]


def _declared(session: Session) -> dict[QueueName, IntArray]:
    return {name: usable_guarantee(session.resources, queue) for name, queue in session.queues.by_name.items()}


def _beyond(session: Session) -> tuple[dict[QueueName, BoolArray], BoolArray]:
    """Return the resources of which a guarantee exceeds the total: by queue, and of all other guarantees together.

    A guarantee that is too much by itself does not count among the others, so that it takes nothing from them. A
    resource that no node has is not kept.
    """
    declared, total = _declared(session), session.total
    alone: dict[QueueName, BoolArray] = {name: (each > total) & (total > 0) for name, each in declared.items()}
    sums = sum((np.where(alone[name], 0, each) for name, each in declared.items()), start=np.zeros_like(total))
    together: BoolArray = (sums > total) & (total > 0)
    return alone, together


def _names(session: Session, rows: BoolArray) -> str:
    return " and ".join(session.resources.names[row] for row in np.flatnonzero(rows).tolist())
