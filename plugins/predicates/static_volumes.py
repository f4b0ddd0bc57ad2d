"""Static volumes: volumes that exist, and which of them a waiting claim would get on each node.

Of the volumes that fit a claim the smallest is taken, then the one with the lowest name, as in Kubernetes; a volume
reserved for the claim goes before all others, and where it does not reach, nothing else will do.

Claims that ask for the same share one array of choices, which is mended where a volume is taken or given back. So a
thousand claims for local volumes cost a thousand small mendings, not a thousand searches of all nodes and volumes.
"""

from collections.abc import Hashable, Sequence
from typing import Final

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.matching.nodes import node_selector_columns
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.resources import MILLI
from pyroclast.model.snapshot import ClusterObjects
from pyroclast.plugins.predicates.claims import class_name

__all__ = ["NO_VOLUME", "StaticVolumes", "reachable", "requested_storage"]

NO_VOLUME: Final = -1
"""In an array of choices: no volume."""


def reachable(facts: NodeFacts, volume: wire.PersistentVolume) -> BoolArray | None:
    """Tell which nodes reach a volume, shape (N,); None where all do."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    mask = np.zeros(len(facts.nodes), dtype=np.bool_)
    mask[node_selector_columns(facts, affinity.required)] = True
    return mask


def requested_storage(claim: wire.PersistentVolumeClaim) -> int:
    """Return how much a claim asks for, thousandths of a byte; 0 where it does not say, or not legibly."""
    return _amount(claim.spec.resources.requests.get("storage"))


def _amount(quantity: wire.Quantity | None) -> int:
    try:
        return 0 if quantity is None else millis(quantity)
    except QuantityError:
        return 0


class StaticVolumes:
    """The volumes of the cluster by number, in the order in which they are taken: smallest first, then by name."""

    def __init__(self, objects: ClusterObjects, facts: NodeFacts) -> None:
        self._facts = facts
        sized = sorted((_amount(volume.spec.capacity.get("storage")), name) for name, volume in objects.volumes.items())
        self.names = tuple(name for _, name in sized)
        """Name by number."""
        self._capacity = tuple(amount for amount, _ in sized)
        self._volumes = tuple(objects.volumes[name] for name in self.names)
        self._reserved = {_claim_of(each): number for number, each in enumerate(self._volumes) if each.spec.claim_ref}
        self._everywhere: IntArray = np.arange(len(facts.nodes))
        self._taken: set[int] = set()
        self._choices: dict[Hashable, _Choices] = {}

    def reach(self, number: int) -> BoolArray | None:
        """Tell which nodes reach a volume, shape (N,); None where all do."""
        return reachable(self._facts, self._volumes[number])

    def capacity_bytes(self, numbers: IntArray) -> IntArray:
        """Return the capacities of volumes by number, any shape; 0 for `NO_VOLUME`."""
        capacities = np.array([*(amount // MILLI for amount in self._capacity), 0], dtype=np.int64)
        return capacities[numbers]  # the number of no volume, -1, picks the last

    def take(self, number: int) -> None:
        """Take a volume for the rest of the session."""
        self._taken.add(number)
        for choices in self._choices.values():
            choices.lose(number)

    def give_back(self, number: int) -> None:
        """Undo `take`."""
        self._taken.remove(number)
        for choices in self._choices.values():
            choices.regain(number)

    def choose(self, claims: Sequence[wire.PersistentVolumeClaim]) -> list[IntArray]:
        """Choose a volume for each claim on each node, smallest claim first; do not write what is returned.

        Returns:
            Numbers of volumes, in the order of `claims`, each of shape (N,); `NO_VOLUME` where none is left.
        """
        chosen: list[IntArray] = [np.empty(0, dtype=np.int64)] * len(claims)
        earlier: list[IntArray] = []
        for at in sorted(range(len(claims)), key=lambda at: requested_storage(claims[at])):
            choices = self._choices_for(claims[at])
            chosen[at] = choices.besides(earlier) if earlier else choices.best
            earlier.append(chosen[at])
        return chosen

    def _choices_for(self, claim: wire.PersistentVolumeClaim) -> "_Choices":
        reserved = self._reserved.get((claim.metadata.namespace, claim.metadata.name))
        selector = None if claim.spec.selector is None else Selector.of(claim.spec.selector)
        wanted = requested_storage(claim)
        key = (class_name(claim), wanted, claim.spec.volume_mode, claim.spec.access_modes, selector, reserved)
        known = self._choices.get(key)
        if known is None:
            fitting = self._fitting(claim, wanted, selector, reserved)
            known = self._choices[key] = _Choices(fitting, [self._reached(number) for number in fitting], self._taken)
            known.best = known.search(len(self._facts.nodes))
        return known

    def _reached(self, number: int) -> IntArray:
        affinity = self._volumes[number].spec.node_affinity
        if affinity is None or affinity.required is None:
            return self._everywhere
        return node_selector_columns(self._facts, affinity.required)

    def _fitting(
        self, claim: wire.PersistentVolumeClaim, wanted: int, selector: Selector | None, reserved: int | None
    ) -> list[int]:
        """List the volumes that fit a claim, taken or not, first to be taken first."""
        named = class_name(claim)
        if reserved is not None and self._is_usable(reserved, claim, named, wanted):
            uid = getattr(self._volumes[reserved].spec.claim_ref, "uid", "")
            if uid in {"", claim.metadata.uid}:
                return [reserved]
        return [
            number
            for number, volume in enumerate(self._volumes)
            if volume.spec.claim_ref is None
            and volume.status.phase == "Available"
            and self._is_usable(number, claim, named, wanted)
            and set(claim.spec.access_modes).issubset(volume.spec.access_modes)
            and (selector is None or selector.matches(volume.metadata.labels))
        ]

    def _is_usable(self, number: int, claim: wire.PersistentVolumeClaim, named: str, wanted: int) -> bool:
        volume = self._volumes[number]
        return (
            volume.spec.storage_class_name == named
            and self._capacity[number] >= wanted
            and volume.spec.volume_mode == claim.spec.volume_mode
            and not volume.metadata.deletion_timestamp
        )


def _claim_of(volume: wire.PersistentVolume) -> tuple[str, str]:
    reference = volume.spec.claim_ref
    assert reference is not None, "asked of reserved volumes alone"
    return reference.namespace, reference.name


class _Choices:
    """The volume that claims of one kind would get on each node; a lower number is a better volume."""

    __slots__ = ("_by_column", "_columns", "_taken", "_wide", "best")

    WIDE: Final = 64
    """A volume that more nodes reach is not listed with each of them."""

    def __init__(self, fitting: Sequence[int], columns: Sequence[IntArray], taken: set[int]) -> None:
        self._columns = dict(zip(fitting, columns, strict=True))
        """Nodes that reach each volume, ascending numbers."""
        self._taken = taken
        self._wide = [number for number, reached in self._columns.items() if reached.size > self.WIDE]
        self._by_column: dict[int, list[int]] = {}
        """Volumes that few nodes reach, by node."""
        for number, reached in self._columns.items():
            for column in reached.tolist() if reached.size <= self.WIDE else ():
                self._by_column.setdefault(column, []).append(number)
        self.best: IntArray = np.empty(0, dtype=np.int64)
        """Number of the volume on each node, shape (N,)."""

    def search(self, nodes: int, earlier: Sequence[IntArray] = ()) -> IntArray:
        """Choose on every node, leaving out what `earlier` choices took there."""
        choice = np.full(nodes, NO_VOLUME, dtype=np.int64)
        left = nodes
        for number, reached in self._columns.items():
            if number in self._taken:
                continue
            columns = reached[choice[reached] == NO_VOLUME]
            for other in earlier:
                columns = columns[other[columns] != number]
            choice[columns] = number
            left -= columns.size
            if not left:
                break
        return choice

    def besides(self, earlier: Sequence[IntArray]) -> IntArray:
        """Choose on every node a volume that none of some earlier choices took there."""
        if all(((other != self.best) | (self.best == NO_VOLUME)).all() for other in earlier):
            return self.best
        return self.search(self.best.size, earlier)

    def lose(self, number: int) -> None:
        """Choose anew where a volume that was taken had been the choice."""
        reached = self._columns.get(number)
        if reached is None:
            return
        affected = reached[self.best[reached] == number]
        if affected.size > self.WIDE:
            self.best = self.search(self.best.size)
        elif affected.size:
            self.best = self.best.copy()  # arrays that were handed out keep their values
            self.best[affected] = [self._best_at(column) for column in affected.tolist()]

    def _best_at(self, column: int) -> int:
        near = (number for number in self._by_column.get(column, ()) if number not in self._taken)
        far = (number for number in self._wide if number not in self._taken and column in self._columns[number])
        first = [number for volumes in (near, far) if (number := next(volumes, NO_VOLUME)) != NO_VOLUME]
        return min(first, default=NO_VOLUME)

    def regain(self, number: int) -> None:
        """Choose a volume that was given back where it is better than the choice."""
        reached = self._columns.get(number)
        if reached is not None:
            current = self.best[reached]
            better = reached[(current == NO_VOLUME) | (current > number)]
            self.best = self.best.copy()
            self.best[better] = number
