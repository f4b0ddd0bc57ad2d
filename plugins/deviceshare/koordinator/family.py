"""Koordinator's devices: reads devices, demand and annotations, and chooses devices."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

from pyroclast.model.devices.cards import Holder, Shelf, State, Use
from pyroclast.model.devices.koordinator.allocated import Allocated, read_allocated, write_allocated
from pyroclast.model.devices.koordinator.device_hints import DeviceHints, hints_of
from pyroclast.model.devices.koordinator.layout import DeviceLayout, NodeDevices, node_devices
from pyroclast.model.devices.koordinator.names import ALLOCATED, GPU, HAMI_CORE, HAMI_NODE, HINT
from pyroclast.model.devices.koordinator.requests import filled
from pyroclast.model.devices.koordinator.templates import Templates
from pyroclast.model.devices.koordinator.vendors import lock_of, vendor_annotations
from pyroclast.model.devices.locks import NodeLock
from pyroclast.model.nodes import Node
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskTemplate
from pyroclast.plugins.deviceshare.family import Chosen, DeviceQuestion, Family, Placed
from pyroclast.plugins.deviceshare.koordinator import reasons
from pyroclast.plugins.deviceshare.koordinator.alignment import ALIGNING, aligned, gpus_of, within_numa
from pyroclast.plugins.deviceshare.koordinator.claims import asked_of, beside, room_for, within
from pyroclast.plugins.deviceshare.koordinator.demand import DeviceDemand, demand_of
from pyroclast.plugins.deviceshare.koordinator.exclusive import exclusive_types, out_of_reach
from pyroclast.plugins.deviceshare.koordinator.free import Free, total_of
from pyroclast.plugins.deviceshare.koordinator.generic import amounts_of
from pyroclast.plugins.deviceshare.koordinator.needs import Need, needs_of
from pyroclast.plugins.deviceshare.koordinator.rules import BY_DEFAULT_RULES, Rules
from pyroclast.plugins.deviceshare.koordinator.together import allocate

__all__ = ["Koordinator"]

_TEXTS_KEPT: Final = 1 << 16
_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Koordinator(Family[NodeDevices, DeviceDemand]):
    """GPUs, RDMA cards and FPGAs."""

    name = "DeviceShare"
    never: ClassVar[tuple[Reason, ...]] = reasons.NEVER
    now: ClassVar[tuple[Reason, ...]] = reasons.NOW
    compares_nodes: ClassVar[bool] = True
    rules: Rules = BY_DEFAULT_RULES

    # Demand -----------------------------------------------------------------------------------------------------------

    def demand(self, template: TaskTemplate, task: Task) -> DeviceDemand | None:
        """Return the demand of a template's tasks; pods with other device hints have another template."""
        return demand_of(template, task, self.rules.templates)

    # Devices of a node ------------------------------------------------------------------------------------------------

    def cards(self, node: Node) -> NodeDevices | None:
        """Return the devices in the Device object of a node."""
        return node_devices(node)

    def count(self, cards: NodeDevices) -> int:
        """Return the number of devices, including unhealthy ones: pods may still hold parts of them."""
        return len(cards.ids)

    def kind(self, cards: NodeDevices, card: int) -> str:
        """Return the type of a device."""
        return cards.layout.devices[card].type

    def shape(self, cards: NodeDevices, question: DeviceQuestion[DeviceDemand]) -> Hashable:  # noqa: ARG002 - for all of them
        """Return the layout; the ids of devices do not matter."""
        return cards.layout

    def names_cards(self, task: Task) -> bool:
        """Return whether a pod has allocated devices."""
        return bool(task.pod.metadata.annotations.get(ALLOCATED))

    def named(self, cards: NodeDevices, task: Task, demand: DeviceDemand | None) -> tuple[Use, ...]:
        """Return the allocated devices of a pod. Devices that the node lacks or that cannot be read are left out."""
        text = task.pod.metadata.annotations.get(ALLOCATED)
        uses = _annotated(cards.layout, text)[0] if text else ()
        if not uses:
            return ()
        if demand is None and not self._is_unreadable(task):
            return ()
        return within(cards.layout, uses, None if demand is None else asked_of(cards.layout, demand))

    def _is_unreadable(self, task: Task) -> bool:
        try:
            return demand_of(task.template, task, self.rules.templates) is not None
        except ValueError:
            return True

    def has_room(self, cards: NodeDevices, taken: State, uses: tuple[Use, ...]) -> bool:
        """Return whether devices have the amounts free. Unhealthy devices offer nothing, but do not refuse here."""
        return room_for(cards.layout, taken, uses)

    def unnamed(
        self,
        cards: NodeDevices,
        taken: State,
        task: Task,  # noqa: ARG002 - hints do not count: the pod may write others while it runs
        demand: DeviceDemand,
        uses: tuple[Use, ...],
    ) -> tuple[Use, ...]:
        """Choose the first free devices of each type of which too few are named."""
        return beside(Free(cards.layout, taken), uses, asked_of(cards.layout, demand))

    def holding(self, task: Task, uses: tuple[Use, ...]) -> Holder:
        """Return a holder with the types that it requires exclusively."""
        wish = task.pod.metadata.annotations.get(HINT)
        return Holder(uses, rules=_exclusively(wish) if wish else frozenset())

    def unread(self, cards: NodeDevices, task: Task) -> str:
        """Return the fault of the annotation."""
        text = task.pod.metadata.annotations.get(ALLOCATED)
        return _annotated(cards.layout, text)[1] if text else ""

    # Choice -----------------------------------------------------------------------------------------------------------

    def aligned_types(self, demand: DeviceDemand) -> tuple[str, ...]:
        """Return the requested types, unless NUMA nodes are ignored."""
        return demand.types if self.rules.aligns else ()

    def preferred_cards(self, cards: NodeDevices, uses: tuple[Use, ...]) -> frozenset[int]:
        """Return the GPUs of a choice."""
        return gpus_of(cards.layout, uses)

    def never_fits(self, cards: NodeDevices, demand: DeviceDemand) -> int:
        """Compare each type by itself with all devices free. A refusal is always right; an acceptance may not be."""
        needs = needs_of(cards.layout, demand, self.rules)
        return reasons.never(needs) if isinstance(needs, str) else 0

    def choose(
        self, cards: NodeDevices, taken: State, question: DeviceQuestion[DeviceDemand], hidden: frozenset[int]
    ) -> Chosen | int:
        """Choose devices of all requested types."""
        layout, demand, rules = cards.layout, question.demand, self.rules
        needs = needs_of(layout, demand, rules)
        if isinstance(needs, str):
            return reasons.now(reasons.insufficient(demand.types[0]))  # `never_fits` has the precise reason
        free = Free(layout, taken)
        reachable = tuple(_without(need, hidden) for need in needs) if hidden else needs
        policy = demand.wishes.numa_policy or layout.numa_policy
        if question.numa_nodes is not None:
            found = allocate(free, within_numa(layout, reachable, question.numa_nodes), demand, rules)
        elif rules.aligns and policy in ALIGNING:
            found = aligned(layout, reachable, policy, lambda some: allocate(free, some, demand, rules))
        else:
            found = allocate(free, reachable, demand, rules)
        return reasons.now(found) if isinstance(found, str) else Chosen(found, self._score(free, needs))

    def _score(self, free: Free, needs: tuple[Need, ...]) -> float:
        """Score a node: the sum of the scores of the requested types."""
        score = 0
        for need in needs:
            asked, length = tuple((amount or 0) * need.devices for amount in need.each), len(need.each)
            total = total_of((free.layout.devices[at].total for at in need.candidates), length)
            left = total_of((free.amounts[at] for at in need.candidates), length)
            score += self.rules.scoring.score(need.type, asked, total, left)
        return float(score)

    def hidden(self, cards: NodeDevices, shelf: Shelf, question: DeviceQuestion[DeviceDemand]) -> frozenset[int]:
        """Return the devices at PCIe switches that pods require exclusively, and those that a hint leaves out."""
        hidden = out_of_reach(cards.layout, shelf, exclusive_types(question.demand.wishes))
        designated = question.demand.designated
        return hidden if designated is None else hidden | _not_designated(cards.layout, designated.text)

    def refused_by_name(self, demand: DeviceDemand, names: Sequence[str]) -> Sequence[int]:
        """Refuse the nodes that the scheduling hint of a pod with designated devices does not name."""
        nodes = frozenset() if demand.designated is None else demand.designated.nodes
        return [0 if name in nodes else reasons.never(reasons.NOT_HINTED) for name in names] if nodes else ()

    def holder(self, question: DeviceQuestion[DeviceDemand], uses: tuple[Use, ...], task: Task) -> Holder:  # noqa: ARG002 - equal for all tasks of a template
        """Return the holder for a task that was given devices."""
        return Holder(uses, rules=exclusive_types(question.demand.wishes))

    def lock(self, cards: NodeDevices) -> NodeLock | None:
        """Return the lock of the vendor's device plugin. Koordinator's agents find pods by annotations alone."""
        return lock_of(cards.layout.gpu_plugin) if self.rules.adapts else None

    def locks(self, demand: DeviceDemand) -> bool:
        """Return whether a pod has GPUs; there are no locks for other devices."""
        return demand.request.gpu is not None

    def annotations(self, cards: NodeDevices, demand: DeviceDemand, placed: Placed) -> Mapping[str, str]:  # noqa: ARG002 - the devices say it all
        """Return the allocation for the agent of the node, and for device plugins of vendors."""
        devices = [_allocated(cards, use, self.rules.templates) for use in placed.uses]
        found = {ALLOCATED: write_allocated(devices)}
        if self.rules.adapts and placed.is_pod:
            # device plugins order pods by this time, so pods of one cycle have different ones on a node
            moment = int(placed.now * _NANOSECONDS) + placed.order
            found.update(vendor_annotations(cards.layout.gpu_plugin, devices, moment))
        return found

    def labels(self, cards: NodeDevices, demand: DeviceDemand, placed: Placed) -> Mapping[str, str]:  # noqa: ARG002 - on any GPU
        """Return the label by which HAMi's device plugin finds a pod."""
        is_found = self.rules.adapts and demand.request.gpu is not None and demand.isolation == HAMI_CORE
        return {HAMI_NODE: placed.node} if is_found else {}


