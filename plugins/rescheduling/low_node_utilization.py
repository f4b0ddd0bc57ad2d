"""Strategy lowNodeUtilization: evict pods of busy nodes above their threshold, as far as idle nodes have capacity.

Amounts are thousandths of a CPU and bytes, utilization is percent, each for CPU and memory in this order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pyroclast.model.tasks import Task

__all__ = ["Load", "NodePod", "choose", "room_of"]

WHOLE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePod:
    """One pod on a node."""

    task: Task
    request: tuple[int, ...]
    may_move: bool
    """Whether shuffle permits to move it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Utilization of one node, and its pods."""

    name: str
    used_percent: tuple[Fraction, ...]
    capacity: tuple[int, ...]
    unschedulable: bool
    pods: Sequence[NodePod]
    """Pods in the order of eviction."""


def choose(loads: Sequence[Load], low: Sequence[int], high: Sequence[int]) -> list[Task]:
    """Return the pods to move; none if no node is idle, or no node is busy.

    Args:
        loads: All nodes.
        low: Thresholds in percent; a node below all of them is idle.
        high: Thresholds in percent; a node above any of them is busy.
    """
    idle = [load for load in loads if _is_idle(load, low)]
    busy = [load for load in loads if not _is_below(load, low) and _is_busy(load, high)]
    if not idle or not busy:
        return []
    room = room_of(idle, high)
    chosen: list[Task] = []
    for load in sorted(busy, key=lambda load: (-sum(load.used_percent), load.name)):
        for pod in _leaving(load, high, room):
            room = [left - asked for left, asked in zip(room, pod.request, strict=True)]
            chosen.append(pod.task)
            if not all(room):
                return chosen
    return chosen


def room_of(idle: Sequence[Load], high: Sequence[int]) -> list[int]:
    """Return the capacity of idle nodes up to their thresholds."""
    return [
        sum(
            load.capacity[row] * mark // WHOLE - int(load.used_percent[row] * load.capacity[row] / WHOLE)
            for load in idle
        )
        for row, mark in enumerate(high)
    ]


def _is_below(load: Load, low: Sequence[int]) -> bool:
    return all(used < mark for used, mark in zip(load.used_percent, low, strict=True))


def _is_idle(load: Load, low: Sequence[int]) -> bool:
    return not load.unschedulable and _is_below(load, low)


def _is_busy(load: Load, high: Sequence[int]) -> bool:
    return any(used > mark for used, mark in zip(load.used_percent, high, strict=True))


def _leaving(load: Load, high: Sequence[int], room: Sequence[int]) -> Iterator[NodePod]:
    """Yield pods of a busy node until it is below all its thresholds; none if there is no capacity."""
    used = list(load.used_percent)
    if not all(room):
        return
    for pod in load.pods:
        if all(percent < mark for percent, mark in zip(used, high, strict=True)):
            return
        if pod.may_move:
            yield pod
            used = [
                percent - (Fraction(asked * WHOLE, offered) if offered else 0)
                for percent, asked, offered in zip(used, pod.request, load.capacity, strict=True)
            ]
