"""Admission turns: how many refused jobs of one namespace a cycle tries to admit.

A refused job costs about as much as a placement, in every cycle. So each namespace has a share of refused jobs. Once it
is used up, the other jobs of the namespace wait for a later cycle. From then on half of the share goes to the first
jobs by priority and age, and half rotates among the others, until a cycle refuses none of them. Admitted jobs do not
count: a thousand jobs that fit are admitted in one cycle.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np

from pyroclast.framework.session.memory import Round
from pyroclast.framework.session.namespace_windows import (
    EachJob,
    share_of_each,
    share_used,
    window,
    window_of,
)
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob

__all__ = ["MOST_REFUSED", "AdmissionTurns"]

MOST_REFUSED: Final = 256
"""Maximum number of refused jobs of one namespace in a cycle."""


class AdmissionTurns:
    """The turns of the jobs at admission in one session."""

    def __init__(self, session: Session, most: int) -> None:
        """Choose the jobs of a cycle; `most` is the share of each namespace, 0 for no limit."""
        self._session = session
        self._most = most
        self._table = table = session.snapshot.job_table
        self._columns = table.in_order(session.jobs.awaiting_admission())
        by_namespace = table.by_namespace(self._columns) if most else {}
        self._known = session.report.admission_rounds if most else {}
        limited = [columns for name, columns in by_namespace.items() if name in self._known]
        self._window = window(
            table,
            np.concatenate(limited) if limited else self._columns[:0],
            most,
            self._known,
            session.snapshot.generation,
            cycle=session.cycle,
            looks=EachJob,
        )
        self._share = share_of_each(most, len(by_namespace))
        self._tried: set[str] = set()
        self._refused: Counter[str] = Counter()
        self._late: dict[str, list[int]] = {}
        """Jobs without a turn, by namespace that used up its share in this cycle for the first time."""

    def jobs(self) -> Iterator[SessionJob]:
        """Return the jobs that may be tried, in the order of their ids."""
        mask = np.zeros(self._table.queue.size, dtype=np.bool_)
        mask[self._columns] = True
        mask[self._window.left_out(self._table)] = False
        found = (self._session.jobs.get(job.id) for job in self._table.select(mask))
        return (job for job in found if job is not None and job.is_pending)

    def may_begin(self, job: SessionJob) -> bool:
        """Return whether the share of a job's namespace is not used up; else the job waits for a later cycle."""
        namespace = job.job.namespace
        if not self._most or namespace in self._window.rounds or self._refused[namespace] < self._share:
            self._tried.add(namespace)
            return True
        self._late.setdefault(namespace, []).append(job.job.column)
        return False

    def count_refused(self, job: SessionJob) -> None:
        """Count a refused job."""
        self._refused[job.job.namespace] += 1

    def close(self) -> None:
        """Leave the other jobs out of this cycle, and remember the next turn."""
        rounds = {
            name: reached
            for name, reached in self._window.rounds.items()
            if self._refused[name] or name not in self._tried
        }
        left_out = dict(self._table.by_namespace(self._window.left_out(self._table)))
        reasons = {name: share_used("scheduler", "the scheduler's time", name) for name in left_out}
        for namespace, late in self._late.items():
            rounds[namespace] = Round(after="", since=self._session.snapshot.generation, is_over=False)
            left_out[namespace] = np.array(late, dtype=np.int64)
            reasons[namespace] = share_used("enqueue", "enqueue", namespace)
        for namespace, deferred in sorted(left_out.items()):
            labels = {"action": "enqueue", "namespace": namespace}
            self._session.report.sample("deferred_jobs_total", deferred.size, kind="counter", **labels)
        if left_out:
            rounds = dict(sorted(rounds.items()))
            self._session.jobs.leave_out(window_of(self._table, left_out, reasons, admission_rounds=rounds))
