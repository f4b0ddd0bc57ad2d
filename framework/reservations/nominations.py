"""Nominations: capacity reserved by evictions, the jobs it was taken from, and places that waiting gangs keep.

A plan with evictions promises its places to its beneficiary. As long as the beneficiary waits they are held for it
(`restoring`). When it runs there, the promise still says from whom the room was won: a queue or a job cannot
take back by the same rule what it just lost by it (docs/decisions/0019-evictions-last.md). It is forgotten by what
happened, not by what was planned (docs/decisions/0028-promises-outlive-plans.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.jobs import Job
from pyroclast.model.queues import ROOT_QUEUE, Queue, with_ancestors
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedSet
from pyroclast.model.tasks import Task, TaskStatus

if TYPE_CHECKING:
    from pyroclast.framework.session.session import Session

__all__ = ["Promise", "Promises", "kept", "made_by_plans", "read_from_pods"]


_KEEPING_ACTION: Final = "allocate"
"""Which action finds places that are kept."""


class Promise(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one plan promised."""

    job: JobId
    """The beneficiary."""
    action: str
    """The action that decided; empty where the promise was read from nominated nodes."""
    cycle: int
    """The cycle that decided."""
    made: float
    """Its moment, seconds since 1970."""
    places: Mapping[TaskId, NodeName]
    """Node by task: of those that wait for it, and of those that have got it while somebody could want it back."""
    loose: tuple[TaskId, ...] = ()
    """Those of them whose place is not held any longer; who comes to run there all the same has won it."""
    losers: Mapping[str, str] = {}
    """Who lost pods for it, by name (see `loser_of`), and on which terms (see `terms`)."""
    until: float | None = None
    """When whoever waits gives up places that it found without evictions, seconds since 1970; None where evictions made
    them."""
    victims: Mapping[TaskId, JobId] = {}
    """The pods that were to leave for it, with their jobs: where all of them stayed nobody lost anything."""


class Promises:
    """The promises that stand in one session."""

    __slots__ = ("_by_task", "_losers", "given_up", "standing")

    def __init__(self, promises: Sequence[Promise] = ()) -> None:
        self.standing = tuple(promises)
        """In the order in which they were made."""
        self.given_up: SealedSet[TaskId] = SealedSet()
        """Tasks whose place is not held any longer, as this session found."""
        self._by_task: dict[TaskId, list[Promise]] = {}
        for promise in self.standing:
            for task in promise.places:
                self._by_task.setdefault(task, []).append(promise)
        self._losers = frozenset(loser for promise in self.standing for loser in promise.losers)

    def __bool__(self) -> bool:
        """Tell whether anything is promised."""
        return bool(self.standing)

    def give_up(self, task: TaskId) -> None:
        """Hold the place of a task no longer."""
        set.add(self.given_up, task)

    def is_held(self, task: TaskId) -> bool:
        """Tell whether a task has, or waits for, a place that it was promised."""
        is_given_up = task in self.given_up
        return not is_given_up and any(task not in promise.loose for promise in self._by_task.get(task, ()))

    def that_won(self, task: TaskId, node: NodeName | None) -> list[Promise]:
        """Return the promises by which a task has its place on a node, first made first."""
        return [promise for promise in self._by_task.get(task, ()) if promise.places[task] == node]

    def has_lost(self, job: JobId) -> bool:
        """Tell whether a job has lost room to another one, so that it may not take from whom its like may."""
        return f"job/{job}" in self._losers

    def refusal(
        self,
        victim: Task,
        beneficiary: Job,
        owner: Job,
        jobs: Mapping[JobId, Job],
        queues: Mapping[QueueName, Queue],
        *,
        between_queues: bool,
    ) -> Refusal | None:
        """Refuse to evict a task whose room the beneficiary's queue or job lost to it, while the terms are the same.

        Args:
            victim: Who would go.
            beneficiary: The job that would gain.
            owner: The victim's job.
            jobs: All jobs.
            queues: All queues.
            between_queues: Whether the rule is that between queues; else that between jobs of one queue.
        """
        won = self.that_won(victim.id, victim.node)
        if not won:
            return None
        loser = loser_of(beneficiary, between_queues=between_queues)
        now = terms(loser, owner, jobs, queues)
        cycles = [promise.cycle for promise in won if promise.losers.get(loser) == now]
        if not cycles:
            return None
        message = f"{victim.key} won its room from {loser} in cycle {cycles[-1]}; {loser} cannot take it back"
        return Refusal(plugin="scheduler", reason="WonByEviction", message=message)

    def after(self) -> Iterator[Promise]:
        """Return what is left of them at the end of the session, places of tasks that were evicted in it among it.

        The server may keep whom a plan evicts. And places that are given up stay known while somebody lost pods for
        them: the task may come to run there by another way, and who made room for it may not take that back either.
        """
        for promise in self.standing:
            given_up = self.given_up & promise.places.keys()
            if not given_up:
                yield promise
            elif promise.losers:
                loose = tuple(task for task in promise.places if task in given_up or task in promise.loose)
                yield msgspec.structs.replace(promise, loose=loose)
            elif places := {task: node for task, node in promise.places.items() if task not in given_up}:
                yield msgspec.structs.replace(promise, places=places)


