"""vGPU: parts of cards, as shares (HAMi-core) or as isolated hardware instances (MIG).

For each container with cards, in order, the cards of a node are tried in the policy's order. Each card that can be
shared once more is allocated until there are enough. Two containers of a pod may have parts of one card.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from pyroclast.model.devices.cards import WHOLE_CORES, Holder, Shelf, State, Use
from pyroclast.model.devices.locks import NodeLock
from pyroclast.model.devices.names import (
    AVOID_UUIDS,
    BIND_PHASE,
    BIND_TIME,
    USE_UUIDS,
    VGPU_GROUP_POLICY,
    VGPU_IDS,
    VGPU_LOCK,
    VGPU_NODE,
    VGPU_TIME,
    VGPU_TO_ALLOCATE,
)
from pyroclast.model.devices.settings import VgpuSettings
from pyroclast.model.devices.vgpu_demand import CardRules, ContainerDemand, card_rules, spread_group, vgpu_demand
from pyroclast.model.devices.vgpu_ids import Given, write_ids
from pyroclast.model.devices.vgpu_register import HAMI_CORE, MIG, Card, VgpuCards, vgpu_cards
from pyroclast.model.nodes import Node
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskTemplate
from pyroclast.plugins.deviceshare.arguments import BINPACK, SPREAD, DeviceShareArgs
from pyroclast.plugins.deviceshare.exclusive import matching, reserved, spread_out
from pyroclast.plugins.deviceshare.family import Chosen, DeviceQuestion, Family, Placed
from pyroclast.plugins.deviceshare.mig import pick
from pyroclast.plugins.deviceshare.vgpu_parts import annotated_parts, id_of, room_for, unread_parts, within

__all__ = ["Vgpu", "VgpuDemand"]

FULL_SCORE: Final = 100.0
ALLOCATING: Final = "allocating"
NO_RULES: Final = CardRules()

_TOO_FEW_CARDS, _BY_UUID, _NOT_ENOUGH, _MODE, _OTHER_MODE, _NO_MODE = range(1, 7)


@dataclass(frozen=True, slots=True)
class VgpuDemand:
    """Demand of a pod: by container, and rules for cards."""

    containers: tuple[ContainerDemand, ...]
    rules: CardRules


@dataclass(frozen=True, slots=True)
class Vgpu(Family[VgpuCards, VgpuDemand]):
    """Virtual cards."""

    name = "hamivgpu"
    never: ClassVar[tuple[Reason, ...]] = tuple(
        Reason(text, resolvable=False)
        for text in (
            "no enough gpu cards on node",
            f"no GPU matches UUID constraints {USE_UUIDS}, {AVOID_UUIDS} on node",
            "not enough gpu fitted on this node, were it empty",
            f"pod required sharing mode {HAMI_CORE} is not the same as the node mode {MIG}",
            f"pod required sharing mode {MIG} is not the same as the node mode {HAMI_CORE}",
            "pod required a sharing mode that no node has",
        )
    )
    now: ClassVar[tuple[Reason, ...]] = (Reason("not enough gpu fitted on this node"),)
    args: DeviceShareArgs
    settings: VgpuSettings

    @property
    def reading(self) -> Hashable:
        """Return the settings with which registers are read: they define the divisions of cards."""
        return self.name, self.settings

    # Demand -----------------------------------------------------------------------------------------------------------

    def demand(self, template: TaskTemplate, task: Task) -> VgpuDemand | None:
        """Return the demand of a template's tasks; pods that name other cards have another template."""
        containers = tuple(each for each in vgpu_demand(template.spec, self.settings) if each.cards)
        return VgpuDemand(containers, card_rules(task.pod)) if containers else None

    def question(self, demand: VgpuDemand, task: Task) -> DeviceQuestion[VgpuDemand]:
        """Return the question of one task: its group and labels may matter."""
        group, is_spread = spread_group(task.pod)
        rules = matching(self.args.exclusive, task.pod.metadata.labels) if self.args.exclusive else frozenset()
        return DeviceQuestion(demand, group if is_spread else "", rules)

    def asks_alone(self, task: Task) -> bool:
        """Return whether the group or the labels of a task may matter."""
        return bool(self.args.exclusive) or VGPU_GROUP_POLICY in task.pod.metadata.annotations

    def lock(self, cards: VgpuCards) -> NodeLock | None:  # noqa: ARG002 - one device plugin for all cards
        """Return the lock of the device plugin."""
        return NodeLock(VGPU_LOCK)

    def locks(self, demand: VgpuDemand) -> bool:  # noqa: ARG002 - every demand
        """Return True: nodes are locked for every pod with cards."""
        return True

    # Devices of a node ------------------------------------------------------------------------------------------------

    def cards(self, node: Node) -> VgpuCards | None:
        """Return the cards in the register of a node."""
        return None if node.object is None else vgpu_cards(node.object, self.settings)

    def count(self, cards: VgpuCards) -> int:
        """Return the number of cards."""
        return len(cards.cards)

    def shape(self, cards: VgpuCards, question: DeviceQuestion[VgpuDemand]) -> Hashable:
        """Return the shape of the cards. The UUIDs matter only to tasks that name some."""
        return (cards.shape, cards.uuids) if question.demand.rules.names_uuids else cards.shape

    def names_cards(self, task: Task) -> bool:
        """Return whether the annotations name ids of cards."""
        return bool(task.pod.metadata.annotations.get(VGPU_IDS))

    def named(self, cards: VgpuCards, task: Task, demand: VgpuDemand | None) -> tuple[Use, ...]:
        """Return the allocated cards of a pod. Cards that the node lacks or that cannot be read are left out."""
        text = task.pod.metadata.annotations.get(VGPU_IDS)
        uses = annotated_parts(cards, text, self.settings.megabytes) if text else ()
        if not uses:
            return ()
        if demand is None:
            return uses[: self._is_unreadable(task)]
        return within(cards.cards, uses, demand.containers)

    def _is_unreadable(self, task: Task) -> bool:
        try:
            vgpu_demand(task.template.spec, self.settings)
        except ValueError:
            return True
        return False

    def has_room(self, cards: VgpuCards, taken: State, uses: tuple[Use, ...]) -> bool:
        """Return whether cards can be shared once more with the memory, cores and instances."""
        return room_for(cards.cards, taken, uses)

    def unnamed(
        self,
        cards: VgpuCards,
        taken: State,
        task: Task,  # noqa: ARG002 - rules of its annotations do not count: it may write others while it runs
        demand: VgpuDemand,
        uses: tuple[Use, ...],
    ) -> tuple[Use, ...]:
        """Choose the first cards that can be shared once more, for each container that names too few."""
        trial = _Trial(self, cards, taken)
        for number, container in enumerate(demand.containers):
            own = [use.card for use in uses if use.container == number]
            if len(own) < container.cards:
                trial.give(number, container._replace(cards=container.cards - len(own)), NO_RULES, frozenset(own))
        return tuple(trial.uses)

    def holding(self, task: Task, uses: tuple[Use, ...]) -> Holder:
        """Return a holder with its group and the rules of exclusiveness that it matches."""
        return self._holder(uses, task)

    def unread(self, cards: VgpuCards, task: Task) -> str:
        """Return the number of annotated entries that are not cards of the node."""
        text = task.pod.metadata.annotations.get(VGPU_IDS)
        count = unread_parts(cards, text) if text else 0
        return f"{VGPU_IDS}: {count} of its entries are not cards of the node" if count else ""

    # Choice -----------------------------------------------------------------------------------------------------------

    def never_fits(self, cards: VgpuCards, demand: VgpuDemand) -> int:
        """Compare each container by itself with all cards free. A refusal is always right; an acceptance may not be."""
        mode, rules = demand.rules.mode, demand.rules
        if mode is not None and mode != cards.mode:
            return {HAMI_CORE: _MODE, MIG: _OTHER_MODE}.get(mode, _NO_MODE)
        for container in demand.containers:
            if container.cards > len(cards.cards):
                return _TOO_FEW_CARDS
            permitted = [card for card in cards.cards if rules.permit_uuid(card.uuid)]
            if not permitted:
                return _BY_UUID
            able = sum(self._could_take(cards.mode, card, container, rules) for card in permitted)
            if able < container.cards:
                return _NOT_ENOUGH
        return 0

    def _could_take(self, mode: str, card: Card, container: ContainerDemand, rules: CardRules) -> bool:
        memory = container.memory_of(card)
        return (
            card.shares > 0
            and memory <= card.memory
            and container.cores <= WHOLE_CORES
            and self._will_do(card, rules)
            and (mode != MIG or pick(card.groups, (), memory * self.settings.megabytes) is not None)
        )

    def _will_do(self, card: Card, rules: CardRules) -> bool:
        is_fit = card.is_healthy or not self.args.skip_unhealthy
        return is_fit and rules.permit_uuid(card.uuid) and rules.permit_model(card.model)

    def choose(
        self, cards: VgpuCards, taken: State, question: DeviceQuestion[VgpuDemand], hidden: frozenset[int]
    ) -> Chosen | int:
        """Choose cards for each container in turn, in addition to those of earlier containers."""
        trial = _Trial(self, cards, taken)
        for number, container in enumerate(question.demand.containers):
            if not trial.give(number, container, question.demand.rules, hidden):
                return 1
        return Chosen(tuple(trial.uses), trial.score)

    def hidden(self, cards: VgpuCards, shelf: Shelf, question: DeviceQuestion[VgpuDemand]) -> frozenset[int]:
        """Return the cards of similar pods that must be on other cards."""
        apart = spread_out(shelf, question.group) if question.group else set()
        if question.rules and cards.mode == HAMI_CORE:
            apart |= reserved(shelf, question.rules)
        return frozenset(apart)

    def holder(self, question: DeviceQuestion[VgpuDemand], uses: tuple[Use, ...], task: Task) -> Holder:  # noqa: ARG002 - who it is counts
        """Return the holder for a task that was given cards."""
        return self._holder(uses, task)

    def _holder(self, uses: tuple[Use, ...], task: Task) -> Holder:
        rules = self.args.exclusive
        return Holder(
            uses, spread_group(task.pod)[0], matching(rules, task.pod.metadata.labels) if rules else frozenset()
        )

    def annotations(self, cards: VgpuCards, demand: VgpuDemand, placed: Placed) -> Mapping[str, str]:  # noqa: ARG002 - the cards say it all
        """Return the allocation for the device plugin."""
        ids = write_ids(Given(id_of(cards, use), use.asked, use.cores, use.container) for use in placed.uses)
        moment = str(math.floor(placed.now))
        return {
            VGPU_NODE: placed.node,
            VGPU_TIME: moment,
            VGPU_IDS: ids,
            VGPU_TO_ALLOCATE: ids,
            BIND_PHASE: ALLOCATING,
            BIND_TIME: moment,
        }


