"""Queue notes: events about settings of a queue that have another effect than their owner may expect.

An event is recorded when a note is new, not once a cycle.
"""

from typing import Final

from pyroclast.framework.session.session import Session
from pyroclast.model.queues import Queue
from pyroclast.model.report import EventNote
from pyroclast.model.resources import CPU, MEMORY

__all__ = ["queue_note", "zero_notes"]

_NO_LIMIT: Final = "CapabilityZero"


def queue_note(session: Session, queue: Queue, reason: str, message: str) -> EventNote | None:
    """Return an event for the owner of a queue; None if the same event was already recorded."""
    if not session.report.is_news(f"Queue/{queue.name}/{queue.uid}/{reason}", message):
        return None
    return EventNote(
        kind="Queue", namespace="", name=queue.name, uid=queue.uid, type="Warning", reason=reason, message=message
    )


def zero_notes(session: Session) -> list[EventNote]:
    """Return events about capabilities of 0 cpu or memory, which set no limit, whereas 0 of others forbids."""
    notes = []
    for queue in session.queues.by_name.values():
        zeros = [name for name in (CPU, MEMORY) if queue.capability.get(name) == 0]
        if zeros:
            message = f"a capability of 0 sets no limit on {' and '.join(zeros)}; to close the queue set its state"
            notes.append(queue_note(session, queue, _NO_LIMIT, message))
    return [note for note in notes if note is not None]