def loser_of(job: Job, *, between_queues: bool) -> str:
    """Return who loses where a job's pods go: `queue/<name>` between queues, else `job/<namespace>/<name>`."""
    return f"queue/{job.queue}" if between_queues else f"job/{job.id}"


def terms(loser: str, winner: Job, jobs: Mapping[JobId, Job], queues: Mapping[QueueName, Queue]) -> str | None:
    """Return the terms on which a loser, by name, loses: what must change before it may have the room back.

    Between queues that is what they and their ancestors are set to get, between jobs their priorities. None where the
    loser is gone.
    """
    kind, _, name = loser.partition("/")
    if kind == "queue":
        queue = QueueName(name)
        return f"{_claims(queue, queues)} {_claims(winner.queue, queues)}" if queue in queues else None
    job = jobs.get(JobId(name))
    return None if job is None else f"{job.priority} {winner.priority}"


def _claims(name: QueueName, queues: Mapping[QueueName, Queue]) -> str:
    return "<".join(_own_claims(queues[each]) for each in with_ancestors(queues, name) if each != ROOT_QUEUE)


def _own_claims(queue: Queue) -> str:
    amounts = (queue.guarantee, queue.deserved, queue.capability)
    texts = (",".join(f"{name}={each[name]}" for name in sorted(each)) for each in amounts)
    hierarchy = [f"{queue.hierarchy}@{queue.hierarchy_weights}"] if queue.hierarchy else []
    return "/".join((str(queue.priority), str(queue.weight), queue.parent or "", *texts, *hierarchy))


def made_by_plans(session: "Session") -> Iterator[Promise]:
    """Return what the plans of a session promised, first decided first.

    Who lost the room of a victim before the victim had it has lost it to the new beneficiary too: rooms go on, and
    nobody through whose hands one went may claim it by the rule by which it went.
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
            for before in session.promises.that_won(eviction.task, eviction.node):
                losers.update(_kept_from_it(session, before, owner))
            if owner.id != winner.id:
                losers.add(loser_of(owner, between_queues=owner.queue != winner.queue))
        yield Promise(
            job=winner.id,
            action=plan.action,
            cycle=session.cycle,
            made=session.now,
            places={each.task: each.node for each in plan.nominations},
            losers={loser: anew for loser in sorted(losers) if (anew := terms(loser, winner, jobs, session.queues))},
            victims={each.task: each.job for each in plan.evictions if each.job is not None},
        )


def kept(session: "Session") -> Iterator[Promise]:
    """Return the places that members of gangs keep which this session found for them."""
    for (job, until), places in session.kept.items():
        yield Promise(
            job=job, action=_KEEPING_ACTION, cycle=session.cycle, made=session.now, places=places, until=until
        )


def _kept_from_it(session: "Session", before: Promise, owner: Job) -> Iterator[str]:
    """Return whom a victim's promise still keeps from its room: the terms are what they were."""
    for loser, agreed in before.losers.items():
        if terms(loser, owner, session.snapshot.jobs, session.queues) == agreed:
            yield loser


def read_from_pods(session: "Session") -> Iterator[Promise]:
    """Return the promises that the pods themselves tell of, by their nominated nodes: all that a restart leaves.

    Who lost the room is not known then.
    """
    table = session.snapshot.job_table
    for job in table.select(table.counts[TaskStatus.PENDING] > 0):
        places = {
            task.id: NodeName(task.pod.status.nominated_node_name)
            for task in job.tasks.values()
            if task.status is TaskStatus.PENDING and not task.gated and task.pod.status.nominated_node_name
        }
        if places:
            yield Promise(job=job.id, action="", cycle=session.cycle, made=session.now, places=places)
