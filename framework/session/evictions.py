"""Evictions of a session: possible victims by beneficiary, as plugins and earlier evictions permit."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Move, Point, Registered
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.extension.votes import choose_victims, narrow_victims
from pyroclast.framework.session.held import HeldCapacities
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["EvictionSearch", "SessionEvictions"]

_MOST_VETOES: Final = 32
"""Vetoes kept of one task."""


_PROTECTED: Final[Mapping[str, str]] = {
    "WonByEviction": "on capacity that was taken from it by an eviction",
    "NotPreemptable": "marked as not preemptable",
    "GroupNotPreemptable": "in a PodGroup marked as not preemptable",
    "NotRunning": "not running yet",
    "AsksForMore": "with requests, which a best-effort pod cannot preempt",
    "NotLessImportant": "of a job that is no less important",
    "HigherPriority": "of a higher priority",
    "QueueNotReclaimable": "of a queue that is not reclaimable",
    "GangKeptTogether": "needed by its gang",
}
"""Refusals of protected pods by the reason for the protection. Other reasons belong to plugins."""


class EvictionSearch:
    """Victims considered by one action for one job."""

    __slots__ = ("_asked", "_protected", "action", "beneficiary")

    def __init__(self, action: str, beneficiary: JobId | None) -> None:
        self.action = action
        self.beneficiary = beneficiary
        self._asked: list[Sequence[Task]] = []
        self._protected: dict[str, set[TaskId]] = {}
        """Protected pods by reason."""

    def is_for(self, action: str, beneficiary: JobId | None) -> bool:
        """Return whether it is the search of an action for a job."""
        return (self.action, self.beneficiary) == (action, beneficiary)

    def note_asked(self, candidates: Sequence[Task]) -> None:
        """Note that plugins were asked about candidates."""
        if not self._asked or self._asked[-1] is not candidates:
            self._asked.append(candidates)

    def note_protected(self, victim: TaskId, refusal: Refusal) -> None:
        """Note why a pod was protected."""
        what = _PROTECTED.get(refusal.reason, f"protected by {refusal.plugin}")
        self._protected.setdefault(what, set()).add(victim)

    def in_words(self) -> str:
        """Return how many pods were considered and what protected them; empty if none was."""
        considered = {task.id for candidates in self._asked for task in candidates}.union(*self._protected.values())
        if not considered:
            return ""
        ranked = sorted(self._protected.items(), key=lambda each: (-len(each[1]), each[0]))
        words = ", ".join(f"{len(pods)} {what}" for what, pods in ranked)
        return f"of {_pods(considered)} considered: {words or 'none protected'}"


def _pods(pods: Iterable[TaskId]) -> str:
    count = len(set(pods))
    return f"{count} pod" if count == 1 else f"{count} pods"


class SessionEvictions:
    """Queries about victims in one session, and their answers."""

    def __init__(
        self, snapshot: Snapshot, extensions: Extensions, held: HeldCapacities, action: Callable[[], str]
    ) -> None:
        """Take the snapshot, the plugins and the held capacity of a session, and what returns the running action."""
        self._jobs = snapshot.jobs
        self._queues = snapshot.queues
        self._extensions = extensions
        self._failed = extensions.note_failure
        self._held = held
        self._action = action
        self.vetoes: SealedDict[TaskId, SealedDict[tuple[JobId | None, str], tuple[TaskId, Refusal]]] = SealedDict()
        self.search = EvictionSearch("", None)
        """Candidates of the last search for victims."""

    def judges_alike(self, point: Point[Any]) -> bool:
        """Return whether all functions of a victim point judge equal beneficiaries alike; see `register`."""
        return all(
            each.alike
            for each in (*self._extensions.functions(point), *self._extensions.functions(contract.QUEUE_SURPLUS))
        )

    def judges_in_turn(self, point: Point[Any]) -> bool:
        """Return whether the first of many candidates can be asked about alone; see `register`."""
        return all(
            each.in_turn
            for each in (*self._extensions.functions(point), *self._extensions.functions(contract.QUEUE_SURPLUS))
        )

    def preemptable(self, preemptor: Task, candidates: Sequence[Task], *, gang: Sequence[Task] = ()) -> list[Task]:
        """Return which candidates may be evicted for a task of their own queue; `gang`: all tasks evicted with them."""
        return self._victims(
            contract.PREEMPTABLE, preemptor, candidates, between_queues=False, subject=preemptor, gang=gang
        )

    def reclaimable(
        self,
        reclaimer: Task,
        candidates: Sequence[Task],
        *,
        gang: Sequence[Task] = (),
        protects_deserved: bool = True,
        within_queue: bool = False,
    ) -> list[Task]:
        """Return which candidates may give way to a task of another queue, or of another owner in one queue.

        Args:
            reclaimer: The beneficiary.
            candidates: First to go first.
            gang: All that would go with them.
            protects_deserved: Whether a queue with no more than it deserves loses nothing, whichever tier decides.
            within_queue: Whether the candidates are of the reclaimer's queue.
        """
        return self._victims(
            contract.RECLAIMABLE,
            reclaimer,
            candidates,
            between_queues=not within_queue,
            subject=reclaimer,
            gang=gang,
            limits=() if within_queue else self._surplus_limits(protects_deserved),
            within_queue=within_queue,
        )

    def divides_queues(self, point: Point[Any]) -> bool:
        """Return whether a plugin at a point for victims divides queues among owners that reclaim from each other."""
        return any(each.within_queue is not None for each in self._extensions.functions(point))

    def may_reclaim_within_queue(self, point: Point[Any], tasks: Iterable[Task]) -> bool:
        """Return whether one of some tasks may reclaim from other owners in its queue. All dividing plugins decide."""
        dividing = [each for each in self._extensions.functions(point) if each.within_queue is not None]
        return bool(dividing) and any(
            all(self._extensions.ask_or(each, False, task, asking=each.within_queue) for each in dividing)
            for task in tasks
        )

    def _surplus_limits(self, protects_deserved: bool) -> Sequence[Registered[Any]]:
        return self._extensions.functions(contract.QUEUE_SURPLUS) if protects_deserved else ()

    def not_won(
        self, beneficiary: Task, candidates: Sequence[Task], *, between_queues: bool
    ) -> tuple[Sequence[Task], dict[TaskId, Refusal]]:
        """Exclude candidates whose capacity the beneficiary lost to them by the same rule, and return the reasons."""
        refused: dict[TaskId, Refusal] = {}
        job = None if beneficiary.job is None else self._jobs.get(beneficiary.job)
        if job is None or not self._held:
            return candidates, refused
        for task in candidates:
            owner = None if task.job is None else self._jobs.get(task.job)
            if owner is not None:
                refusal = self._held.refusal(task, job, owner, self._jobs, self._queues, between_queues=between_queues)
                if refusal is not None:
                    refused[task.id] = refusal
        return ([task for task in candidates if task.id not in refused] if refused else candidates), refused

    def evictable(
        self,
        context: Any,
        beneficiary: Task,
        candidates: Sequence[Task],
        *,
        gang: Sequence[Task] = (),
        first_tier: bool = False,
        protects_deserved: bool = True,
    ) -> list[Task]:
        """Return which candidates may give way to a whole gang.

        Args:
            context: A `framework.preemption.gang_plans.GangEviction`.
            beneficiary: A task of the gang.
            candidates: First to go first.
            gang: All tasks of a gang that would be evicted whole; otherwise empty.
            first_tier: Whether to ask the first tier with an answer alone.
            protects_deserved: As for `reclaimable`, where capacity is taken from other queues.
        """
        between_queues = context.is_reclaim and not context.within_queue
        return self._victims(
            contract.UNIFIED_EVICTABLE,
            beneficiary,
            candidates,
            between_queues=between_queues,
            subject=context,
            gang=gang,
            first_tier=first_tier,
            limits=self._surplus_limits(between_queues and protects_deserved),
            within_queue=context.within_queue,
        )

    def moves(self, tasks: Sequence[Task]) -> list[Move]:
        """Return the running tasks to evict without a preemptor. The first tier that names any task decides."""
        for tier in self._extensions.tiers(contract.VICTIM_TASKS):
            named: dict[TaskId, Move] = {}
            for each in tier:
                for move in self._extensions.ask_or(each, (), tasks, asking=partial(_moves_of, each)):
                    named.setdefault(move.task.id, move)
            if named:
                return list(named.values())
        return []

    def may_move(self, unit: Sequence[Task]) -> bool:
        """Return whether plugins permit to evict a task, or a whole gang, without a preemptor."""
        for each in self._extensions.functions(contract.MOVABLE):
            allowed = self._extensions.ask_or(each, frozenset(), unit, asking=partial(_ids_of, each))
            if not all(task.id in allowed for task in unit):
                return False
        return True

    def _victims(
        self,
        point: Point[Any],
        beneficiary: Task,
        candidates: Sequence[Task],
        *,
        between_queues: bool,
        subject: Any,
        gang: Sequence[Task],
        first_tier: bool = False,
        limits: Sequence[Registered[Any]] = (),
        within_queue: bool = False,
    ) -> list[Task]:
        self.search_for(beneficiary).note_asked(candidates)
        candidates, won = self.not_won(beneficiary, candidates, between_queues=between_queues)

        def ask(each: Registered[Any]) -> Any:
            if gang and each.together is not None:
                return each.together(subject, candidates, gang)
            return each.function(subject, candidates)

        guards = [each for each in self._extensions.functions(point) if each.in_every_tier]

        def ask_limit(each: Registered[Any], victims: list[Task]) -> Any:
            about = subject if within_queue or each in guards else beneficiary
            if gang and each.together is not None and not within_queue:
                return _chosen(each.together(about, victims, gang))
            return _chosen(each.function(about, victims))

        tiers = self._extensions.tiers(point)[: 1 if first_tier else None]
        if within_queue:
            limits = [each for each in self._extensions.functions(point) if each.within_queue is not None]
            tiers = tuple(tuple(each for each in tier if not each.compares_queues) for tier in tiers)
        victims, vetoes = choose_victims(
            tiers,
            candidates,
            ask,
            failed=self._failed,
            limit=lambda victims, tier: narrow_victims(
                [*limits, *(each for each in guards if each not in tier)], victims, ask_limit, failed=self._failed
            ),
        )
        for victim, refusal in (won | vetoes).items():
            self.note_veto(victim, beneficiary, refusal)
        return victims

    def search_for(self, beneficiary: Task) -> EvictionSearch:
        """Return what the running action considers for a task's job; a new account where the last one was another's."""
        if not self.search.is_for(self._action(), beneficiary.job):
            self.search = EvictionSearch(self._action(), beneficiary.job)
        return self.search

    def note_veto(self, victim: TaskId, beneficiary: Task, refusal: Refusal) -> None:
        """Note why a task was protected, once for each beneficiary job and plugin. The number of notes is limited."""
        self.search_for(beneficiary).note_protected(victim, refusal)
        known = self.vetoes.get(victim)
        if known is None:
            known = dict.setdefault(self.vetoes, victim, SealedDict())
        if len(known) < _MOST_VETOES:
            dict.setdefault(known, (beneficiary.job, refusal.plugin), (beneficiary.id, refusal))


def _moves_of(each: Registered[Any], tasks: Sequence[Task]) -> list[Move]:
    """Query a strategy, and read its whole answer, because it may fail while it is read."""
    return [
        Move(task=_task(answer), strategy=each.plugin, budget="no budget") if not isinstance(answer, Move) else answer
        for answer in each.function(tasks)
    ]


def _chosen(answer: Any) -> Any:
    """Return the victims of an answer with or without a vote."""
    return answer[0] if isinstance(answer, tuple) else answer


def _ids_of(each: Registered[Any], tasks: Sequence[Task]) -> set[TaskId]:
    """Query the tasks that may be evicted, and read the whole answer."""
    return {_task(answer).id for answer in each.function(tasks)}


def _task(answer: object) -> Task:
    if not isinstance(answer, Task):
        raise TypeError(f"a task was expected, got {type(answer).__name__}")
    return answer
