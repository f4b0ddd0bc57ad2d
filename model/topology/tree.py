"""The tree: HyperNodes made into domains, each inside at most one other, under one root that holds every node.

What cannot be part of a tree is left out, named, and comes back by itself once the objects are put right, for the tree
is a function of the objects alone:

* HyperNodes that contain each other in a circle are left out together; their other members are separate trees;
* a HyperNode that two others claim belongs to the older one (of equal age: to the lower name);
* a node in two HyperNodes of one tier counts in both, which is reported as a fault;
* a member that does not exist is passed over until it does.

Volcano instead stops placing every job with a topology while one HyperNode is wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import IntArray
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.sealed import SealedDict
from pyroclast.model.topology.members import children_of, node_members

__all__ = ["NONE", "ROOT", "Domain", "Topology", "TopologyFault", "topology_of"]

ROOT: Final = "<cluster-top-hypernode>"
"""Name of the root, which no object can have."""

NONE: Final = -1
"""Number of no domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyFault:
    """An error in a field of a HyperNode."""

    name: str
    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Domain:
    """A set of nodes with close ties."""

    name: str
    tier: int
    """The lower the closer."""
    parent: int
    """Number of the domain around it; `NONE` for the root."""
    children: tuple[int, ...]
    """Numbers of the domains right inside it, in the order of their names."""
    columns: IntArray
    """Its nodes, those of domains inside it included, ascending."""

    def __post_init__(self) -> None:
        """Protect the columns."""
        self.columns.setflags(write=False)


class Topology:
    """Domains, numbered by tier and then by name; the root is the last. Immutable."""

    def __init__(
        self,
        domains: Sequence[Domain],
        *,
        nodes: int,
        tier_by_name: Mapping[str, int],
        faults: Sequence[TopologyFault],
    ) -> None:
        self.domains = tuple(domains)
        self.nodes = nodes
        """Number of nodes, N."""
        self.numbers = SealedDict((domain.name, number) for number, domain in enumerate(self.domains))
        self.tier_by_name = SealedDict(tier_by_name)
        """Tier of each tier name; where HyperNodes disagree the lowest counts, which is the strictest."""
        self.faults = tuple(faults)
        sizes = np.array([domain.columns.size for domain in self.domains], dtype=np.int64)
        self._ends: IntArray = np.cumsum(sizes)
        self._begins: IntArray = self._ends - sizes
        self._members: IntArray = np.concatenate([domain.columns for domain in self.domains])

    @property
    def root(self) -> int:
        """Number of the root."""
        return len(self.domains) - 1

    @cached_property
    def tiers(self) -> tuple[int, ...]:
        """Tiers that there are, ascending; the last is the root's."""
        return tuple(sorted({domain.tier for domain in self.domains}))

    @cached_property
    def tier_of(self) -> IntArray:
        """Tier of each domain, shape (D,)."""
        return np.array([domain.tier for domain in self.domains], dtype=np.int64)

    @cached_property
    def parents(self) -> IntArray:
        """The domain around each domain, `NONE` for the root, shape (D,)."""
        return np.array([domain.parent for domain in self.domains], dtype=np.int64)

    @cached_property
    def lowest(self) -> IntArray:
        """The domain of the lowest tier that holds each node, `NONE` where that tier has none, shape (N,)."""
        return self.at_tier(self.tiers[0])

    @cached_property
    def chain(self) -> tuple[IntArray, ...]:
        """The domain of each node at each tier, ascending, shape (N,) each.

        A node without a domain at a tier has that of the tier below.
        """
        levels = [self.lowest]
        for tier in self.tiers[1:]:
            numbers = self.at_tier(tier)
            levels.append(np.where(numbers == NONE, levels[-1], numbers))
        return tuple(levels)

    def at_tier(self, tier: int) -> IntArray:
        """Return the domain of a tier that holds each node, `NONE` where there is none, shape (N,)."""
        numbers = np.full(self.nodes, NONE, dtype=np.int64)
        for number in reversed(range(len(self.domains))):  # among several the lowest name counts
            if self.domains[number].tier == tier:
                numbers[self.domains[number].columns] = number
        numbers.flags.writeable = False
        return numbers

    def sums(self, values: IntArray) -> IntArray:
        """Add up values of nodes by domain: from shape (..., N) to (..., domains)."""
        running = np.zeros((*values.shape[:-1], self._members.size + 1), dtype=np.int64)
        np.cumsum(values[..., self._members], axis=-1, out=running[..., 1:])
        totals: IntArray = running[..., self._ends] - running[..., self._begins]
        return totals

    def ancestors(self, number: int) -> Iterator[int]:
        """Iterate over a domain and those around it, inner ones first."""
        while number != NONE:
            yield number
            number = self.domains[number].parent

    def common(self, left: int, right: int) -> int:
        """Return the innermost domain around both; the other one where one is `NONE`."""
        if NONE in (left, right):
            return right if left == NONE else left
        around = set(self.ancestors(left))
        return next((number for number in self.ancestors(right) if number in around), NONE)

    def innermost(self, columns: IntArray) -> int:
        """Return the domain of the lowest tier that holds all these nodes; `NONE` where there are no nodes."""
        if not columns.size:
            return NONE
        marks = np.zeros(self.nodes, dtype=np.int64)
        marks[columns] = 1
        marked = int(marks.sum())
        return int(np.flatnonzero(self.sums(marks) == marked)[0])

    def inside(self, number: int) -> Iterator[int]:
        """Iterate over a domain and those inside it, level by level."""
        level = [number]
        while level:
            yield from level
            level = [child for each in level for child in self.domains[each].children]


