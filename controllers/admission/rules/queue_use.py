"""Queue use: whether a queue accepts new work."""

from collections.abc import Iterator
from typing import Final

from pyroclast.controllers.admission.faults import Fault, some
from pyroclast.controllers.admission.lookups import Lookups
from pyroclast.model.api.names import ROOT_QUEUE
from pyroclast.model.api.scheduling import QueueState

__all__ = ["queue_use_faults"]

_OPEN: Final = frozenset({"", QueueState.OPEN})
"""A queue without a state in its status is open."""


def queue_use_faults(name: str, what: str, lookups: Lookups, *, only_leaves: bool) -> Iterator[Fault]:
    """Find why a queue does not accept work.

    Args:
        name: Name of the queue.
        what: Kind of the submitted object: `job` or `PodGroup`.
        lookups: The queues.
        only_leaves: Only leaf queues accept this work.
    """
    field, queue = "spec.queue", lookups.queue(name)
    if queue is None:
        words = "unable to find job queue" if what == "job" else "unable to find queue"
        yield Fault(field=field, value=name, expected="an existing queue", rule=words)
        return
    if queue.status.state not in _OPEN:
        yield Fault(
            field=field,
            value=name,
            expected="an open queue",
            rule=f"can only submit {what} to queue with state `Open`, queue `{name}` status is `{queue.status.state}`",
        )
    if not only_leaves:
        return
    if name == ROOT_QUEUE:
        yield Fault(field=field, value=name, expected="a queue below it", rule=f"can not submit {what} to root queue")
    elif children := lookups.children(name):
        below = some(child.metadata.name for child in children)
        yield Fault(
            field=field,
            value=name,
            expected=f"a queue without queues below it; `{name}` has {below}",
            rule=f"can only submit {what} to leaf queue, queue `{name}` has {len(children)} child queues",
        )
