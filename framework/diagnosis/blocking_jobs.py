"""Blocking jobs: jobs whose end would let a pending job run, found by trial.

They are searched at the end of a cycle, for jobs that were refused for lack of capacity on nodes, in domains or in
their queue. The result is a small set of jobs without which the whole minimum would have places, all rules checked. A
bound selects the jobs to try; the trial evicts and places for real in the session, by the search that allocate makes,
and is undone, so nothing is decided by it. Where no trial succeeds, or there would be too much of them, nothing is
reported. Nor is anything for namespaces whose jobs take turns: each of their jobs would be searched for alone.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final

from pyroclast.framework.diagnosis.blocking_candidates import Choice, Held, Layout, Places, on_nodes_here
from pyroclast.framework.placement.placing_jobs import place_job, worksheets_of
from pyroclast.framework.queues.admission import ends_that_admit
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.last_result import BlockingJobs
from pyroclast.model.ids import NodeName
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["find_blocking_jobs"]

_MOST_WAITING: Final = 10_000
"""Maximum number of pending tasks of the jobs that get a result, in the order of the jobs' ids."""
_MOST_SEARCHES: Final = 8
"""Jobs, each with all that are like it, that are searched for in one cycle."""
_MOST_TRIALS: Final = 16
"""Trials in one cycle."""
_TRIALS_EACH: Final = 3
"""Trials for one job, of single jobs, and as many of several."""
_MOST_THINNED: Final = 8
"""Maximum number of jobs that are left out in turn. For more jobs, the bound alone decides which are needed."""
_OF_ACCOUNTS: Final = frozenset({"QueueQuotaInsufficient", "ClusterOverused"})
"""Reasons of refusals at admission that the end of other jobs may change."""
_MOST_CHANGES: Final = 4_000
"""Tasks that are taken off nodes or put on them, and back, in all trials of one cycle."""


def find_blocking_jobs(session: Session) -> None:
    """Report to jobs that lack capacity which jobs would have to end."""
    waiting = [
        job
        for job in session.jobs.known().values()
        if not session.jobs.window.takes_turns(job.job.namespace) and _lacks_capacity(session, job)
    ]
    if waiting:
        _Search(session).serve(sorted(waiting, key=lambda job: job.id))


def _lacks_capacity(session: Session, job: SessionJob) -> bool:
    """Return whether a job waits for capacity that some node could have, or for admission."""
    if job.is_pending:
        return bool(job.counts[TaskStatus.PENDING]) and any(
            each.reason in _OF_ACCOUNTS for each in job.reasons.refusals
        )
    if not job.reasons.task_refusals or session.jobs.skipped.is_passed_over(job) or job.permanent_cause is not None:
        return False
    return next(iter(job.reasons.task_refusals.values())).resolvable and not session.jobs.job_pipelined(job)


