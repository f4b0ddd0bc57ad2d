"""Capacity: each queue has the amounts that are declared for it; queues can form a tree.

Points: queue order, victim queue order (tree), allocatable, preemptive, reclaimable, unified evictable, queue surplus,
job enqueueable, job enqueued; a ledger.  Arguments: `CapacityArgs`.  Rules and example: docs/plugins/capacity.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Change, Ledger, Plugin, Vote
from pyroclast.framework.preemption.gang_plans import GangEviction
from pyroclast.framework.preemption.victim_order import in_order
from pyroclast.framework.queues.admission import Account, QueueAdmission, Shortage, reserved
from pyroclast.framework.queues.guarantees import guarantee_notes, kept_guarantees
from pyroclast.framework.queues.lifted_gates import LiftedGates
from pyroclast.framework.queues.notes import queue_note, zero_notes
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.queue_refusals import amounts_beyond, in_words, usage_text
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import QueueName
from pyroclast.model.jobs import NO_QUEUE
from pyroclast.model.queues import ROOT_QUEUE, Queue
from pyroclast.model.refusals import Refusal
from pyroclast.model.resources import CPU, MEMORY, PODS, UNLIMITED
from pyroclast.model.tasks import Task
from pyroclast.plugins.capacity.devices import DeviceQuotas
from pyroclast.plugins.capacity.limits import Limits, excesses, flat_limits, tree_limits
from pyroclast.plugins.capacity.queue_usage import QueueUsage
from pyroclast.plugins.capacity.reclaim import VictimSelection
from pyroclast.plugins.capacity.tree import Tree, flat, grow

__all__ = ["Capacity", "CapacityArgs"]

MOST_NAMED: Final = 5
"""Maximum number of claims that one event names."""
MOST: Final = 1 << 30
NO_AMOUNTS: Final[Mapping[str, tuple[int, int]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityArgs:
    """Arguments of capacity, spelled as in the configuration file."""

    ancestor_reclaim_level: int = argument("ancestorReclaimLevel", 0, least=0)
    """Number of ancestor levels that take part in reclaim, for queues in a tree."""
    device_quotas: bool = argument("capacity.DynamicResourceAllocationEnable", True)
    """Whether claims count against `deviceclass/<class>` of capabilities; the default is that of Kubernetes' gate."""
    device_capacity: bool = argument("capacity.DRAConsumableCapacityEnable", True)
    """Whether the capacity of claims counts too; the default is that of the Kubernetes 1.36 gate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity(Plugin):
    """Keep queues within their declared amounts."""

    name = "capacity"
    watches_clock = False
    args: CapacityArgs = CapacityArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        in_tree = session.extensions.option.hierarchy
        ledger = QueueLedger(session, self.args, in_tree=in_tree)
        session.extensions.register(contract.QUEUE_ORDER, self.name, ledger.rank)
        session.extensions.register(contract.ALLOCATABLE, self.name, ledger.allocatable, headroom=ledger.headroom)
        session.extensions.register(contract.PREEMPTIVE, self.name, ledger.preemptive)
        session.extensions.register(
            contract.RECLAIMABLE,
            self.name,
            ledger.reclaimable,
            alike=True,
            together=ledger.reclaimable_whole,
            compares_queues=True,
            queues=ledger.queues_to_reclaim,
        )
        session.extensions.register(
            contract.UNIFIED_EVICTABLE,
            self.name,
            ledger.evictable,
            alike=True,
            in_turn=True,
            together=ledger.evictable_whole,
            compares_queues=True,
        )
        session.extensions.register(
            contract.QUEUE_SURPLUS,
            self.name,
            ledger.beyond_deserved,
            alike=True,
            in_turn=True,
            together=ledger.beyond_deserved_whole,
        )
        session.extensions.register(contract.JOB_ENQUEUEABLE, self.name, ledger.enqueueable)
        session.extensions.register(contract.JOB_ENQUEUED, self.name, ledger.enqueued)
        if in_tree:
            session.extensions.register(contract.VICTIM_QUEUE_ORDER, self.name, ledger.compare_victims)
        session.extensions.register_ledger(self.name, ledger)
        ledger.measure()
        ledger.record_faults()


class QueueLedger(Ledger):
    """Queue amounts of one session."""

    def __init__(self, session: Session, args: CapacityArgs, *, in_tree: bool) -> None:
        self._session = session
        self._in_tree = in_tree
        self._levels = args.ancestor_reclaim_level if in_tree else 0
        self._rows = [row for name, row in session.resources.rows.items() if name != PODS]
        """Rows that requests are limited in: all except the number of pods, which counts only against a capability."""
        self._pods_row = session.resources.rows[PODS]
        self._nothing = [0] * len(session.resources)
        self.tree: Tree = grow(session.queues.by_name) if in_tree else flat(session.queues.by_name)
        limits = tree_limits if in_tree else partial(flat_limits, total=session.total, kept=kept_guarantees(session))
        self._limits = limits(session.resources, session.queues.by_name, self.tree)
        self.usage: dict[QueueName, QueueUsage] = usage_by_queue(session, self.tree, self._limits)
        """Usage of all queues, including their descendants."""
        self._admission = QueueAdmission(session, self._rows, self._accounts_of, self._refused)
        self._gates = LiftedGates(session, self._reserve)
        self.devices: DeviceQuotas | None = None
        if args.device_quotas:
            self.devices = DeviceQuotas(session, self.tree, counts_capacity=args.device_capacity)

    # Extension points -------------------------------------------------------------------------------------------------

    def rank(self, queue: Queue) -> tuple[Any, ...]:
        """Rank a queue: higher priority first, then leaves, then the smaller share at the first differing ancestor."""
        path = [self.usage[name] for name in reversed(self.tree.paths[queue.name])]
        created = self._session.queues.by_name
        # Equal queues are ordered by age. Without a tree, another plugin may decide.
        shares = [
            _share_key(each) + ((created[each.name].created, each.name) if len(path) > 1 else ()) for each in path
        ]
        return -queue.priority, not self.tree.is_leaf(queue.name), tuple(shares)

    def compare_victims(self, left: Queue, right: Queue, preemptor: Queue) -> int:
        """Evict first from the closer relative of the preemptor's queue."""
        return self._kinship(right, preemptor) - self._kinship(left, preemptor)

    def _kinship(self, queue: Queue, other: Queue) -> int:
        return len(set(self.tree.paths[queue.name]) & set(self.tree.paths[other.name]))

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        """Refuse a task with which its queue or an ancestor would exceed its limit."""
        self._gates.refresh()
        return self._unfit(queue) or self._too_many_devices(queue, task) or self._beyond(queue, task)

    def headroom(self, queue: Queue, task: Task) -> int:
        """Return how many tasks like this one fit into the queue and all its ancestors."""
        if self._unfit(queue) is not None:
            return 0
        self._gates.refresh()
        most, request = MOST, self._request(task)
        job = self._session.jobs.of(task)
        if self.devices is not None and job is not None and self.devices.concern(job):
            most = 1  # equal tasks may have different claims
        if task in self._gates:
            most = 1  # its own request is reserved already, those of equal tasks may not be
        for queue_usage in self._line(queue.name):
            most = queue_usage.headroom(request, self._limited_rows(queue_usage.name), most)
        return most

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """Refuse if the queue would exceed its deserved amount in every requested resource."""
        unfit = self._not_open(queue) or self._fenced(queue)
        if unfit is not None:
            return unfit
        request = np.sum([self._request(task) for task in tasks], axis=0).tolist() if tasks else []
        queue_usage = self.usage[queue.name]
        short = queue_usage.short_rows(request, self._rows) if request else []
        if short:
            return self._over_limit(queue_usage, short, request, queue_usage.with_more(request))
        near = [name for name in self.tree.paths[queue.name][1 : 1 + self._levels] if name != ROOT_QUEUE]
        if request and any(self.usage[name].deserves_some(request, self._rows) for name in (queue.name, *near)):
            return None
        request = request or self._nothing
        over = queue_usage.over_deserved(request, self._rows)
        message = f"queue {queue.name} would exceed its deserved amount of every requested resource"
        if over:
            message += f" ({in_words(self._session.resources, queue_usage.deserved, over)})"
        return Refusal(
            plugin=Capacity.name,
            reason="QueueOverDeserved",
            message=message,
            amounts=amounts_beyond(self._session.resources, over, queue_usage.with_more(request), queue_usage.deserved),
        )

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Permit victims from queues that exceed their deserved amount, until they do not."""
        job = self._session.jobs.of(reclaimer)
        if job is None or job.queue not in self.usage or job.queue in self.tree.faults:
            return [], Vote.REJECT
        selection = self._victim_selection(job.queue, self._request(reclaimer))
        known = [task for task in candidates if self._session.jobs.of(task) is not None]
        return self._taken(in_order(self._session, job, known), selection.take), Vote.PERMIT

    def evictable(self, context: GangEviction, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
        """Permit the same for a whole gang. A preemption within the queue changes no queue's usage and permits all."""
        if not context.is_reclaim:
            return list(candidates), Vote.PERMIT
        if context.job.queue in self.tree.faults:
            return [], Vote.REJECT
        return self._taken(candidates, self._victim_selection(context.job.queue).take_for_gang), Vote.PERMIT

    def beyond_deserved(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """Return the candidates whose queues exceed their deserved amount and keep their guarantee."""
        job = self._session.jobs.of(reclaimer)
        return [] if job is None else self._taken(candidates, self._victim_selection(job.queue).take_for_gang)

    def beyond_deserved_whole(self, reclaimer: Task, candidates: Sequence[Task], gang: Sequence[Task]) -> list[Task]:
        """Return the same for members of a gang that is evicted whole."""
        return self.beyond_deserved(reclaimer, candidates) if self._keeps_guarantee_without(gang) else []

    def reclaimable_whole(
        self, reclaimer: Task, candidates: Sequence[Task], gang: Sequence[Task]
    ) -> tuple[list[Task], Vote]:
        """Return the same for members of a gang that is evicted whole: its queue must keep its guarantee."""
        return self.reclaimable(reclaimer, candidates) if self._keeps_guarantee_without(gang) else ([], Vote.PERMIT)

    def evictable_whole(
        self, context: GangEviction, candidates: Sequence[Task], gang: Sequence[Task]
    ) -> tuple[list[Task], Vote]:
        """Return the same as `evictable`, for a gang that is evicted whole."""
        keeps = not context.is_reclaim or self._keeps_guarantee_without(gang)
        return self.evictable(context, candidates) if keeps else ([], Vote.PERMIT)

    def _keeps_guarantee_without(self, gang: Sequence[Task]) -> bool:
        job = self._session.jobs.of(gang[0])
        queue_usage = None if job is None else self.usage.get(job.queue)
        if job is None or queue_usage is None:
            return True
        left = [used - amount for used, amount in zip(queue_usage.allocated, job.allocated.tolist(), strict=True)]
        return all(least <= amount for least, amount in zip(queue_usage.guarantee, left, strict=True))

    def _victim_selection(self, queue: QueueName, request: Sequence[int] = ()) -> VictimSelection:
        return VictimSelection(
            usage=self.usage,
            tree=self.tree,
            levels=self._levels,
            pods_row=self._pods_row,
            queue=queue,
            request=request,
        )

    def _taken(self, candidates: Sequence[Task], take: Callable[[QueueName, Sequence[int]], bool]) -> list[Task]:
        return [
            task
            for task in candidates
            if (owner := self._session.jobs.of(task)) is not None
            and owner.queue in self.usage
            and take(owner.queue, self._request(task))
        ]

    def enqueueable(self, job: SessionJob) -> Vote | Refusal:
        """Admit a job whose minimum fits its queue and all ancestors, in addition to used and reserved amounts."""
        queue = self._session.queues.by_name[job.queue]
        unfit = self._unfit(queue)
        if unfit is not None:
            return unfit
        refusal = self._admission.refusal(job)
        if refusal is not None:
            return refusal
        devices = None if self.devices is None else self.devices.short_to_enqueue(job)
        if devices is not None:
            message = "queue resource quota insufficient: insufficient dra-resource-exceeded"
            return Refusal(plugin=Capacity.name, reason="QueueQuotaInsufficient", message=message)
        return Vote.PERMIT

    def _refused(self, shortage: Shortage, job: SessionJob, minimum: Sequence[int]) -> Refusal:
        queue_usage = self.usage[QueueName(shortage.account.name)]
        reasons = ", ".join(f"insufficient {self._session.resources.names[row]}" for row in shortage.rows)
        return Refusal(
            plugin=Capacity.name,
            reason="QueueQuotaInsufficient",
            message=f"queue resource quota insufficient: {reasons}",
            amounts=amounts_beyond(
                self._session.resources, shortage.rows, queue_usage.with_minimum(minimum), queue_usage.limit
            ),
            details=self._admission.in_words(shortage, job, minimum),
        )

    def enqueued(self, job: SessionJob) -> None:
        """Reserve the minimum of an enqueued job."""
        self._admission.admit(job)
        if self.devices is not None and not self._admission.is_unusable(job):
            self.devices.admit(job)

    def _accounts_of(self, name: QueueName) -> list[Account]:
        """Return the accounts of a queue and its ancestors. Elastic usage of jobs does not count."""
        return [self._account(queue_usage) for queue_usage in self._line(name)]

    def _account(self, queue_usage: QueueUsage) -> Account:
        return Account(
            name=queue_usage.name,
            jobs=self._jobs_below[queue_usage.name],
            running=self._firm,
            promised=self._promised,
            limit=queue_usage.limit,
            used=[amount - more for amount, more in zip(queue_usage.allocated, queue_usage.elastic, strict=True)],
            admitted=queue_usage.inqueue,
            uncounted=queue_usage.elastic,
        )

    @cached_property
    def _jobs_below(self) -> dict[QueueName, BoolArray]:
        """Jobs of each queue and its descendants, shape (J,)."""
        queue = self._session.snapshot.job_table.queue
        below = {name: np.zeros(queue.shape, dtype=np.bool_) for name in self.usage}
        for number, name in enumerate(self._session.snapshot.queue_names):
            jobs = queue == number
            for each in self.tree.paths[name]:
                below[each] |= jobs
        return below

    @cached_property
    def _firm(self) -> IntArray:
        table = self._session.snapshot.job_table
        firm: IntArray = np.minimum(table.allocated, table.min_resources)
        return firm

    @cached_property
    def _promised(self) -> IntArray:
        return reserved(self._session.snapshot.job_table)

    def queues_to_reclaim(self, job: SessionJob, minimum: Sequence[int]) -> frozenset[QueueName]:
        """Return the queues that exceed their deserved amount; none if the job's queue would exceed its own too."""
        own = self.usage[job.queue]
        near = [name for name in self.tree.paths[job.queue][1 : 1 + self._levels] if name != ROOT_QUEUE]
        if not any(self.usage[name].deserves_some(minimum, self._rows) for name in (own.name, *near)):
            return frozenset()
        return frozenset(
            name
            for name, queue_usage in self.usage.items()
            if self.tree.is_leaf(name) and name != own.name and self._has_too_much(queue_usage)
        )

    def _has_too_much(self, queue_usage: QueueUsage) -> bool:
        return not queue_usage.has_deserved or any(
            queue_usage.allocated[row] > queue_usage.deserved[row]
            for row in queue_usage.declared
            if row != self._pods_row
        )

    # Refusals ---------------------------------------------------------------------------------------------------------

    def _unfit(self, queue: Queue) -> Refusal | None:
        """Refuse new work for a queue that is not open, is not a leaf, or is in a broken branch."""
        unfit = self._not_open(queue) or self._fenced(queue)
        if unfit is not None or self.tree.is_leaf(queue.name):
            return unfit
        message = f"queue {queue.name} has child queues; submit the job to one of them"
        return Refusal(plugin=Capacity.name, reason="QueueNotLeaf", message=message, resolvable=False)

    def _not_open(self, queue: Queue) -> Refusal | None:
        if queue.is_open:
            return None
        message = f"queue {queue.name} is {queue.state}"
        return Refusal(plugin=Capacity.name, reason="QueueNotOpen", message=message, resolvable=False)

    def _fenced(self, queue: Queue) -> Refusal | None:
        fault = self.tree.faults.get(queue.name)
        if fault is None:
            return None
        message = f"queue {queue.name} is out of service: {fault}"
        return Refusal(plugin=Capacity.name, reason="QueueTreeBroken", message=message, resolvable=False)

    def _beyond(self, queue: Queue, task: Task) -> Refusal | None:
        """Return the refusal of the queue that declares the limit, rather than of one below it that inherits it."""
        request, inherited = self._request(task), None
        for queue_usage in self._line(queue.name):
            is_reserved = queue_usage.name == queue.name and task in self._gates
            short = queue_usage.short_to_place(request, self._limited_rows(queue_usage.name), is_reserved=is_reserved)
            if short:
                would = queue_usage.with_more(self._nothing if is_reserved else request, beside_reserved=True)
                refusal = self._over_limit(queue_usage, short, request, would)
                if self._declares_limit(queue_usage.name, short):
                    return refusal
                inherited = inherited or refusal
        return inherited

    def _declares_limit(self, name: QueueName, rows: Sequence[int]) -> bool:
        """Return whether a queue's own capability is its limit in one of some rows."""
        limits, own = self._limits[name], self._session.queues.by_name[name].capability
        return any(
            self._session.resources.names[row] in own and limits.limit[row] >= limits.capability[row] for row in rows
        )

    def _limited_rows(self, name: QueueName) -> list[int]:
        """Return the rows in which a queue limits placement, including pods if its capability names them."""
        limits_pods = PODS in self._session.queues.by_name[name].capability
        return [*self._rows, self._pods_row] if limits_pods else self._rows

    def _too_many_devices(self, queue: Queue, task: Task) -> Refusal | None:
        short = None if self.devices is None else self.devices.short(queue.name, task)
        return None if short is None else self._more_than(*short)

    def _over_limit(
        self, queue_usage: QueueUsage, short: Sequence[int], request: Sequence[int], would: Sequence[int]
    ) -> Refusal:
        space = self._session.resources
        over = amounts_beyond(space, short, would, queue_usage.limit)
        used = [amount - more for amount, more in zip(would, request, strict=True)]
        details = usage_text(space, queue_usage.name, short, used=used, limit=queue_usage.limit, asked=request)
        return self._more_than(
            queue_usage.name, list(over), over, limit=self._binding_limit(queue_usage.name, short), details=details
        )

    def _binding_limit(self, name: QueueName, short: Sequence[int]) -> str:
        """Return the limit that binds. A queue elsewhere helps only if the capability binds."""
        limits = self._limits[name]
        if any(limits.limit[row] >= limits.capability[row] for row in short):
            return "its capability of {}"
        if all(limits.limit[row] >= self._session.total[row] for row in short):
            return "the {} of all nodes"
        return "the {} not guaranteed to other queues"

    def _more_than(
        self,
        queue: QueueName,
        names: Sequence[str],
        over: Mapping[str, tuple[int, int]] = NO_AMOUNTS,
        *,
        limit: str = "its capability of {}",
        details: str = "",
    ) -> Refusal:
        message = f"queue {queue} would exceed {limit.format(', '.join(names))}"
        return Refusal(plugin=Capacity.name, reason="QueueOverCapacity", message=message, amounts=over, details=details)

    def _line(self, name: QueueName) -> list[QueueUsage]:
        """Return the usage of a queue and of all its ancestors."""
        return [self.usage[each] for each in self.tree.paths[name]]

    def _request(self, task: Task) -> list[int]:
        return self._session.nodes.counted_amounts(task)

    # Ledger -----------------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> None:
        """Count a change."""
        self._count(change, change.sign)

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self._count(change, -change.sign)

    def _count(self, change: Change, sign: int) -> None:
        amounts = change.totals
        line = self._line(change.job.queue)
        for queue_usage in line:
            queue_usage.add(amounts, sign)
        self._gates.count(change, sign)
        if self.devices is not None:
            self.devices.count(change, sign)
        # Shares of ancestors stay those of the session's start, as in Volcano.
        line[0].refresh_share()

    def _reserve(self, task: Task, sign: int) -> None:
        job = self._session.jobs.of(task)
        if job is not None:
            self.usage[job.queue].reserve(self._request(task), sign)

    # Events -----------------------------------------------------------------------------------------------------------

    def record_faults(self) -> None:
        """Record events about faults of queues."""
        session = self._session
        session.report.record_events(*zero_notes(session))
        if not self._in_tree:
            session.report.record_events(*guarantee_notes(session))
        odd = {name: ("QueueTreeBroken", f"out of service: {fault}") for name, fault in self.tree.faults.items()}
        for name, too_much in excesses(session.resources, session.queues.by_name, self.tree, self._limits):
            odd[name] = ("QueuesBelowExceed", too_much)
        notes = (queue_note(session, session.queues.by_name[name], *what) for name, what in odd.items())
        session.report.record_events(*(note for note in notes if note is not None))
        if self.devices is not None:
            self._record_uncounted(self.devices)

    def _record_uncounted(self, devices: DeviceQuotas) -> None:
        """Record events about claims that device quotas cannot count, and count them."""
        for name, claims in devices.newly_uncounted().items():
            more = f" and {len(claims) - MOST_NAMED} more" if len(claims) > MOST_NAMED else ""
            message = f"not counted against quotas of devices: claims {', '.join(claims[:MOST_NAMED])}{more}"
            note = queue_note(self._session, self._session.queues.by_name[name], "ClaimsNotCounted", message)
            if note is not None:
                self._session.report.record_events(note)
            self._session.report.sample("uncounted_claims_total", len(claims), "counter", queue_name=name)

    # Metrics ----------------------------------------------------------------------------------------------------------

    def measure(self) -> None:
        """Report allocated, requested, deserved and maximum amounts of each queue; unlimited CPU and memory are 0."""
        session = self._session
        for name in session.queues.by_name:
            queue_usage = self.usage[name]
            for what, amounts in (
                ("allocated", queue_usage.allocated),
                ("request", queue_usage.request),
                ("deserved", queue_usage.deserved),
                ("inqueue", queue_usage.inqueue),
                ("real_capacity", [0 if amount >= UNLIMITED // 2 else amount for amount in queue_usage.limit]),
            ):
                session.report.sample_amounts(f"queue_{what}", amounts, queue_name=name)
            capability = session.resources.vector(session.queues.by_name[name].capability).tolist()
            session.report.sample_amounts("queue_capacity", capability, queue_name=name)
            session.report.sample("queue_share", queue_usage.share, queue_name=name)
            session.report.sample("queue_overused", float(queue_usage.share > 1), queue_name=name)


def _share_key(queue_usage: QueueUsage) -> tuple[float, bool]:
    return queue_usage.share, not queue_usage.has_deserved


def usage_by_queue(session: Session, tree: Tree, limits: Mapping[QueueName, Limits]) -> dict[QueueName, QueueUsage]:
    """Return the usage of each queue, including its descendants."""
    space, table, names = session.resources, session.snapshot.job_table, session.snapshot.queue_names
    held = table.by_queue(table.allocated, len(names))
    pending = table.by_queue(table.pending, len(names))
    elastic = table.by_queue(np.maximum(table.allocated - table.min_resources, 0), len(names))
    kept = table.by_queue(reserved(table), len(names))
    sums = np.stack([held, held + pending, elastic, kept])
    counted = {name: np.zeros(sums.shape[:2], dtype=np.int64) for name in session.queues.by_name}
    for number in np.unique(table.queue[table.queue != NO_QUEUE]).tolist():
        for name in tree.paths[names[number]]:
            counted[name] += sums[:, :, number]
    queues = session.queues.by_name
    usage = {}
    for name, queue in queues.items():
        allocated, request, spare, inqueue = counted[name].tolist()
        own = limits[name]
        deserved = own.deserved.tolist()
        declared = {space.rows[each] for each in (*queue.deserved, *queue.guarantee) if each in space.rows}
        declared -= {space.rows[CPU], space.rows[MEMORY]}
        usage[name] = QueueUsage(
            name,
            allocated=allocated,
            request=request,
            elastic=spare,
            inqueue=inqueue,
            guarantee=own.guarantee.tolist(),
            deserved=deserved,
            limit=own.limit.tolist(),
            declared=declared | {row for row, amount in enumerate(deserved) if amount > 0},
            pods_row=space.rows[PODS],
        )
    return usage
