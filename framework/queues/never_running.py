"""Jobs that can never run: those whose pods would not fit even if all nodes and their queue were empty.

The answer is a bound in favour of the job: other pods count for nothing, and pods that are not made yet may fit.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from pyroclast.framework.queues.capabilities import beyond_capability
from pyroclast.framework.session.namespace_windows import MOST_TEMPLATES, share_of_templates
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.model.arrays import BoolArray, IntArray, distinct_columns, distinct_count
from pyroclast.model.ids import JobId
from pyroclast.model.jobs import NO_QUEUE, NO_TEMPLATE, Job, JobTable
from pyroclast.model.tasks import READY_STATUSES, Task, TaskStatus

__all__ = ["COUNTED", "can_never_run", "never_running", "unusable_requests", "why_never_run"]

COUNTED: Final = READY_STATUSES | {TaskStatus.PIPELINED}
"""Statuses of tasks that have a place."""
_MOST_ASKED: Final = 4 * MOST_TEMPLATES
"""Templates of unlike jobs that are asked about in a cycle; the jobs beyond may run."""
_FEW: Final = 64
"""Jobs of a namespace that are asked about one by one; more are compared first, unless most are different."""
_ANSWERS: Final = ScratchKey("jobs that can never run")


def can_never_run(session: Session, job: Job) -> bool:
    """Return whether so many of a job's pods fit no empty node, or not its queue's capability, that it never runs.

    Nodes count that permit the pods by facts that no eviction changes: labels, taints, names. Pods that are not made
    yet may fit. It may run all the same when nodes or queues change, and then this is false again.
    """
    return bool(why_never_run(session, job))


def why_never_run(session: Session, job: Job) -> str:
    """Return why a job can never run, as a clause; empty if it may."""
    return _answers(session).why(job)


def unusable_requests(session: Session) -> IntArray:
    """Return the pending requests of jobs that can never run, and 0 for other jobs, shape (R, J)."""
    table = session.snapshot.job_table
    mask = never_running(session, (table.queue != NO_QUEUE) & table.pending.any(axis=0))
    return np.where(mask, table.pending, 0)


def never_running(session: Session, mask: BoolArray) -> BoolArray:
    """Return which jobs of a mask can never run, both of shape (J,).

    Once a namespace has used up its questions of the cycle, its other jobs cost nothing.
    """
    table, answers = session.snapshot.job_table, _answers(session)
    found = np.zeros_like(mask)
    for columns in table.by_namespace(table.in_order(mask & (table.waiting_template != NO_TEMPLATE))).values():
        firsts, alike = answers.first_of_alike(columns)
        asked = np.zeros(table.queue.size, dtype=np.bool_)
        for job in answers.answered_among(table, columns[firsts]):
            asked[job.column] = bool(answers.why(job))
        found[columns] = asked[columns[firsts]][alike]
    return found


def _answers(session: Session) -> "_Answers":
    answers: _Answers = session.scratch.get(_ANSWERS) or session.scratch.setdefault(_ANSWERS, _Answers(session))
    return answers


class _Answers:
    """Answers of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._by_job: dict[JobId, str] = {}
        self._by_kind: dict[tuple[Any, ...], str] = {}
        """Jobs that are alike in all that the answer depends on."""
        self._asked: Counter[str] = Counter()
        """Templates of unlike jobs by namespace: where they are too many for one cycle the others may run."""
        self._over: set[str] = set()
        """Namespaces whose further jobs are not asked about in this cycle."""
        self._answered: dict[str, list[Job]] = {}
        """Jobs with an answer, by namespace."""
        self._shares: dict[str, int] = {}
        self._table = table = session.snapshot.job_table
        self._allocated = table.allocated
        self._runs: list[bool] = np.any(table.allocated, axis=0).tolist()
        """Whether each job has allocated resources, by column."""
        self._placed: list[int] = table.counts[sorted(COUNTED)].sum(axis=0).tolist()
        """Tasks that have a place, by column."""

    def why(self, job: Job) -> str:
        known = self._by_job.get(job.id)
        if known is None and job.namespace in self._over:
            return ""
        if known is None:
            known = self._why(job) if job.waiting else ""
            if job.namespace not in self._over:
                self._answered.setdefault(job.namespace, []).append(job)
            self._by_job[job.id] = known
        return known

    def first_of_alike(self, columns: IntArray) -> tuple[IntArray, IntArray]:
        """Return the positions of the first jobs of each kind among columns of one namespace, and the kind of each.

        Only jobs that have one template, and none of whose tasks run, can be alike.
        """
        table = self._table
        if columns.size <= _FEW or distinct_count(table.waiting_template[columns]) > columns.size // 2:
            return np.arange(columns.size), np.arange(columns.size)
        runs = np.array(self._runs)[columns] | (table.waiting_template[columns] < 0)
        kinds = np.stack(
            [
                table.queue[columns],
                table.min_available[columns] - np.array(self._placed)[columns],
                table.waiting_template[columns],
                table.counts[TaskStatus.PENDING][columns],
                np.where(runs, columns, -1),
            ]
        )
        firsts, alike = distinct_columns(kinds)
        order = np.argsort(firsts)
        places = np.empty_like(order)
        places[order] = np.arange(order.size)
        return firsts[order], places[alike]

    def answered_among(self, table: JobTable, columns: IntArray) -> Iterator[Job]:
        """Iterate over those jobs of one namespace, by their columns, that have an answer or get one."""
        for asked, job in enumerate(table.jobs_in(columns)):
            if job.namespace in self._over:
                later = np.zeros(table.queue.size, dtype=np.bool_)
                later[columns[asked:]] = True
                yield from [each for each in self._answered.get(job.namespace, ()) if later[each.column]]
                return
            yield job

    def _why(self, job: Job) -> str:
        column = job.column
        needed = max(job.min_available - self._placed[column], 1)
        running = self._allocated[:, column].tobytes() if self._runs[column] else b""
        kind = job.queue, needed, running, job.waiting
        known = self._by_kind.get(kind)
        if known is None:
            if self._asked[job.namespace] >= self._share_of(job) or self._asked.total() >= _MOST_ASKED:
                self._over.add(job.namespace)
                return ""
            self._asked[job.namespace] += len(job.waiting)
            known = self._by_kind[kind] = self._why_alike(job, needed)
        return known

    def _share_of(self, job: Job) -> int:
        """Return how many templates of a job's namespace are asked about."""
        known = self._shares.get(job.namespace)
        if known is None:
            in_namespace = self._table.namespace == self._table.namespace[job.column]
            templates = distinct_count(self._table.waiting_template[in_namespace])
            known = self._shares[job.namespace] = share_of_templates(templates)
        return known

    def _why_alike(self, job: Job, needed: int) -> str:
        pending = [task for task in job.tasks.values() if task.status is TaskStatus.PENDING]
        still_to_come = max(needed - len(pending), 0)
        places = self._places(pending, dict(job.waiting))
        if places + still_to_come < needed:
            return f"the job can never run: even empty nodes fit only {places} of its {len(pending)} pending pods"
        running = self._allocated[:, job.column]
        excess = None if still_to_come else beyond_capability(self._session, job.queue, running, pending, needed)
        if excess is not None:
            return f"the job can never run: its pods request more than the capability of queue {excess.queue}"
        return ""

    def _places(self, tasks: list[Task], count: Mapping[int, int]) -> int:
        """Count how many tasks would have room if all nodes were empty, each template by itself."""
        first = {task.template.number: task for task in reversed(tasks)}
        return sum(
            min(most, self._session.candidates.places_on_empty_nodes(first[number]).total)
            for number, most in count.items()
        )