@lru_cache(_TEXTS_KEPT)
def _not_designated(layout: DeviceLayout, text: str) -> frozenset[int]:
    """Return the devices of a node that another component has not decided on; all if it decided on one of another node.

    Types of devices of which nothing is decided are left to the pod.
    """
    uses, fault = _annotated(layout, text)
    if fault:
        return frozenset(range(len(layout.devices)))
    own = {use.card for use in uses}
    types = {layout.devices[card].type for card in own}
    return frozenset(card for card, each in enumerate(layout.devices) if each.type in types and card not in own)


def _without(need: Need, hidden: frozenset[int]) -> Need:
    return need._replace(candidates=tuple(at for at in need.candidates if at not in hidden))


@lru_cache(_TEXTS_KEPT)
def _exclusively(hint: str) -> frozenset[int]:
    try:
        return exclusive_types(DeviceHints(hints=hints_of({HINT: hint})))
    except ValueError:  # the pod runs although its hint cannot be read; ignore the hint
        return frozenset()


def _allocated(cards: NodeDevices, use: Use, templates: Templates) -> Allocated:
    device = cards.layout.devices[use.card]
    functions = () if use.instance is None else (use.instance,)
    template = templates.name_of(cards.layout, use.amounts) if device.type == GPU else ""
    return Allocated(device.type, device.minor, use.amounts, functions, cards.ids[use.card], template)


@lru_cache(_TEXTS_KEPT)
def _annotated(layout: DeviceLayout, text: str) -> tuple[tuple[Use, ...], str]:
    """Return the annotated devices of a node, and the fault of the annotation."""
    try:
        devices = read_allocated({ALLOCATED: text})
    except ValueError as error:
        return (), str(error)
    uses: list[Use] = []
    unknown = 0
    for device in devices:
        position = layout.positions.get((device.type, device.minor))
        if position is None:
            unknown += 1
            continue
        amounts = device.amounts
        if device.type == GPU and layout.gpu_memory:
            amounts = filled(amounts, layout.gpu_memory)
        first, *more = device.functions or (None,)
        uses.append(Use(position, 0, instance=first, amounts=amounts_of(amounts)))
        uses.extend(Use(position, 0, instance=each) for each in more)
    return tuple(uses), f"{ALLOCATED}: {unknown} of its devices are not devices of the node" if unknown else ""