class _Search:
    """State of the search in one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._searches = _MOST_SEARCHES
        self._trials = _MOST_TRIALS
        self._end = len(session.nodes.log) + _MOST_CHANGES
        """Length of the session's log that no trial may exceed."""
        self._found: dict[tuple[Any, ...], BlockingJobs | None] = {}
        """Answers for jobs that are alike."""

    def serve(self, jobs: Sequence[SessionJob]) -> None:
        """Find an answer for each job, as long as trials are left."""
        looks = 0
        for job in jobs:
            looks += job.counts[TaskStatus.PENDING]
            if looks > _MOST_WAITING:
                return
            pending = self._session.jobs.pending_tasks(job)
            tasks = [task for task in pending if not (task.gated or task.template.best_effort)]
            if not tasks or self._session.jobs.job_valid(job) is not None:
                continue
            known = None if job.last_result is None else job.last_result.blocking_jobs
            if known is not None and self._session.jobs.skipped.still_block(known):
                job.reasons.blocking_jobs = known
                continue
            like = tuple((task.template.number, task.priority, task.role) for task in tasks)
            key = (
                job.queue,
                job.priority,
                job.min_available - job.ready_count,
                (job.job.group.spec.network_topology, job.topology_key),
                tuple(sorted((job.job.min_resources or {}).items())) if job.is_pending else None,
                like,
            )
            if key not in self._found or self._is_alone(job, tasks):
                self._found[key] = self._answer(job, tasks)
            job.reasons.blocking_jobs = self._found[key]
            job.touched = job.touched or known != job.reasons.blocking_jobs

    def _is_alone(self, job: SessionJob, tasks: Sequence[Task]) -> bool:
        """Return whether a job may have other blocking jobs than the jobs that are like it.

        This holds if some of its members run or have ended, or if labels divide them. Rules beyond the node look at
        labels. So do scores, but if tasks are equal, these only decide which of enough places are taken.
        """
        if job.ready_count or job.has_sub_group_policy:
            return True
        beyond = [each for each in map(self._session.candidates.answers.beyond, tasks) if each is not None]
        is_uniform = len({task.template.number for task in tasks}) == 1
        return any(each.verdicts or not is_uniform for each in beyond)

    def _answer(self, job: SessionJob, tasks: Sequence[Task]) -> BlockingJobs | None:
        if self._searches <= 0 or not all(map(self._session.candidates.fits_empty_nodes, tasks)):
            return None
        self._searches -= 1
        for choice in self._choices(job, tasks):
            used = self._nodes_without(choice, job)
            if used is not None and job.is_pending:  # all of them are needed for admission
                return self._result(choice.ended, used)
            if used is not None:
                return self._result(*self._thinned(choice, job, used))
        return None

    def _result(self, ended: Sequence[SessionJob], used: set[NodeName]) -> BlockingJobs:
        session = self._session
        nodes = used.union(node for each in ended for _task, node in on_nodes_here(session, each))
        return BlockingJobs(
            tuple(each.id for each in ended), tuple(sorted(nodes)), session.nodes.future_idle_key(sorted(nodes))
        )

    # Candidates to try ------------------------------------------------------------------------------------------------

    @cached_property
    def _held(self) -> Held:
        return Held.of(self._session)

    def _choices(self, job: SessionJob, tasks: Sequence[Task]) -> Iterator[Choice]:
        """Yield jobs that might be enough: single ones, oldest first, then several."""
        if job.is_pending:
            yield from self._admitting(job)
            return
        needs = self._session.nodes.needs
        smallest = min(tasks, key=lambda task: tuple(needs(task.template).request.tolist()))
        layout = Layout.of(self._session, job, worksheets_of(self._session, job))
        places = Places(self._session, self._held, job, smallest, layout)
        yield from islice(places.alone(), _TRIALS_EACH)
        yield from islice((choice for choice in places.together() if len(choice.ended) > 1), _TRIALS_EACH)

    def _admitting(self, job: SessionJob) -> Iterator[Choice]:
        """Yield jobs without which a job would be admitted; whether it would have places then a trial finds out."""
        root = self._session.topology.domains_of(job).topology.root
        for ended in ends_that_admit(self._session, job):
            yield Choice([other for each in ended if (other := self._session.jobs.get(each.id)) is not None], root)

    # Trial ------------------------------------------------------------------------------------------------------------

    def _nodes_without(self, choice: Choice, job: SessionJob) -> set[NodeName] | None:
        """Return where a job would have its places if others had ended, None where nowhere; changes nothing."""
        session = self._session
        leaving = [(each, task) for each in choice.ended for task, _node in on_nodes_here(session, each)]
        changes = 2 * (len(leaving) + job.counts[TaskStatus.PENDING])
        if self._trials <= 0 or len(session.nodes.log) + changes > self._end:
            return None
        self._trials -= 1
        touched = [(each, each.touched) for each in (*choice.ended, job)]
        reasons = job.reasons.copy()
        job.reasons.forget_tasks()
        try:
            with session.statement(trial=True) as trial:
                if any(trial.evict(each, task, "") is not None for each, task in leaving):
                    return None
                with session.topology.domains_of(job).beginning_now():
                    place_job(session, trial, job, worksheets_of(session, job), root=choice.zone)
                places = trial.placed().values()
                return {task.node for task in places if task.node} if session.jobs.job_pipelined(job) else None
        finally:
            job.reasons = reasons
            for each, was_touched in touched:
                each.touched = was_touched

    def _thinned(
        self, choice: Choice, job: SessionJob, used: set[NodeName]
    ) -> tuple[Sequence[SessionJob], set[NodeName]]:
        """Leave out of jobs that are enough together those whose end is not needed, as far as trials go."""
        for each in choice.ended if len(choice.ended) > 1 else ():
            others = Choice([other for other in choice.ended if other is not each], choice.zone)
            found = self._nodes_without(others, job) if others.ended and len(others.ended) < _MOST_THINNED else None
            if found is not None:
                choice, used = others, found
        return choice.ended, used
