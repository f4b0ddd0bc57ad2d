"""Device quotas: limits on the number of devices of a class, and on their capacity, for the claims in a queue.

A queue's capability contains them as `deviceclass/<class>` and `<dimension>.deviceclass/<class>`. A class that the
capability does not name is not limited. A claim that several tasks share counts once for a queue, and once for each
ancestor.
"""

from collections.abc import Iterable, Sequence

from pyroclast.framework.extension.contract import Change
from pyroclast.framework.queues.device_claims import demand_of, placed_with_claims
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model import wire
from pyroclast.model.device_claims import CLASS_PREFIX, ClaimCount, Demand, device_claim_keys, is_made_for, uncounted
from pyroclast.model.ids import JobId, QueueName
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.queues import Queue
from pyroclast.model.resources import MILLI, Amounts
from pyroclast.model.tasks import Task
from pyroclast.plugins.capacity.tree import Tree

__all__ = ["DeviceQuotas", "quota_of"]

_CAPACITY_SEPARATOR = f".{CLASS_PREFIX}"


class DeviceQuotas:
    """Claimed amounts of each queue with device quotas."""

    def __init__(self, session: Session, tree: Tree, *, counts_capacity: bool) -> None:
        """Count placed claims. `counts_capacity` also applies limits on the capacity of devices."""
        self._session = session
        self._tree = tree
        self._counts_capacity = counts_capacity
        quotas = {name: quota_of(queue) for name, queue in session.queues.by_name.items()}
        self._quotas = {name: quota for name, quota in quotas.items() if quota}
        self._placed = {name: ClaimCount() for name in self._quotas}
        self._admitted = {name: ClaimCount() for name in self._quotas}
        """Minimums of the jobs that this session has enqueued."""
        for queue, task in placed_with_claims(session) if self._quotas else ():
            for name in self._limited(queue):
                self._placed[name].add(demand_of(session, task))

    def claims_of(self, queue: QueueName) -> dict[str, int]:
        """Return the claimed amounts of a queue with a quota, in thousandths by name."""
        return dict(self._placed[queue].totals)

    def newly_uncounted(self) -> dict[QueueName, list[str]]:
        """Return, by queue, the claims that a quota limits but cannot count. Each has its reason and is returned once.

        A claim that several jobs share belongs to the first of them.
        """
        session, claims = self._session, self._session.snapshot.objects.resource_claims
        first_user: dict[str, JobId] = {}
        for task in session.snapshot.tasks_with_claims if self._quotas else ():
            job = None if task.job is None else session.snapshot.jobs.get(task.job)
            if job is not None and any(True for _ in self._limited(job.queue)):
                for key in device_claim_keys(task.pod):
                    first_user[key] = min(job.id, first_user.get(key, job.id))
        found: dict[QueueName, list[str]] = {}
        for key, job_id in sorted(first_user.items()):
            why = uncounted(claims[key]) if key in claims else []
            if why and session.report.is_news(f"ResourceClaim/{key}/{claims[key].metadata.uid}", why[0], job=job_id):
                found.setdefault(session.snapshot.jobs[job_id].queue, []).append(f"{key} ({why[0]})")
        return found

    def concern(self, job: SessionJob) -> bool:
        """Return whether the tasks of a job must be checked one by one."""
        limited = any(True for _ in self._limited(job.queue))
        return limited and any(task.pod.spec.resource_claims for task in job.tasks.values())

    def short(self, queue: QueueName, task: Task) -> tuple[QueueName, list[str]] | None:
        """Return the first queue on the path to the root that the task exceeds, and the exceeded names."""
        demand = demand_of(self._session, task)
        return self._first_short(queue, demand, for_enqueue=False) if demand else None

    def short_to_enqueue(self, job: SessionJob) -> tuple[QueueName, list[str]] | None:
        """Return the same for the minimum of a job that is enqueued, including minimums that this session enqueued."""
        minimum = self._minimum(job)
        return self._first_short(job.queue, minimum, for_enqueue=True) if minimum else None

    def admit(self, job: SessionJob) -> None:
        """Reserve the minimum of an enqueued job."""
        minimum = self._minimum(job)
        for name in self._limited(job.queue):
            self._admitted[name].add(minimum)

    def count(self, change: Change, sign: int) -> None:
        """Count a placement (+1) or an eviction (-1)."""
        if not self._quotas:
            return
        for name in self._limited(change.job.queue):
            placed = self._placed[name]
            for task in change.tasks:
                demand = demand_of(self._session, task)
                if sign > 0:
                    placed.add(demand)
                else:
                    placed.remove(demand)

    def _limited(self, queue: QueueName) -> Iterable[QueueName]:
        return (name for name in self._tree.paths[queue] if name in self._quotas)

    def _first_short(
        self, queue: QueueName, demand: Demand, *, for_enqueue: bool
    ) -> tuple[QueueName, list[str]] | None:
        for name in self._limited(queue):
            counted = [self._placed[name], *([self._admitted[name]] if for_enqueue else [])]
            new = demand
            for count in counted:
                new = count.new_in(new)
            lacking = self._lacking(self._quotas[name], [count.totals for count in counted], new)
            if lacking:
                return name, lacking
        return None

    def _lacking(self, quota: Amounts, taken: Sequence[Amounts], demand: Demand) -> list[str]:
        asked: dict[str, int] = {}
        for amounts in demand.values():
            for name, amount in amounts.items():
                asked[name] = asked.get(name, 0) + amount
        limited = {_class_of(name) for name in quota}
        return [
            name
            for name, amount in sorted(asked.items())
            if _class_of(name) in limited
            and (name.startswith(CLASS_PREFIX) or self._counts_capacity)
            and _exceeds(quota.get(name), name, amount + sum(each.get(name, 0) for each in taken))
        ]

    def _minimum(self, job: SessionJob) -> Demand:
        """Return the claims of a job's minimum.

        For each role with a minimum, one task represents all: its own claims count as often as the minimum. Without
        roles, the first tasks with claims count.
        """
        if not any(True for _ in self._limited(job.queue)):
            return {}
        demands = ((task, demand_of(self._session, task)) for task in sorted(job.tasks.values(), key=_by_name))
        asking = [(task, demand) for task, demand in demands if demand]
        roles = job.job.min_by_role
        if not roles:
            return {key: each for _, demand in asking[: max(job.min_available, 0)] for key, each in demand.items()}
        minimum: dict[str, Amounts] = {}
        for role, least in roles.items():
            first = next((each for each in asking if each[0].role == role), None)
            if first is not None and least > 0:
                minimum |= _repeated(first[0].pod, first[1], least)
        return minimum


