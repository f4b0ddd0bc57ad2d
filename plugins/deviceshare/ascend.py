"""Ascend chips of HAMi: whole ones, parts by templates, or soft slices.

For each container, in order, the chips of a kind are tried in the policy's order. A chip is given to one container of a
pod only. Chips of kind 910 are taken from the network that has most suitable ones, if all have a network.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final

import msgspec

from pyroclast.model.devices.ascend_demand import ChipDemand, ascend_demand
from pyroclast.model.devices.ascend_register import AscendCard, AscendCards, ascend_cards
from pyroclast.model.devices.cards import WHOLE_CORES, Holder, Shelf, State, Use
from pyroclast.model.devices.locks import NodeLock
from pyroclast.model.devices.names import (
    ASCEND_BIND_PHASE,
    ASCEND_BIND_TIME,
    ASCEND_NODE,
    ASCEND_PREDICATE_TIME,
    ASCEND_TIME,
    HAMI_LOCK,
    ascend_allocated,
    ascend_runtime,
    ascend_to_allocate,
)
from pyroclast.model.devices.settings import AscendSettings
from pyroclast.model.devices.vgpu_ids import Given, read_ids, write_ids
from pyroclast.model.nodes import Node
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskTemplate
from pyroclast.plugins.deviceshare.arguments import DeviceShareArgs
from pyroclast.plugins.deviceshare.family import NOTHING_HIDDEN, Chosen, DeviceQuestion, Family, Placed
from pyroclast.plugins.deviceshare.vgpu import ALLOCATING, FULL_SCORE
from pyroclast.plugins.deviceshare.vgpu_parts import room_for, within

__all__ = ["Ascend"]

_TOO_FEW: Final = "no enough ascend device available"
_NETWORK_SCORE: Final = 10.0
"""Score of a pod whose chips are all in one network."""
_TEXTS_KEPT: Final = 1 << 16

AscendDemand = tuple[ChipDemand, ...]


@dataclass(frozen=True, slots=True)
class Ascend(Family[AscendCards, AscendDemand]):
    """Ascend chips."""

    name = "Ascend"
    never: ClassVar[tuple[Reason, ...]] = (
        Reason(f"{_TOO_FEW}, were it empty", resolvable=False),
        Reason("ascend devices of the node are not sliced softly (hami-core)", resolvable=False),
    )
    now: ClassVar[tuple[Reason, ...]] = (Reason(_TOO_FEW),)
    args: DeviceShareArgs
    settings: AscendSettings

    @property
    def reading(self) -> Hashable:
        """Return the settings, which define the kinds of chips."""
        return self.name, self.settings

    # Demand -----------------------------------------------------------------------------------------------------------

    def demand(self, template: TaskTemplate, task: Task) -> AscendDemand | None:
        """Return the demand of a template's tasks; pods of another mode have another template."""
        return ascend_demand(task.pod, template.spec, self.settings) or None

    # Chips of a node --------------------------------------------------------------------------------------------------

    def cards(self, node: Node) -> AscendCards | None:
        """Return the chips in the registers of a node."""
        return None if node.object is None else ascend_cards(node.object, self.settings)

    def count(self, cards: AscendCards) -> int:
        """Return the number of chips."""
        return len(cards.cards)

    def kind(self, cards: AscendCards, card: int) -> str:
        """Return the kind of a chip."""
        return cards.cards[card].word

    def shape(self, cards: AscendCards, question: DeviceQuestion[AscendDemand]) -> Hashable:  # noqa: ARG002 - for all of them
        """Return the shape of the chips. Their ids matter to no request."""
        return cards.shape

    def names_cards(self, task: Task) -> bool:
        """Return whether the annotations name chips."""
        annotations = task.pod.metadata.annotations
        return any(annotations.get(ascend_allocated(chip.common_word)) for chip in self.settings.configs)

    def named(self, cards: AscendCards, task: Task, demand: AscendDemand | None) -> tuple[Use, ...]:
        """Return the allocated chips of a pod. Chips that the node lacks or that cannot be read are left out."""
        is_unreadable = demand is None and self._is_unreadable(task)
        found: list[Use] = []
        for word, text in self._annotated(cards, task):
            uses = _annotated(cards, word, text)[0]
            own = [at for at, each in enumerate(demand or ()) if each.chip.common_word == word]
            if demand is None:
                found += uses[:is_unreadable]
            else:
                parts = within(cards.cards, uses, [demand[at] for at in own])
                found += (use._replace(container=own[use.container]) for use in parts)
        return tuple(found)

    def _annotated(self, cards: AscendCards, task: Task) -> Iterator[tuple[str, str]]:
        """Yield the kinds of the node's chips, and the annotation of a pod about each."""
        for word in cards.by_word:
            text = task.pod.metadata.annotations.get(ascend_allocated(word))
            if text:
                yield word, text

    def _is_unreadable(self, task: Task) -> bool:
        try:
            return bool(ascend_demand(task.pod, task.template.spec, self.settings))
        except ValueError:
            return True

    def has_room(self, cards: AscendCards, taken: State, uses: tuple[Use, ...]) -> bool:
        """Return whether chips can be shared once more with the memory and cores."""
        return room_for(cards.cards, taken, uses)

    def unnamed(
        self,
        cards: AscendCards,
        taken: State,
        task: Task,  # noqa: ARG002 - its annotations do not count: it may write others while it runs
        demand: AscendDemand,
        uses: tuple[Use, ...],
    ) -> tuple[Use, ...]:
        """Choose the first chips that can be shared once more, for each container that names too few."""
        counts, own, found = Counter(use.container for use in uses), {use.card for use in uses}, list[Use]()
        for number, each in enumerate(demand):
            for at in self._able(cards, taken, each, frozenset(own))[: max(each.cards - counts[number], 0)]:
                own.add(at)
                found.append(_use(cards, at, number, each))
        return tuple(found)

    def holding(self, task: Task, uses: tuple[Use, ...]) -> Holder:  # noqa: ARG002 - the holder does not matter
        """Return a holder of chips."""
        return Holder(uses)

    def unread(self, cards: AscendCards, task: Task) -> str:
        """Return the number of annotated entries that are not chips of the node."""
        for word, text in self._annotated(cards, task):
            count = _annotated(cards, word, text)[1]
            if count:
                return f"{ascend_allocated(word)}: {count} of its entries are not chips of the node"
        return ""

    # Choice -----------------------------------------------------------------------------------------------------------

    def never_fits(self, cards: AscendCards, demand: AscendDemand) -> int:
        """Choose with all chips free. A kind of which the node registers no chips is not restricted."""
        needs_soft = any(each.is_soft and each.chip.common_word in cards.by_word for each in demand)
        if needs_soft and not cards.cards[0].is_soft:
            return 2
        chosen = self.choose(cards, Shelf(len(cards.cards)).state(), DeviceQuestion(demand), NOTHING_HIDDEN)
        return chosen if isinstance(chosen, int) else 0

    def choose(
        self, cards: AscendCards, taken: State, question: DeviceQuestion[AscendDemand], hidden: frozenset[int]
    ) -> Chosen | int:
        """Choose chips for each container in turn, all of them different."""
        own, uses, score = set(hidden), list[Use](), 0.0
        for number, each in enumerate(question.demand):
            if each.chip.common_word not in cards.by_word:
                continue
            able = self._able(cards, taken, each, frozenset(own))
            if len(able) < each.cards:
                return 1
            given = able[: each.cards]
            own.update(given)
            uses += (_use(cards, at, number, each) for at in given)
            score += self._score(cards.cards[given[0]], taken[0][given[0]], taken[1][given[0]])
        return Chosen(tuple(uses), score + _network_score(cards, uses))

    def _able(self, cards: AscendCards, taken: State, demand: ChipDemand, hidden: frozenset[int]) -> Sequence[int]:
        """Return the chips that can be given to a container, the best first."""
        positions = cards.by_word.get(demand.chip.common_word, ())
        parts, memory, cores, *_ = taken
        scores = {at: self._score(cards.cards[at], parts[at], memory[at]) for at in positions}
        able = [
            at
            for at in sorted(positions, key=lambda at: (-scores[at], at))
            if at not in hidden and self._fits(cards.cards[at], parts[at], memory[at], cores[at], demand)
        ]
        if demand.chip.common_word not in cards.networked:
            return able
        sizes = Counter(cards.cards[at].network for at in able)
        first = {cards.cards[at].network: place for place, at in reversed([*enumerate(able)])}
        return sorted(able, key=lambda at: (-sizes[cards.cards[at].network], first[cards.cards[at].network]))

    def _fits(self, card: AscendCard, parts: int, memory: int, cores: int, demand: ChipDemand) -> bool:
        total = WHOLE_CORES if demand.is_soft else card.cores
        return (
            parts < card.shares
            and demand.suits(card)
            and (card.is_healthy or not self.args.skip_unhealthy)
            and card.memory - memory >= demand.memory_of(card)
            and total - cores >= demand.cores
            and not (total == demand.cores == WHOLE_CORES and parts)
            and not (total and cores == total and not demand.cores)
        )

    def _score(self, card: AscendCard, parts: int, memory: int) -> float:
        """Score a chip before its allocation."""
        if not card.memory:
            return 0.0
        match self.args.policy:
            case "binpack":
                return FULL_SCORE * memory / card.memory
            case "spread":
                return 0.0 if parts else FULL_SCORE
            case _:
                return 0.0

    def holder(self, question: DeviceQuestion[AscendDemand], uses: tuple[Use, ...], task: Task) -> Holder:  # noqa: ARG002 - see `holding`
        """Return the holder for a task that was given chips."""
        return Holder(uses)

    def lock(self, cards: AscendCards) -> NodeLock | None:  # noqa: ARG002 - one device plugin for all chips
        """Return the lock of the device plugin."""
        return NodeLock(HAMI_LOCK)

    def locks(self, demand: AscendDemand) -> bool:  # noqa: ARG002 - every demand
        """Return True: nodes are locked for every pod with chips."""
        return True

    def annotations(self, cards: AscendCards, demand: AscendDemand, placed: Placed) -> Mapping[str, str]:
        """Return the allocation for the device plugin and the container runtime."""
        moment = str(math.floor(placed.now))
        found = {
            ASCEND_NODE: placed.node,
            ASCEND_TIME: moment,
            ASCEND_BIND_TIME: moment,
            ASCEND_BIND_PHASE: ALLOCATING,
            ASCEND_PREDICATE_TIME: moment,
        }
        for word in dict.fromkeys(cards.cards[use.card].word for use in placed.uses):
            uses = [use for use in placed.uses if cards.cards[use.card].word == word]
            given = (Given(cards.cards[use.card].uuid, use.memory, use.cores, use.container) for use in uses)
            found[ascend_allocated(word)] = found[ascend_to_allocate(word)] = f"{write_ids(given, word)};"
            runtime = [_runtime(cards, use, demand[use.container]) for use in uses]
            found[ascend_runtime(word)] = msgspec.json.encode(runtime).decode()
        return found


