"""Verdicts: whether a node's kubelet has the policy that a task names, and whether it could align the task now."""

from collections.abc import Sequence
from typing import ClassVar, Final

import numpy as np

from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray, ReasonArray
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task
from pyroclast.plugins.numa_aware.alignment import Aligned, aligned, numa_count
from pyroclast.plugins.numa_aware.cpu_allocator import CpuAllocator, Inside, Unknown
from pyroclast.plugins.numa_aware.cpu_requests import Wish, Wishes

__all__ = ["Fit", "Policies"]

MOST_NAMED: Final = 100
"""Containers, and policies of nodes, that reasons can tell apart; those beyond are told under the last of them."""
MOST_SHOWN: Final = 40
"""Letters of a policy that reasons show: users may write any word, and reasons go into conditions, many times over."""


class Policies:
    """What tasks that name a policy ask of the kubelet of a node: no eviction changes it."""

    REASONS: ClassVar[tuple[Reason, ...]] = (
        Reason("numa info is empty", resolvable=False),
        Reason("no topo information", resolvable=False),
        Reason("cpu manager policy isn't static", resolvable=False),
    )
    ABSENT, UNREADABLE, NOT_STATIC = range(1, 4)

    def __init__(self, books: CpuAllocator, wishes: Wishes) -> None:
        self._books = books
        self._wishes = wishes
        self._named = sorted({node.policy for node in books.readings.values() if node is not None})
        """Policies of nodes."""

    def reasons(self, task: Task) -> Sequence[Reason]:
        """Say what verdicts mean for a task; the last ones name the policy of the node."""
        wish = self._wishes.of(task)
        policy = "" if wish is None else _shown(wish.policy)
        named = map(_shown, self._named[:MOST_NAMED])
        differing = (f"task topology policy[{policy}] is different with node[{other}]" for other in named)
        return (*self.REASONS, *(Reason(text, resolvable=False) for text in differing))

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes with another policy than the task names; None where it names none."""
        wish = self._wishes.of(task)
        if wish is None or not wish.policy:
            return None
        return self._books.by_inside(columns.index, lambda inside: self._verdict(wish, inside)).astype(np.uint8)

    def _verdict(self, wish: Wish, inside: Inside | Unknown) -> int:
        if not isinstance(inside, Inside):
            return self.UNREADABLE if inside is Unknown.UNREADABLE else self.ABSENT
        if not inside.is_static:
            return self.NOT_STATIC
        if inside.policy == wish.policy:
            return 0
        return len(self.REASONS) + 1 + min(self._named.index(inside.policy), MOST_NAMED - 1)


class Fit:
    """Whether the CPUs that are free now can be given to a task's containers, and how far apart they lie."""

    REASONS: ClassVar[tuple[Reason, ...]] = (Reason("cpu allocatable map is empty"),)
    NO_CPUS = 1

    def __init__(self, books: CpuAllocator, wishes: Wishes) -> None:
        self._books = books
        self._wishes = wishes
        self._are_given = any(node is not None and node.is_static for node in books.readings.values())
        """Whether any kubelet gives CPUs to containers for themselves."""

    def reasons(self, task: Task) -> Sequence[Reason]:
        """Say what verdicts mean for a task; the last ones name the container that would be turned away."""
        wish = self._wishes.of(task)
        names = () if wish is None else wish.containers[:MOST_NAMED]
        turned_away = (f"container {name} cannot be assigned by numa" for name in names)
        return (*self.REASONS, *(Reason(text, resolvable=False) for text in turned_away))

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Refuse nodes whose kubelet would turn the task away; None where none would."""
        wish = self._wishes.of(task)
        if wish is None or not self._are_given or not (wish.policy or any(wish.cpus)):
            return None
        return self._books.by_inside(columns.index, lambda inside: self._verdict(wish, inside)).astype(np.uint8)

    def _verdict(self, wish: Wish, inside: Inside | Unknown) -> int:
        if not isinstance(inside, Inside) or not inside.is_static:
            return 0
        if wish.policy and not inside.free:
            return self.NO_CPUS
        refused = _on(inside, wish).refused if inside.aligns else None
        return 0 if refused is None else len(self.REASONS) + 1 + min(refused, MOST_NAMED - 1)

    def numa_counts(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Count the NUMA nodes that the task's CPUs would come from; None for tasks that name no policy."""
        wish = self._wishes.of(task)
        if wish is None or not wish.policy:
            return None
        return self._books.by_inside(columns.index, lambda inside: _numa_count(inside, wish)).astype(np.float64)


def _on(inside: Inside, wish: Wish) -> Aligned:
    return aligned(inside.layout, inside.policy, inside.reserved, inside.free, wish.cpus)


def _numa_count(inside: Inside | Unknown, wish: Wish) -> int:
    if not isinstance(inside, Inside) or not inside.aligns:
        return 0
    return numa_count(inside.layout, _on(inside, wish).cpus)


def _shown(policy: str) -> str:
    return policy if len(policy) <= MOST_SHOWN else policy[:MOST_SHOWN] + "…"
