"""Queues of a session: the answers of plugins about queues, and the limits of queues."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.extension.votes import first_refusal
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["SessionQueues"]


class SessionQueues:
    """The queues of one session, and what is asked about them."""

    def __init__(self, by_name: Mapping[QueueName, Queue], extensions: Extensions) -> None:
        self.by_name = by_name
        """All queues of the snapshot."""
        self._extensions = extensions
        self._failed = extensions.note_failure
        self._caller = extensions.caller
        self.lends = False
        """Whether idle capacity is being lent, so that shares do not count; see `framework.queues.lending`."""

    def overused(self, queue: Queue) -> Refusal | None:
        """Return the refusal if a queue is overused, or None."""
        return first_refusal(
            self._extensions.functions(contract.OVERUSED),
            queue,
            permitted=False,
            failed=self._failed,
            lends=self.lends,
        )

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        """Return whether a queue may take one more task: None, or why not."""
        return first_refusal(
            self._extensions.functions(contract.ALLOCATABLE),
            queue,
            task,
            failed=self._failed,
            lends=self.lends,
        )

    def headroom(self, queue: Queue, task: Task, most: int) -> int:
        """Return how many tasks like this one a queue may accept, at most `most`; 1 if plugins must be queried."""
        for each in self._extensions.functions(contract.ALLOCATABLE):
            headroom = each.lent_headroom if self.lends and each.lent_headroom else each.headroom
            most = 1 if headroom is None else min(most, self._extensions.ask_or(each, 1, queue, task, asking=headroom))
        return most

    def kind(self, task: Task) -> tuple[Any, ...]:
        """Return what of a task, beside its queue and its template, decides whether its queue may take it."""
        asked = self._extensions.functions(contract.ALLOCATABLE)
        return tuple(
            self._extensions.ask_or(each, task.id, task, asking=each.kind) for each in asked if each.kind is not None
        )

    @property
    def tells_kinds(self) -> bool:
        """Whether anything but queue and template decides whether a queue may take a task."""
        return any(each.kind is not None for each in self._extensions.functions(contract.ALLOCATABLE))

    @property
    def judges_templates(self) -> bool:
        """Whether every function that limits a queue can count, so that its answer holds for all tasks of a kind."""
        return all(each.headroom is not None for each in self._extensions.functions(contract.ALLOCATABLE))

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """Return whether a queue may take capacity from others for tasks: None, or why not."""
        return first_refusal(self._extensions.functions(contract.PREEMPTIVE), queue, tasks, failed=self._failed)

    def order_key(self, queue: Queue) -> tuple[Any, ...]:
        """Key by which queues are ordered: plugins' keys, then age, then name."""
        return (*self._extensions.keys(contract.QUEUE_ORDER, queue), queue.created, queue.name)

    @contextmanager
    def lending(self) -> Iterator[None]:
        """Ignore lendable refusals."""
        self._caller.for_actions("lending")
        self.lends = True
        try:
            yield
        finally:
            self.lends = False
