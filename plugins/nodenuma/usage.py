"""Usage: the CPUs and the amounts on NUMA nodes that the pods of one node hold.

What a node has in use is the sum over its holders and nothing else, so taking a holder away leaves exactly what was
there before it came. Pods whose deletion has begun still hold what they have: it counts for pods that are placed now,
and does not count for pods that wait until it is released.

What a pod on a node holds is in its annotation. Users who can write pods can write it, so it counts for at most what
the pod requests: no pod keeps more CPUs or amounts from others.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final, NamedTuple

from pyroclast.model.cpusets import CpuSet, cpu_set, members
from pyroclast.model.ids import TaskId
from pyroclast.model.nodenuma.names import NUMA_NODE_LEVEL, PCPU_LEVEL
from pyroclast.model.nodenuma.specs import resource_spec
from pyroclast.model.nodenuma.status import NumaAmounts, ResourceStatus
from pyroclast.model.numa import CpuLayout
from pyroclast.model.resources import CPU, MILLI
from pyroclast.model.tasks import Task
from pyroclast.plugins.nodenuma.hints import NumaUse

__all__ = ["NOTHING_USED", "CpuUsage", "Holders", "Holding", "add_amounts", "holding_of"]


class Holding(NamedTuple):
    """What one pod holds."""

    cpus: CpuSet = 0
    amounts: NumaAmounts = ()
    exclusive: str = ""
    """Exclusive policy of its CPUs."""


class CpuUsage(NamedTuple):
    """What the pods of a node hold together. Equal for nodes in an equal state."""

    cpus: CpuSet = 0
    exclusive_cores: CpuSet = 0
    """CPUs of pods with the policy PCPULevel."""
    exclusive_numa: CpuSet = 0
    """CPUs of pods with the policy NUMANodeLevel."""
    numa: NumaUse = NumaUse()
    amounts: NumaAmounts = ()


NOTHING_USED: Final = CpuUsage()


class Holders:
    """Holders of one node."""

    __slots__ = ("_layout", "_usages", "leaving", "staying")

    def __init__(self, layout: CpuLayout | None) -> None:
        self._layout = layout
        self.staying: dict[TaskId, Holding] = {}
        self.leaving: dict[TaskId, Holding] = {}
        """Those whose deletion has begun."""
        self._usages: dict[tuple[bool, tuple[TaskId, ...]], CpuUsage] = {}

    def put(self, task: TaskId, holding: Holding, *, leaves: bool = False) -> None:
        """Count a pod."""
        (self.leaving if leaves else self.staying)[task] = holding
        self._usages.clear()

    def take(self, task: TaskId) -> Holding | None:
        """Count a pod no more; None if it holds nothing."""
        self._usages.clear()
        return self.staying.pop(task, None)

    def leave(self, task: TaskId) -> None:
        """Count the deletion of a pod as begun."""
        holding = self.take(task)
        if holding is not None:
            self.leaving[task] = holding

    def stay(self, task: TaskId) -> None:
        """Undo `leave`."""
        holding = self.leaving.pop(task, None)
        if holding is not None:
            self.staying[task] = holding
        self._usages.clear()

    def usage(self, *, in_future: bool, without: tuple[TaskId, ...] = ()) -> CpuUsage:
        """Return what is in use now, or when leaving pods are gone; without some holders."""
        key = (in_future, without)
        known = self._usages.get(key)
        if known is None:
            held = [holding for task, holding in self.staying.items() if task not in without]
            if not in_future:
                held += self.leaving.values()
            known = self._usages[key] = _sum(held, self._layout)
        return known


def _sum(held: Iterable[Holding], layout: CpuLayout | None) -> CpuUsage:
    cpus = exclusive_cores = exclusive_numa = single = shared = 0
    amounts: dict[int, dict[str, int]] = {}
    numa_nodes: Mapping[int, CpuSet] = {} if layout is None else dict(layout.numa)
    for holding in held:
        cpus |= holding.cpus
        if holding.exclusive == PCPU_LEVEL:
            exclusive_cores |= holding.cpus
        elif holding.exclusive == NUMA_NODE_LEVEL:
            exclusive_numa |= holding.cpus
        touched = [numa for numa, there in numa_nodes.items() if there & holding.cpus] if holding.cpus else ()
        for numa in touched:
            if len(touched) > 1:
                shared |= 1 << numa
            else:
                single |= 1 << numa
        add_amounts(amounts, holding.amounts)
    summed = tuple((numa, tuple(sorted(each.items()))) for numa, each in sorted(amounts.items()))
    return CpuUsage(cpus, exclusive_cores, exclusive_numa, NumaUse(single, shared), summed)


def add_amounts(total: dict[int, dict[str, int]], amounts: NumaAmounts) -> None:
    """Add amounts to a sum by NUMA node and resource."""
    for numa, each in amounts:
        known = total.setdefault(numa, {})
        for name, amount in each:
            known[name] = known.get(name, 0) + amount


def holding_of(task: Task, status: ResourceStatus, layout: CpuLayout | None, request: Mapping[str, int]) -> Holding:
    """Return what a task on a node holds.

    Args:
        task: The task.
        status: Content of its annotation.
        layout: CPUs of the node; None if unknown.
        request: The most that counts, thousandths by resource.
    """
    cpus = 0 if layout is None else _limited(status.cpus & layout.cpus, -(-request.get(CPU, 0) // MILLI))
    return Holding(cpus, _limited_amounts(status.amounts, request), _exclusive(task) if cpus else "")


def _limited(cpus: CpuSet, most: int) -> CpuSet:
    """Return the first CPUs of a set."""
    return cpus if cpus.bit_count() <= most else cpu_set(islice(members(cpus), most))


def _limited_amounts(amounts: NumaAmounts, request: Mapping[str, int]) -> NumaAmounts:
    left = dict(request)
    found = []
    for node, each in amounts:
        counted = []
        for name, amount in each:
            part = min(amount, left.get(name, 0))
            if part:
                left[name] -= part
                counted.append((name, part))
        if counted:
            found.append((node, tuple(counted)))
    return tuple(found)


def _exclusive(task: Task) -> str:
    try:
        exclusive = resource_spec(task.pod.metadata.annotations).exclusive
    except ValueError:  # the pod runs although its policies cannot be read
        return ""
    return "" if exclusive == "None" else exclusive
