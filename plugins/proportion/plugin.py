"""Proportion: divide the cluster among queues by weight, up to their requests.

Points: queue order, overused, allocatable, preemptive, reclaimable, queue surplus, job enqueueable, job
enqueued; a ledger.  Arguments: `ProportionArgs`.  Formula and example: docs/plugins/proportion.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import gt, sub
from typing import Any

import numpy as np

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Change, Ledger, Plugin, Vote
from pyroclast.framework.queues.admission import Account, QueueAdmission, Shortage, reserved
from pyroclast.framework.queues.guarantees import guarantee_notes, kept_guarantees
from pyroclast.framework.queues.lifted_gates import LiftedGates
from pyroclast.framework.queues.never_running import unusable_requests
from pyroclast.framework.queues.notes import zero_notes
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.queue_refusals import amounts_beyond, in_words, usage_text
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import QueueName
from pyroclast.model.jobs import NO_QUEUE
from pyroclast.model.queues import Queue, capability_limits
from pyroclast.model.refusals import Refusal
from pyroclast.model.resources import PODS
from pyroclast.model.tasks import Task
from pyroclast.plugins.proportion.fair_share import deserved
from pyroclast.plugins.proportion.lending import LentRoom
from pyroclast.plugins.proportion.queue_usage import QueueUsage

__all__ = ["Proportion", "ProportionArgs"]

MOST = 1 << 30
EXCHANGING = frozenset({"preempt", "gangpreempt"})
"""Actions whose victims are in the queue of the preemptor: the usage of the queue does not grow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProportionArgs:
    """Arguments of proportion, spelled as in the configuration file."""

    lends_idle: bool = argument("lendIdle", True)
    """Whether idle resources that no queue can use within its share are lent to queues beyond their shares."""
    counts_unusable: bool = argument("countUnusableRequests", False)
    """Whether requests of jobs that can never run count for their queues; true restores Volcano's rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion(Plugin):
    """Share the cluster by weight."""

    name = "proportion"
    watches_clock = False
    args: ProportionArgs = ProportionArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        division = Division(session, lends_idle=self.args.lends_idle)
        session.extensions.register(contract.QUEUE_ORDER, self.name, division.rank)
        session.extensions.register(contract.OVERUSED, self.name, division.overused)
        session.extensions.register(
            contract.ALLOCATABLE,
            self.name,
            division.allocatable,
            headroom=division.headroom,
            lent_headroom=division.lent_headroom,
        )
        session.extensions.register(contract.PREEMPTIVE, self.name, division.preemptive)
        session.extensions.register(
            contract.RECLAIMABLE,
            self.name,
            division.reclaimable,
            alike=True,
            compares_queues=True,
            queues=division.queues_to_reclaim,
        )
        session.extensions.register(
            contract.QUEUE_SURPLUS, self.name, division.beyond_deserved, alike=True, in_turn=True
        )
        session.extensions.register(contract.JOB_ENQUEUEABLE, self.name, division.enqueueable)
        session.extensions.register(contract.JOB_ENQUEUED, self.name, division.enqueued)
        session.extensions.register_ledger(self.name, division)
        if not self.args.counts_unusable:
            session.extensions.on_opened(self.name, division.leave_out_unusable)
        session.extensions.on_opened(self.name, division.measure)
        session.report.record_events(*zero_notes(session), *guarantee_notes(session))


class Division(Ledger):
    """The division of the cluster in one session."""

    def __init__(self, session: Session, *, lends_idle: bool) -> None:
        self._session = session
        self._lends_idle = lends_idle
        self._rows = [row for name, row in session.resources.rows.items() if name != PODS]
        """Rows that requests are limited in: all except the number of pods, which counts only against a capability."""
        self._pods_row = session.resources.rows[PODS]
        self.usage: dict[QueueName, QueueUsage] = usage_by_queue(session)
        """Usage of queues with jobs."""
        self._nothing = [0] * len(session.resources)
        self._admission = QueueAdmission(session, self._rows, self._accounts_of, self._refused)
        self._share_if_greedy: dict[QueueName, tuple[list[int], frozenset[QueueName]]] = {}
        """The share of each queue if it requests everything, and the queues that then exceed theirs."""
        self._with_unusable_jobs: set[QueueName] = set()
        """Queues with a job that can never run."""
        self._refusals: dict[tuple[Any, ...], Refusal] = {}
        """Cache of refusals for equal requests and amounts."""
        self._lent = LentRoom(session, self.usage, [*self._rows, self._pods_row])
        self._gates = LiftedGates(session, self._reserve)

    def leave_out_unusable(self) -> None:
        """Divide the cluster without the requests of jobs that can never run; called when all plugins are opened.

        If all requests fit the cluster together, these requests take no share from other queues, and nothing changes.
        """
        requested = self._sum([queue_usage.request for queue_usage in self.usage.values()])
        if all(amount <= there for amount, there in zip(requested, self._session.total.tolist(), strict=True)):
            return
        names = self._session.snapshot.queue_names
        unusable = self._session.snapshot.job_table.by_queue(unusable_requests(self._session), len(names))
        self._with_unusable_jobs = {names[number] for number in np.flatnonzero(unusable.any(axis=0)).tolist()}
        if not self._with_unusable_jobs:
            return
        for name in self._with_unusable_jobs:
            self.usage[name].request = _less(self.usage[name].request, unusable[:, names.index(name)].tolist())
        shares = divide(
            self._session, self.usage, {name: queue_usage.request for name, queue_usage in self.usage.items()}
        )
        for name, share in shares.items():
            self.usage[name].settle(share)

    # Extension points -------------------------------------------------------------------------------------------------

    def rank(self, queue: Queue) -> tuple[int, float]:
        """Rank a queue: higher priority first, then smaller share."""
        return -queue.priority, self._usage_of(queue).share

    def overused(self, queue: Queue) -> Refusal | None:
        """Refuse a queue that has all it deserves.

        A queue with a job that can never run is not refused, so that the job gets its true reason. The share still
        limits each of its tasks.
        """
        queue_usage = self._usage_of(queue)
        if not queue_usage.is_overused or queue.name in self._with_unusable_jobs:
            return None
        deserved_amounts = in_words(self._session.resources, queue_usage.floor) or "nothing"
        message = f"queue {queue.name} has all that it deserves: {deserved_amounts}"
        return Refusal(plugin=Proportion.name, reason="QueueOverused", message=message, lendable=self._lends_idle)

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        """Refuse a task if its queue is not open or would exceed its deserved amount."""
        self._gates.refresh()
        request = self._request(task)
        return self._within(queue, request, self._nothing if task in self._gates else request)

    def headroom(self, queue: Queue, task: Task) -> int:
        """Return how many tasks like this one fit the deserved amount of the queue."""
        if not queue.is_open:
            return 0
        return self._usage_of(queue).headroom(self._request(task), self._limited_rows(queue), self._at_once(task))

    def lent_headroom(self, queue: Queue, task: Task) -> int:
        """Return how many tasks like this one fit if idle resources are lent."""
        if not self._lends_idle:
            return self.headroom(queue, task)
        if not queue.is_open:
            return 0
        return self._lent.headroom(queue, self._usage_of(queue), self._request(task), self._at_once(task))

    def _limited_rows(self, queue: Queue) -> list[int]:
        """Return the rows in which a queue limits placement, including pods if its capability names them."""
        return [*self._rows, self._pods_row] if PODS in queue.capability else self._rows

    def _at_once(self, task: Task) -> int:
        """Return how many equal tasks may be checked together; one, if reservations may differ between them."""
        self._gates.refresh()
        return 1 if task in self._gates else MOST

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """Refuse if the queue would exceed its deserved amount with the tasks."""
        self._gates.refresh()
        request = self._sum([self._request(task) for task in tasks])
        if not self._gates:
            return self._within(queue, request, request)
        unreserved = [self._request(task) for task in tasks if task not in self._gates]
        return self._within(queue, request, self._sum(unreserved))

    def _within(self, queue: Queue, request: Sequence[int], unreserved: Sequence[int]) -> Refusal | None:
        """Refuse a request with which a queue would exceed its limit in a requested resource.

        Args:
            queue: The queue.
            request: The request, base units by row.
            unreserved: The part of it that is not reserved yet.
        """
        if not queue.is_open:
            message = f"queue {queue.name} is {queue.state}"
            return Refusal(plugin=Proportion.name, reason="QueueNotOpen", message=message, resolvable=False)
        queue_usage = self._usage_of(queue)
        most, has, reserved = self._most(queue, queue_usage), queue_usage.allocated, queue_usage.reserved
        short = [
            row
            for row in self._limited_rows(queue)
            if has[row] + reserved[row] + unreserved[row] > most[row] and request[row] > 0
        ]
        if not short:
            return None
        would = queue_usage.with_more(unreserved)
        lendable = self._lends_idle and self._lent.may_be_lent(queue, queue_usage, request, unreserved)
        key = queue.name, tuple(request), tuple(would), tuple(most), lendable
        if key not in self._refusals:
            self._refusals[key] = self._over_deserved(queue.name, request, would, most, short, lendable=lendable)
        return self._refusals[key]

    def _over_deserved(
        self,
        queue: QueueName,
        request: Sequence[int],
        would: Sequence[int],
        most: Sequence[int],
        short: Sequence[int],
        *,
        lendable: bool,
    ) -> Refusal:
        over = amounts_beyond(self._session.resources, short, would, most)
        used = [amount - more for amount, more in zip(would, request, strict=True)]
        return Refusal(
            plugin=Proportion.name,
            reason="QueueOverDeserved",
            message=f"queue {queue} would exceed its deserved amount of {', '.join(over)}",
            amounts=over,
            details=usage_text(self._session.resources, queue, short, used=used, limit=most, asked=request),
            lendable=lendable,
        )

    def _most(self, queue: Queue, queue_usage: QueueUsage) -> Sequence[int]:
        """Return the limit of a queue.

        It is the deserved amount; for preemption within the queue it includes the borrowed resources.
        """
        is_exchange = self._lends_idle and self._session.action in EXCHANGING
        return self._lent.exchangeable(queue, queue_usage) if is_exchange else queue_usage.floor

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Permit victims from queues that exceed their deserved amount, until they do not."""
        return self.beyond_deserved(reclaimer, candidates), Vote.PERMIT

    def beyond_deserved(self, _: Task, candidates: Sequence[Task]) -> list[Task]:
        """Return the candidates whose queues exceed their deserved amount when their turn comes.

        Tasks on borrowed resources come first. Other tasks are victims only if their queue exceeds its deserved amount
        without the borrowed resources.
        """
        taken: dict[QueueName, _Remaining] = {}
        victims = []
        for task in candidates:
            job = self._session.jobs.of(task)
            if job is None or job.queue not in self.usage:
                continue
            known = taken.get(job.queue)
            if known is None:
                known = taken[job.queue] = _Remaining(self.usage[job.queue], self._lent.of(job.queue))
            if known.take(task, self._request(task)):
                victims.append(task)
        return victims

    def enqueueable(self, job: SessionJob) -> Vote | Refusal:
        """Admit a job whose minimum fits the queue's limit, in addition to used and reserved amounts."""
        queue = self._session.queues.by_name[job.queue]
        if not queue.is_open:
            message = f"queue {queue.name} is {queue.state}"
            return Refusal(plugin=Proportion.name, reason="QueueNotOpen", message=message, resolvable=False)
        return self._admission.refusal(job) or Vote.PERMIT

    def _refused(self, shortage: Shortage, job: SessionJob, minimum: Sequence[int]) -> Refusal:
        reasons = ", ".join(f"insufficient {self._session.resources.names[row]}" for row in shortage.rows)
        return Refusal(
            plugin=Proportion.name,
            reason="QueueQuotaInsufficient",
            message=f"queue resource quota insufficient: {reasons}",
            details=self._admission.in_words(shortage, job, minimum),
        )

    def enqueued(self, job: SessionJob) -> None:
        """Reserve the minimum of an enqueued job."""
        self._admission.admit(job)

    def _accounts_of(self, name: QueueName) -> list[Account]:
        """Return the only account of a queue. Elastic usage of jobs does not count."""
        queue_usage, table = self.usage[name], self._session.snapshot.job_table
        used = [amount - more for amount, more in zip(queue_usage.allocated, queue_usage.elastic, strict=True)]
        return [
            Account(
                name=name,
                jobs=table.queue == self._session.snapshot.queue_names.index(name),
                running=self._firm,
                promised=self._promised,
                limit=queue_usage.limit,
                used=used,
                admitted=queue_usage.inqueue,
                uncounted=queue_usage.elastic,
            )
        ]

    @cached_property
    def _firm(self) -> IntArray:
        table = self._session.snapshot.job_table
        firm: IntArray = np.minimum(table.allocated, table.min_resources)
        return firm

    @cached_property
    def _promised(self) -> IntArray:
        return reserved(self._session.snapshot.job_table)

    def queues_to_reclaim(self, job: SessionJob, minimum: Sequence[int]) -> frozenset[QueueName]:
        """Return the queues that exceed their share beside a job's queue; none if that has enough itself.

        A job that is not enqueued may have no pods, so that its queue requests less than it deserves.
        """
        queue_usage = self.usage[job.queue]
        most, others = self._share_if_greedy.get(job.queue) or self._share_if_greedy.setdefault(
            job.queue, self._if_greedy(job.queue)
        )
        has_enough = any(
            minimum[row] > 0 and queue_usage.allocated[row] + minimum[row] > most[row] for row in self._rows
        )
        return frozenset() if has_enough else others

    def _if_greedy(self, name: QueueName) -> tuple[list[int], frozenset[QueueName]]:
        requests = {
            each: queue_usage.limit if each == name else queue_usage.request for each, queue_usage in self.usage.items()
        }
        shares = divide(self._session, self.usage, requests)
        over = (
            each
            for each, queue_usage in self.usage.items()
            if any(used > share for used, share in zip(queue_usage.allocated, shares[each], strict=True))
        )
        return [math.floor(amount) for amount in shares[name]], frozenset(over)

    def _usage_of(self, queue: Queue) -> QueueUsage:
        """Return the usage of a queue; a queue without jobs deserves nothing."""
        known = self.usage.get(queue.name)
        if known is None:
            nothing = self._nothing
            known = QueueUsage(allocated=nothing, request=nothing, limit=nothing, elastic=nothing, inqueue=nothing)
            known.settle([Fraction(0)] * len(nothing))
        return known

    def _sum(self, amounts: Sequence[Sequence[int]]) -> Sequence[int]:
        if len(amounts) == 1:
            return amounts[0]
        return [sum(each) for each in zip(self._nothing, *amounts, strict=True)]

    def _reserve(self, task: Task, sign: int) -> None:
        job = self._session.jobs.of(task)
        if job is not None and job.queue in self.usage:
            self.usage[job.queue].reserve(self._request(task), sign)

    def _request(self, task: Task) -> list[int]:
        return self._session.nodes.counted_amounts(task)

    # Ledger -----------------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> None:
        """Count a change."""
        self.usage[change.job.queue].add(change.totals, change.sign)
        self._lent.count(change, change.sign)
        self._gates.count(change, change.sign)

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self.usage[change.job.queue].add(change.totals, -change.sign)
        self._lent.count(change, -change.sign)
        self._gates.count(change, -change.sign)

    # Metrics ----------------------------------------------------------------------------------------------------------

    def measure(self) -> None:
        """Report the allocated, requested, deserved and reserved amounts of each queue."""
        for name, queue in self._session.queues.by_name.items():
            queue_usage = self._usage_of(queue)
            for what, amounts in (
                ("allocated", queue_usage.allocated),
                ("request", queue_usage.request),
                ("deserved", queue_usage.floor),
                ("inqueue", queue_usage.inqueue),
            ):
                self._session.report.sample_amounts(f"queue_{what}", amounts, queue_name=name)
            self._session.report.sample("queue_share", queue_usage.share, queue_name=name)
            self._session.report.sample("queue_weight", queue.weight, queue_name=name)
            overused = name in self.usage and queue_usage.is_overused
            self._session.report.sample("queue_overused", float(overused), queue_name=name)