def _use(cards: AscendCards, at: int, number: int, demand: ChipDemand) -> Use:
    memory = demand.memory_of(cards.cards[at])
    return Use(at, memory, demand.cores, memory, container=number)


def _network_score(cards: AscendCards, uses: Sequence[Use]) -> float:
    """Score how many of the chips of a pod are in one network, for each kind."""
    score = 0.0
    for word in cards.networked:
        networks = Counter(cards.cards[use.card].network for use in uses if cards.cards[use.card].word == word)
        if networks:
            score += _NETWORK_SCORE * max(networks.values()) / networks.total()
    return score


def _runtime(cards: AscendCards, use: Use, demand: ChipDemand) -> dict[str, Any]:
    """Return what the container runtime must know about a chip; amounts of 0 and no template are left out."""
    uuid = {"UUID": cards.cards[use.card].uuid}
    if demand.is_soft:
        return {**uuid, **{name: each for name, each in (("memory", use.memory), ("core", use.cores)) if each}}
    part = demand.chip.part_of(use.memory)
    return {**uuid, **({"temp": part[1]} if part and part[1] else {})}


@lru_cache(_TEXTS_KEPT)
def _annotated(cards: AscendCards, word: str, text: str) -> tuple[tuple[Use, ...], int]:
    """Return the annotated chips of a node, and the number of entries that are none."""
    found = []
    for each in read_ids(text):
        at = cards.positions.get((word, each.uuid))
        if at is not None:
            found.append(Use(at, each.memory, each.cores, each.memory, container=each.container))
    entries = sum(bool(piece) for container in text.split(";") for piece in container.split(":"))
    return tuple(found), entries - len(found)
