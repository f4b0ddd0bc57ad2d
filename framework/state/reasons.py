"""Reasons: why a job and its tasks wait, as the cycle found so far; one value that a trial saves and puts back."""

from typing import Self

from pyroclast.framework.state.last_result import BlockingJobs
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict, SealedList
from pyroclast.model.tasks import Task

__all__ = ["Reasons"]


class Reasons:
    """Reasons that one job and its tasks wait. Only the job writes them.

    `copy` before a trial and putting the copy back after it leave no trace of the trial.
    """

    __slots__ = (
        "blocking_jobs",
        "cause",
        "eviction_refusals",
        "is_unschedulable_by_queue",
        "last_places",
        "refusals",
        "task_refusals",
        "unschedulable_template",
        "verdict",
    )

    def __init__(self) -> None:
        self.refusals: SealedList[Refusal] = SealedList()
        """Reasons that the job waits, first binding rule first."""
        self.task_refusals: SealedDict[TaskId, Refusal] = SealedDict()
        """Reasons that its tasks have no place."""
        self.eviction_refusals: SealedDict[str, Refusal] = SealedDict()
        """Reasons that no pods are evicted for the job, by action."""
        self.last_places: SealedDict[TaskId, Task] = SealedDict()
        """Places of tasks in undone attempts, for messages only."""
        self.unschedulable_template: int | None = None
        """Number of the template of all its pending tasks, where there is no capacity for even one of them."""
        self.is_unschedulable_by_queue = False
        """Whether it is the queue that has no capacity, else no node."""
        self.verdict: Refusal | None = None
        """Reason that it lacks its minimum, summarised when the session closes."""
        self.cause: Refusal | None = None
        """Reason that it can never run with the current nodes and queues, found when the session closes."""
        self.blocking_jobs: BlockingJobs | None = None
        """Jobs whose end would let it run, found when the session closes."""

    def copy(self) -> Self:
        """Return the same reasons in a value of its own."""
        other = type(self)()
        other.refusals = SealedList(self.refusals)
        other.task_refusals = SealedDict(self.task_refusals)
        other.eviction_refusals = SealedDict(self.eviction_refusals)
        other.last_places = SealedDict(self.last_places)
        other.unschedulable_template, other.is_unschedulable_by_queue = (
            self.unschedulable_template,
            self.is_unschedulable_by_queue,
        )
        other.verdict, other.cause, other.blocking_jobs = self.verdict, self.cause, self.blocking_jobs
        return other

    def forget_tasks(self) -> None:
        """Drop the reasons of tasks, because they are tried again."""
        self.task_refusals, self.last_places = SealedDict(), SealedDict()
