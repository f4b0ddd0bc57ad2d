"""Namespace turns: a limit on the cost of one namespace's jobs for an evicting action in one cycle.

A node on which trial evictions fail costs as much as hundreds of placements, and jobs of which no two are alike
share none of it. So each namespace has a share of such nodes in each action. Once it is used up, the search for the job
at hand is cut and goes on in the next cycle, the other jobs of the namespace wait, and all other namespaces continue at
once.

Jobs of such a namespace take turns in rounds. A job that had a turn waits until all others of the namespace had theirs,
and keeps the reason from its turn. Rounds outlive the cycle in its memory.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

from pyroclast.framework.preemption.harm import UNLIMITED, effort_of
from pyroclast.framework.session.memory import NO_TURN, Turn
from pyroclast.framework.session.namespace_windows import (
    namespaces_in_turn,
    share_far_beyond,
    share_of_each,
    share_used,
)
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId
from pyroclast.model.sealed import SealedDict

__all__ = ["MOST_STEPS", "NamespaceTurns"]

MOST_STEPS: Final = 256
"""Maximum number of failed nodes for one namespace, by one action in one cycle."""
_MOST_STEPS_OF_JOB: Final = 20_000
"""The same for one job, after which its search gives up."""
_MANY_JOBS: Final = 64
"""Jobs in turns beyond which a namespace has a smaller share."""


class NamespaceTurns:
    """The turns of one action in one session.

    waits  it had its turn in this round, others of its namespace did not
    late   its turn came, but the share of its namespace was used up
    begun  it had its turn in this cycle
    cut    it had a part of its turn, and goes on from there in the next cycle
    """

    __slots__ = ("_action", "_begun", "_cut", "_jobs", "_known", "_late", "_session", "_shares", "_spent", "_waits")

    def __init__(self, session: Session, most_steps: int, jobs: Iterable[SessionJob]) -> None:
        """Prepare.

        Args:
            session: The session; its action is the one that tries the jobs.
            most_steps: The share of each namespace; 0 for no limit.
            jobs: All that the action would try.
        """
        self._session = session
        self._action = session.action
        self._jobs = list(jobs)
        self._known: Mapping[JobId, Turn] = session.report.turns.get(self._action, {})
        namespaces = {job.job.namespace for job in self._jobs}
        share = share_of_each(most_steps, len(namespaces)) if most_steps else UNLIMITED
        self._shares = dict.fromkeys(namespaces, share)
        """Share of each namespace; less for those with many jobs, or with more waiting jobs than a cycle tries."""
        if most_steps:
            in_turns = Counter(job.job.namespace for job in self._jobs if job.id in self._known)
            now = namespaces_in_turn(in_turns, session.cycle)
            for name in namespaces:
                if in_turns[name] > _MANY_JOBS or session.jobs.window.takes_turns(name):
                    self._shares[name] = share_far_beyond(share)
                if name in in_turns and name not in now:
                    self._shares[name] = 0
        self._spent: Counter[str] = Counter()
        self._begun: set[JobId] = set()
        self._cut: dict[JobId, tuple[int, ...]] = {}
        """Progress of the search, by job."""
        self._late: set[JobId] = set()
        self._waits: set[JobId] = set()

    def first(self) -> list[SessionJob]:
        """Return the jobs that are to be tried in this cycle as far as shares go."""
        had_turn = {job.id for job in self._jobs if self._known.get(job.id, NO_TURN).is_over}
        in_round = {job.job.namespace for job in self._jobs if job.id not in had_turn}
        self._waits = {job.id for job in self._jobs if job.id in had_turn and job.job.namespace in in_round}
        return [job for job in self._jobs if job.id not in self._waits]

    def may_begin(self, job: SessionJob) -> bool:
        """Return whether the share of a job's namespace is not used up; else the job keeps its reason."""
        if self._spent[job.job.namespace] >= self._shares[job.job.namespace]:
            self._late.add(job.id)
            return False
        return True

    def has_ended(self, job: SessionJob) -> bool:
        """Return whether a job had the whole of its turn in this cycle."""
        return job.id in self._begun and job.id not in self._cut

    @contextmanager
    def turn(self, job: SessionJob) -> Iterator[None]:
        """Count what an attempt for a job costs, unless it made a plan: victims bound how often that comes."""
        namespace, passed = job.job.namespace, self._known.get(job.id, NO_TURN).passed
        effort, plans = effort_of(self._session.scratch, namespace), len(self._session.plans)
        steps, in_vain = effort.steps, effort.in_vain
        most_now = self._shares[namespace] - self._spent[namespace]
        search = effort.begin(passed, most=_MOST_STEPS_OF_JOB, most_now=most_now)
        self._begun.add(job.id)
        yield
        if len(self._session.plans) == plans:
            self._spent[namespace] += max(effort.steps - steps, effort.in_vain - in_vain)
            if search.is_cut:
                self._cut[job.id] = tuple(search.runs)

    def begin_within(self, job: SessionJob) -> None:
        """Begin the search for evictions within a job that had its turn; the pods of the job limit its cost."""
        effort = effort_of(self._session.scratch, job.job.namespace)
        effort.begin((), most=_MOST_STEPS_OF_JOB, most_now=_MOST_STEPS_OF_JOB)

    def close(self) -> None:
        """Record the reason of jobs that had no turn, and remember the next turn."""
        deferred = [job for job in self._jobs if job.id in self._late or job.id in self._waits or job.id in self._cut]
        namespaces = Counter(job.job.namespace for job in deferred)
        for job in deferred:
            last = self._known.get(job.id, NO_TURN).refusal
            job.refuse_eviction(self._action, last or share_used(self._action, self._action, job.job.namespace))
        for namespace, count in sorted(namespaces.items()):
            labels = {"action": self._action, "namespace": namespace}
            self._session.report.sample("deferred_jobs_total", count, kind="counter", **labels)
        # a job keeps its reason while its turns take several cycles, which all see the same cluster in the end
        long = (job for job in self._jobs if job.id in self._begun and self._known.get(job.id, NO_TURN).passed)
        in_turn = set(namespaces).union(job.job.namespace for job in long)
        turns = {job.id: self._turn_of(job) for job in self._jobs if job.job.namespace in in_turn}
        if self._session.jobs.skips_turns:
            turns |= {job_id: turn for job_id, turn in self._known.items() if job_id not in turns}
        dict.__setitem__(self._session.report.turns, self._action, SealedDict(turns))

    def _turn_of(self, job: SessionJob) -> Turn:
        known = self._known.get(job.id, NO_TURN)
        if job.id in self._late or job.id in self._waits:
            return msgspec.structs.replace(known, is_over=job.id in self._waits)
        since = known.snapshot if known.passed else self._session.snapshot.generation
        if job.id in self._cut:
            return Turn(is_over=False, snapshot=since, refusal=known.refusal, passed=self._cut[job.id])
        return Turn(is_over=True, snapshot=since, refusal=job.reasons.eviction_refusals.get(self._action))
