"""Admission turns: how many refused jobs of one namespace a cycle tries to admit.

A refused job costs about as much as a placement, in every cycle. So each namespace has a share of refused jobs. Once it
is used up, the other jobs of the namespace wait for a later cycle. From then on half of the share goes to the first
jobs by priority and age, and half rotates among the others, until a cycle refuses none of them. Admitted jobs do not
count: a thousand jobs that fit are admitted in one cycle.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from pyroclast.framework.session.memory import Round
from pyroclast.framework.session.namespace_windows import (
    EachJob,
    NamespaceWindow,
    share_of_each,
    share_used,
    window,
)
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId
from pyroclast.model.sealed import SealedDict

__all__ = ["MOST_REFUSED", "AdmissionTurns"]

MOST_REFUSED: Final = 256
"""Maximum number of refused jobs of one namespace in a cycle."""


class AdmissionTurns:
    """The turns of the jobs at admission in one session."""

    def __init__(self, session: Session, most: int) -> None:
        """Choose the jobs of a cycle; `most` is the share of each namespace, 0 for no limit."""
        self._session = session
        self._most = most
        self._jobs = session.jobs.awaiting_admission()
        self._known = session.report.admission_rounds if most else {}
        limited = [job for job in self._jobs if job.namespace in self._known] if self._known else []
        self._window = window(
            limited, most, self._known, session.snapshot.generation, cycle=session.cycle, looks=EachJob
        )
        namespaces = len({job.namespace for job in self._jobs}) if most else 1
        self._share = share_of_each(most, namespaces)
        self._tried: set[str] = set()
        self._refused: Counter[str] = Counter()
        self._late: dict[str, list[JobId]] = {}
        """Jobs without a turn, by namespace that used up its share in this cycle for the first time."""

    def jobs(self) -> Iterator[SessionJob]:
        """Return the jobs that may be tried, in the order of their ids."""
        left_out = self._window.left_out
        found = (self._session.jobs.get(job.id) for job in self._jobs if job.id not in left_out)
        return (job for job in found if job is not None and job.is_pending)

    def may_begin(self, job: SessionJob) -> bool:
        """Return whether the share of a job's namespace is not used up; else the job waits for a later cycle."""
        namespace = job.job.namespace
        if not self._most or namespace in self._window.rounds or self._refused[namespace] < self._share:
            self._tried.add(namespace)
            return True
        self._late.setdefault(namespace, []).append(job.id)
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
        left_out = dict(self._window.left_out)
        deferred = Counter(self._session.snapshot.jobs[each].namespace for each in left_out)
        for namespace, late in self._late.items():
            rounds[namespace] = Round(after="", since=self._session.snapshot.generation, is_over=False)
            left_out |= dict.fromkeys(late, share_used("enqueue", "enqueue", namespace))
            deferred[namespace] = len(late)
        for namespace, count in sorted(deferred.items()):
            labels = {"action": "enqueue", "namespace": namespace}
            self._session.report.sample("deferred_jobs_total", count, kind="counter", **labels)
        if left_out:
            admission = dict(sorted(rounds.items()))
            self._session.jobs.leave_out(NamespaceWindow(SealedDict(left_out), admission_rounds=SealedDict(admission)))
