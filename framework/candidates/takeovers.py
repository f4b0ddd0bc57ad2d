"""Takeovers: running pods whose capacity a Reservation reserves when it is placed (R33 to R35).

The pods go on running, and use the Reservation from then on. So the Reservation needs free room for its request without
theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import TaskId
from pyroclast.model.reservations.reserved import counted_for
from pyroclast.model.reservations.use import Takeover
from pyroclast.model.resources import PODS
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task

__all__ = ["TakenOver", "Takeovers"]


_MOST_COUNTS: Final = 4_096
"""Pairs of templates whose amounts are kept; without effect on the outcome."""


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What a placement takes over, or what the eviction of such a pod leaves to its Reservation; base units."""

    task: Task
    """The task that stands for the Reservation."""
    column: int
    pods: tuple[Task, ...]
    amounts: IntArray
    """What the Reservation does not need beside these pods, shape (R,)."""
    verb: Verb
    evicted: TaskId | None = None
    """The pod, or the task that stands for the Reservation, that is evicted."""


class Takeovers:
    """Pods that Reservations take over in one session; R resources."""

    def __init__(self, nodes: SessionNodes) -> None:
        self._nodes = nodes
        self._counts: dict[tuple[int, int], IntArray] = {}
        """What counts of the pods of a template, by the template of the Reservation and theirs."""
        self._taken: dict[TaskId, tuple[Task, ...]] = {}
        """Pods by the Reservation that takes them over."""
        self._owned: dict[TaskId, Task] = {}
        """The task that stands for this Reservation, by pod."""
        self._evicted: set[TaskId] = set()
        """Those of both that are evicted. Asked for membership alone."""

    def pods_of(self, reservation: TaskId) -> tuple[Task, ...]:
        """Return the pods that a Reservation takes over."""
        return self._taken.get(reservation, ())

    def choose(self, task: Task, takeover: Takeover, column: int, free: IntArray) -> tuple[Task, ...] | None:
        """Return the pods that a Reservation would take over on a node; None if it does not fit.

        Args:
            task: The task that stands for the Reservation.
            takeover: Pods that may be taken over.
            column: The node.
            free: Free amounts of the node, base units, shape (R,).
        """
        if takeover.prefers_none and not takeover.is_required and self._has(task, free):
            return ()
        request = self._nodes.needs(task.template).request
        chosen: list[Task] = []
        total = np.zeros_like(request)
        useless: set[int] = set()
        """Templates of which no further pod helps. Thousands of equal pods may run on the nodes."""
        for pod in self._candidates(takeover, column):
            if pod.template.number in useless:
                continue
            amounts = self._counted(task, pod)
            fits = bool((total + amounts <= request).all())
            if not fits or not self._is_concerned(amounts):
                useless.add(pod.template.number)
            elif takeover.takes_several:
                chosen.append(pod)
                total = total + amounts
                if self._has(task, free + total):
                    return tuple(chosen)
            elif self._has(task, free + amounts):
                return (pod,)
            else:
                useless.add(pod.template.number)
        return () if not takeover.is_required and self._has(task, free) else None

    def _candidates(self, takeover: Takeover, column: int) -> Sequence[Task]:
        there = self._nodes.tasks_on(column)
        names = takeover.candidates.get(self._nodes.table.names[column], ())
        pods = (there[each] for each in names if each in there and each not in self._owned)
        return [pod for pod in pods if pod.status in ALLOCATED_STATUSES]

    def _is_concerned(self, amounts: IntArray) -> bool:
        others = np.arange(len(amounts)) != self._nodes.resources.rows[PODS]
        return bool((amounts[others] > 0).any())

    def _counted(self, task: Task, pod: Task) -> IntArray:
        """Return what counts of the request of a pod; pods themselves count once for the Reservation."""
        key = task.template.number, pod.template.number
        known = self._counts.get(key)
        if known is None:
            if len(self._counts) >= _MOST_COUNTS:
                self._counts.clear()
            known = self._counts[key] = self._count(task, pod)
        return known

    def _count(self, task: Task, pod: Task) -> IntArray:
        amounts = {name: amount for name, amount in task.template.request.items() if name != PODS}
        counted = dict(counted_for(pod.template.request, amounts))
        counted.pop(PODS, None)
        return self._nodes.resources.vector(counted)

    def _has(self, task: Task, amounts: IntArray) -> bool:
        return bool((self._nodes.needs(task.template).thresholds[:, 0] <= amounts).all())

    def credit(self, task: Task, pods: Sequence[Task]) -> IntArray:
        """Return the amounts that a Reservation does not need beside pods that it takes over, shape (R,)."""
        total = sum((self._counted(task, pod) for pod in pods), np.zeros_like(self._nodes.needs(task.template).request))
        if pods:
            total[self._nodes.resources.rows[PODS]] = 1
        credit: IntArray = total
        return credit

    def take(self, task: Task, column: int, pods: tuple[Task, ...], verb: Verb) -> TakenOver:
        """Take pods over, before the amounts of the Reservation are added to the node."""
        taken = TakenOver(task, column, pods, self.credit(task, pods), verb)
        self.apply(taken, 1)
        return taken

    def evict(self, task: Task) -> TakenOver | None:
        """Keep what does not become free when a pod is evicted that was taken over, or its Reservation.

        The Reservation keeps what the pod leaves, and pods keep what they share with their Reservation.

        Returns:
            What stays in use; None if the task is neither, or all of it becomes free.
        """
        owner, pods = self._owned.get(task.id), tuple(each for each in (task,) if each.id in self._owned)
        if task.id in self._taken:
            owner, pods = task, tuple(pod for pod in self._taken[task.id] if pod.id not in self._evicted)
        if owner is None or task.node is None or (owner.id != task.id and owner.id in self._evicted):
            return None
        column = self._nodes.table.column[task.node]
        taken = TakenOver(owner, column, pods, self.credit(owner, pods), Verb.EVICT, evicted=task.id)
        self.apply(taken, 1)
        return taken

    def apply(self, taken: TakenOver, sign: int) -> None:
        """Count what was taken over, or undo it with -1."""
        amounts = sign * taken.amounts
        if taken.evicted is not None:
            self._nodes.credit(taken.column, pipelined=-amounts)
            (self._evicted.add if sign > 0 else self._evicted.discard)(taken.evicted)
            return
        if taken.verb is Verb.ALLOCATE:
            self._nodes.credit(taken.column, used=amounts, viewed=amounts)
        else:
            self._nodes.credit(taken.column, pipelined=amounts, viewed=amounts)
        if sign > 0:
            self._taken[taken.task.id] = taken.pods
            self._owned.update((pod.id, taken.task) for pod in taken.pods)
        else:
            self._taken.pop(taken.task.id, None)
            for pod in taken.pods:
                self._owned.pop(pod.id, None)
