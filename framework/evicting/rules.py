"""Rules of eviction: what tells the evicting actions apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from framework.jobs import SessionJob
from model.tasks import Task, TaskStatus

__all__ = ["Looks", "Rule"]


class Looks(Enum):
    """In which order nodes are tried."""

    BEST_SCORE = "best score"
    """By score, best first."""
    NAME = "name"
    LEAST_HARM = "least harm"
    """All are tried, and the one is taken whose victims matter least."""


class Ask(Protocol):
    """A question to plugins."""

    def __call__(self, task: Task, candidates: Sequence[Task], /, *, gang: Sequence[Task] = ()) -> list[Task]:
        """Return which candidates may give way to a task; `gang` names all that would go with them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Who may be evicted for whom, and where one looks first."""

    action: str
    """Name of the action: the reason of its evictions."""
    statuses: frozenset[TaskStatus]
    """Where in their lives victims may be."""
    same_queue: bool
    """Whether victims are of the beneficiary's queue; else they are of other ones."""
    looks_first: Looks
    """Which nodes are tried first."""
    may_go: Callable[[SessionJob, SessionJob], bool]
    """Whether tasks of a job (second) may be considered for a beneficiary (first), apart from statuses and queues."""
    alike: bool
    """Whether plugins judge equal beneficiaries alike; see `framework.registering`."""
    within_job: bool = False
    """Whether victims are of the beneficiary itself."""
    takes_gangs: bool = True
    """Whether gangs may go whole where nobody can be spared."""
    ask: Ask
    """Asks the plugins which of some candidates may give way to a task."""
    ask_first: Callable[[Task, Sequence[Task]], list[Task]] | None = None
    """Asks the first tier alone about the first of many candidates; None where that may change its mind later on."""

    @property
    def modes(self) -> tuple[bool, ...]:
        """Whether gangs go whole, in the order in which plans are sought: first without."""
        return (False, True) if self.takes_gangs else (False,)

    def considers(self, beneficiary: SessionJob, task: Task, victim: Task, victims_job: SessionJob) -> bool:
        """Tell whether a task may be proposed to the plugins as a victim."""
        if victim.status not in self.statuses or not victim.preemptable:
            return False
        if task.template.best_effort and not victim.template.best_effort and self.same_queue:
            return False
        return self.considers_job(beneficiary, victims_job)

    def considers_job(self, beneficiary: SessionJob, victims_job: SessionJob) -> bool:
        """Tell whether any tasks of a job may be proposed."""
        return (victims_job.queue == beneficiary.queue) is self.same_queue and self.may_go(beneficiary, victims_job)
