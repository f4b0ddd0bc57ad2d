"""CPU allocator: free CPUs of each node, as a ledger of the session.

Free CPUs are those of the node's Numatopology, without the CPUs of pods that it does not list yet and without
placements of this session. They follow from the objects, so they are the same after a restart.

Nodes with an equal state share a number, so that each question is evaluated once for all of them.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import IntArray
from pyroclast.model.cpusets import CpuSet
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.numa import CpuLayout, NumaNode
from pyroclast.model.refusals import Refusal
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task, TaskStatus, task_order_key
from pyroclast.plugins.numa_aware.alignment import aligned
from pyroclast.plugins.numa_aware.cpu_requests import CpuRequest, CpuRequests
from pyroclast.plugins.numa_aware.selection import reserved_cpus, select

__all__ = ["CpuAllocator", "Inside", "Unknown", "free_beside"]


_NODENUMA: Final = "nodenuma"
"""Plugin that gives CPUs itself. Only one of the two decides about a node."""


class Unknown(Enum):
    """Why the CPUs of a node are unknown."""

    ABSENT = "it has no Numatopology"
    UNREADABLE = "its Numatopology cannot be read"


class Inside(NamedTuple):
    """CPU state of a node."""

    layout: CpuLayout
    policy: str
    is_static: bool
    reserved: int
    free: CpuSet
    aligns: bool
    """Whether its kubelet aligns containers."""


class CpuAllocator(Ledger):
    """CPU states of nodes during the session. A state is calculated at its first use."""

    def __init__(self, session: Session, plugin: str, cpu_requests: CpuRequests) -> None:
        self._plugin = plugin
        self._cpu_requests = cpu_requests
        self._table = session.nodes.table
        self.parsed_by_node: Mapping[NodeName, NumaNode | None] = _own(session)
        """Parsed Numatopologies by node, without nodes of nodenuma; None for one that cannot be parsed."""
        self._insides: list[Inside | Unknown] = []
        self._numbers: dict[Inside | Unknown, int] = {}
        self._at: IntArray | None = None
        """Number of each column's state, shape (N,); None before the first use."""
        self._held: dict[TaskId, CpuSet] = {}
        """CPUs of placements of this session, by task."""

    def inside(self, column: int) -> Inside | Unknown:
        """Return the current state of a node."""
        return self._insides[int(self._now[column])]

    def by_inside(self, index: IntArray, ask: Callable[[Inside | Unknown], int]) -> IntArray:
        """Call `ask` for columns, once for each distinct state. Return the answers, shape of `index`."""
        now = self._now
        if index.size == 1:
            return np.array([ask(self.inside(int(index[0])))], dtype=np.int64)
        distinct, where = np.unique(now[index], return_inverse=True)
        return np.array([ask(self._insides[number]) for number in distinct.tolist()], dtype=np.int64)[where]

    def apply(self, change: Change) -> Refusal | None:
        """Allocate CPUs to placed tasks, or refuse all of them. An evicted task keeps its CPUs."""
        request = self._cpu_request(change)
        if request is None:
            return None
        given: list[tuple[int, TaskId, CpuSet]] = []
        more: dict[int, CpuSet] = {}
        for task, column in zip(change.tasks, change.columns, strict=True):
            inside = self.inside(column)
            if not isinstance(inside, Inside) or not inside.aligns:
                continue
            free = inside.free & ~more.get(column, 0)
            answer = aligned(inside.layout, inside.policy, inside.reserved, free, request.cpus)
            if answer.refused is not None:
                return self._refusal(request.containers[answer.refused])
            if answer.cpus:
                given.append((column, task.id, answer.cpus))
                more[column] = more.get(column, 0) | answer.cpus
        for column, task_id, cpus in given:
            self._held[task_id] = cpus
            self._exchange(column, taken=cpus)
        return None

    def revert(self, change: Change) -> None:
        """Release the CPUs."""
        if self._cpu_request(change) is None:
            return
        for task, column in zip(change.tasks, change.columns, strict=True):
            cpus = self._held.pop(task.id, None)
            if cpus is not None:
                self._exchange(column, given_back=cpus)

    def picture(self) -> tuple[list[Inside | Unknown], Mapping[TaskId, CpuSet]]:
        """Return the whole state: the state of each node, and the CPUs of tasks."""
        return [self.inside(column) for column in range(len(self._table))], dict(self._held)

    @property
    def _now(self) -> IntArray:
        if self._at is None:
            self._at = np.array([self._number(self._at_first(column)) for column in range(len(self._table))], np.int64)
        return self._at

    def _at_first(self, column: int) -> Inside | Unknown:
        name, tasks = self._table.names[column], self._table.tasks[column]
        node = self.parsed_by_node.get(name)
        if node is None:
            return Unknown.UNREADABLE if name in self.parsed_by_node else Unknown.ABSENT
        # Without alignment no CPU is allocated to a container, and placements count none.
        free = (
            node.derive(tasks, partial(free_beside, node, tasks, self._cpu_requests)) if node.aligns else node.free or 0
        )
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

    def _cpu_request(self, change: Change) -> CpuRequest | None:
        """Return the CPU requests of the tasks of a change; None if nothing counts."""
        return None if change.verb is Verb.EVICT else self._cpu_requests.of(change.tasks[0])

    def _refusal(self, container: str) -> Refusal:
        message = f"container {container} cannot be assigned by numa"
        return Refusal(plugin=self._plugin, reason="NumaNotAligned", message=message, resolvable=False)


def _own(session: Session) -> Mapping[NodeName, NumaNode | None]:
    """Return the nodes whose kubelet gives CPUs to pods, not Koordinator's agent by the decisions of nodenuma."""
    parsed, topologies = session.snapshot.numa, session.snapshot.topologies
    if not any(option.plugin == _NODENUMA for option in session.extensions.profile.plugins):
        return parsed
    given = {name for name, each in topologies.items() if each is not None and each.layout is not None}
    return SealedDict({name: each for name, each in parsed.items() if name not in given})


def free_beside(node: NumaNode, tasks: Mapping[TaskId, Task], cpu_requests: CpuRequests) -> CpuSet:
    """Return the free CPUs of a node. CPUs of tasks that the Numatopology does not list yet are predicted.

    Tasks are processed by age, as the scheduler places equal tasks, and get the CPUs that the kubelet's policy gives
    them. A task that the policy would refuse still gets its number of CPUs, because it is on the node.
    """
    free = node.free or 0
    with_requests = ((task, cpu_requests.of(task)) for task in tasks.values())
    unlisted = [
        (task, request.cpus) for task, request in with_requests if request is not None and _will_take(node, task)
    ]
    for _, cpus in sorted(unlisted, key=lambda entry: (entry[0].created, task_order_key(entry[0]))):
        answer = aligned(node.layout, node.policy, node.reserved, free, cpus)
        free &= ~(answer.cpus if answer.refused is None else _anywhere(node, free, sum(cpus)))
    return free


def _will_take(node: NumaNode, task: Task) -> bool:
    """Return whether a task on a node uses CPUs that the node's topology still lists as free."""
    # An old exporter does not list pods: then running pods are assumed to be included.
    is_listed = node.has_seen(task) if node.tells_pods else task.status in {TaskStatus.RUNNING, TaskStatus.RELEASING}
    return not is_listed


def _anywhere(node: NumaNode, free: CpuSet, count: int) -> CpuSet:
    """Choose the requested number of CPUs, or all free ones."""
    available = free & ~reserved_cpus(node.layout, node.reserved)
    return select(node.layout, available, min(count, available.bit_count())) or 0
