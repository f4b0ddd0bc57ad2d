"""Turns of searches by domains: a limit on the trials of topology domains for one namespace in a cycle.

A domain with enough capacity may still not take a gang, which only a trial shows. Clusters have thousands of domains,
such as the hosts, and each trial costs as much as a placement. So each namespace has a share of trials. Once it is used
up, the search for the job at hand is cut and goes on in the next cycle with the domains that it has not tried, the
other jobs of the namespace wait, and all other namespaces continue at once.

Jobs of such a namespace take turns in rounds, as those that evict (`framework.preemption.namespace_turns`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from pyroclast.framework.placement.placing import Worksheet
from pyroclast.framework.session.memory import NO_TURN, Turn
from pyroclast.framework.session.namespace_windows import namespaces_in_turn, share_of_each, share_used
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.ids import JobId
from pyroclast.model.sealed import SealedDict

__all__ = ["MOST_STEPS", "DomainTurn", "DomainTurns", "begin_turns", "domain_turns"]

MOST_STEPS: Final = 512
"""Maximum number of steps of one namespace in a cycle. A step is a trial of a domain, or a task that is tried in it."""
_UNLIMITED: Final = 1 << 62
_MOST_UNSEEN: Final = 4
"""Jobs of a namespace whose unfinished turns are remembered in cycles that do not try them; without effect on which
domain is found."""
_KEY: Final = "domains"
"""Key of the turns in the memory."""
_TURNS: Final = ScratchKey("turns of searches by domains")


def begin_turns(session: Session, most: int) -> "DomainTurns":
    """Begin the turns of a session; `most` is the share of each namespace in steps, 0 for no limit."""
    turns = session.scratch[_TURNS] = DomainTurns(session, most or _UNLIMITED)
    return turns


def domain_turns(session: Session) -> "DomainTurns":
    """Return the turns of a session."""
    known: DomainTurns | None = session.scratch.get(_TURNS)
    if known is None:
        known = begin_turns(session, MOST_STEPS)
    return known


class DomainTurn:
    """The turn of one job in one session."""

    __slots__ = ("_before", "_phase", "_share", "_spent", "_tried", "is_cut", "job")

    def __init__(self, job: SessionJob, spent: Counter[str], share: int, before: Iterable[str]) -> None:
        """Begin.

        Args:
            job: The job.
            spent: Steps of the cycle by namespace.
            share: Most steps of the job's namespace.
            before: What was tried in earlier cycles of the turn.
        """
        self.job = job
        self._spent, self._share = spent, share
        self._before = self._tried = dict.fromkeys(before)
        self._phase = ""
        self.is_cut = False
        """Whether something was not tried in this cycle that would have come next."""

    @property
    def tried(self) -> tuple[str, ...]:
        """What was tried in this turn, with the kinds of search."""
        return tuple(self._tried)

    @property
    def has_whole_share(self) -> bool:
        """Whether its namespace tried nothing in this cycle."""
        return not self._spent[self.job.job.namespace]

    @property
    def is_begun(self) -> bool:
        """Whether something was tried in this cycle."""
        return self._tried is not self._before

    def begin(self, phase: str) -> None:
        """Begin a kind of search. Each kind tries all domains."""
        self._phase = phase

    @property
    def has_share(self) -> bool:
        """Whether something of the share is left."""
        return self._spent[self.job.job.namespace] < self._share

    def may_try(self) -> bool:
        """Return whether another domain may be tried; else the turn is cut."""
        self.is_cut = self.is_cut or not self.has_share
        return not self.is_cut

    def has_tried(self, domain: str) -> bool:
        """Return whether a domain was tried in this turn."""
        return f"{self._phase}/{domain}" in self._tried

    def count(self, tasks: int) -> None:
        """Count a trial of some tasks."""
        self._spent[self.job.job.namespace] += 1 + tasks

    def note(self, domain: str) -> None:
        """Note a domain that does not take the job, so that it is not tried again in this turn."""
        if self._tried is self._before:
            self._tried = dict(self._before)
        self._tried[f"{self._phase}/{domain}"] = None

    @contextmanager
    def uncut(self) -> Iterator[None]:
        """Let a search end that has found a domain."""
        share, self._share, self.is_cut = self._share, _UNLIMITED, False
        try:
            yield
        finally:
            self._share = share

    def end(self) -> None:
        """End the turn, because places were found."""
        self._tried, self.is_cut = {}, False


class DomainTurns:
    """The turns of one session.

    waits  it had its turn in this round, others of its namespace did not
    cut    it had a part of its turn, or none, because the share of its namespace was used up
    """

    __slots__ = ("_known", "_most", "_session", "_shares", "_spent", "_turns", "_waits")

    def __init__(self, session: Session, most: int) -> None:
        self._session, self._most = session, most
        jobs = session.snapshot.jobs
        known = session.report.turns.get(_KEY, {})
        self._known = {job: turn for job, turn in known.items() if job in jobs}
        namespaces = {jobs[job].namespace for job in self._known}
        now = namespaces_in_turn(namespaces, session.cycle)
        share = share_of_each(most, len(namespaces))
        self._shares = {name: share if name in now else 0 for name in namespaces}
        in_round = {jobs[job].namespace for job, turn in self._known.items() if not turn.is_over}
        self._waits = {job for job, turn in self._known.items() if turn.is_over and jobs[job].namespace in in_round}
        self._spent: Counter[str] = Counter()
        self._turns: dict[JobId, DomainTurn] = {}

    def of(self, job: SessionJob) -> DomainTurn:
        """Return the turn of a job."""
        turn = self._turns.get(job.id)
        if turn is None:
            share = self._shares.get(job.job.namespace, self._most)
            before = self._known.get(job.id, NO_TURN).domains
            turn = self._turns[job.id] = DomainTurn(job, self._spent, share, before)
        return turn

    def may_begin(self, job: SessionJob) -> bool:
        """Return whether a job may be tried now; else it waits for a later cycle."""
        turn = self.of(job)
        return job.id not in self._waits and turn.may_try()

    def waits(self, job: SessionJob) -> bool:
        """Return whether a job waits for a later cycle, with the whole search or with the rest of it."""
        return job.id in self._waits or (job.id in self._turns and self._turns[job.id].is_cut)

    def defer(self, job: SessionJob, sheets: Iterable[Worksheet]) -> None:
        """Refuse a job and its tasks that wait for another cycle, with the reason of the last whole turn."""
        refusal = self._known.get(job.id, NO_TURN).refusal
        refusal = refusal or share_used("allocate", "trials of domains", job.job.namespace)
        job.refuse(refusal)
        for sheet in sheets:
            for task in sheet.tasks:
                if job.tasks[task.id].node is None:
                    job.refuse_task(task, refusal)
            sheet.drop_rest()

    def close(self) -> None:
        """Remember the next turns."""
        jobs = self._session.snapshot.jobs
        waiting = {job for job, turn in self._turns.items() if not turn.job.is_ready}
        deferred = {job for job in waiting if job in self._waits or self._turns[job].is_cut}
        namespaces = Counter(jobs[job].namespace for job in deferred)
        for namespace, count in sorted(namespaces.items()):
            labels = {"action": "allocate", "namespace": namespace}
            self._session.report.sample("deferred_jobs_total", count, kind="counter", **labels)
        # if none of the jobs that had no turn was tried, all begin a new round, or they would wait for ever
        begun = {jobs[job].namespace for job, turn in self._turns.items() if turn.is_begun or turn.is_cut}
        turns = {
            job: self._next_turn(job, is_waiting=jobs[job].namespace in begun)
            for job in waiting
            if jobs[job].namespace in namespaces
        }
        unseen: Counter[str] = Counter()
        for job, turn in self._known.items():
            namespace = jobs[job].namespace
            if job in self._turns:
                continue
            if self._session.jobs.skips_turns or (turn.domains and unseen[namespace] < _MOST_UNSEEN):
                unseen[namespace] += 1
                turns[job] = turn
        dict.__setitem__(self._session.report.turns, _KEY, SealedDict(sorted(turns.items())))

    def _next_turn(self, job: JobId, *, is_waiting: bool) -> Turn:
        known, turn = self._known.get(job, NO_TURN), self._turns[job]
        if job in self._waits:
            return Turn(is_over=is_waiting, snapshot=known.snapshot, refusal=known.refusal)
        if turn.is_cut and not turn.is_begun:
            return msgspec.structs.replace(known, is_over=False)
        since = known.snapshot if known.domains else self._session.snapshot.generation
        if turn.is_cut:
            return Turn(is_over=False, snapshot=since, refusal=known.refusal, domains=turn.tried)
        return Turn(is_over=True, snapshot=since, refusal=next(iter(turn.job.reasons.refusals), None))
