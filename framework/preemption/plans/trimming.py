"""Trimming: a plan gives back the victims that it does not need."""

from collections.abc import Sequence

from pyroclast.framework.preemption.harm import Unit
from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.plans.victims import evict_unit
from pyroclast.framework.preemption.victim_gangs import is_intact
from pyroclast.framework.preemption.victim_rules import Rule
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import JobId
from pyroclast.model.tasks import Task

__all__ = ["Trimmer"]


class Trimmer:
    """Repeats plans with fewer victims, and checks everything again."""

    def __init__(self, session: Session, rule: Rule) -> None:
        self._session = session
        self._rule = rule

    def fits(self, job: SessionJob, task: Task, column: int) -> bool:
        """Return whether a node and the queue accept a task now."""
        session = self._session
        if not session.candidates.of(task).takes(task, column):
            return False
        return session.queues.allocatable(session.queues.by_name[job.queue], task) is None

    def settle(self, attempt: PlanBuilder, task: Task, column: int) -> bool:
        """Place a task on a node; return whether no plugin refuses."""
        if attempt.statement.pipeline(attempt.job, [task], [column]) is not None:
            return False
        attempt.places.append((task, column))
        return True

    def spare_unneeded(self, attempt: PlanBuilder) -> bool:
        """Give back units, last evicted first, as long as everything keeps its place.

        Return False if a plugin fails on the way, so that the attempt comes to nothing.
        """
        for unit in reversed(list(attempt.units)):
            if not self._may_be_unneeded(attempt, unit):
                continue
            kept = [each for each in attempt.units if each is not unit]
            done = list(attempt.statement.operations)
            attempt.statement.undo_to(0)
            if self.replay(attempt, kept):
                attempt.units = kept
            else:
                attempt.statement.undo_to(0)
                # in the same order: the choice of a ledger for a task, a card for example, depends on the earlier
                # evictions
                if attempt.statement.redo(done) is not None:
                    return False
        return True

    def _may_be_unneeded(self, attempt: PlanBuilder, unit: Unit) -> bool:
        """Return whether nodes would still have capacity with a unit back on them; cheap, and never wrong with a no."""
        nodes = self._session.nodes
        used = {column: task for task, column in attempt.places}
        back: dict[int, IntArray] = {}
        for task in unit:
            assert task.node is not None, "a victim has a node"
            column = nodes.table.column[task.node]
            if column in used:
                request = nodes.needs(task.template).request
                back[column] = back[column] + request if column in back else request
        for column, request in back.items():
            free = nodes.future_idle_on(column) - request
            if (free[nodes.needs(used[column].template).checked] < 0).any():
                return False
        return True

    def replay(self, attempt: PlanBuilder, units: Sequence[Unit]) -> bool:
        """Evict units and place all tasks where they were, checking everything again."""
        session, statement = self._session, attempt.statement
        for unit in units:
            if not evict_unit(session, statement, unit, self._rule.action):
                return False
        # a gang that is evicted whole in two units must not lose one of them alone
        if not self._are_intact(attempt, units):
            return False
        return all(
            self.fits(attempt.job, task, column) and statement.pipeline(attempt.job, [task], [column]) is None
            for task, column in attempt.places
        )

    def _are_intact(self, attempt: PlanBuilder, units: Sequence[Unit]) -> bool:
        lost: dict[JobId | None, list[Task]] = {}
        for unit in units:
            lost.setdefault(unit[0].job, []).extend(unit)
        jobs = ((self._session.jobs.of(tasks[0]), tasks) for tasks in lost.values())
        return all(job is attempt.job or (job is not None and is_intact(job, tasks)) for job, tasks in jobs)

    def holds_in_turn(self, attempt: PlanBuilder) -> bool:
        """Return whether its tasks get their places one by one after all evictions, as they are bound.

        Else undo the plan. Where a ledger chooses for a task, a card for example, it may choose with all victims gone
        what was not free when the task was placed, and what only another of them can use.
        """
        if not attempt.units or not any(self._session.extensions.chooses_for(task) for task, _ in attempt.places):
            return True
        attempt.statement.undo_to(0)
        if self.replay(attempt, attempt.units):
            return True
        attempt.statement.undo_to(0)
        return False
