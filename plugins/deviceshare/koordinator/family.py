"""Koordinator's devices: which a node has, what pods ask of them, who gets which, and how annotations tell of it."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

from pyroclast.model.devices.cards import Holder, Shelf, State, Use
from pyroclast.model.devices.koordinator.allocated import Allocated, read_allocated, write_allocated
from pyroclast.model.devices.koordinator.device_hints import DeviceHints, hints_of
from pyroclast.model.devices.koordinator.layout import DeviceLayout, NodeDevices, node_devices
from pyroclast.model.devices.koordinator.names import ALLOCATED, GPU, HINT
from pyroclast.model.devices.koordinator.requests import filled
from pyroclast.model.devices.koordinator.templates import Templates
from pyroclast.model.nodes import Node
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskTemplate
from pyroclast.plugins.deviceshare.family import Chosen, DeviceQuestion, Family
from pyroclast.plugins.deviceshare.koordinator import reasons
from pyroclast.plugins.deviceshare.koordinator.alignment import ALIGNING, aligned
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


@dataclass(frozen=True, slots=True)
class Koordinator(Family[NodeDevices, DeviceDemand]):
    """GPUs, RDMA cards and FPGAs."""

    name = "DeviceShare"
    lock: ClassVar[str] = ""
    never: ClassVar[tuple[Reason, ...]] = reasons.NEVER
    now: ClassVar[tuple[Reason, ...]] = reasons.NOW
    compares_nodes: ClassVar[bool] = True
    rules: Rules = BY_DEFAULT_RULES

    # What is asked ----------------------------------------------------------------------------------------------------

    def demand(self, template: TaskTemplate, task: Task) -> DeviceDemand | None:
        """Return what tasks of a template ask for; pods that want other things of devices are of another template."""
        return demand_of(template, task, self.rules.templates)

    # What a node has --------------------------------------------------------------------------------------------------

    def cards(self, node: Node) -> NodeDevices | None:
        """Read the Device of a node."""
        return node_devices(node)

    def count(self, cards: NodeDevices) -> int:
        """Count the devices, unhealthy ones too: pods may still have parts of them."""
        return len(cards.ids)

    def shape(self, cards: NodeDevices, question: DeviceQuestion[DeviceDemand]) -> Hashable:  # noqa: ARG002 - for all of them
        """What devices are called matters to nobody."""
        return cards.layout

    def names_cards(self, task: Task) -> bool:
        """Return whether devices were allocated to a pod."""
        return bool(task.pod.metadata.annotations.get(ALLOCATED))

    def named(self, cards: NodeDevices, task: Task, demand: DeviceDemand | None) -> tuple[Use, ...]:
        """Read which devices a pod was given; those that the node does not have, and unreadable ones, are left out."""
        text = task.pod.metadata.annotations.get(ALLOCATED)
        uses = _told(cards.layout, text)[0] if text else ()
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
        """Return whether so much is left of devices; unhealthy ones offer nothing and refuse nothing."""
        return room_for(cards.layout, taken, uses)

    def unnamed(
        self,
        cards: NodeDevices,
        taken: State,
        task: Task,  # noqa: ARG002 - hints do not count: the pod may write others while it runs
        demand: DeviceDemand,
        uses: tuple[Use, ...],
    ) -> tuple[Use, ...]:
        """Take the first devices that have so much left, of each type of which too few are named."""
        return beside(Free(cards.layout, taken), uses, asked_of(cards.layout, demand))

    def holding(self, task: Task, uses: tuple[Use, ...]) -> Holder:
        """Return a holder with the types of devices that it wants alone."""
        wish = task.pod.metadata.annotations.get(HINT)
        return Holder(uses, rules=_exclusively(wish) if wish else frozenset())

    def unread(self, cards: NodeDevices, task: Task) -> str:
        """Say what of the annotation tells of no device of the node."""
        text = task.pod.metadata.annotations.get(ALLOCATED)
        return _told(cards.layout, text)[1] if text else ""

    # Who gets what ----------------------------------------------------------------------------------------------------

    def never_fits(self, cards: NodeDevices, demand: DeviceDemand) -> int:
        """Compare each type of device by itself with what the node has; never wrong where it refuses."""
        needs = needs_of(cards.layout, demand, self.rules)
        return reasons.never(needs) if isinstance(needs, str) else 0

    def choose(
        self, cards: NodeDevices, taken: State, question: DeviceQuestion[DeviceDemand], hidden: frozenset[int]
    ) -> Chosen | int:
        """Choose devices of all types that are asked for."""
        layout, demand, rules = cards.layout, question.demand, self.rules
        needs = needs_of(layout, demand, rules)
        if isinstance(needs, str):
            return reasons.now(reasons.insufficient(demand.types[0]))  # `never_fits` has said more
        free = Free(layout, taken)
        reachable = tuple(_without(need, hidden) for need in needs) if hidden else needs
        policy = demand.wishes.numa_policy or layout.numa_policy
        if rules.aligns and policy in ALIGNING:
            found = aligned(layout, reachable, policy, lambda some: allocate(free, some, demand, rules))
        else:
            found = allocate(free, reachable, demand, rules)
        return reasons.now(found) if isinstance(found, str) else Chosen(found, self._score(free, needs))

    def _score(self, free: Free, needs: tuple[Need, ...]) -> float:
        """Score a node: the scores of the types that are asked for, added up."""
        score = 0
        for need in needs:
            asked, length = tuple((amount or 0) * need.devices for amount in need.each), len(need.each)
            total = total_of((free.layout.devices[at].total for at in need.candidates), length)
            left = total_of((free.amounts[at] for at in need.candidates), length)
            score += self.rules.scoring.score(need.type, asked, total, left)
        return float(score)

    def hidden(self, cards: NodeDevices, shelf: Shelf, question: DeviceQuestion[DeviceDemand]) -> frozenset[int]:
        """Return the devices at PCIe switches that somebody, or the pod itself, wants alone."""
        return out_of_reach(cards.layout, shelf, exclusive_types(question.demand.wishes))

    def holder(self, question: DeviceQuestion[DeviceDemand], uses: tuple[Use, ...], task: Task) -> Holder:  # noqa: ARG002 - all of a template
        """Return what a task holds that was given devices."""
        return Holder(uses, rules=exclusive_types(question.demand.wishes))

    def locks(self, demand: DeviceDemand) -> bool:  # noqa: ARG002 - whatever it is
        """Agents find all pods by their annotations: no node is locked."""
        return False

    def annotations(self, cards: NodeDevices, node: str, uses: tuple[Use, ...], now: float) -> Mapping[str, str]:  # noqa: ARG002 - they tell of devices alone
        """Tell the agent of the node what to hand out."""
        return {ALLOCATED: write_allocated(_allocated(cards, use, self.rules.templates) for use in uses)}


def _without(need: Need, hidden: frozenset[int]) -> Need:
    return need._replace(candidates=tuple(at for at in need.candidates if at not in hidden))


@lru_cache(_TEXTS_KEPT)
def _exclusively(hint: str) -> frozenset[int]:
    try:
        return exclusive_types(DeviceHints(hints=hints_of({HINT: hint})))
    except ValueError:  # it runs with what nobody can read, and keeps nobody away
        return frozenset()


def _allocated(cards: NodeDevices, use: Use, templates: Templates) -> Allocated:
    device = cards.layout.devices[use.card]
    functions = () if use.instance is None else (use.instance,)
    template = templates.name_of(cards.layout, use.amounts) if device.type == GPU else ""
    return Allocated(device.type, device.minor, use.amounts, functions, cards.ids[use.card], template)


@lru_cache(_TEXTS_KEPT)
def _told(layout: DeviceLayout, text: str) -> tuple[tuple[Use, ...], str]:
    """Return what an annotation says is taken of the devices of a node, and what is wrong with it."""
    try:
        devices = read_allocated({ALLOCATED: text})
    except ValueError as error:
        return (), str(error)
    uses: list[Use] = []
    strange = 0
    for device in devices:
        position = layout.positions.get((device.type, device.minor))
        if position is None:
            strange += 1
            continue
        amounts = device.amounts
        if device.type == GPU and layout.gpu_memory:
            amounts = filled(amounts, layout.gpu_memory)
        first, *more = device.functions or (None,)
        uses.append(Use(position, 0, instance=first, amounts=amounts_of(amounts)))
        uses.extend(Use(position, 0, instance=each) for each in more)
    return tuple(uses), f"{ALLOCATED}: {strange} of its devices are none of the node" if strange else ""
