"""Deviceshare: allocate cards of nodes, or parts of them, to pods.

Points: pre-predicate, predicate, node order, filter of reservations; ledgers for cards and for locks of nodes;
annotations and preparations of bindings.
Arguments: `DeviceShareArgs`.  Rules, formula and example: docs/plugins/deviceshare.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray
from pyroclast.model.devices.koordinator.templates import Templates
from pyroclast.model.devices.settings import DeviceSettings, VgpuSettings
from pyroclast.model.ids import QueueName
from pyroclast.model.nodenuma.names import NUMA_SPEC
from pyroclast.model.queues import with_ancestors
from pyroclast.model.refusals import Refusal
from pyroclast.model.required_rules import DEVICE_SCOPE, NUMA_ALIGNMENT
from pyroclast.model.resources import MILLI
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task
from pyroclast.plugins.deviceshare import endpoints, locks
from pyroclast.plugins.deviceshare.arguments import DeviceShareArgs
from pyroclast.plugins.deviceshare.ascend import Ascend
from pyroclast.plugins.deviceshare.device_allocator import UNREADABLE, DeviceAllocator
from pyroclast.plugins.deviceshare.family import Family
from pyroclast.plugins.deviceshare.gpu_share import GpuShare
from pyroclast.plugins.deviceshare.koordinator.demand import DeviceDemand
from pyroclast.plugins.deviceshare.koordinator.family import Koordinator
from pyroclast.plugins.deviceshare.locks import Locks
from pyroclast.plugins.deviceshare.settings import NAME, map_of, settings_of, templates_of
from pyroclast.plugins.deviceshare.vgpu import Vgpu

__all__ = ["DeviceShare"]

FULL_SCORE: Final = 100.0
INVALID_MAP: Final = "DeviceConfigInvalid"
INVALID_CARDS: Final = "DeviceRegisterInvalid"
INVALID_IDS: Final = "DeviceIdsInvalid"
"""Reasons of events."""


@dataclass(frozen=True)
class DeviceShare(Plugin):
    """Place pods on the cards of nodes."""

    name = NAME
    arguments = DeviceShareArgs
    args: DeviceShareArgs = field(default_factory=DeviceShareArgs)

    def endpoints(self) -> Mapping[str, contract.Endpoint]:
        """Return the endpoints of Koordinator's devices."""
        return {"nodeDeviceSummaries": endpoints.summaries, "nodeDeviceSummaries/{name}": endpoints.summary}

    @property
    def watches_clock(self) -> bool:  # type: ignore[override]  # it is only read
        """Whether decisions depend on the time: locks expire."""
        return self.args.node_lock or self.args.adapts

    def on_session_open(self, session: Session) -> None:
        """Register every extension point for the enabled families."""
        if self.args.gpu_sharing or self.args.gpu_number:
            self._register(session, GpuShare(by_memory=self.args.gpu_sharing))
        elif self.args.koordinator:
            for rule in (DEVICE_SCOPE, NUMA_ALIGNMENT):
                session.extensions.register_rule(self.name, rule)
            allocator = self._register(session, Koordinator(self.args.rules(self._templates(session))))
            exclusive = partial(_refuse_exclusive, session, allocator)
            session.extensions.register(contract.PRE_PREDICATE, self.name, exclusive, part="exclusive")
            if self.args.adapts:
                session.extensions.register_labels(self.name, allocator.labels)
        elif self.args.vgpu:
            settings = self._settings(session).nvidia
            allocator = self._register(session, Vgpu(self.args, settings))
            session.extensions.on_close(self.name, lambda: _count(session, allocator, settings))
        if self.args.ascend_hami:
            self._register(session, Ascend(self.args, self._settings(session).vnpus))

    def _register(self, session: Session, family: Family[Any, Any]) -> DeviceAllocator:
        allocator = DeviceAllocator(session, family)
        session.extensions.register_ledger(self.name, allocator)
        session.extensions.register_annotations(self.name, allocator.annotations)
        session.extensions.register(contract.PRE_PREDICATE, self.name, allocator.refuse_unreadable, part=family.name)
        if session.reserved:
            session.extensions.register(
                contract.RESERVATION_FILTER, self.name, allocator.refuse_reservation, part=family.name
            )
        session.extensions.register_numa_hints(self.name, allocator.numa_hints)
        session.extensions.register(
            contract.PREDICATE,
            self.name,
            allocator.never,
            locality=Locality.FACTS,
            reasons=(*family.never, UNREADABLE),
            part=f"{family.name} never",
        )
        has_locks = self.args.adapts if self.args.koordinator else self.args.node_lock
        if has_locks:
            self._register_locks(session, Locks(session, allocator))
        for part, function, locality, cares in (
            ("cards", allocator.of_template, Locality.NODE, None),
            ("cards of one", allocator.of_task, Locality.GLOBAL, allocator.asks_alone),
        ):
            session.extensions.register(
                contract.PREDICATE,
                self.name,
                function,
                locality=locality,
                reasons=family.now,
                cares=cares,
                part=f"{family.name} {part}",
            )
        if self.args.weight > 0:
            self._register_scores(session, allocator)
        session.extensions.on_close(self.name, lambda: _record_unreadable(session, allocator))
        return allocator

    def _register_locks(self, session: Session, held: Locks) -> None:
        session.extensions.register_ledger(self.name, held)
        session.extensions.register_preparations(self.name, held.preparations)
        session.extensions.register(
            contract.PREDICATE,
            self.name,
            held.verdicts,
            locality=Locality.NODE,
            reasons=locks.REASONS,
            part=f"{held.family} locks",
        )

    def _register_scores(self, session: Session, allocator: DeviceAllocator) -> None:
        normalise = compared(self.args.weight) if allocator.family.compares_nodes else None
        for part, function, locality, cares in (
            ("cards", allocator.scores_of_template, Locality.NODE, None),
            ("cards of one", allocator.scores_of_task, Locality.GLOBAL, allocator.asks_alone),
        ):
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                function if normalise is not None else weighted(function, self.args.weight),
                locality=locality,
                cares=cares,
                part=f"{allocator.family.name} {part}",
                normalise=normalise,
                weight=self.args.weight,
            )

    def _settings(self, session: Session) -> DeviceSettings:
        """Return the settings of the device ConfigMap; one that cannot be read causes an event and is ignored."""
        settings, fault = settings_of(self.args, session.snapshot.objects.config_maps)
        if fault:
            self._record_map_fault(session, f"{fault}; the defaults apply")
        return settings

    def _templates(self, session: Session) -> Templates:
        """Return the permitted shares of NPUs; a ConfigMap that cannot be read causes an event and permits none."""
        templates, fault = templates_of(self.args, session.snapshot.objects.config_maps)
        if fault:
            self._record_map_fault(session, f"{fault}; no share of an NPU is allocated")
        return templates

    def _record_map_fault(self, session: Session, message: str) -> None:
        named = map_of(self.args)
        assert named is not None, "there is no fault without a ConfigMap"
        metadata = session.snapshot.objects.config_maps["/".join(named)].metadata
        session.report.warn_once("ConfigMap", metadata, INVALID_MAP, message)


