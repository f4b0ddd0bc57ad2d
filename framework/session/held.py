"""Held capacity: what is kept for a holder, and from which jobs and queues it was taken.

Kept in the memory between cycles. `framework.reservations` holds it and decides when it is given up.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from pyroclast.framework.state.caller import Caller
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.jobs import Job
from pyroclast.model.queues import ROOT_QUEUE, Queue, with_ancestors
from pyroclast.model.refusals import Refusal
from pyroclast.model.resources import Amounts
from pyroclast.model.sealed import SealedDict, SealedSet
from pyroclast.model.tasks import Task

__all__ = ["CapacityHolder", "HeldCapacities", "HeldCapacity", "HolderKind", "job_holder", "loser_of", "terms"]


class HolderKind(StrEnum):
    """Kind of a holder of capacity."""

    JOB = "job"
    """A job: its tasks get places of their own."""
    RESERVATION = "reservation"
    """A Reservation object: its owners use the capacity."""
    PLANNED_START = "planned start"
    """The start of a job at a later time."""


class CapacityHolder(msgspec.Struct, frozen=True, gc=False):
    """For what capacity is held."""

    kind: HolderKind
    name: str
    """Id of the job, or name of the object."""


def job_holder(job: JobId) -> CapacityHolder:
    """Return the holder that is a job."""
    return CapacityHolder(HolderKind.JOB, job)


class HeldCapacity(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Capacity held for one holder from a beginning to an end: places of a job's tasks, or amounts of nodes."""

    holder: CapacityHolder
    action: str
    """The action that decided; empty if it was read from objects."""
    cycle: int
    """The cycle that decided."""
    begins: float
    """Time from which it is held, seconds since 1970."""
    ends: float | None = None
    """Time at which it is given up, seconds since 1970. None if it ends by what happens: evictions made the places of a
    job, and patience decides."""
    places: Mapping[TaskId, NodeName] = {}
    """Node by task of a job: for tasks that wait for it, and for tasks that run there while another job could still
    reclaim the capacity."""
    amounts: Mapping[NodeName, Amounts] = {}
    """Amounts of nodes that are held for a holder without tasks, thousandths by resource name."""
    returning: Mapping[NodeName, Amounts] = {}
    """Amounts of nodes that are held in addition when terminating pods are gone, likewise."""
    loose: tuple[TaskId, ...] = ()
    """Tasks whose place is not held any longer. A task that runs there all the same has won it."""
    losers: Mapping[str, str] = {}
    """Jobs or queues that lost pods for it, by name (see `loser_of`), with the terms (see `terms`)."""
    victims: Mapping[TaskId, JobId] = {}
    """Pods to evict for it, with their jobs. If all of them stayed, no job lost capacity."""

    @property
    def job(self) -> JobId | None:
        """The job that holds it; None for another holder."""
        return JobId(self.holder.name) if self.holder.kind is HolderKind.JOB else None

    def is_due(self, now: float) -> bool:
        """Return whether a moment is within its time."""
        return self.begins <= now and not self.is_over(now)

    def is_over(self, now: float) -> bool:
        """Return whether its end has passed."""
        return self.ends is not None and now >= self.ends


class HeldCapacities:
    """The capacity that is held in one session."""

    __slots__ = ("_by_task", "_caller", "_found", "_losers", "given_up", "standing")

    def __init__(self, held: Iterable[HeldCapacity] = (), caller: Caller | None = None) -> None:
        self._caller = caller or Caller()
        self._found: SealedDict[tuple[CapacityHolder, float], SealedDict[TaskId, NodeName]] = SealedDict()
        """Places that this session found for waiting tasks, by holder and end."""
        self._take(held)

    def _take(self, held: Iterable[HeldCapacity]) -> None:
        self.standing: Sequence[HeldCapacity] = tuple(held)
        """What earlier cycles decided to hold, in that order."""
        self.given_up: SealedSet[TaskId] = SealedSet()
        """Tasks whose place is not held any longer, as this session found."""
        self._by_task: dict[TaskId, list[HeldCapacity]] = {}
        for each in self.standing:
            for task in each.places:
                self._by_task.setdefault(task, []).append(each)
        self._losers = frozenset(loser for each in self.standing for loser in each.losers)

    def replace(self, held: Iterable[HeldCapacity]) -> None:
        """Hold other capacity instead."""
        self._caller.for_actions("replace")
        self._take(held)

    def __bool__(self) -> bool:
        """Return whether anything is held."""
        return bool(self.standing)

    def hold(self, task: Task, *, holder: CapacityHolder, ends: float) -> None:
        """Hold the place of a task in the next cycles too, until a time in seconds since 1970."""
        self._caller.for_actions("hold")
        assert task.node is not None, "a placed task has a node"
        places = self._found.get((holder, ends)) or SealedDict[TaskId, NodeName]()
        dict.__setitem__(places, task.id, task.node)
        dict.__setitem__(self._found, (holder, ends), places)

    def found(self) -> Iterator[tuple[CapacityHolder, float, Mapping[TaskId, NodeName]]]:
        """Yield the places that this session holds from now on, with holder and end."""
        for (holder, ends), places in self._found.items():
            yield holder, ends, places

    def give_up(self, task: TaskId) -> None:
        """Hold the place of a task no longer."""
        self._caller.for_actions("give_up")
        set.add(self.given_up, task)

    def is_held(self, task: TaskId) -> bool:
        """Return whether a place is held for a task, or was until the task got it."""
        is_given_up = task in self.given_up
        return not is_given_up and any(task not in each.loose for each in self._by_task.get(task, ()))

    def that_won(self, task: TaskId, node: NodeName | None) -> list[HeldCapacity]:
        """Return the held capacity by which a task has its place on a node, first decided first."""
        return [each for each in self._by_task.get(task, ()) if each.places[task] == node]

    def has_lost(self, job: JobId) -> bool:
        """Return whether a job has lost capacity to another job, so that it may not preempt where equal jobs may."""
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
            victim: Task to evict.
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
        cycles = [each.cycle for each in won if each.losers.get(loser) == now]
        if not cycles:
            return None
        message = f"{victim.key} runs on capacity taken from {loser} in cycle {cycles[-1]}; {loser} cannot reclaim it"
        return Refusal(plugin="scheduler", reason="WonByEviction", message=message)

    def after(self) -> Iterator[HeldCapacity]:
        """Return what is held after the session, places of tasks that were evicted in it among it.

        The server may refuse an eviction. Places that are given up also stay known while a job or queue lost pods for
        them: the task may later run there for another reason, and a job that lost the capacity may not reclaim it then
        either.
        """
        for each in self.standing:
            given_up = self.given_up & each.places.keys()
            if not given_up:
                yield each
            elif each.losers:
                loose = tuple(task for task in each.places if task in given_up or task in each.loose)
                yield msgspec.structs.replace(each, loose=loose)
            elif places := {task: node for task, node in each.places.items() if task not in given_up}:
                yield msgspec.structs.replace(each, places=places)


def loser_of(job: Job, *, between_queues: bool) -> str:
    """Return the loser of a job's evictions: `queue/<name>` between queues, else `job/<namespace>/<name>`."""
    return f"queue/{job.queue}" if between_queues else f"job/{job.id}"


def terms(loser: str, winner: Job, jobs: Mapping[JobId, Job], queues: Mapping[QueueName, Queue]) -> str | None:
    """Return the terms of a loss, by the loser's name: what must change before the loser may reclaim the capacity.

    Between queues these are the configured shares of the queues and their ancestors; between jobs, their priorities.
    None if the loser is gone.
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
