"""Static volumes: existing volumes, and the choice among them for a waiting claim on each node.

The smallest volume that fits a claim is chosen, then the one with the lowest name, as in Kubernetes. A volume
that is reserved for the claim outranks all others; nodes that cannot reach it have no choice.

Claims with equal requirements share one array of choices, which is updated when a volume is taken or given back. So a
thousand claims for local volumes cost a thousand small updates instead of a thousand searches of all nodes and volumes.
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
"""No volume, in an array of choices."""


def reachable(facts: NodeFacts, volume: wire.PersistentVolume) -> BoolArray | None:
    """Return the nodes that reach a volume, shape (N,); None if all do."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    mask = np.zeros(len(facts.nodes), dtype=np.bool_)
    mask[node_selector_columns(facts, affinity.required)] = True
    return mask


def requested_storage(claim: wire.PersistentVolumeClaim) -> int:
    """Return the requested storage of a claim in thousandths of a byte; 0 if it is missing or invalid."""
    return _amount(claim.spec.resources.requests.get("storage"))


def _amount(quantity: wire.Quantity | None) -> int:
    try:
        return 0 if quantity is None else millis(quantity)
    except QuantityError:
        return 0


class StaticVolumes:
    """The volumes of the cluster by number, in the order of preference: smallest first, then by name."""

    def __init__(self, objects: ClusterObjects, facts: NodeFacts) -> None:
        self._facts = facts
        sized = sorted((_amount(volume.spec.capacity.get("storage")), name) for name, volume in objects.volumes.items())
        self.names = tuple(name for _, name in sized)
        """Names by number."""
        self._capacity = tuple(amount for amount, _ in sized)
        self._volumes = tuple(objects.volumes[name] for name in self.names)
        self._reserved = {_claim_of(each): number for number, each in enumerate(self._volumes) if each.spec.claim_ref}
        self._everywhere: IntArray = np.arange(len(facts.nodes))
        self._taken: set[int] = set()
        self._choices: dict[Hashable, _Choices] = {}

    def reach(self, number: int) -> BoolArray | None:
        """Return the nodes that reach a volume, shape (N,); None if all do."""
        return reachable(self._facts, self._volumes[number])

    def capacity_bytes(self, numbers: IntArray) -> IntArray:
        """Return the capacities of volumes by number, any shape; 0 for `NO_VOLUME`."""
        capacities = np.array([*(amount // MILLI for amount in self._capacity), 0], dtype=np.int64)
        return capacities[numbers]  # NO_VOLUME is -1 and selects the last entry

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
        """Choose a volume for each claim on each node, smallest claim first. The result is read-only.

        Returns:
            Numbers of volumes, in the order of `claims`, each of shape (N,); `NO_VOLUME` if none is left.
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
        requested = requested_storage(claim)
        key = (class_name(claim), requested, claim.spec.volume_mode, claim.spec.access_modes, selector, reserved)
        known = self._choices.get(key)
        if known is None:
            fitting = self._fitting(claim, requested, selector, reserved)
            known = self._choices[key] = _Choices(fitting, [self._reached(number) for number in fitting], self._taken)
            known.best = known.search(len(self._facts.nodes))
        return known

    def _reached(self, number: int) -> IntArray:
        affinity = self._volumes[number].spec.node_affinity
        if affinity is None or affinity.required is None:
            return self._everywhere
        return node_selector_columns(self._facts, affinity.required)

    def _fitting(
        self, claim: wire.PersistentVolumeClaim, requested: int, selector: Selector | None, reserved: int | None
    ) -> list[int]:
        """Return the volumes that fit a claim, taken or not, in order of preference."""
        named = class_name(claim)
        if reserved is not None and self._is_usable(reserved, claim, named, requested):
            uid = getattr(self._volumes[reserved].spec.claim_ref, "uid", "")
            if uid in {"", claim.metadata.uid}:
                return [reserved]
        return [
            number
            for number, volume in enumerate(self._volumes)
            if volume.spec.claim_ref is None
            and volume.status.phase == "Available"
            and self._is_usable(number, claim, named, requested)
            and set(claim.spec.access_modes).issubset(volume.spec.access_modes)
            and (selector is None or selector.matches(volume.metadata.labels))
        ]

    def _is_usable(self, number: int, claim: wire.PersistentVolumeClaim, named: str, requested: int) -> bool:
        volume = self._volumes[number]
        return (
            volume.spec.storage_class_name == named
            and self._capacity[number] >= requested
            and volume.spec.volume_mode == claim.spec.volume_mode
            and not volume.metadata.deletion_timestamp
        )


def _claim_of(volume: wire.PersistentVolume) -> tuple[str, str]:
    reference = volume.spec.claim_ref
    assert reference is not None, "asked of reserved volumes alone"
    return reference.namespace, reference.name


class _Choices:
    """The volume for claims of one kind on each node; a lower number is preferred."""

    __slots__ = ("_by_column", "_columns", "_taken", "_wide", "best")

    WIDE: Final = 64
    """Volumes that more nodes reach are not listed by node."""

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
        """Choose on every node, except the volumes that `earlier` choices took there."""
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
        """Choose on every node a volume that no earlier choice took there."""
        if all(((other != self.best) | (self.best == NO_VOLUME)).all() for other in earlier):
            return self.best
        return self.search(self.best.size, earlier)

    def lose(self, number: int) -> None:
        """Choose again where a taken volume was the choice."""
        reached = self._columns.get(number)
        if reached is None:
            return
        affected = reached[self.best[reached] == number]
        if affected.size > self.WIDE:
            self.best = self.search(self.best.size)
        elif affected.size:
            self.best = self.best.copy()  # arrays that were returned keep their values
            self.best[affected] = [self._best_at(column) for column in affected.tolist()]

    def _best_at(self, column: int) -> int:
        near = (number for number in self._by_column.get(column, ()) if number not in self._taken)
        far = (number for number in self._wide if number not in self._taken and column in self._columns[number])
        first = [number for volumes in (near, far) if (number := next(volumes, NO_VOLUME)) != NO_VOLUME]
        return min(first, default=NO_VOLUME)

    def regain(self, number: int) -> None:
        """Choose a returned volume where it is better than the current choice."""
        reached = self._columns.get(number)
        if reached is not None:
            current = self.best[reached]
            better = reached[(current == NO_VOLUME) | (current > number)]
            self.best = self.best.copy()
            self.best[better] = number
