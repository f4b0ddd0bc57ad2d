"""Promises: places that plans with evictions reserve for their beneficiaries, and the losers.

Kept in the memory between cycles; `framework.reservations` holds the places and decides when they are given up.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from pyroclast.framework.state.caller import Caller
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.jobs import Job
from pyroclast.model.queues import ROOT_QUEUE, Queue, with_ancestors
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedSet
from pyroclast.model.tasks import Task

__all__ = ["Promise", "Promises", "loser_of", "terms"]


class Promise(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Promise of one plan."""

    job: JobId
    """The beneficiary."""
    action: str
    """The action that decided; empty if the promise was read from nominated nodes."""
    cycle: int
    """The cycle that decided."""
    made: float
    """Its moment, seconds since 1970."""
    places: Mapping[TaskId, NodeName]
    """Node by task: for tasks that wait for it, and for tasks that run there while another job could still reclaim the
    capacity."""
    loose: tuple[TaskId, ...] = ()
    """Those of them whose place is not held any longer. A task that runs there all the same has won it."""
    losers: Mapping[str, str] = {}
    """Jobs or queues that lost pods for it, by name (see `loser_of`), with the terms (see `terms`)."""
    until: float | None = None
    """Time at which a waiting job gives up places that it found without evictions, seconds since 1970; None if
    evictions made them."""
    victims: Mapping[TaskId, JobId] = {}
    """Pods to evict for it, with their jobs. If all of them stayed, no job lost capacity."""


class Promises:
    """The promises that stand in one session."""

    __slots__ = ("_by_task", "_caller", "_losers", "given_up", "standing")

    def __init__(self, promises: Sequence[Promise] = (), caller: Caller | None = None) -> None:
        self._caller = caller or Caller()
        self.standing = tuple(promises)
        """Promises in the order in which they were made."""
        self.given_up: SealedSet[TaskId] = SealedSet()
        """Tasks whose place is not held any longer, as this session found."""
        self._by_task: dict[TaskId, list[Promise]] = {}
        for promise in self.standing:
            for task in promise.places:
                self._by_task.setdefault(task, []).append(promise)
        self._losers = frozenset(loser for promise in self.standing for loser in promise.losers)

    def anew(self, promises: Iterable[Promise]) -> "Promises":
        """Return others in the place of these."""
        self._caller.for_actions("anew")
        return Promises(tuple(promises), self._caller)

    def __bool__(self) -> bool:
        """Return whether anything is promised."""
        return bool(self.standing)

    def give_up(self, task: TaskId) -> None:
        """Hold the place of a task no longer."""
        self._caller.for_actions("give_up")
        set.add(self.given_up, task)

    def is_held(self, task: TaskId) -> bool:
        """Return whether a task has, or waits for, a place that it was promised."""
        is_given_up = task in self.given_up
        return not is_given_up and any(task not in promise.loose for promise in self._by_task.get(task, ()))

    def that_won(self, task: TaskId, node: NodeName | None) -> list[Promise]:
        """Return the promises by which a task has its place on a node, first made first."""
        return [promise for promise in self._by_task.get(task, ()) if promise.places[task] == node]

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
        cycles = [promise.cycle for promise in won if promise.losers.get(loser) == now]
        if not cycles:
            return None
        message = f"{victim.key} won its room from {loser} in cycle {cycles[-1]}; {loser} cannot take it back"
        return Refusal(plugin="scheduler", reason="WonByEviction", message=message)

    def after(self) -> Iterator[Promise]:
        """Return what is left of them at the end of the session, places of tasks that were evicted in it among it.

        The server may refuse an eviction. Places that are given up also stay known while a job or queue lost pods for
        them: the task may later run there for another reason, and a job that lost the capacity may not reclaim it then
        either.
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
