"""Namespace turns: how much the jobs of one namespace may cost an evicting action in one cycle.

A node on which evictions are tried in vain costs as much as hundreds of placements, and jobs of which no two are alike
share none of it. So each namespace has a share of such nodes in each action. Once it is used up, the other jobs of the
namespace wait for a later cycle, and everybody else goes on at once. No attempt is cut: the share says only whether
another job may begin.

Jobs of such a namespace go by rounds: who had a turn waits until all others of the namespace had theirs, and keeps the
reason that it was told then. Rounds outlive the cycle in its memory.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec

from pyroclast.framework.preemption.harm import effort_of
from pyroclast.framework.session.memory import Turn
from pyroclast.framework.session.namespace_windows import share_used
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId
from pyroclast.model.sealed import SealedDict

__all__ = ["MOST_STEPS", "NamespaceTurns"]

MOST_STEPS: Final = 2_000
"""Nodes on which evictions are tried in vain for one namespace, by one action in one cycle."""
_MOST_STEPS_OF_JOB: Final = 20_000
"""The same for one job, after which its search gives up."""
_FIRST: Final = Turn(is_over=False, snapshot=-1, told=None)


class NamespaceTurns:
    """The turns of one action in one session.

    waits  it had its turn in this round, others of its namespace did not
    late   its turn came, but the share of its namespace was used up
    begun  it had its turn in this cycle
    """

    __slots__ = ("_action", "_begun", "_jobs", "_known", "_late", "_most", "_session", "_spent", "_waits")

    def __init__(self, session: Session, most_steps: int, jobs: Iterable[SessionJob]) -> None:
        """Prepare.

        Args:
            session: The session; its action is the one that tries the jobs.
            most_steps: The share of each namespace; 0 for no limit.
            jobs: All that the action would try.
        """
        self._session = session
        self._action = session.action
        self._most = most_steps
        self._jobs = list(jobs)
        self._known: Mapping[JobId, Turn] = session.report.turns.get(self._action, {})
        self._spent: Counter[str] = Counter()
        self._begun: set[JobId] = set()
        self._late: set[JobId] = set()
        self._waits: set[JobId] = set()

    def first(self) -> list[SessionJob]:
        """Return the jobs that are to be tried in this cycle as far as shares go."""
        had_turn = {job.id for job in self._jobs if self._known.get(job.id, _FIRST).is_over}
        in_round = {job.job.namespace for job in self._jobs if job.id not in had_turn}
        self._waits = {job.id for job in self._jobs if job.id in had_turn and job.job.namespace in in_round}
        return [job for job in self._jobs if job.id not in self._waits]

    def may_begin(self, job: SessionJob) -> bool:
        """Return whether the share of a job's namespace is not used up; else the job keeps its reason."""
        if self._most and self._spent[job.job.namespace] >= self._most:
            self._late.add(job.id)
            return False
        return True

    def has_begun(self, job: SessionJob) -> bool:
        """Return whether a job had its turn in this cycle."""
        return job.id in self._begun

    @contextmanager
    def turn(self, job: SessionJob) -> Iterator[None]:
        """Count what an attempt for a job costs, unless it made a plan: victims bound how often that comes."""
        self._begun.add(job.id)
        effort = effort_of(self._session.scratch, job.job.namespace)
        before, plans = effort.in_vain, len(self._session.plans)
        effort.ends = before + _MOST_STEPS_OF_JOB
        yield
        if len(self._session.plans) == plans:
            self._spent[job.job.namespace] += effort.in_vain - before

    def close(self) -> None:
        """Tell jobs that had no turn why, and remember whose turn is next."""
        deferred = [job for job in self._jobs if job.id in self._late or job.id in self._waits]
        namespaces = Counter(job.job.namespace for job in deferred)
        for job in deferred:
            told = self._known.get(job.id, _FIRST).told
            job.refuse_eviction(self._action, told or share_used(self._action, self._action, job.job.namespace))
        for namespace, count in sorted(namespaces.items()):
            labels = {"action": self._action, "namespace": namespace}
            self._session.report.sample("deferred_jobs_total", count, kind="counter", **labels)
        turns = {job.id: self._turn_of(job) for job in self._jobs if job.job.namespace in namespaces}
        dict.__setitem__(self._session.report.turns, self._action, SealedDict(turns))

    def _turn_of(self, job: SessionJob) -> Turn:
        if job.id in self._late or job.id in self._waits:
            return msgspec.structs.replace(self._known.get(job.id, _FIRST), is_over=job.id in self._waits)
        generation = self._session.snapshot.generation
        return Turn(is_over=True, snapshot=generation, told=job.reasons.eviction_refusals.get(self._action))
