"""Device metrics: gauges of virtual cards by node, updated for changed nodes only."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyroclast.model.devices.cards import Holder
from pyroclast.model.devices.settings import VgpuSettings
from pyroclast.model.devices.vgpu_register import VgpuCards
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.nodes import Node
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.deviceshare.arguments import DeviceShareArgs
from pyroclast.plugins.deviceshare.settings import settings_of
from pyroclast.plugins.deviceshare.vgpu import Vgpu
from pyroclast.scheduler.monitoring.metrics import Labels, Metrics

__all__ = ["DeviceFigures"]

_PREFIX: Final = "volcano_vgpu_device_"
_SHARED: Final = f"{_PREFIX}shared_number"
_MEMORY: Final = f"{_PREFIX}allocated_memory"
_CORES: Final = f"{_PREFIX}allocated_cores"
_LIMIT: Final = f"{_PREFIX}memory_limit"
_MEMORY_OF_POD: Final = f"{_PREFIX}memory_allocation_for_a_certain_pod"
_CORES_OF_POD: Final = f"{_PREFIX}core_allocation_for_a_certain_pod"

Series = tuple[str, Labels]


@dataclass(slots=True)
class _Known:
    """The last published state of one node, and its series."""

    node: Node
    tasks: Mapping[TaskId, Task]
    series: set[Series] = field(default_factory=set)


class DeviceFigures:
    """Updates the device gauges of one daemon."""

    def __init__(self, metrics: Metrics) -> None:
        """Start without series."""
        self._metrics = metrics
        self._nodes: dict[NodeName, _Known] = {}
        self._settings: VgpuSettings | None = None

    def update(self, snapshot: Snapshot, args: DeviceShareArgs | None) -> None:
        """Set the gauges of a cycle. There are none if the configuration has no virtual devices."""
        is_on = args is not None and args.vgpu
        settings = settings_of(args, snapshot.objects.config_maps)[0].nvidia if args is not None and is_on else None
        if settings != self._settings:
            self._keep(set())
            self._settings = settings
        if args is None or settings is None:
            return
        family, table = Vgpu(args, settings), snapshot.nodes
        self._keep(set(table.names))
        for name, node, tasks in zip(table.names, table.facts.nodes, table.tasks, strict=True):
            known = self._nodes.get(name)
            if known is None or known.node is not node or known.tasks is not tasks:
                self._update_node(family, _Known(node, tasks))

    def _update_node(self, family: Vgpu, now: _Known) -> None:
        name = now.node.name
        values = dict(_values(family, now))
        now.series = set(values)
        before = self._nodes.get(name)
        self._forget(before.series - now.series if before is not None else set())
        for (metric, labels), value in values.items():
            self._metrics.put(metric, value, *labels)
        self._nodes[name] = now

    def _keep(self, names: set[NodeName]) -> None:
        for name in self._nodes.keys() - names:
            self._forget(self._nodes.pop(name).series)

    def _forget(self, series: set[Series]) -> None:
        for metric, labels in series:
            self._metrics.drop(metric, [labels])


def _values(family: Vgpu, now: _Known) -> Iterator[tuple[Series, float]]:
    """Yield each series of a node with its value."""
    try:
        cards = family.cards(now.node)
    except ValueError:  # the plugin reports it; the node has no usable devices
        cards = None
    if cards is None:
        return
    held = [
        (task.name, holder)
        for task in now.tasks.values()
        if task.status is not TaskStatus.RELEASING and (holder := _held(family, cards, task)) is not None
    ]
    for position in range(len(cards.cards)):
        yield from _of_card(cards, position, str(now.node.name), held)


def _held(family: Vgpu, cards: VgpuCards, task: Task) -> Holder | None:
    try:
        demand = family.demand(task.template, task)
    except ValueError:  # the plugin reports it
        demand = None
    return family.held(cards, task, demand)


def _of_card(
    cards: VgpuCards, position: int, node: str, held: Sequence[tuple[str, Holder]]
) -> Iterator[tuple[Series, float]]:
    card = cards.cards[position]
    labels = (card.uuid, node)
    by_holder = ((pod, [use for use in holder.uses if use.card == position]) for pod, holder in held)
    sharing = [
        (pod, sum(use.memory for use in uses), sum(use.cores for use in uses)) for pod, uses in by_holder if uses
    ]
    yield (_LIMIT, labels), card.memory
    yield (_SHARED, labels), len(sharing)
    yield (_MEMORY, labels), sum(memory for _, memory, _ in sharing)
    yield (_CORES, labels), sum(cores for _, _, cores in sharing)
    by_pod: dict[str, tuple[int, int]] = {}
    for pod, memory, cores in sharing:  # the metric has no namespace label: pods with equal names share a series
        before = by_pod.get(pod, (0, 0))
        by_pod[pod] = before[0] + memory, before[1] + cores
    for pod, (memory, cores) in by_pod.items():
        yield (_MEMORY_OF_POD, (*labels, pod)), memory
        yield (_CORES_OF_POD, (*labels, pod)), cores
