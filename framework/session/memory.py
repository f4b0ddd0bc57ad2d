"""Memory: the serialisable state that one cycle passes to the next.

Dropping it changes no decision as far as the cluster shows the same. It saves work that would have the same result. It
also has the capacity that is held for jobs and other holders. Without memory it is read from nominated nodes. That of
gang members that evicted no pods then begin anew.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from pyroclast.framework.session.held import HeldCapacity
from pyroclast.framework.state.last_result import BlockingJobs, LastResult
from pyroclast.framework.state.left_out_reasons import LeftOutReasons
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.jobs import Job, JobTable
from pyroclast.model.refusals import Refusal

__all__ = ["NO_TURN", "Assignment", "Memory", "Round", "Settled", "Turn"]

_NEVER: Final = -1
"""A revision that no job has."""
_MOST_PUBLISHED: Final = 100_000
"""Maximum number of remembered texts about one job, or about everything else. A forgotten text is published once
more."""
_MOST_SEARCHES: Final = 32
"""Searches of one job that are remembered; without effect on the outcome."""


class Turn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The last turn of a job with an action. It is kept while the jobs of its namespace take turns."""

    is_over: bool
    """Whether it was in this round."""
    snapshot: int
    """Generation of the snapshot that it saw, of a turn over several cycles the first one; -1 if it had none yet."""
    refusal: Refusal | None
    """Reason that no pods were evicted for it."""
    passed: tuple[int, ...] = ()
    """Progress of an unfinished turn, see `framework.preemption.harm.NodeSearch`; empty if no turn is unfinished."""
    domains: tuple[str, ...] = ()
    """Domains tried in an unfinished turn, see `framework.placement.topology.turns`."""


NO_TURN: Final = Turn(is_over=False, snapshot=-1, refusal=None)