def topology_of(hyper_nodes: Mapping[str, wire.HyperNode], facts: NodeFacts) -> Topology:
    """Make the tree of HyperNodes over the nodes of a table."""
    return _Building(hyper_nodes, facts).topology()


class _Building:
    """HyperNodes on their way to a tree."""

    def __init__(self, hyper_nodes: Mapping[str, wire.HyperNode], facts: NodeFacts) -> None:
        self._objects = hyper_nodes
        self._facts = facts
        self._faults: list[TopologyFault] = []
        self._parents: dict[str, str] = {}
        self._own: dict[str, IntArray] = {}

    def topology(self) -> Topology:
        for name in sorted(self._objects, key=self._age):
            self._claim(name)
        kept = sorted(set(self._objects) - self._on_circles(), key=lambda name: (self._objects[name].spec.tier, name))
        self._check_tiers(kept)
        self._check_nodes(kept)
        tier = max((self._objects[name].spec.tier for name in kept), default=0)
        return Topology(
            list(self._domains(kept, max(tier, 0) + 1)),
            nodes=len(self._facts.nodes),
            tier_by_name=self._tiers_by_name(kept),
            faults=sorted(self._faults, key=lambda fault: (fault.name, fault.path, fault.message)),
        )

    def _age(self, name: str) -> tuple[str, str]:
        return self._objects[name].metadata.creation_timestamp or "", name

    def _fault(self, name: str, path: str, message: str) -> None:
        self._faults.append(TopologyFault(name=name, path=path, message=message))

    def _claim(self, name: str) -> None:
        """Record a HyperNode's own nodes, and make it the parent of members that no older HyperNode claims."""
        each = self._objects[name]

        def fault(path: str, message: str) -> None:
            self._fault(name, path, message)

        self._own[name] = node_members(each, self._facts, fault)
        for child in children_of(each, fault):
            if child not in self._objects:
                fault("spec.members", f"no HyperNode is named {child!r}")
            elif self._parents.setdefault(child, name) != name:
                fault("spec.members", f"HyperNode {child!r} already belongs to {self._parents[child]!r}; not counted")

    def _on_circles(self) -> set[str]:
        """Find the HyperNodes that contain themselves, and cut them out."""
        circles: set[str] = set()
        for name in sorted(self._objects):
            path = [name]
            while (parent := self._parents.get(path[-1])) is not None and parent != name and parent not in path:
                path.append(parent)
            if parent == name:
                circles.add(name)
                self._fault(name, "spec.members", f"contains itself: {' in '.join([*path, name])}; left out")
        for child in [child for child, parent in self._parents.items() if child in circles or parent in circles]:
            del self._parents[child]
        return circles

    def _check_tiers(self, kept: Sequence[str]) -> None:
        for child in kept:
            parent = self._parents.get(child)
            if parent is not None and self._objects[child].spec.tier >= self._objects[parent].spec.tier:
                self._fault(child, "spec.tier", f"not below that of {parent!r}, which contains it")

    def _check_nodes(self, kept: Sequence[str]) -> None:
        """Report nodes that two HyperNodes of one tier name."""
        owners: dict[int, list[str]] = {}
        owner = np.full(len(self._facts.nodes), NONE, dtype=np.int64)
        for name in kept:  # by tier, and then by name
            tier = self._objects[name].spec.tier
            if tier not in owners:
                owner[:] = NONE
            names = owners.setdefault(tier, [])
            shared = self._own[name][owner[self._own[name]] != NONE]
            owner[self._own[name][owner[self._own[name]] == NONE]] = len(names)
            names.append(name)
            if shared.size:
                node, other = self._facts.nodes[int(shared[0])].name, names[int(owner[shared[0]])]
                more = f" and {shared.size - 1} more" if shared.size > 1 else ""
                self._fault(
                    name, "spec.members", f"node {node!r}{more} also in {other!r} of the same tier; counts in both"
                )

    def _tiers_by_name(self, kept: Sequence[str]) -> dict[str, int]:
        tiers: dict[str, int] = {}
        for name in kept:  # lower tiers come first
            spec = self._objects[name].spec
            if spec.tier_name and tiers.setdefault(spec.tier_name, spec.tier) != spec.tier:
                self._fault(name, "spec.tierName", f"{spec.tier_name!r} already names tier {tiers[spec.tier_name]}")
        return tiers

    def _domains(self, kept: Sequence[str], root_tier: int) -> Iterator[Domain]:
        numbers = {name: number for number, name in enumerate(kept)}
        children: dict[str, list[str]] = {name: [] for name in (*kept, ROOT)}
        for name in kept:
            children[self._parents.get(name, ROOT)].append(name)
        whole = self._whole(children)
        for name in kept:
            yield Domain(
                name=name,
                tier=self._objects[name].spec.tier,
                parent=numbers.get(self._parents.get(name, ROOT), len(kept)),
                children=tuple(numbers[child] for child in sorted(children[name])),
                columns=whole[name],
            )
        yield Domain(
            name=ROOT,
            tier=root_tier,
            parent=NONE,
            children=tuple(numbers[child] for child in sorted(children[ROOT])),
            columns=np.arange(len(self._facts.nodes), dtype=np.int64),
        )

    def _whole(self, children: Mapping[str, Sequence[str]]) -> dict[str, IntArray]:
        """Join each domain's own nodes with those of the domains inside it, inner ones first."""
        order = [ROOT]
        for name in order:
            order.extend(children[name])
        whole: dict[str, IntArray] = {}
        for name in reversed(order[1:]):
            inner = [whole[child] for child in children[name]]
            whole[name] = np.unique(np.concatenate([self._own[name], *inner]))
        return whole
