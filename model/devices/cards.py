"""Cards: usage of a node's cards, and the pods that use them.

Every family of devices counts alike: pods hold parts of cards, a part is memory, cores, where cards are cut an
instance, and in families whose cards offer other things, amounts of these. What is taken of a card is the sum over its
holders and nothing else, so it can be counted from objects alone, and taking a holder away leaves exactly what was
there before it came.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from pyroclast.model.ids import TaskId

__all__ = ["WHOLE_CORES", "Holder", "Shelf", "State", "Use"]

WHOLE_CORES: Final = 100
"""Percent of a card."""

Instance = tuple[str, int]
"""Name of the cut, and position in it."""

State = tuple[
    tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[tuple[Instance, ...], ...], tuple[tuple[int, ...], ...]
]
"""Usage by card: parts, memory, cores, instances, and further amounts, which are empty if unused."""


class Use(NamedTuple):
    """A part of one card."""

    card: int
    """Position among the cards of the node."""
    memory: int
    """Units of memory that are taken of the card."""
    cores: int = 0
    """Percent of the card's cores."""
    asked: int = 0
    """Requested units of memory; an instance has more."""
    instance: Instance | None = None
    container: int = 0
    """Position among the containers of the pod that request cards."""
    amounts: tuple[int, ...] = ()
    """Further amounts, in the order of the family. All parts of a card have the same number of amounts."""


class Holder(NamedTuple):
    """One pod with parts of cards."""

    uses: tuple[Use, ...]
    group: str = ""
    """Pod group of the holder, `namespace/name`, or empty."""
    rules: frozenset[int] = frozenset()
    """Configured rules of exclusiveness that it matches."""


class Shelf:
    """Usage of the cards of one node."""

    __slots__ = ("_state", "amounts", "cores", "holders", "instances", "memory", "parts")

    def __init__(self, cards: int) -> None:
        """Start with unused cards."""
        self.parts = [0] * cards
        self.memory = [0] * cards
        self.cores = [0] * cards
        self.instances: list[tuple[Instance, ...]] = [()] * cards
        """Sorted."""
        self.amounts: list[tuple[int, ...]] = [()] * cards
        """Without those that come to nothing all together."""
        self.holders: dict[TaskId, Holder] = {}
        self._state: State | None = None

    def put(self, task: TaskId, holder: Holder) -> None:
        """Count a holder; a task is one holder."""
        assert task not in self.holders, "a task holds its cards once"
        self.holders[task] = holder
        self._count(holder.uses, 1)

    def take(self, task: TaskId) -> Holder | None:
        """Undo `put`; None if the task holds nothing."""
        holder = self.holders.pop(task, None)
        if holder is not None:
            self._count(holder.uses, -1)
        return holder

    def without(self, tasks: Iterable[TaskId]) -> "Shelf":
        """Return the usage without some holders, which need not be there."""
        left_out = set(tasks)
        if left_out.isdisjoint(self.holders):
            return self
        other = Shelf(len(self.parts))
        for task, holder in self.holders.items():
            if task not in left_out:
                other.put(task, holder)
        return other

    def state(self) -> State:
        """Return the usage. It is equal for nodes with the same free amounts."""
        if self._state is None:
            self._state = (
                tuple(self.parts),
                tuple(self.memory),
                tuple(self.cores),
                tuple(self.instances),
                tuple(self.amounts),
            )
        return self._state

    def _count(self, uses: Iterable[Use], sign: int) -> None:
        self._state = None
        instances: dict[int, list[Instance]] = {}
        for use in uses:
            self.parts[use.card] += sign
            self.memory[use.card] += sign * use.memory
            self.cores[use.card] += sign * use.cores
            if use.instance is not None:
                instances.setdefault(use.card, []).append(use.instance)
            if use.amounts:
                known = self.amounts[use.card] or (0,) * len(use.amounts)
                amounts = tuple(had + sign * more for had, more in zip(known, use.amounts, strict=True))
                self.amounts[use.card] = amounts if any(amounts) else ()
        # all instances of a card at once: a user's annotation can name thousands
        for card, changed in instances.items():
            counts = Counter(self.instances[card])
            counts.update(changed) if sign > 0 else counts.subtract(changed)
            self.instances[card] = tuple(sorted(counts.elements()))
