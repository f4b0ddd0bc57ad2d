"""Last result: the result of a job in the last cycle, valid while the job does not change."""

from collections.abc import Mapping, Sequence

import msgspec

from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict

__all__ = ["BlockingJobs", "LastResult", "said_once"]


class BlockingJobs(msgspec.Struct, frozen=True, gc=False):
    """Jobs whose end would let a job run, and the nodes of that finding."""

    jobs: tuple[JobId, ...]
    nodes: tuple[NodeName, ...]
    """Nodes of these jobs."""
    free: bytes
    """Capacity free now or later on these nodes: as long as it is the same, so is the answer."""


class LastResult(msgspec.Struct, frozen=True, gc=False):
    """Result of a job, valid while the job does not change."""

    revision: int
    refusals: tuple[Refusal, ...]
    """Refusals of the job, apart from its tasks."""
    cause: Refusal | None
    """Reason that it can never run with the current nodes and queues."""
    verdict: Refusal | None
    """Shortage of its gang."""
    eviction_refusals: Mapping[str, Refusal]
    """Reasons that no pods are evicted for the job, by action."""
    task_refusals: Mapping[TaskId, Refusal]
    blocking_jobs: BlockingJobs | None
    """Jobs whose end would let it run, if known."""
    unschedulable_template: int | None
    """Number of the template of all its pending tasks, where no node, or the queue, had capacity for one."""
    is_unschedulable_by_queue: bool
    """Whether it was the queue."""

    all_refusals: tuple[Refusal, ...]
    """All of it that concerns the whole job."""

    def refusals_with(
        self, evictions: Mapping[str, Refusal], refusals: tuple[Refusal, ...] = ()
    ) -> tuple[Refusal, ...]:
        """Return the same with the current eviction refusals, by action, and without repeated ones."""
        verdict = self.verdict or self.cause
        causes = self.refusals if self.cause is None else (*self.refusals, self.cause)
        all_refusals = said_once({**self.eviction_refusals, **evictions}, causes, self.task_refusals)
        return (*(refusals or self.refusals), *(() if verdict is None else (verdict,)), *all_refusals.values())


def said_once(
    evictions: Mapping[str, Refusal], refusals: Sequence[Refusal], task_refusals: Mapping[TaskId, Refusal]
) -> SealedDict[str, Refusal]:
    """Return why actions evict nothing for a job, by action, without repeated refusals of the job and its tasks.

    If one of these is permanent, the actions only repeat that no eviction helps.
    """
    if not evictions:
        return SealedDict()
    of_tasks = task_refusals.values()
    if any(not each.resolvable for each in refusals):
        return SealedDict()
    is_permanent = any(not each.resolvable for each in of_tasks)
    known = {(each.plugin, each.reason, each.message) for each in (*refusals, *of_tasks)}
    return SealedDict(
        (action, each)
        for action, each in evictions.items()
        if (each.plugin, each.reason, each.message) not in known and (each.resolvable or not is_permanent)
    )
