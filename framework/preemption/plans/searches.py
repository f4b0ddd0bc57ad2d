"""Searches: what the searches for plans in one session have cost, and which of them failed."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyroclast.framework.preemption.harm import Effort, Unit, effort_of
from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.refusals import TRIED_BEFORE
from pyroclast.framework.preemption.victim_rules import Rule
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["Searches"]


class Searches:
    """Cost and failures of the searches by one rule, in one session."""

    def __init__(self, session: Session, rule: Rule) -> None:
        self._session = session
        self._rule = rule
        self.failed: dict[tuple[Any, ...], tuple[int, Refusal]] = {}
        """Failed searches by domain: the length of the log of nodes at that moment, and the reason."""
        self.gave_up: set[JobId] = set()
        """Jobs for which a search ended before it was through."""

    def effort(self, job: SessionJob) -> Effort:
        """Return the cost of the searches for the namespace of a job."""
        return effort_of(self._session.scratch, job.job.namespace)

    def count_on_trial(self, attempt: PlanBuilder, unit: Unit) -> bool:
        """Count a unit that is evicted on trial, and return whether more may be.

        Searches with a protected victim have a budget of their own.
        """
        effort = self.effort(attempt.job)
        effort.on_trial -= 0 if attempt.limits.repeats else len(unit)
        return effort.on_trial > 0

    def gives_up(self, job: SessionJob) -> bool:
        """Return whether the search for a job's plan has ended, because too many nodes failed."""
        if self.effort(job).search.is_stopped:
            self.gave_up.add(job.id)
            return True
        return False

    def key(self, attempt: PlanBuilder, task: Task) -> tuple[Any, ...]:
        """Name all of a task and its job that the search for victims depends on."""
        job, rule = attempt.job, self._rule
        # a job that could lose tasks to its like, but not to itself, is like no other
        may_lose = rule.same_queue and any(job.counts[status] for status in rule.statuses)
        is_like_others = rule.alike and not may_lose and not self._session.held.has_lost(job.id)
        own = job.allocated.tobytes() if is_like_others else job.id
        return (
            *(attempt.limits, task.template.number, task.priority, task.revocable_zone),
            *(job.queue, job.priority, own, job.job.revocable_zone, self._session.queues.kind(task)),
        )

    def has_failed(self, attempt: PlanBuilder, task: Task) -> bool:
        """Return whether a task or its like found no place within the same limits, and nothing changed since."""
        if self._session.candidates.answers.beyond(task) is not None:
            return False
        where = None if attempt.domain is None else attempt.domain.tobytes()
        known = self.failed.get((*self.key(attempt, task), where))
        return known is not None and known[0] == len(self._session.nodes.log)

    def try_each(self, attempt: PlanBuilder, columns: Iterable[int], succeeds: Callable[[int], bool]) -> Iterator[bool]:
        """Try nodes until the search for a job ends; yield whether each was a success."""
        effort = self.effort(attempt.job)
        for column in columns:
            if not effort.search.may_try():
                return
            if effort.search.passes_over():
                attempt.tried.setdefault(column, TRIED_BEFORE)
                continue
            if succeeds(column):
                effort.note_success(is_kept=True)
                yield True
            else:
                effort.note_in_vain()
                yield False