class Round(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Progress of a namespace whose waiting jobs take turns; see `namespace_windows`."""

    after: str
    """The last job, by name, that had its turn; empty if a round begins."""
    since: int
    """Generation of the snapshot on which the round began."""
    is_over: bool
    """Whether the last job of the round had its turn, or that of an earlier round on the same snapshot."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """State for the next cycle."""

    cycle: int = 0
    """Number of the last cycle."""
    quiet_snapshot: int = -1
    """Generation of a snapshot on which a cycle decided nothing and would decide nothing again; -1 for none."""
    quiet_configuration: int = -1
    """Generation of the configuration of that cycle."""
    quiet_until: float | None = None
    """Time at which the wait for held places ends, or a pod without a job gets its condition, seconds since 1970.
    Cycles stay quiet until then; None for no end."""
    held: tuple[HeldCapacity, ...] | None = None
    """Capacity held for jobs and other holders, in the order of decisions; None if the memory is new."""

    runs: Mapping[str, float] = {}
    """Last time of each periodic plugin, by instance, seconds since 1970."""

    lacking_pods_since: Mapping[str, float] = {}
    """Time since which admitted jobs lack pods, by UID of the PodGroup, seconds since 1970. Reset by a restart."""

    rounds: Mapping[str, Round] = {}
    """Progress by namespace with more unlike waiting jobs than one cycle tries; see `namespace_windows`."""
    admission_rounds: Mapping[str, Round] = {}
    """The same for jobs at admission; see `framework.queues.admission_turns`."""
    skipped_turns: int = 0
    """Number of consecutive cycles up to the last one that skipped all turns; see `framework.queues.skipped_turns`."""
    waiting_beside_turns: int = 0
    """Pending pods and jobs at admission of namespaces that take no turns, which the last cycle left waiting; 0 if no
    namespace takes turns."""
    turns: Mapping[str, Mapping[JobId, Turn]] = {}
    """Jobs of namespaces that used up their share, by action; see `framework.preemption.namespace_turns`. Searches by
    domains have the key `domains`, see `framework.placement.topology.turns`."""

    def is_quiet(self, snapshot: int, configuration: int, now: float) -> bool:
        """Return whether a cycle on this snapshot, with this configuration, would decide nothing."""
        in_time = self.quiet_until is None or now < self.quiet_until
        return in_time and (self.quiet_snapshot, self.quiet_configuration) == (snapshot, configuration)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The outcome of a search."""

    places: Sequence[tuple[int, int]] | None
    """Kind and column of each task that has a node, in the order of placing; None if no assignment was found."""
    steps: int
    """Number of placements that were tried."""
    is_exhaustive: bool
    """Whether all possibilities were checked, so that without places there is no assignment."""


class Settled:
    """Results that need not be computed again: a cache beside the memory. It changes no decision.

    For each job it has whether the written status was found correct, and the result of the last refusal. A
    revision is never used twice, so a column with the revision it had is the same job in the same state.
    """

    __slots__ = (
        "_by_queue",
        "_facts",
        "_failed_searches",
        "_last_results",
        "_left_out",
        "_published",
        "_published_about_jobs",
        "_refused",
        "_revisions",
        "_unschedulable_templates",
        "blocking_jobs",
    )

    def __init__(self) -> None:
        self._revisions: IntArray = np.full(0, _NEVER, dtype=np.int64)
        self._refused: IntArray = np.full(0, _NEVER, dtype=np.int64)
        self._unschedulable_templates: IntArray = np.full(0, _NEVER, dtype=np.int64)
        self._by_queue: BoolArray = np.zeros(0, dtype=np.bool_)
        self._last_results: dict[JobId, LastResult] = {}
        self.blocking_jobs: dict[JobId, BlockingJobs] = {}
        """Last blocking jobs of each job."""
        self._left_out = LeftOutReasons()
        self._failed_searches: dict[JobId, dict[bytes, Assignment]] = {}
        self._facts: dict[str, tuple[IntArray, IntArray]] = {}
        """Facts about jobs by name, with the revisions they are from, each of shape (J,)."""
        self._published: dict[str, str] = {}
        self._published_about_jobs: dict[JobId, dict[str, str]] = {}

    def unsettled(self, table: JobTable) -> BoolArray:
        """Return which columns need a look at the end of a cycle, shape (J,)."""
        self._fit(table.revision.size)
        mask: BoolArray = table.revision != self._revisions[: table.revision.size]
        return mask

    def note(self, table: JobTable, column: int, *, is_settled: bool) -> None:
        """Note whether a job's status is as it should be."""
        self._fit(table.revision.size)
        self._revisions[column] = table.revision[column] if is_settled else _NEVER

    def last_result(self, job: Job, table: JobTable) -> LastResult | None:
        """Return the result of a job in the last cycle; None if the job changed since."""
        known = self._last_results.get(job.id)
        return known if known is not None and known.revision == table.revision[job.column] else None

    def reasons_of_left_out(
        self, table: JobTable, numbers: IntArray, refusals: Sequence[Refusal]
    ) -> tuple[Mapping[JobId, tuple[Refusal, ...]], Mapping[TaskId, tuple[Refusal, ...]]]:
        """Return the reasons of jobs that are left out, with those of their last results; see `LeftOutReasons`."""
        return self._left_out.update(table, numbers, refusals, self._last_results)

    def remember(self, job: Job, last_result: LastResult) -> None:
        """Store the result of a job."""
        self._fit(job.column + 1)
        self._last_results[job.id] = last_result
        if last_result.blocking_jobs is not None:
            self.blocking_jobs[job.id] = last_result.blocking_jobs
        else:
            self.blocking_jobs.pop(job.id, None)
        unschedulable_template = last_result.unschedulable_template
        self._refused[job.column] = last_result.revision if unschedulable_template is not None else _NEVER
        self._unschedulable_templates[job.column] = _NEVER if unschedulable_template is None else unschedulable_template
        self._by_queue[job.column] = last_result.is_unschedulable_by_queue

    def unschedulable_templates(self, table: JobTable) -> tuple[BoolArray, IntArray, BoolArray]:
        """Return which unchanged jobs found no room in the last cycle, by which template, and whether in their queue.

        Returns:
            Three arrays of shape (J,).
        """
        self._fit(table.revision.size)
        columns = slice(0, table.revision.size)
        return self._refused[columns] == table.revision, self._unschedulable_templates[columns], self._by_queue[columns]

    def facts(self, table: JobTable, name: str, of: Callable[[Job], int]) -> IntArray:
        """Return a fact about each job, computed again for changed jobs only; 0 where there is no job, shape (J,).

        Args:
            table: The jobs.
            name: Name of the fact.
            of: Computes it from a job alone.
        """
        known, revisions = self._facts.get(name, (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)))
        values, seen = (np.full(table.revision.size, fill, dtype=np.int64) for fill in (0, _NEVER))
        kept = min(known.size, values.size)
        values[:kept], seen[:kept] = known[:kept], revisions[:kept]
        for column in np.flatnonzero(seen != table.revision).tolist():
            job = table.jobs[column]
            values[column] = 0 if job is None else of(job)
            seen[column] = _NEVER if job is None else table.revision[column]
        values.flags.writeable = False
        self._facts[name] = values, seen
        return values

    def is_news(self, about: str, text: str, *, job: JobId | None = None) -> bool:
        """Return whether a text differs from the last one about the same subject, and remember it.

        Args:
            about: Subject of the text.
            text: Text to publish.
            job: Job whose owner gets the text. Texts about jobs are forgotten when the jobs are gone.
        """
        published = self._published if job is None else self._published_about_jobs.setdefault(job, {})
        is_news = published.get(about) != text
        published[about] = text
        if len(published) > _MOST_PUBLISHED:
            del published[next(iter(published))]
        return is_news

    def forget_gone(self, jobs: Mapping[JobId, Job]) -> None:
        """Forget results of jobs that no longer exist."""
        if len(self._last_results) > len(jobs):
            self._last_results = {job_id: known for job_id, known in self._last_results.items() if job_id in jobs}
            self.blocking_jobs = {job_id: known for job_id, known in self.blocking_jobs.items() if job_id in jobs}
        self._published_about_jobs = {
            job_id: published for job_id, published in self._published_about_jobs.items() if job_id in jobs
        }
        self._failed_searches = {job_id: known for job_id, known in self._failed_searches.items() if job_id in jobs}

    def failed_search(self, job: JobId, key: bytes) -> Assignment | None:
        """Return the result of an unsuccessful search of a job, by a key of all its inputs."""
        return self._failed_searches.get(job, {}).get(key)

    def remember_search(self, job: JobId, key: bytes, found: Assignment) -> None:
        """Remember the result of an unsuccessful search. Each job has a limited number, the last ones."""
        known = self._failed_searches.setdefault(job, {})
        known[key] = found
        while len(known) > _MOST_SEARCHES:
            del known[next(iter(known))]

    def _fit(self, columns: int) -> None:
        missing = columns - self._revisions.size
        if missing > 0:
            more = np.full(missing, _NEVER, dtype=np.int64)
            self._revisions = np.append(self._revisions, more)
            self._refused = np.append(self._refused, more)
            self._unschedulable_templates = np.append(self._unschedulable_templates, more)
            self._by_queue = np.append(self._by_queue, np.zeros(missing, dtype=np.bool_))
