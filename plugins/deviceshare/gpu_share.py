"""GPU share: memory of one card (`volcano.sh/gpu-memory`), or whole cards (`volcano.sh/gpu-number`).

A pod that requests memory gets it on the first card with enough free memory. A pod that requests cards gets the first
free cards.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from pyroclast.model.devices.cards import Holder, State, Use
from pyroclast.model.devices.gpu import GpuCards, GpuDemand, gpu_cards, gpu_demand, gpu_indices
from pyroclast.model.devices.locks import NodeLock
from pyroclast.model.devices.names import GPU_INDEX, GPU_LOCK, PREDICATE_TIME
from pyroclast.model.nodes import Node
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskTemplate
from pyroclast.plugins.deviceshare.family import Chosen, DeviceQuestion, Family, Placed

__all__ = ["GpuShare"]

_NO_MEMORY: Final = "GpuShare no enough gpu memory on node"
_NO_CARDS: Final = "GpuNumber no enough gpu number on node"
_EVER: Final = ", were it empty"
_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class GpuShare(Family[GpuCards, GpuDemand]):
    """Cards by memory, or by number."""

    name = "GpuShare"
    never: ClassVar[tuple[Reason, ...]] = (
        Reason(_NO_MEMORY + _EVER, resolvable=False),
        Reason(_NO_CARDS + _EVER, resolvable=False),
    )
    now: ClassVar[tuple[Reason, ...]] = (Reason(_NO_MEMORY), Reason(_NO_CARDS))
    by_memory: bool
    """Whether pods request memory; otherwise they request cards."""

    def demand(self, template: TaskTemplate, task: Task) -> GpuDemand | None:  # noqa: ARG002 - tasks of a template have equal requests
        """Return the demand of a template's tasks in the enabled mode."""
        asked = gpu_demand(template.spec)
        return asked if (asked.memory if self.by_memory else asked.number) else None

    def cards(self, node: Node) -> GpuCards | None:
        """Return the healthy cards of a node."""
        return None if node.object is None else gpu_cards(node.object)

    def count(self, cards: GpuCards) -> int:
        """Count the healthy cards."""
        return len(cards.indices)

    def shape(self, cards: GpuCards, question: DeviceQuestion[GpuDemand]) -> Hashable:  # noqa: ARG002 - every question depends on all cards
        """Return the memory and the number of cards; their indices do not matter."""
        return cards.memory, len(cards.indices)

    def never_fits(self, cards: GpuCards, demand: GpuDemand) -> int:
        """Compare with all cards free."""
        if self.by_memory:
            return 0 if cards.indices and cards.memory >= demand.memory else 1
        return 0 if len(cards.indices) >= demand.number else 2

    def choose(
        self, cards: GpuCards, taken: State, question: DeviceQuestion[GpuDemand], hidden: frozenset[int]
    ) -> Chosen | int:
        """Choose the first suitable cards."""
        parts, memory, *_ = taken
        asked = question.demand
        open_cards = [position for position in range(len(parts)) if position not in hidden]
        if self.by_memory:
            found = [at for at in open_cards if max(cards.memory - memory[at], 0) >= asked.memory][:1]
            return Chosen(_uses(found, asked)) if found else 1
        found = [at for at in open_cards if not parts[at]][: asked.number]
        return Chosen(_uses(found, asked)) if len(found) == asked.number else 2

    def names_cards(self, task: Task) -> bool:
        """Return whether the annotations name indices of cards."""
        return GPU_INDEX in task.pod.metadata.annotations

    def named(self, cards: GpuCards, task: Task, demand: GpuDemand | None) -> tuple[Use, ...]:  # noqa: ARG002 - requests in both modes count
        """Return the allocated cards of a pod. The request in either mode counts on each of them."""
        positions = {index: position for position, index in enumerate(cards.indices)}
        found = [positions[index] for index in gpu_indices(task.pod) if index in positions]
        if not found:
            return ()
        try:
            asked = gpu_demand(task.template.spec)
        except ValueError:  # the pod runs although its request cannot be read; count the card without memory
            asked = GpuDemand(number=1)
        return _uses(found[: max(asked.number, int(asked.memory > 0))], asked)

    def has_room(self, cards: GpuCards, taken: State, uses: tuple[Use, ...]) -> bool:
        """Return whether cards have the memory, or are free if whole cards are named."""
        parts, memory, *_ = taken
        return all(cards.memory - memory[use.card] >= use.memory if use.memory else not parts[use.card] for use in uses)

    def unnamed(
        self, cards: GpuCards, taken: State, task: Task, demand: GpuDemand, uses: tuple[Use, ...]
    ) -> tuple[Use, ...]:
        """Choose the first suitable cards. Named unhealthy cards count as held."""
        parts, memory, *_ = taken
        named = len(uses) + len(cards.unhealthy.intersection(gpu_indices(task.pod)))
        if self.by_memory:
            found = [at for at in range(len(parts)) if cards.memory - memory[at] >= demand.memory][: not named]
        else:
            found = [at for at in range(len(parts)) if not parts[at]][: max(demand.number - named, 0)]
        return _uses(found, demand)

    def holding(self, task: Task, uses: tuple[Use, ...]) -> Holder:  # noqa: ARG002 - the holder does not matter
        """Return a holder of cards."""
        return Holder(uses)

    def unread(self, cards: GpuCards, task: Task) -> str:
        """Compare the indices in the annotation with those of the node."""
        text = task.pod.metadata.annotations.get(GPU_INDEX)
        known = set(cards.indices)
        if not text or (gpu_indices(task.pod) and known.issuperset(gpu_indices(task.pod))):
            return ""
        return f"{GPU_INDEX}: {text!r} are not indices of cards of the node"

    def holder(self, question: DeviceQuestion[GpuDemand], uses: tuple[Use, ...], task: Task) -> Holder:  # noqa: ARG002 - the holder does not matter
        """Return the holder for a task that was given cards."""
        return Holder(uses)

    def lock(self, cards: GpuCards) -> NodeLock | None:  # noqa: ARG002 - one device plugin for all cards
        """Return the lock of the device plugin."""
        return NodeLock(GPU_LOCK)

    def locks(self, demand: GpuDemand) -> bool:  # noqa: ARG002 - the mode decides
        """Return whether pods share cards: nodes are locked only then."""
        return self.by_memory

    def annotations(self, cards: GpuCards, demand: GpuDemand, placed: Placed) -> Mapping[str, str]:  # noqa: ARG002 - the cards say it all
        """Return the indices of the cards, and the time of the choice."""
        indices = ",".join(str(cards.indices[use.card]) for use in placed.uses)
        return {PREDICATE_TIME: str(int(placed.now * _NANOSECONDS)), GPU_INDEX: indices}


def _uses(positions: list[int], asked: GpuDemand) -> tuple[Use, ...]:
    return tuple(Use(position, asked.memory, asked=asked.memory) for position in positions)
