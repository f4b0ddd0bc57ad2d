"""Simple bounds: whether a plan is clearly the least harmful one, without a search."""

from dataclasses import dataclass

import numpy as np

from pyroclast.framework.preemption.harm import NO_VICTIM, Harm
from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.plans.victims import VictimSelector
from pyroclast.framework.preemption.victim_gangs import active_count, whole_gang
from pyroclast.framework.preemption.victim_rules import Rule
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import QueueName
from pyroclast.model.tasks import TaskStatus

__all__ = ["LeastVictim", "SimpleBounds"]


@dataclass(frozen=True, slots=True)
class LeastVictim:
    """Lower bound of the harm of a victim."""

    lowest: int
    """The lowest priority of a job that may lose tasks."""
    gang: int
    """Tasks of the smallest gang."""


class SimpleBounds:
    """Lower bounds of the harm of plans by one rule, in one session."""

    def __init__(self, session: Session, rule: Rule, victims: VictimSelector) -> None:
        self._session = session
        self._rule = rule
        self._victims = victims
        self._least: dict[QueueName, LeastVictim] = {}
        self._known_jobs: list[tuple[QueueName, int, int]] | None = None
        """Queue, priority and least size as a gang of each job that may lose tasks."""

    def is_least(self, attempt: PlanBuilder, harm: Harm) -> bool:
        """Return whether no plan for the job can be less harmful, as far as is easily seen."""
        if not harm.victims:
            return True
        if attempt.why is not None:
            return False  # with other victims the task that was refused may have a place as well
        least = self.least_of(attempt.job)
        if harm.highest > least.lowest:
            return False
        if harm.gangs:
            return harm.gangs == 1 and harm.victims == least.gang
        return harm.victims == 1 or harm.victims <= self._fewest_victims(attempt)

    def _fewest_victims(self, attempt: PlanBuilder) -> int:
        """Return a lower bound of the number of victims of any plan for the tasks that the job needs.

        Of equal tasks each node has places for so many without evictions, and one more victim makes so many more at
        most. Where all of unlike tasks are needed, the free capacity and the victims must be as large as these
        together.
        """
        session, job = self._session, attempt.job
        tasks = [task for task, _ in attempt.places]
        needed = min(job.min_available - job.ready_count - job.waiting_count + len(tasks), len(tasks))
        is_uniform = all(task.template is tasks[0].template for task in tasks)
        if needed <= 0 or not (is_uniform or (needed == len(tasks) and not job.counts[TaskStatus.PENDING])):
            return 1
        requests = [session.nodes.needs(task.template).request for task in tasks]
        room, largest = self._before(attempt)
        asked = np.flatnonzero(np.sum(requests, axis=0) > 0)
        room, largest = room[asked], largest[asked]
        if not is_uniform:
            lacking = np.sum(requests, axis=0)[asked] - room.sum(axis=1)
            return int((-(-lacking // np.maximum(largest, 1))).max(initial=1))
        request = requests[0][asked]
        free = int((room // request[:, None]).min(axis=0).sum())
        by_one = int((-(-largest // request)).max(initial=1))
        return -(-(needed - free) // by_one)

    def _before(self, attempt: PlanBuilder) -> tuple[IntArray, IntArray]:
        """Return the capacity that a plan found on each node, shape (R, N), and the most that one victim frees."""
        nodes = self._session.nodes
        room, largest = nodes.columns().future_idle.copy(), self._victims.all_room.largest()
        for victim in (victim for unit in attempt.units for victim in unit):
            assert victim.node is not None, "a victim has a node"
            freed = nodes.needs(victim.template).request
            room[:, nodes.table.column[victim.node]] -= freed
            largest = np.maximum(largest, freed)
        for task, column in attempt.places:
            room[:, column] += nodes.needs(task.template).request
        return np.maximum(room, 0), largest

    def least_of(self, job: SessionJob) -> LeastVictim:
        """Return the lowest priority and the smallest gang among the jobs that may lose tasks to a job."""
        if self._rule.within_job:
            return LeastVictim(min((task.priority for task in whole_gang(job)), default=NO_VICTIM), 1)
        known = self._least.get(job.queue)
        if known is None:
            known = self._least[job.queue] = self._find_least(job.queue)
        return known

    def _find_least(self, queue: QueueName) -> LeastVictim:
        """Return the bound for the whole session: a gang that is evicted whole has its minimum, or never had it."""
        if self._known_jobs is None:
            self._known_jobs = [(each.queue, each.priority, _gang_size(each)) for each in self._victims.order.jobs()]
        jobs = [each for each in self._known_jobs if (each[0] == queue) is self._rule.same_queue]
        lowest = min((priority for _, priority, _ in jobs), default=NO_VICTIM)
        return LeastVictim(lowest, min((size for *_, size in jobs if size), default=1))


def _gang_size(job: SessionJob) -> int:
    """Return the least number of tasks that are evicted with a whole job; 0 if it is never evicted whole."""
    if not (job.min_available > 1 or job.checks_roles or job.min_sub_jobs):
        return 0
    return max(min(active_count(job), job.min_available), 2)
