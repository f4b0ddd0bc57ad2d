"""GPU share: memory of one card (`volcano.sh/gpu-memory`), or whole cards (`volcano.sh/gpu-number`).

A pod that asks for memory has all of it on one card, the first with enough; a pod that asks for cards has the first
that nobody holds a part of.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from pyroclast.model.devices.cards import Holder, State, Use
from pyroclast.model.devices.gpu import GpuCards, GpuDemand, gpu_cards, gpu_demand, gpu_indices
from pyroclast.model.devices.names import GPU_INDEX, GPU_LOCK, PREDICATE_TIME
from pyroclast.model.nodes import Node
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task, TaskTemplate
from pyroclast.plugins.deviceshare.family import Chosen, DeviceQuestion, Family

__all__ = ["GpuShare"]

_NO_MEMORY: Final = "GpuShare no enough gpu memory on node"
_NO_CARDS: Final = "GpuNumber no enough gpu number on node"
_EVER: Final = ", were it empty"
_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class GpuShare(Family[GpuCards, GpuDemand]):
    """Cards by their memory, or by their number."""

    name = "GpuShare"
    lock: ClassVar[str] = GPU_LOCK
    never: ClassVar[tuple[Reason, ...]] = (
        Reason(_NO_MEMORY + _EVER, resolvable=False),
        Reason(_NO_CARDS + _EVER, resolvable=False),
    )
    now: ClassVar[tuple[Reason, ...]] = (Reason(_NO_MEMORY), Reason(_NO_CARDS))
    by_memory: bool
    """Whether pods ask for memory; else for cards."""

    def demand(self, template: TaskTemplate, task: Task) -> GpuDemand | None:  # noqa: ARG002 - all of a template ask alike
        """Return what tasks of a template ask for in the way that is switched on."""
        asked = gpu_demand(template.spec)
        return asked if (asked.memory if self.by_memory else asked.number) else None

    def cards(self, node: Node) -> GpuCards | None:
        """Return the healthy cards of a node."""
        return None if node.object is None else gpu_cards(node.object)

    def count(self, cards: GpuCards) -> int:
        """Count the healthy cards."""
        return len(cards.indices)

    def shape(self, cards: GpuCards, question: DeviceQuestion[GpuDemand]) -> Hashable:  # noqa: ARG002 - each question is about all of it
        """Which indices cards have says nothing about what fits."""
        return cards.memory, len(cards.indices)

    def never_fits(self, cards: GpuCards, demand: GpuDemand) -> int:
        """Compare with cards that nobody holds."""
        if self.by_memory:
            return 0 if cards.indices and cards.memory >= demand.memory else 1
        return 0 if len(cards.indices) >= demand.number else 2

    def choose(
        self, cards: GpuCards, taken: State, question: DeviceQuestion[GpuDemand], hidden: frozenset[int]
    ) -> Chosen | int:
        """Take the first cards that do."""
        parts, memory, *_ = taken
        asked = question.demand
        open_cards = [position for position in range(len(parts)) if position not in hidden]
        if self.by_memory:
            found = [at for at in open_cards if max(cards.memory - memory[at], 0) >= asked.memory][:1]
            return Chosen(_uses(found, asked)) if found else 1
        found = [at for at in open_cards if not parts[at]][: asked.number]
        return Chosen(_uses(found, asked)) if len(found) == asked.number else 2

    def names_cards(self, task: Task) -> bool:
        """Return whether there are indices of cards."""
        return GPU_INDEX in task.pod.metadata.annotations

    def named(self, cards: GpuCards, task: Task, demand: GpuDemand | None) -> tuple[Use, ...]:  # noqa: ARG002 - either way of asking counts
        """Read which cards a pod was given; what it asks for in either way counts on each of them."""
        positions = {index: position for position, index in enumerate(cards.indices)}
        found = [positions[index] for index in gpu_indices(task.pod) if index in positions]
        if not found:
            return ()
        try:
            asked = gpu_demand(task.template.spec)
        except ValueError:  # it runs with what nobody can read, and takes its card without memory
            asked = GpuDemand(number=1)
        return _uses(found[: max(asked.number, int(asked.memory > 0))], asked)

    def has_room(self, cards: GpuCards, taken: State, uses: tuple[Use, ...]) -> bool:
        """Return whether cards have the memory, or are free where whole ones are named."""
        parts, memory, *_ = taken
        return all(cards.memory - memory[use.card] >= use.memory if use.memory else not parts[use.card] for use in uses)

    def unnamed(
        self, cards: GpuCards, taken: State, task: Task, demand: GpuDemand, uses: tuple[Use, ...]
    ) -> tuple[Use, ...]:
        """Take the first cards that do; unhealthy ones that are named are held too."""
        parts, memory, *_ = taken
        named = len(uses) + len(cards.unhealthy.intersection(gpu_indices(task.pod)))
        if self.by_memory:
            found = [at for at in range(len(parts)) if cards.memory - memory[at] >= demand.memory][: not named]
        else:
            found = [at for at in range(len(parts)) if not parts[at]][: max(demand.number - named, 0)]
        return _uses(found, demand)

    def holding(self, task: Task, uses: tuple[Use, ...]) -> Holder:  # noqa: ARG002 - nobody asks who holds them
        """Return a holder of cards."""
        return Holder(uses)

    def unread(self, cards: GpuCards, task: Task) -> str:
        """Compare the indices of the annotation with those of the node."""
        text = task.pod.metadata.annotations.get(GPU_INDEX)
        known = set(cards.indices)
        if not text or (gpu_indices(task.pod) and known.issuperset(gpu_indices(task.pod))):
            return ""
        return f"{GPU_INDEX}: {text!r} are no indices of cards of the node"

    def holder(self, question: DeviceQuestion[GpuDemand], uses: tuple[Use, ...], task: Task) -> Holder:  # noqa: ARG002 - nobody asks who holds them
        """Return what a task holds that was given cards."""
        return Holder(uses)

    def locks(self, demand: GpuDemand) -> bool:  # noqa: ARG002 - it is a matter of the mode
        """Nodes are locked for shares of cards alone."""
        return self.by_memory

    def annotations(self, cards: GpuCards, node: str, uses: tuple[Use, ...], now: float) -> Mapping[str, str]:  # noqa: ARG002 - the node is not told
        """Tell indices of cards, and when they were chosen."""
        indices = ",".join(str(cards.indices[use.card]) for use in uses)
        return {PREDICATE_TIME: str(int(now * _NANOSECONDS)), GPU_INDEX: indices}


def _uses(positions: list[int], asked: GpuDemand) -> tuple[Use, ...]:
    return tuple(Use(position, asked.memory, asked=asked.memory) for position in positions)
