"""Victim rules: which pods an evicting action may evict for a job, beside what plugins permit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["Looks", "Rule", "Vetoes", "pod_priority"]


class Looks(Enum):
    """Order in which nodes are tried."""

    BEST_SCORE = "best score"
    """Order by score, best first."""
    NAME = "name"
    LEAST_HARM = "least harm"
    """All nodes are tried, and the one with the least harmful victims is chosen."""


class Ask(Protocol):
    """A question to plugins."""

    def __call__(self, task: Task, candidates: Sequence[Task], /, *, gang: Sequence[Task] = ()) -> list[Task]:
        """Return which candidates may be evicted for a task; `gang` has all tasks that are evicted with them."""
        ...


class Vetoes:
    """Refusals for tasks that an action protects itself, without a plugin."""

    __slots__ = (
        "action",
        "best_effort",
        "group_marked",
        "marked",
        "more_important",
        "no_less_important",
        "not_running",
        "queue_kept",
        "together",
    )

    def __init__(self, action: str) -> None:
        self.action = action

        def veto(reason: str, message: str) -> Refusal:
            return Refusal(plugin=action, reason=reason, message=message)

        self.marked = veto("NotPreemptable", "it is marked as not preemptable, or protected by the API server")
        self.group_marked = veto("GroupNotPreemptable", "its PodGroup is marked as not preemptable")
        self.not_running = veto("NotRunning", "it does not run yet")
        self.best_effort = veto(
            "AsksForMore", "it requests resources; best-effort pods can preempt only best-effort pods"
        )
        self.more_important = veto("HigherPriority", "its priority is higher")
        self.no_less_important = veto("NotLessImportant", "its job is no less important")
        self.queue_kept = veto("QueueNotReclaimable", "its queue is not reclaimable")
        self.together = veto("GangKeptTogether", "its gang needs it, and the whole gang may not be evicted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Rule of an eviction: its possible victims and beneficiaries, and the order of nodes."""

    statuses: frozenset[TaskStatus]
    """Statuses of possible victims."""
    same_queue: bool
    """Whether victims are of the beneficiary's queue; else they are of other ones."""
    within_queue: bool = False
    """Whether capacity is reclaimed from other owners in the queue, regardless of priorities; implies `same_queue`."""
    looks_first: Looks
    """Order of the nodes."""
    least_harm: bool = True
    """Whether of all plans the least harmful one is taken, else the first one."""
    vetoes: Vetoes
    """Refusals for tasks that the action protects itself."""
    spares: Callable[[Vetoes, SessionJob, SessionJob], Refusal | None] = lambda *_: None
    """Reason that a beneficiary (second) spares all tasks of a job (third); None if they are candidates."""
    alike: bool
    """Whether plugins judge equal beneficiaries alike; see `framework.extension.registration`."""
    protects_priority: bool = False
    """Whether victims of a higher priority than the beneficiary's are protected in spite of plugins."""
    within_job: bool = False
    """Whether victims are of the beneficiary itself; else they are of other jobs."""
    takes_gangs: bool = True
    """Whether whole gangs can be evicted if no single task can be spared."""
    ask: Ask
    """Queries plugins which candidates may be evicted for a task."""
    ask_first: Callable[[Task, Sequence[Task]], list[Task]] | None = None
    """Queries the first tier alone about the first of many candidates; None if that answer may change later."""

    @property
    def action(self) -> str:
        """Name of the action: the reason of its evictions."""
        return self.vetoes.action

    @property
    def modes(self) -> tuple[bool, ...]:
        """Whether gangs are evicted whole, in the order in which plans are sought: first without."""
        return (False, True) if self.takes_gangs else (False,)

    def concerns(self, beneficiary: SessionJob, victims_job: SessionJob) -> bool:
        """Return whether tasks of a job are victims of this kind of eviction at all."""
        if (victims_job.queue == beneficiary.queue) is not self.same_queue:
            return False
        return (victims_job is beneficiary) is self.within_job

    def veto(self, beneficiary: SessionJob, task: Task, victim: Task, victims_job: SessionJob) -> Refusal | None:
        """Return why a task is protected in spite of plugins; None if it is a candidate for them."""
        if victim.status not in self.statuses:
            return self.vetoes.not_running
        if not victim.preemptable:
            return self.vetoes.marked
        if task.template.best_effort and not victim.template.best_effort and self.same_queue:
            return self.vetoes.best_effort
        if self.protects_priority and self.outranks(victim, victims_job, task, beneficiary):
            return self.vetoes.more_important
        return self.spares(self.vetoes, beneficiary, victims_job)

    def outranks(self, victim: Task, victims_job: SessionJob, task: Task, beneficiary: SessionJob) -> bool:
        """Return whether a victim has a higher priority: by job and by pod between jobs, by task inside one."""
        if self.within_job:
            return victim.priority > task.priority
        jobs_outrank = victims_job.priority > beneficiary.priority
        return jobs_outrank or pod_priority(victim, victims_job) > pod_priority(task, beneficiary)

    def importance(self, task: Task, job: SessionJob) -> int:
        """Return the priority by which victims are compared: of a task inside one job, else of a pod."""
        return task.priority if self.within_job else pod_priority(task, job)

    def considers_job(self, beneficiary: SessionJob, victims_job: SessionJob) -> bool:
        """Return whether any tasks of a job may be proposed."""
        return self.concerns(beneficiary, victims_job) and self.spares(self.vetoes, beneficiary, victims_job) is None


def pod_priority(task: Task, job: SessionJob) -> int:
    """Return the priority of a pod: its own or that of its job, the higher one."""
    return max(task.pod.spec.priority or 0, job.priority)
