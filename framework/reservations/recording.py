"""Recording: the capacity that the plans and the waiting gangs of a session hold in the next cycles.

A plan with evictions holds its places for its beneficiary. As long as the beneficiary waits they are held for it
(`restoring`). When it runs there, the record still says from whom the capacity was won: a queue or a job cannot
take back by the same rule what it just lost by it (docs/decisions/0019-evictions-last.md). It is forgotten by what
happened, not by what was planned (docs/decisions/0028-promises-outlive-plans.md).
"""

from collections.abc import Iterator
from typing import Final

from pyroclast.framework.session.held import CapacityHolder, HeldCapacity, HolderKind, job_holder, loser_of, terms
from pyroclast.framework.session.session import Session
from pyroclast.model.ids import NodeName
from pyroclast.model.jobs import Job
from pyroclast.model.resources import Amounts
from pyroclast.model.tasks import TaskStatus

__all__ = ["read_from_objects", "read_from_pods", "recorded"]

_FINDING_ACTION: Final = "allocate"
"""Action that finds places without evictions."""


def recorded(session: Session) -> Iterator[HeldCapacity]:
    """Return what a session holds in the next cycles: places that its plans won by evictions, then those found."""
    yield from _won_by_plans(session)
    for holder, ends, places in session.held.found():
        yield HeldCapacity(
            holder=holder,
            action=_FINDING_ACTION,
            cycle=session.cycle,
            begins=session.now,
            ends=ends,
            places=places,
        )


def _won_by_plans(session: Session) -> Iterator[HeldCapacity]:
    """Return the places of a session's plans with evictions, in the order of decisions.

    A job that lost capacity to a victim has also lost it to the new beneficiary. Capacity moves on, and no earlier
    owner may reclaim it by the rule by which it lost it.
    """
    jobs = session.snapshot.jobs
    for plan in session.plans:
        winner = None if plan.job is None else jobs.get(plan.job)
        if winner is None or not plan.nominations:
            continue
        losers: set[str] = set()
        for eviction in plan.evictions:
            owner = None if eviction.job is None else jobs.get(eviction.job)
            if owner is None:
                continue
            for before in session.held.that_won(eviction.task, eviction.node):
                losers.update(_kept_from_it(session, before, owner))
            if owner.id != winner.id:
                losers.add(loser_of(owner, between_queues=owner.queue != winner.queue))
        yield HeldCapacity(
            holder=job_holder(winner.id),
            action=plan.action,
            cycle=session.cycle,
            begins=session.now,
            places={each.task: each.node for each in plan.nominations},
            losers={
                loser: anew for loser in sorted(losers) if (anew := terms(loser, winner, jobs, session.queues.by_name))
            },
            victims={each.task: each.job for each in plan.evictions if each.job is not None},
        )


def _kept_from_it(session: Session, before: HeldCapacity, owner: Job) -> Iterator[str]:
    """Return the losers that a victim's record still bars from its capacity: the terms are unchanged."""
    for loser, agreed in before.losers.items():
        if terms(loser, owner, session.snapshot.jobs, session.queues.by_name) == agreed:
            yield loser


def read_from_pods(session: Session) -> Iterator[HeldCapacity]:
    """Return the capacity that the nominated nodes of pods hold. Only this survives a restart.

    The jobs that lost the capacity are unknown then.
    """
    table = session.snapshot.job_table
    for job in table.select(table.counts[TaskStatus.PENDING] > 0):
        places = {
            task.id: NodeName(task.pod.status.nominated_node_name)
            for task in job.tasks.values()
            if task.status is TaskStatus.PENDING and not task.gated and task.pod.status.nominated_node_name
        }
        if places:
            yield HeldCapacity(
                holder=job_holder(job.id), action="", cycle=session.cycle, begins=session.now, places=places
            )


def read_from_objects(session: Session) -> Iterator[HeldCapacity]:
    """Return what Reservations hold on their nodes: the amounts that no pod uses.

    An object that has expired holds nothing, although its phase may not show that yet.
    """
    for room in session.reserved.rooms.values():
        capacity, rules = room.capacity, room.capacity.rules
        rest = capacity.rest()
        yield HeldCapacity(
            holder=CapacityHolder(HolderKind.RESERVATION, capacity.name),
            action="",
            cycle=session.cycle,
            begins=min(rules.begins, session.now),
            ends=rules.ends,
            amounts={capacity.node: capacity.held()},
            returning={capacity.node: _difference(capacity.rest(after_leaving=True), rest)},
        )


def _difference(more: Amounts, less: Amounts) -> dict[str, int]:
    return {name: amount - less.get(name, 0) for name, amount in more.items() if amount != less.get(name, 0)}