def weighted(
    scores: Callable[[Task, NodeColumns], FloatArray | None], weight: int
) -> Callable[[Task, NodeColumns], FloatArray | None]:
    """Round scores to whole numbers, halves up, and multiply them by a weight."""

    def score(task: Task, columns: NodeColumns) -> FloatArray | None:
        found = scores(task, columns)
        return None if found is None else np.floor(found + 0.5) * weight

    return score


def compared(weight: int) -> Callable[[FloatArray], FloatArray]:
    """Rescale scores so that the best node has 100, rounded down, and weigh them. Without scores all are 0."""

    def normalise(scores: FloatArray) -> FloatArray:
        best = scores.max(initial=0.0)
        return np.floor(scores * FULL_SCORE / best) * weight if best > 0 else np.zeros_like(scores)

    return normalise


def _refuse_exclusive(session: Session, allocator: DeviceAllocator, task: Task) -> Refusal | None:
    """Refuse pods with devices that need exclusive NUMA nodes, unless a plugin allocates NUMA nodes."""
    demand: DeviceDemand | None = allocator.demand_of(task)
    if demand is None or not demand.wishes.needs_whole_numa or session.extensions.plans_numa:
        return None
    message = f"{NUMA_SPEC}: singleNUMANodeExclusive: Required needs the plugin nodenuma"
    return Refusal(plugin=allocator.family.name, reason="InvalidDeviceRequest", message=message, resolvable=False)


def _count(session: Session, allocator: DeviceAllocator, settings: VgpuSettings) -> None:
    for queue, amounts in _differences_by_queue(session, allocator, settings).items():
        session.report.count_otherwise(queue, amounts)


def _record_unreadable(session: Session, allocator: DeviceAllocator) -> None:
    """Record events about annotations of nodes and pods that cannot be read."""
    for column, why in allocator.unreadable():
        node = session.nodes.facts.nodes[column].object
        if node is not None:
            message = f"{allocator.family.name}: {why}; the node accepts no pod that requests its cards"
            session.report.warn_once("Node", node.metadata, INVALID_CARDS, message)
    for task, why in allocator.unread:
        session.report.warn_once("Pod", task.pod.metadata, INVALID_IDS, why, job=task.job)


def _differences_by_queue(
    session: Session, device_allocator: DeviceAllocator, settings: VgpuSettings
) -> dict[QueueName, dict[str, int]]:
    """Return how much more queues use than their tasks request, ancestors included, in thousandths by name.

    For a task with cards, the memory and cores of each of its cards count instead of the requests of its containers for
    these resources. A pod with two cards of 3000 memory each counts 6000.
    """
    own: dict[QueueName, dict[str, int]] = {}
    names = (settings.resource_memory_name, settings.resource_core_name)
    for column, shelf in device_allocator.shelves.items():
        tasks = session.nodes.tasks_on(column) if shelf.holders else {}
        for task_id, holder in shelf.holders.items():
            if task_id in session.snapshot.reserve_tasks:
                continue  # its owners are charged
            task = tasks[task_id]
            job = None if task.job is None else session.snapshot.jobs.get(task.job)
            if job is not None and task.status in ALLOCATED_STATUSES:
                held = (sum(use.asked for use in holder.uses), sum(use.cores for use in holder.uses))
                amounts = own.setdefault(job.queue, {})
                for name, amount in zip(names, held, strict=True):
                    amounts[name] = amounts.get(name, 0) + amount * MILLI - task.template.request.get(name, 0)
    found: dict[QueueName, dict[str, int]] = {}
    for queue, amounts in own.items():
        for ancestor in with_ancestors(session.queues.by_name, queue):
            totals = found.setdefault(ancestor, {})
            for name, more in amounts.items():
                if name:
                    totals[name] = totals.get(name, 0) + more
    return found
