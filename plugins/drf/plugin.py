"""DRF: order jobs by dominant resource share, and queues by weighted shares along a hierarchy.

Points: job order, preemptable; with `enableHierarchy` also queue order and reclaimable; a ledger.
No arguments.  Formulas and examples: docs/plugins/drf.md.
"""

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Change, Ledger, Plugin, Vote
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId
from pyroclast.model.jobs import NO_QUEUE
from pyroclast.model.queues import Queue
from pyroclast.model.report import JobShare
from pyroclast.model.tasks import Task
from pyroclast.plugins.drf.shares import TOLERANCE, DominantShares, dominant, largest
from pyroclast.plugins.drf.tree import Tree

__all__ = ["Drf"]

MOST_REPORTED: Final = 1000
"""Maximum number of jobs whose share is reported, largest shares first. It bounds the number of series."""


class Drf(Plugin):
    """Serve the job with the smallest dominant share first."""

    name = "drf"
    watches_clock = False

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        fairness = Fairness(session)
        session.extensions.register(contract.JOB_ORDER, self.name, fairness.rank)
        session.extensions.register(contract.PREEMPTABLE, self.name, fairness.preemptable, alike=True)
        session.extensions.register_ledger(self.name, fairness)
        if session.extensions.option.hierarchy:
            hierarchy = Hierarchy(session)
            session.extensions.register(contract.QUEUE_ORDER, self.name, hierarchy.rank)
            session.extensions.register(
                contract.RECLAIMABLE, self.name, hierarchy.reclaimable, alike=True, compares_queues=True
            )
            session.extensions.register_ledger(self.name, hierarchy)
        session.extensions.on_close(self.name, fairness.report)


class Fairness(Ledger):
    """Dominant shares of the jobs of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shares = DominantShares(session.total.tolist(), self._before)

    def rank(self, job: SessionJob) -> float:
        """Rank a job: smaller share first."""
        return self._shares.share(job.id)

    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Permit victims whose jobs keep at least the share that the preemptor's job would have."""
        mine = self._session.jobs.of(preemptor)
        if mine is None:
            return [], Vote.PERMIT
        total = self._shares.total
        share_with_task, _ = dominant(_plus(self._shares.given(mine.id), self._request(preemptor), 1), total)
        left: dict[JobId, list[int]] = {}
        victims = []
        for task in candidates:
            job = self._session.jobs.of(task)
            if job is None:
                continue
            # Subtracted even if the task is not a victim: the next task of its job is judged without it.
            rest = left[job.id] = _plus(left.get(job.id) or self._shares.given(job.id), self._request(task), -1)
            kept, _ = dominant(rest, total)
            if share_with_task < kept or abs(share_with_task - kept) <= TOLERANCE:
                victims.append(task)
        return victims, Vote.PERMIT

    def apply(self, change: Change) -> None:
        """Count a change."""
        self._shares.add(change.job.id, change.totals, change.sign)

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self._shares.add(change.job.id, change.totals, -change.sign)

    def report(self) -> None:
        """Report the largest shares, up to a bound."""
        session, table = self._session, self._session.snapshot.job_table
        allocated = table.allocated.copy()
        if known := self._shares.known():
            columns = [session.snapshot.jobs[job].column for job in known]
            allocated[:, columns] = np.array(list(known.values())).T
        for column in largest(allocated, session.total, among=table.queue != NO_QUEUE, most=MOST_REPORTED):
            job = table.jobs[column]
            if job is not None:
                session.report.note_share(job.id, self._job_share(allocated[:, column].tolist()))

    def _job_share(self, given: Sequence[int]) -> JobShare:
        share, row = dominant(given, self._shares.total)
        space = self._session.resources
        amounts = {
            name: amount * 1000 // scale
            for name, amount, scale in zip(space.names, given, space.scales, strict=True)
            if amount
        }
        return JobShare(resource="" if row < 0 else space.names[row], share=share, allocated=amounts)

    def _before(self, job: JobId) -> list[int]:
        table = self._session.snapshot.job_table
        before: list[int] = table.allocated[:, self._session.snapshot.jobs[job].column].tolist()
        return before

    def _request(self, task: Task) -> list[int]:
        return self._session.nodes.counted_amounts(task)


class Hierarchy(Ledger):
    """The queues of one session in their tree."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tree = tree = Tree(session.total.tolist())
        self._key = cmp_to_key(self._compare)
        table = session.snapshot.job_table
        for job_id, job in session.snapshot.jobs.items():
            queue = session.queues.by_name[job.queue]
            node = tree.node(queue.hierarchy, queue.hierarchy_weights)
            tree.add_job(
                job_id,
                node,
                request=(table.total - table.uncounted)[:, job.column].tolist(),
                allocated=table.allocated[:, job.column].tolist(),
            )
        tree.settle()

    def rank(self, queue: Queue) -> Any:
        """Return a sort key that compares current shares along the paths."""
        return self._key(queue)

    def _compare(self, left: Queue, right: Queue) -> int:
        difference = self._tree.compare(left.hierarchy, right.hierarchy)
        return (difference > 0) - (difference < 0)

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Permit victims whose queue would still come after the reclaimer's queue; each is judged by itself."""
        mine = self._session.jobs.of(reclaimer)
        if mine is None:
            return [], Vote.PERMIT
        share_with_task = self._request(reclaimer)
        self._tree.change(mine.id, share_with_task)
        victims = []
        for task in candidates:
            job = self._session.jobs.of(task)
            if job is None:
                continue
            request = self._request(task)
            self._tree.change(job.id, [-amount for amount in request])
            if self._compare(self._session.queues.by_name[mine.queue], self._session.queues.by_name[job.queue]) < 0:
                victims.append(task)
            self._tree.change(job.id, request)
        self._tree.change(mine.id, [-amount for amount in share_with_task])
        return victims, Vote.PERMIT

    def apply(self, change: Change) -> None:
        """Count a change."""
        self._tree.change(change.job.id, (change.amounts * change.sign).tolist())

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self._tree.change(change.job.id, (change.amounts * -change.sign).tolist())

    def _request(self, task: Task) -> list[int]:
        return self._session.nodes.counted_amounts(task)


def _plus(amounts: Sequence[int], others: Sequence[int], sign: int) -> list[int]:
    return [amount + sign * other for amount, other in zip(amounts, others, strict=True)]