class _Remaining:
    """Remaining usage of one queue without the chosen victims, base units by row."""

    __slots__ = ("_floor", "_left", "_left_of_its_own")

    def __init__(self, queue_usage: QueueUsage, lent: Sequence[int]) -> None:
        self._floor = queue_usage.floor
        self._left: Sequence[int] = queue_usage.allocated
        self._left_of_its_own = _less(queue_usage.allocated, lent) if any(lent) else None
        """Usage without borrowed resources; None if nothing is borrowed."""

    def take(self, task: Task, request: Sequence[int]) -> bool:
        """Select a task if the queue exceeds its deserved amount. Return whether it was selected."""
        if not _exceeds(self._left, self._floor):
            return False
        if self._left_of_its_own is not None and not task.is_lent:
            if not _exceeds(self._left_of_its_own, self._floor):
                return False
            self._left_of_its_own = _less(self._left_of_its_own, request)
        self._left = _less(self._left, request)
        return True


def _exceeds(used: Sequence[int], most: Sequence[int]) -> bool:
    return any(map(gt, used, most))


def _less(amounts: Sequence[int], fewer: Sequence[int]) -> list[int]:
    return list(map(sub, amounts, fewer))


def usage_by_queue(session: Session) -> dict[QueueName, QueueUsage]:
    """Return the usage of queues with jobs, and divide the cluster among them."""
    table, names = session.snapshot.job_table, session.snapshot.queue_names
    count = len(names)
    allocated = table.by_queue(table.allocated, count)
    request = allocated + table.by_queue(table.pending, count)
    elastic = table.by_queue(np.maximum(table.allocated - table.min_resources, 0), count)
    inqueue = table.by_queue(reserved(table), count)
    guarantees = kept_guarantees(session)
    others = np.maximum(session.total - sum(guarantees.values(), start=np.zeros_like(session.total)), 0)
    with_jobs = np.unique(table.queue[table.queue != NO_QUEUE]).tolist()
    usage = {}
    for number in with_jobs:
        queue = session.queues.by_name[names[number]]
        limit = np.minimum(others + guarantees[queue.name], capability_limits(session.resources, queue))
        usage[queue.name] = QueueUsage(
            allocated=allocated[:, number].tolist(),
            request=request[:, number].tolist(),
            limit=limit.tolist(),
            elastic=elastic[:, number].tolist(),
            inqueue=inqueue[:, number].tolist(),
        )
    for name, share in divide(
        session, usage, {name: queue_usage.request for name, queue_usage in usage.items()}
    ).items():
        usage[name].settle(share)
    return usage


def divide(
    session: Session, usage: Mapping[QueueName, QueueUsage], requests: Mapping[QueueName, Sequence[int]]
) -> dict[QueueName, list[Fraction]]:
    """Return the deserved amounts for the given requests, base units by resource row."""
    guarantees = kept_guarantees(session)
    shares = deserved(
        session.total.tolist(),
        [session.queues.by_name[name].weight for name in usage],
        [queue_usage.limit for queue_usage in usage.values()],
        [requests[name] for name in usage],
        [guarantees[name].tolist() for name in usage],
    )
    return dict(zip(usage, shares, strict=True))
