"""Queue admission: what running and admitted jobs keep other jobs out of (Volcano's inqueue accounting, and beyond).

Shared by the plugins that vote on admission. Each holds a job to accounts: its queue, the queues above it, the cluster.
A job passes when its minimum fits each account beside what runs and what is promised to admitted jobs. Where it does
not, these do not count against it:

- what is promised to jobs that cannot use it: they can never run, they lack pods for longer than the grace period, or
  they were tried and ask for more than is left beside what runs;
- what is promised to jobs of another namespace that were tried or wait for their turn, where these ask together for
  more than is idle beside what runs, and the job for less; likewise those of several namespaces together;
- what is promised to jobs of lower priority in its own queue;
- what the configured actions may evict for it: jobs of lower priority in its queue (preempt, gangpreempt), or jobs of
  queues that hold more than they deserve while its own does not (reclaim, gangreclaim).

All of this is arithmetic on sums by queue and priority, made once a cycle.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from typing import Any, Final, NamedTuple

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.queues.never_running import COUNTED, can_never_run, never_running, why_never_run
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.queue_refusals import MOST_NAMED, usage_text
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId, QueueName
from pyroclast.model.jobs import Job, JobTable
from pyroclast.model.queues import usable_guarantee
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import READY_STATUSES, Task, TaskStatus

__all__ = [
    "Account",
    "AdmissionRules",
    "QueueAdmission",
    "Shortage",
    "ends_that_admit",
    "holds_reservation",
    "lacks_pods",
    "reserved",
    "rules_of",
    "ungated",
]

_SOME_ARE_GATED: Final = ScratchKey("some tasks are gated")
"""Key of the session's scratch: in most clusters no task is, and then nothing need be subtracted."""
_RULES: Final = ScratchKey("rules of queue admission")
_ALL: Final = ScratchKey("queue admission of all plugins")
_MOST_WAITING: Final = 2
"""Multiple of an account's limit that may be promised to jobs that were tried and found no capacity. Above it,
evictable resources admit no further jobs."""
_MOST_SINGLE: Final = 3
_MOST_TOGETHER: Final = 100
"""Maximum number of jobs that are named as those whose end would admit another, alone and together."""
_PREEMPT: Final = frozenset({"preempt", "gangpreempt"})
_RECLAIM: Final = frozenset({"reclaim", "gangreclaim"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    """Configuration of the action enqueue."""

    counts_evictions: bool = True
    """Whether what could be evicted for a job, or is promised to less important jobs, does not count against it."""
    frees_unusable: bool = True
    """Whether promises to jobs that cannot use them do not count."""
    grace_seconds: float = 300.0
    """Time that an admitted job may lack pods before its promised resources no longer count."""


def rules_of(session: Session) -> AdmissionRules:
    """Return the rules of the running enqueue action."""
    known: AdmissionRules = session.scratch.setdefault(_RULES, AdmissionRules())
    return known


def set_rules(session: Session, rules: AdmissionRules) -> None:
    """Set the rules; for the action enqueue alone."""
    session.scratch[_RULES] = rules


# What jobs hold -------------------------------------------------------------------------------------------------------


def reserved(table: JobTable) -> IntArray:
    """Return what each job keeps reserved beyond what it uses, base units, shape (R, J).

    Jobs in phase `Inqueue`, and running ones that reach their minimum, reserve the part of their minimum resources that
    their placed tasks do not ask for, less the requests of tasks that are held back by scheduling gates.
    """
    missing = np.maximum(table.min_resources - table.allocated - table.uncounted, 0)
    return np.where(holds_reservation(table), np.maximum(missing - table.gated, 0), 0)


def holds_reservation(table: JobTable) -> BoolArray:
    """Return which jobs keep their minimum resources reserved, shape (J,)."""
    rows = [TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.RUNNING, TaskStatus.ALLOCATED]
    reaches_minimum = table.counts[rows].sum(axis=0) >= table.min_available
    held: BoolArray = table.has_min_resources & (table.phase_inqueue | (table.phase_running & reaches_minimum))
    return held


def ungated(session: Session, job: SessionJob, amounts: IntArray) -> IntArray:
    """Return amounts less the requests of a job's gated tasks, not below 0, shape (R,)."""
    some_are_gated = session.scratch.get(_SOME_ARE_GATED)
    if some_are_gated is None:
        some_are_gated = session.scratch[_SOME_ARE_GATED] = bool(session.snapshot.job_table.gated.any())
    if not some_are_gated:
        return amounts
    lessened: IntArray = np.maximum(amounts - session.snapshot.job_table.gated[:, job.job.column], 0)
    return lessened


def lacks_pods(table: JobTable) -> BoolArray:
    """Return which jobs in phase `Inqueue` have fewer pods than their minimum, shape (J,)."""
    rows = [*READY_STATUSES, TaskStatus.PIPELINED, TaskStatus.PENDING]
    lacking: BoolArray = table.phase_inqueue & (table.counts[rows].sum(axis=0) < table.min_available)
    return lacking


# Accounts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Account:
    """Account that limits a job: a queue, a queue above it, or the cluster. Amounts are base units by resource row."""

    name: str
    """Name in messages."""
    jobs: BoolArray
    """Whether each job counts in it, shape (J,)."""
    running: IntArray
    """Resources of each job's running tasks in this account, shape (R, J)."""
    promised: IntArray
    """Resources promised in this account to each job that earlier cycles admitted, shape (R, J)."""
    limit: Sequence[int]
    used: Sequence[int]
    """Current resources of running tasks."""
    admitted: list[int]
    """Resources promised to admitted jobs, including those of this cycle. Admission adds to it."""
    uncounted: Sequence[int] = ()
    """Resources of running tasks beyond the minimum resources of their jobs, which do not count in `used`."""


class Shortage(NamedTuple):
    """Account in which a job's minimum does not fit."""

    account: Account
    rows: list[int]
    """Resources in which it does not fit."""
    promised: list[int]
    """Resources promised in the account to jobs that count against it, by row."""
    holders: BoolArray
    """These jobs, as far as earlier cycles admitted them, shape (J,)."""


class _Relief(NamedTuple):
    """Resources that do not count against jobs of one queue and priority in one account."""

    promises: IntArray
    """Promises that do not count, shape (R,)."""
    evictable: IntArray
    """Evictable resources, with resources promised to jobs that would lose them, shape (R,)."""
    waiting: IntArray
    """Resources promised to jobs that were tried and found no capacity, shape (R,)."""
    holders: BoolArray
    """Jobs whose promises count, shape (J,)."""


class _Crowding(NamedTuple):
    """Jobs of an account that wait in vain and together ask for more than is idle."""

    waiting: BoolArray
    """These jobs, shape (J,)."""
    large: frozenset[int]
    """Numbers of the namespaces whose jobs ask for more than is idle by themselves."""
    asked: dict[int, IntArray]
    """What the jobs of each of the other namespaces ask for, by its number, each of shape (R,)."""
    together: IntArray
    """Sum of `asked`, shape (R,)."""
    idle: IntArray
    """What the account has left beside what runs, at most what is idle in the cluster, shape (R,)."""


_Kind = frozenset[QueueName] | None
"""Queues that lose jobs; None if nothing is evicted."""


class QueueAdmission:
    """Resources that the accounts of one plugin leave for jobs at admission, in one cycle."""

    def __init__(
        self,
        session: Session,
        rows: Sequence[int],
        accounts_of: Callable[[QueueName], list[Account]],
        refuse: Callable[["Shortage", SessionJob, Sequence[int]], Refusal],
    ) -> None:
        """Prepare.

        Args:
            session: The session.
            rows: Resources that jobs are held to.
            accounts_of: Gives the accounts of a queue's jobs, the queue's own first; asked again when tasks have moved.
            refuse: Words a refusal; `in_words` has its details.
        """
        self._session = session
        self._rows = rows
        self._make_accounts = accounts_of
        self._refuse = refuse
        self._table = session.snapshot.job_table
        session.scratch.setdefault(_ALL, []).append(self)
        self._accounts: dict[QueueName, tuple[int, list[Account]]] = {}
        """Accounts by queue, with the length of the log of nodes at that moment."""
        self._refusals: dict[tuple[Any, ...], Refusal | None] = {}
        """Answers to jobs that are alike, since the last admission and the last change of a node."""
        self._answered_at = (0, 0)
        self._relief: dict[tuple[QueueName, int, int, _Kind, str], _Relief] = {}
        self._crowding: dict[str, _Crowding | None] = {}
        """Waiting jobs that together ask for more than is idle, by account; None if they do not."""
        self._holders: dict[int, list[JobId]] = {}
        self._admissions = 0
        self._unchecked: list[tuple[Job, list[int], list[Account]]] = []
        """Jobs that this cycle has admitted, with what they reserve and where, not known yet to be able to run."""
        self._admitted_now: list[Job] = []
        """Jobs that this cycle has admitted and that reserve their minimum."""
        self._admitted_names: dict[str, tuple[int, list[JobId]]] = {}
        """Number of admitted jobs already checked, and the names of those that count, by name of an account."""

    def refusal(self, job: SessionJob) -> Refusal | None:
        """Refuse a job whose minimum does not fit; None if it may be admitted."""
        minimum = self._table.min_resources[:, job.job.column].tolist()
        if not self._is_beyond(job, minimum):
            return None
        self._give_back_unusable()
        moment = self._admissions, len(self._session.nodes.log)
        if moment != self._answered_at:
            self._refusals.clear()
            self._answered_at = moment
        never = why_never_run(self._session, job.job)
        kind = job.queue, job.priority, tuple(minimum), never, self._relieved_in(job, minimum)
        if kind not in self._refusals:
            shortage = self._shortage_of(job, minimum)
            self._refusals[kind] = None if shortage is None else self._refuse(shortage, job, minimum)
        return self._refusals[kind]

    def _is_beyond(self, job: SessionJob, minimum: Sequence[int]) -> bool:
        """Return whether a minimum does not fit some account beside all that is promised there; asked for every job."""
        for account in self._accounts_of(job.queue):
            admitted, used, limit = account.admitted, account.used, account.limit
            for row in self._rows:
                if minimum[row] + used[row] + admitted[row] > limit[row] and minimum[row] > 0:
                    return True
        return False

    def _shortage_of(self, job: SessionJob, minimum: Sequence[int]) -> Shortage | None:
        """Return where a job's minimum does not fit; None if it may be admitted."""
        if not self._is_beyond(job, minimum):
            return None
        accounts = self._accounts_of(job.queue)
        first: Shortage | None = None
        for losing in self._kinds(job, minimum):
            found = next(
                (
                    short
                    for number, account in enumerate(accounts)
                    if (short := self._shortage(job, minimum, number, account, losing)) is not None
                ),
                None,
            )
            if found is None:
                return None
            first = first or found
        return first

    def admit(self, job: SessionJob) -> None:
        """Reserve the minimum of a job that is admitted just now, in all its accounts.

        Jobs that can never run reserve nothing. Whether one can is found when the next job does not fit beside it, for
        most clusters have room for all.
        """
        reserved_now = ungated(self._session, job, self._table.min_resources[:, job.job.column]).tolist()
        accounts = self._accounts_of(job.queue)
        for account in accounts:
            _add(account.admitted, reserved_now, 1)
        self._unchecked.append((job.job, reserved_now, accounts))
        self._admissions += 1

    def is_unusable(self, job: SessionJob) -> bool:
        """Return whether a job that is admitted just now reserves nothing."""
        return rules_of(self._session).frees_unusable and can_never_run(self._session, job.job)

    def _give_back_unusable(self) -> None:
        """Give back what jobs reserve that this cycle admitted and that can never run."""
        if not self._unchecked:
            return
        for job, reserved_now, accounts in self._unchecked:
            if rules_of(self._session).frees_unusable and can_never_run(self._session, job):
                for account in accounts:
                    _add(account.admitted, reserved_now, -1)
            else:
                self._admitted_now.append(job)
        self._unchecked.clear()

    def _accounts_of(self, queue: QueueName) -> list[Account]:
        moved = len(self._session.nodes.log)
        known = self._accounts.get(queue)
        if known is None or known[0] != moved:
            known = self._accounts[queue] = moved, self._make_accounts(queue)
        return known[1]

    def in_words(self, shortage: Shortage, job: SessionJob, minimum: Sequence[int]) -> str:
        """Return the usage of an account, its promises, the job's request, and whether the job can ever run."""
        account, space = shortage.account, self._session.resources
        holders, admitted = self._holders_of(shortage), self._admitted_to(shortage.account)
        named = [*holders[:MOST_NAMED], *admitted[:MOST_NAMED]]
        words = usage_text(
            space,
            account.name,
            shortage.rows,
            used=account.used,
            limit=account.limit,
            asked=minimum,
            promised=shortage.promised,
            uncounted=account.uncounted,
            holders=named,
            other_holders=len(holders) + len(admitted) - len(named),
        )
        if any(minimum[row] > account.limit[row] for row in shortage.rows):
            return f"{words}; the job can never run: its minimum exceeds the limit"
        never = why_never_run(self._session, job.job)
        return f"{words}; {never}" if never else words

    def lacking(self, job: SessionJob, minimum: Sequence[int]) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield for each account that a job does not fit what it lacks there, and what each job's end would give it.

        Yields:
            Amounts of shape (rows,), and of shape (rows, J): of the resources that are short, base units.
        """
        self._give_back_unusable()
        for number, account in enumerate(self._accounts_of(job.queue)):
            short = self._shortage(job, minimum, number, account, None)
            if short is not None:
                there = np.array(account.limit) - np.array(account.used) - np.array(short.promised)
                promised = np.where(short.holders, account.promised, 0)
                gain = np.where(account.jobs, account.running + promised, 0)
                yield (np.array(minimum) - there)[short.rows], gain[short.rows]

    def _holders_of(self, shortage: Shortage) -> list[JobId]:
        key = id(shortage.holders)  # arrays of sums that are kept: equal for all jobs of a queue and a priority
        if key not in self._holders:
            self._holders[key] = [job.id for job in self._table.select(shortage.holders)]
        return self._holders[key]

    def _admitted_to(self, account: Account) -> list[JobId]:
        """Return the names of the jobs that this cycle has admitted and that count in an account."""
        seen, names = self._admitted_names.get(account.name, (0, []))
        names += [job.id for job in self._admitted_now[seen:] if account.jobs[job.column]]
        self._admitted_names[account.name] = len(self._admitted_now), names
        return names

    def _kinds(self, job: SessionJob, minimum: Sequence[int]) -> Iterator[_Kind]:
        """Yield in which ways room may be made for a job: without evictions, then by those of each kind of action."""
        yield None
        if not rules_of(self._session).counts_evictions:
            return
        actions = set(self._session.extensions.profile.actions)
        if actions & _PREEMPT:
            yield frozenset({job.queue})
        if actions & _RECLAIM and (others := reclaimed_queues(self._session, job, minimum)):
            yield others

    def _shortage(
        self, job: SessionJob, minimum: Sequence[int], number: int, account: Account, losing: _Kind
    ) -> Shortage | None:
        relief = self._relief_of(job, number, account, losing, self._relieved_in(job, minimum))
        promised = [amount - less for amount, less in zip(account.admitted, relief.promises.tolist(), strict=True)]
        freed = relief.evictable.tolist()
        used = [amount - less for amount, less in zip(account.used, freed, strict=True)]
        short = self._short(account, minimum, promised, used)
        if not short and losing is not None:
            waiting = relief.waiting.tolist()
            short = [
                row
                for row in self._rows
                if minimum[row] > 0 and waiting[row] + minimum[row] > _MOST_WAITING * account.limit[row]
            ]
        return Shortage(account, short, promised, relief.holders) if short else None

    def _short(
        self, account: Account, minimum: Sequence[int], promised: Sequence[int], used: Sequence[int]
    ) -> list[int]:
        return [
            row
            for row in self._rows
            if minimum[row] > 0 and minimum[row] + used[row] + promised[row] > account.limit[row]
        ]

    def _relief_of(self, job: SessionJob, number: int, account: Account, losing: _Kind, own: str) -> _Relief:
        key = job.queue, job.priority, number, losing, own
        known = self._relief.get(key)
        if known is None:
            known = self._relief[key] = self._made(job, account, losing, own)
        return known

    def _made(self, job: SessionJob, account: Account, losing: _Kind, own_namespace: str) -> _Relief:
        table, rules = self._table, rules_of(self._session)
        lower = (table.queue == self._number(job.queue)) & (self._priorities < job.priority)
        holding = account.jobs & account.promised.any(axis=0)
        unusable = self._unusable if rules.frees_unusable else np.zeros_like(holding)
        free = holding & unusable
        if own_namespace:
            free |= holding & self._crowding_beside(account, job.job)
        if rules.counts_evictions:
            free |= holding & lower
        evicted = np.zeros_like(holding)
        evictable = np.zeros(len(self._session.resources), dtype=np.int64)
        for name in sorted(losing or ()):
            own = name == job.queue
            ends = account.jobs & (lower & self._preemptable if own else table.queue == self._number(name))
            taken = account.running[:, ends].sum(axis=1) + account.promised[:, ends & ~free].sum(axis=1)
            evictable += taken if own else np.maximum(taken - self._guarantee(name), 0)
            evicted |= ends
        return _Relief(
            promises=account.promised[:, free].sum(axis=1),
            evictable=evictable,
            waiting=account.promised[:, holding & self._tried_in_vain & ~lower & ~evicted].sum(axis=1),
            holders=holding & ~free & ~evicted,
        )

    def _relieved_in(self, job: SessionJob, minimum: Sequence[int]) -> str:
        """Return the namespace of a job that fits what is idle, if waiting jobs of others do not count; or nothing."""
        accounts = self._accounts_of(job.queue)
        is_idle = all(
            minimum[row] <= there
            for account in accounts
            for row, there in enumerate(self._idle_in(account).tolist())
            if minimum[row] > 0 and row in self._rows
        )
        frees = rules_of(self._session).frees_unusable and is_idle
        return job.job.namespace if frees and any(self._crowding_in(each) is not None for each in accounts) else ""

    def _idle_in(self, account: Account) -> IntArray:
        """Return what an account has left beside what runs, at most what is idle in the cluster, shape (R,)."""
        left = np.minimum(np.array(account.limit), self._session.total) - np.array(account.used)
        idle: IntArray = np.minimum(left, self._idle_in_cluster)
        return idle

    @cached_property
    def _idle_in_cluster(self) -> IntArray:
        nodes = self._session.nodes.columns()
        idle: IntArray = self._session.total - np.minimum(nodes.used, nodes.allocatable).sum(axis=1)
        return idle

    def _crowding_beside(self, account: Account, job: Job) -> BoolArray:
        """Return which waiting jobs of other namespaces do not count against a job, shape (J,)."""
        crowding, namespaces = self._crowding_in(account), self._table.namespace
        if crowding is None:
            return np.zeros(namespaces.size, dtype=np.bool_)
        own = int(namespaces[job.column])
        others: BoolArray = crowding.waiting & (namespaces != own)
        if not self._exceeds(crowding.together - crowding.asked.get(own, 0), crowding.idle):
            others &= np.isin(namespaces, list(crowding.large))
        return others

    def _crowding_in(self, account: Account) -> _Crowding | None:
        """Return the waiting jobs of an account if they ask for more than is idle."""
        if account.name not in self._crowding:
            self._crowding[account.name] = self._crowding_of(account)
        return self._crowding[account.name]

    def _crowding_of(self, account: Account) -> _Crowding | None:
        idle = self._idle_in(account)
        waiting = account.jobs & self._waits_in_vain & account.promised[list(self._rows)].any(axis=0)
        if not self._exceeds(account.promised[:, waiting].sum(axis=1), idle):
            return None
        asked: dict[int, IntArray] = {}
        large = set()
        for own in self._table.by_namespace(np.flatnonzero(waiting)).values():
            number, amounts = int(self._table.namespace[own[0]]), account.promised[:, own].sum(axis=1)
            if self._exceeds(amounts, idle):
                large.add(number)
            else:
                asked[number] = amounts
        together = sum(asked.values(), np.zeros_like(idle))
        return _Crowding(waiting=waiting, large=frozenset(large), asked=asked, together=together, idle=idle)

    def _exceeds(self, asked: IntArray, there: IntArray) -> bool:
        rows = list(self._rows)
        return bool(((asked > there) & (asked > 0))[rows].any())

    def _guarantee(self, name: QueueName) -> IntArray:
        """Return what a queue that loses jobs to others keeps."""
        return usable_guarantee(self._session.resources, self._session.queues.by_name[name])

    def _number(self, name: QueueName) -> int:
        return self._session.snapshot.queue_names.index(name)

    # Facts about jobs -------------------------------------------------------------------------------------------------

    @cached_property
    def _priorities(self) -> IntArray:
        return self._session.jobs.facts("priority", _priority)

    @cached_property
    def _preemptable(self) -> BoolArray:
        """Whether each job has a task that may be evicted, shape (J,)."""
        return self._session.jobs.facts("preemptable", _is_preemptable) > 0

    @cached_property
    def _admitted(self) -> BoolArray:
        return holds_reservation(self._table)

    @cached_property
    def _unusable(self) -> BoolArray:
        """Whether each admitted job cannot use its promised resources, shape (J,)."""
        mask = self._admitted & (self._beyond_limits | self._tried_in_vain | self._late)
        return mask | never_running(self._session, self._admitted & ~mask)

    @cached_property
    def _waits_in_vain(self) -> BoolArray:
        """Which admitted jobs found no capacity, or wait for a turn of their namespace, shape (J,)."""
        waits: BoolArray = self._admitted & (self._table.counts[TaskStatus.PENDING] > 0)
        mask = waits & self._tried
        in_turn = self._session.report.rounds
        if in_turn:
            for namespace, columns in self._table.by_namespace(np.flatnonzero(waits & ~mask)).items():
                mask[columns] = namespace in in_turn
        return mask

    @cached_property
    def _tried(self) -> BoolArray:
        return self._session.jobs.facts("tried", was_tried) > 0

    @cached_property
    def _late(self) -> BoolArray:
        """Whether each job lacks pods for longer than the grace period, shape (J,)."""
        mask = np.zeros(self._table.queue.size, dtype=np.bool_)
        end = self._session.now - rules_of(self._session).grace_seconds
        for job in self._table.select(lacks_pods(self._table)):
            mask[job.column] = self._session.report.lacking_pods_since.get(job.uid or job.id, self._session.now) <= end
        return mask

    @cached_property
    def _beyond_limits(self) -> BoolArray:
        """Whether each admitted job has a minimum beyond the whole limit of an account, shape (J,)."""
        return self._beside(lambda account, columns: (self._table.min_resources[:, columns], np.array(account.limit)))

    @cached_property
    def _tried_in_vain(self) -> BoolArray:
        """Which admitted jobs were tried and ask for more than an account has left beside what runs, shape (J,)."""
        mask = self._beside(
            lambda account, columns: (
                account.promised[:, columns],
                np.array(account.limit) - np.array(account.used),
            )
        )
        return mask & self._tried

    def _beside(self, compared: Callable[[Account, IntArray], tuple[IntArray, IntArray]]) -> BoolArray:
        """Return which admitted jobs ask for more than there is in some account, shape (J,)."""
        table = self._table
        mask = np.zeros(table.queue.size, dtype=np.bool_)
        names = self._session.snapshot.queue_names
        for number in np.unique(table.queue[self._admitted & (table.queue >= 0)]).tolist():
            columns = np.flatnonzero(self._admitted & (table.queue == number))
            for account in self._accounts_of(names[number]):
                asked, there = compared(account, columns)
                rows = list(self._rows)
                beyond = (asked[rows] > 0) & (asked[rows] > there[rows, None])
                mask[columns] |= beyond.any(axis=0)
        return mask


def _add(amounts: list[int], more: Sequence[int], sign: int) -> None:
    for row, amount in enumerate(more):
        amounts[row] += sign * amount


def ends_that_admit(session: Session, job: SessionJob) -> Iterator[list[Job]]:
    """Yield jobs whose end would let a job pass all accounts: a few single ones, oldest first, then several together.

    What could be evicted for the job is left out of account; an account that it never fits yields nothing.
    """
    table = session.snapshot.job_table
    minimum = table.min_resources[:, job.job.column].tolist()
    everyone: list[QueueAdmission] = session.scratch.get(_ALL, [])
    lacking = [each for admission in everyone for each in admission.lacking(job, minimum)]
    if not lacking:
        return
    need, gain = (np.concatenate(parts) for parts in zip(*lacking, strict=True))
    others = gain.any(axis=0) & (np.arange(table.queue.size) != job.job.column)
    enough = table.select(others & (gain >= need[:, None]).all(axis=0))
    yield from ([each] for each in nsmallest(_MOST_SINGLE, enough, key=lambda each: (each.created, each.id)))
    if not enough:
        yield from _together(need, gain, table, others)


def _together(need: IntArray, gain: IntArray, table: JobTable, others: BoolArray) -> Iterator[list[Job]]:
    """Yield few jobs that are enough together: the largest first, and none whose end is not needed."""
    covered = np.where(others, np.minimum(gain, need[:, None]).sum(axis=0), 0)
    if np.count_nonzero(others) > _MOST_TOGETHER:
        others = others & (covered >= np.partition(covered, -_MOST_TOGETHER)[-_MOST_TOGETHER])
    largest = table.select(others)
    largest.sort(key=lambda each: (-int(covered[each.column]), each.created, each.id))
    chosen: list[Job] = []
    for each in largest[:_MOST_TOGETHER]:
        if _are_enough(need, gain, chosen):
            break
        chosen.append(each)
    if _are_enough(need, gain, chosen):
        for each in list(reversed(chosen)):
            rest = [other for other in chosen if other is not each]
            chosen = rest if _are_enough(need, gain, rest) else chosen
        yield chosen


def _are_enough(need: IntArray, gain: IntArray, chosen: Sequence[Job]) -> bool:
    return bool((gain[:, [each.column for each in chosen]].sum(axis=1) >= need).all())


def was_tried(job: Job) -> bool:
    """Return whether enough of a job's pods for its minimum have places, or wait with an unschedulable condition."""
    refused = sum(task.status is TaskStatus.PENDING and _was_refused(task) for task in job.tasks.values())
    placed = sum(task.status in COUNTED for task in job.tasks.values())
    return refused > 0 and refused + placed >= job.min_available


def _priority(job: Job) -> int:
    return job.priority


def _is_preemptable(job: Job) -> int:
    return any(task.preemptable for task in job.tasks.values())


def _was_refused(task: Task) -> bool:
    conditions = task.pod.status.conditions
    return not task.gated and any(each.type == "PodScheduled" and each.status == "False" for each in conditions)


def reclaimed_queues(session: Session, job: SessionJob, minimum: Sequence[int]) -> frozenset[QueueName]:
    """Return the queues from which reclaim may take a job's minimum, as all plugins that divide the cluster agree."""
    found: frozenset[QueueName] | None = None
    for each in session.extensions.functions(contract.RECLAIMABLE):
        if each.queues is not None:
            named = frozenset(session.extensions.ask_or(each, (), job, minimum, asking=each.queues))
            found = named if found is None else found & named
    known = (name for name in found or () if name != job.queue and name in session.queues.by_name)
    return frozenset(name for name in known if session.queues.by_name[name].reclaimable)