class _Trial:
    """The cards of a node while cards are chosen for a pod."""

    def __init__(self, family: Vgpu, cards: VgpuCards, taken: State) -> None:
        self._family, self._cards = family, cards
        parts, memory, cores, instances, _ = taken
        self._parts, self._memory, self._cores, self._instances = (
            list(parts),
            list(memory),
            list(cores),
            list(instances),
        )
        self.uses: list[Use] = []
        self.score = 0.0

    def give(self, number: int, container: ContainerDemand, rules: CardRules, hidden: frozenset[int]) -> bool:
        """Choose the cards of one container. Return whether there were enough."""
        missing = container.cards
        for position in self._order():
            use = None if position in hidden else self._use_of(position, number, container, rules)
            if use is None:
                continue
            self._take(use)
            missing -= 1
            if not missing:
                return True
        return False

    def _order(self) -> Iterable[int]:
        positions = range(len(self._parts))
        key = _ORDERS.get(self._family.args.policy)
        return reversed(positions) if key is None else sorted(positions, key=lambda at: (key(self._taken(at)), at))

    def _taken(self, position: int) -> tuple[int, int]:
        return self._parts[position], self._memory[position]

    def _use_of(self, position: int, number: int, container: ContainerDemand, rules: CardRules) -> Use | None:
        """Return the part of a card for a container; None if the card cannot be shared in this way."""
        card, family = self._cards.cards[position], self._family
        parts, cores = self._parts[position], self._cores[position]
        asked = container.memory_of(card)
        if (
            parts >= card.shares
            or card.memory - self._memory[position] < asked
            or cores + container.cores > WHOLE_CORES
            or (container.cores == WHOLE_CORES and parts)
            or (cores == WHOLE_CORES and not container.cores)
            or not family._will_do(card, rules)  # noqa: SLF001 - a trial is the family's own
        ):
            return None
        if self._cards.mode != MIG:
            return Use(position, asked, container.cores, asked, container=number)
        megabytes = family.settings.megabytes
        found = pick(card.groups, self._instances[position], asked * megabytes)
        if found is None:
            return None
        instance, kind = found
        return Use(position, kind.memory // megabytes, container.cores, asked, instance, number)

    def _take(self, use: Use) -> None:
        at = use.card
        self.uses.append(use)
        was_idle = not self._parts[at]
        self._parts[at] += 1
        self._memory[at] += use.memory
        self._cores[at] += use.cores
        if use.instance is not None:
            self._instances[at] = tuple(sorted((*self._instances[at], use.instance)))
        self.score += self._score_of(at, was_idle=was_idle)

    def _score_of(self, position: int, *, was_idle: bool) -> float:
        """Score a card after its allocation: by its fullness, or whether it was unused before."""
        match self._family.args.policy:
            case "binpack":
                memory = self._cards.cards[position].memory
                return FULL_SCORE * self._memory[position] / memory if memory else 0.0
            case "spread":
                return FULL_SCORE if was_idle and not self._family.args.strict_spread else 0.0
            case _:
                return 0.0


_ORDERS: Final[Mapping[str, Callable[[tuple[int, int]], int]]] = {
    BINPACK: lambda taken: -taken[1],
    SPREAD: lambda taken: taken[0],
}
"""Sort key of cards by policy, from the used parts and the used memory."""
