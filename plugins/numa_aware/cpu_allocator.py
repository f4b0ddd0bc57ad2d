"""CPU allocator: the free CPUs inside each node; a ledger of the session.

Free is what the node's Numatopology says, less what pods on the node will get that it does not list yet, less what was
placed in this session. All of it follows from the objects, so it is the same after a restart.

Nodes that are equal inside share a number, so that what is asked about them is asked once for all of them.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import NamedTuple

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import IntArray
from pyroclast.model.cpusets import CpuSet
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.numa import CpuLayout, NumaNode
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus, task_order_key
from pyroclast.plugins.numa_aware.alignment import aligned
from pyroclast.plugins.numa_aware.cpu_requests import Wish, Wishes
from pyroclast.plugins.numa_aware.selection import reserved_cpus, select

__all__ = ["CpuAllocator", "Inside", "Unknown", "free_beside"]


class Unknown(Enum):
    """Why nothing is known of the inside of a node."""

    ABSENT = "it has no Numatopology"
    UNREADABLE = "its Numatopology cannot be read"


class Inside(NamedTuple):
    """The inside of a node as it is now."""

    layout: CpuLayout
    policy: str
    is_static: bool
    reserved: int
    free: CpuSet
    aligns: bool
    """Whether its kubelet aligns containers."""


class CpuAllocator(Ledger):
    """The insides of nodes, as the session goes on; looked at when they are first asked about."""

    def __init__(self, session: Session, plugin: str, wishes: Wishes) -> None:
        self._plugin = plugin
        self._wishes = wishes
        self._table = session.nodes.table
        self.readings: Mapping[NodeName, NumaNode | None] = session.snapshot.numa
        """What Numatopologies say, by node; None for one that cannot be read."""
        self._insides: list[Inside | Unknown] = []
        self._numbers: dict[Inside | Unknown, int] = {}
        self._at: IntArray | None = None
        """Number of each column's inside, shape (N,); None until somebody asks."""
        self._held: dict[TaskId, CpuSet] = {}
        """What was placed in this session, by task."""

    def inside(self, column: int) -> Inside | Unknown:
        """Return the inside of a node as it is now."""
        return self._insides[int(self._now[column])]

    def by_inside(self, index: IntArray, ask: Callable[[Inside | Unknown], int]) -> IntArray:
        """Ask about some columns, once for those that are equal inside; returns the answers, shape of `index`."""
        now = self._now
        if index.size == 1:
            return np.array([ask(self.inside(int(index[0])))], dtype=np.int64)
        distinct, where = np.unique(now[index], return_inverse=True)
        return np.array([ask(self._insides[number]) for number in distinct.tolist()], dtype=np.int64)[where]

    def apply(self, change: Change) -> Refusal | None:
        """Give tasks that are placed their CPUs, or refuse all of them; who is asked to leave keeps its own."""
        wish = self._wish(change)
        if wish is None:
            return None
        given: list[tuple[int, TaskId, CpuSet]] = []
        more: dict[int, CpuSet] = {}
        for task, column in zip(change.tasks, change.columns, strict=True):
            inside = self.inside(column)
            if not isinstance(inside, Inside) or not inside.aligns:
                continue
            free = inside.free & ~more.get(column, 0)
            answer = aligned(inside.layout, inside.policy, inside.reserved, free, wish.cpus)
            if answer.refused is not None:
                return self._refusal(wish.containers[answer.refused])
            if answer.cpus:
                given.append((column, task.id, answer.cpus))
                more[column] = more.get(column, 0) | answer.cpus
        for column, task_id, cpus in given:
            self._held[task_id] = cpus
            self._exchange(column, taken=cpus)
        return None

    def revert(self, change: Change) -> None:
        """Take the CPUs back."""
        if self._wish(change) is None:
            return
        for task, column in zip(change.tasks, change.columns, strict=True):
            cpus = self._held.pop(task.id, None)
            if cpus is not None:
                self._exchange(column, given_back=cpus)

    def picture(self) -> tuple[list[Inside | Unknown], Mapping[TaskId, CpuSet]]:
        """Return all that can be seen of it: each node's inside, and what tasks hold."""
        return [self.inside(column) for column in range(len(self._table))], dict(self._held)

    @property
    def _now(self) -> IntArray:
        if self._at is None:
            self._at = np.array([self._number(self._at_first(column)) for column in range(len(self._table))], np.int64)
        return self._at

    def _at_first(self, column: int) -> Inside | Unknown:
        name, tasks = self._table.names[column], self._table.tasks[column]
        node = self.readings.get(name)
        if node is None:
            return Unknown.UNREADABLE if name in self.readings else Unknown.ABSENT
        # where no container is aligned nobody asks who has which CPUs, and placing counts none
        free = node.derive(tasks, partial(free_beside, node, tasks, self._wishes)) if node.aligns else node.free or 0
        return Inside(node.layout, node.policy, node.is_static, node.reserved, free, node.aligns)

    def _number(self, inside: Inside | Unknown) -> int:
        number = self._numbers.get(inside)
        if number is None:
            number = self._numbers[inside] = len(self._insides)
            self._insides.append(inside)
        return number

    def _exchange(self, column: int, *, taken: CpuSet = 0, given_back: CpuSet = 0) -> None:
        inside = self.inside(column)
        assert isinstance(inside, Inside), "CPUs are taken where they are known"
        self._now[column] = self._number(inside._replace(free=(inside.free | given_back) & ~taken))

    def _wish(self, change: Change) -> Wish | None:
        """Return what the tasks of a change want; None where nothing of it is counted."""
        return None if change.verb is Verb.EVICT else self._wishes.of(change.tasks[0])

    def _refusal(self, container: str) -> Refusal:
        message = f"container {container} cannot be assigned by numa"
        return Refusal(plugin=self._plugin, reason="NumaNotAligned", message=message, resolvable=False)


def free_beside(node: NumaNode, tasks: Mapping[TaskId, Task], wishes: Wishes) -> CpuSet:
    """Return the CPUs of a node that are free beside the tasks on it: what is not listed yet is foreseen.

    Tasks are taken in the order of their age, as the scheduler places equals, and get what the kubelet's policy gives
    them; one that it would turn away has its number of CPUs all the same, for it is there.
    """
    free = node.free or 0
    wishing = ((task, wishes.of(task)) for task in tasks.values())
    unlisted = [(task, wish.cpus) for task, wish in wishing if wish is not None and _will_take(node, task)]
    for _, cpus in sorted(unlisted, key=lambda entry: (entry[0].created, task_order_key(entry[0]))):
        answer = aligned(node.layout, node.policy, node.reserved, free, cpus)
        free &= ~(answer.cpus if answer.refused is None else _anywhere(node, free, sum(cpus)))
    return free


def _will_take(node: NumaNode, task: Task) -> bool:
    """Tell whether a task on a node has, or will have, CPUs that the node's topology still calls free."""
    # an old exporter lists nobody: who runs has its CPUs, and they are taken out already
    is_listed = node.has_seen(task) if node.tells_pods else task.status in {TaskStatus.RUNNING, TaskStatus.RELEASING}
    return not is_listed


def _anywhere(node: NumaNode, free: CpuSet, count: int) -> CpuSet:
    """Take as many CPUs as asked for, or all that are left."""
    available = free & ~reserved_cpus(node.layout, node.reserved)
    return select(node.layout, available, min(count, available.bit_count())) or 0
