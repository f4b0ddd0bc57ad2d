"""Verdicts: whether a node's kubelet has the policy of a task, and whether it can align the task now."""

from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np

from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray, ReasonArray
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task
from pyroclast.plugins.numa_aware.alignment import Aligned, aligned, numa_count
from pyroclast.plugins.numa_aware.cpu_allocator import CpuAllocator, Inside, Unknown
from pyroclast.plugins.numa_aware.cpu_requests import CpuRequest, CpuRequests

__all__ = ["Fit", "Policies"]

MOST_NAMED: Final = 100
"""Maximum number of containers, and of policies, with their own reason. Others share the last reason."""
MOST_SHOWN: Final = 40
"""Maximum number of shown characters of a policy. Users may write any word, and conditions repeat reasons."""


class Policies:
    """Verdicts for tasks that name a policy. No eviction resolves them."""

    REASONS: ClassVar[tuple[Reason, ...]] = (
        Reason("numa info is empty", resolvable=False),
        Reason("no topo information", resolvable=False),
        Reason("cpu manager policy isn't static", resolvable=False),
    )
    ABSENT, UNREADABLE, NOT_STATIC = range(1, 4)

    def __init__(self, allocator: CpuAllocator, cpu_requests: CpuRequests) -> None:
        self._allocator = allocator
        self._cpu_requests = cpu_requests
        self._named = sorted({node.policy for node in allocator.parsed_by_node.values() if node is not None})
        """Policies of nodes."""

    def reasons(self, task: Task) -> Sequence[Reason]:
        """Return the reasons for a task; the last ones name the policy of the node."""
        request = self._cpu_requests.of(task)
        policy = "" if request is None else _shown(request.policy)
        named = map(_shown, self._named[:MOST_NAMED])
        differing = (f"task topology policy[{policy}] is different with node[{other}]" for other in named)
        return (*self.REASONS, *(Reason(text, resolvable=False) for text in differing))

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes with another policy than that of the task; None if the task names none."""
        request = self._cpu_requests.of(task)
        if request is None or not request.policy:
            return None
        return self._allocator.by_inside(columns.index, lambda inside: self._verdict(request, inside)).astype(np.uint8)

    def _verdict(self, request: CpuRequest, inside: Inside | Unknown) -> int:
        if not isinstance(inside, Inside):
            return self.UNREADABLE if inside is Unknown.UNREADABLE else self.ABSENT
        if not inside.is_static:
            return self.NOT_STATIC
        if inside.policy == request.policy:
            return 0
        return len(self.REASONS) + 1 + min(self._named.index(inside.policy), MOST_NAMED - 1)


class Fit:
    """Whether free CPUs can be allocated to a task's containers, and on how many NUMA nodes."""

    REASONS: ClassVar[tuple[Reason, ...]] = (Reason("cpu allocatable map is empty"),)
    NO_CPUS = 1

    def __init__(self, allocator: CpuAllocator, cpu_requests: CpuRequests) -> None:
        self._allocator = allocator
        self._cpu_requests = cpu_requests
        self._are_given = any(node is not None and node.is_static for node in allocator.parsed_by_node.values())
        """Whether any kubelet gives containers exclusive CPUs."""

    def reasons(self, task: Task) -> Sequence[Reason]:
        """Return the reasons for a task; the last ones name the refused container."""
        request = self._cpu_requests.of(task)
        names = () if request is None else request.containers[:MOST_NAMED]
        refused_texts = (f"container {name} cannot be assigned by numa" for name in names)
        return (*self.REASONS, *(Reason(text, resolvable=False) for text in refused_texts))

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes whose kubelet would not admit the task; None if none would refuse."""
        request = self._cpu_requests.of(task)
        if request is None or not self._are_given or not (request.policy or any(request.cpus)):
            return None
        return self._allocator.by_inside(columns.index, lambda inside: self._verdict(request, inside)).astype(np.uint8)

    def _verdict(self, request: CpuRequest, inside: Inside | Unknown) -> int:
        if not isinstance(inside, Inside) or not inside.is_static:
            return 0
        if request.policy and not inside.free:
            return self.NO_CPUS
        refused = _on(inside, request).refused if inside.aligns else None
        return 0 if refused is None else len(self.REASONS) + 1 + min(refused, MOST_NAMED - 1)

    def numa_counts(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Return the number of NUMA nodes for the task's CPUs; None for tasks without a policy."""
        request = self._cpu_requests.of(task)
        if request is None or not request.policy:
            return None
        return self._allocator.by_inside(columns.index, lambda inside: _numa_count(inside, request)).astype(np.float64)


def _on(inside: Inside, request: CpuRequest) -> Aligned:
    return aligned(inside.layout, inside.policy, inside.reserved, inside.free, request.cpus)


def _numa_count(inside: Inside | Unknown, request: CpuRequest) -> int:
    if not isinstance(inside, Inside) or not inside.aligns:
        return 0
    return numa_count(inside.layout, _on(inside, request).cpus)


def _shown(policy: str) -> str:
    return policy if len(policy) <= MOST_SHOWN else policy[:MOST_SHOWN] + "…"