def quota_of(queue: Queue) -> dict[str, int]:
    """Return the device limits in a queue's capability, in thousandths by name. Counts are rounded up."""
    listed: wire.ResourceList = queue.object.spec.capability if queue.object is not None else {}
    quota = {}
    for name, quantity in listed.items():
        is_count = name.startswith(CLASS_PREFIX)
        if not (is_count or _CAPACITY_SEPARATOR in name) or not _class_of(name):
            continue
        try:
            amount = millis(quantity)
        except QuantityError:
            continue  # the reader of the queue's amounts reports it
        quota[name] = -(-amount // MILLI) * MILLI if is_count else amount
    return quota


def _class_of(name: str) -> str:
    return name.partition(CLASS_PREFIX)[2]


def _exceeds(limit: int | None, name: str, amount: int) -> bool:
    if name.startswith(CLASS_PREFIX):
        return amount > (limit or amount)  # as in Volcano a count of 0 is no limit
    return limit is None or amount > limit


def _repeated(pod: wire.Pod, demand: Demand, times: int) -> dict[str, Amounts]:
    """Return a demand in which the pod's own claims count several times. A shared claim counts once."""
    return {
        claim: {name: amount * times for name, amount in amounts.items()} if is_made_for(pod, claim) else amounts
        for claim, amounts in demand.items()
    }


def _by_name(task: Task) -> tuple[str, str, str]:
    return task.namespace, task.name, task.id
