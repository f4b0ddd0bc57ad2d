"""Topologies of layers: the domains of Koordinator's ClusterNetworkTopology, down to the single node.

Nodes with equal labels of a layer, below one domain of the layer above, are one domain. A node that lacks only the
label of the lowest layer is a domain of that layer by itself. A node that lacks another label is directly below the
root: it can be used by gangs that only prefer to be gathered, and Koordinator leaves it out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import IntArray
from pyroclast.model.nodes import ABSENT, NodeFacts
from pyroclast.model.texts import quoted
from pyroclast.model.topology.tree import NONE, ROOT, Domain, Topology

__all__ = ["CLUSTER_LAYER", "DEFAULT", "NODE_LAYER", "Layer", "read_layers", "topology_of_layers"]

DEFAULT: Final = "default"
"""Name of the only ClusterNetworkTopology that counts."""
CLUSTER_LAYER: Final = "ClusterTopologyLayer"
"""Name of the root's layer."""
NODE_LAYER: Final = "NodeTopologyLayer"
"""Name of the layer of single nodes."""
_MOST_LAYERS: Final = 16
_MOST_KEYS: Final = 8


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer between the root and the nodes."""

    name: str
    keys: tuple[str, ...]
    """Labels of nodes; the first one that a node has names its domain."""


def read_layers(topology: wire.ClusterNetworkTopology, report: Callable[[str, str], None]) -> tuple[Layer, ...]:
    """Return the layers, those at the top first: the chain from the root down to the nodes.

    Args:
        topology: The object.
        report: Receives the path and the description of each fault. What is faulty is left out.
    """
    below: dict[str, tuple[int, wire.NetworkTopologyLayer]] = {}
    names: set[str] = set()
    for number, each in enumerate(topology.spec.network_topology_spec):
        path = f"spec.networkTopologySpec[{number}]"
        above = each.parent_topology_layer or CLUSTER_LAYER
        if not each.topology_layer or each.topology_layer in (CLUSTER_LAYER, above):
            report(f"{path}.topologyLayer", f"{quoted(each.topology_layer)} cannot be the name of a layer")
        elif each.topology_layer in names:
            report(
                f"{path}.topologyLayer", f"{quoted(each.topology_layer)} is the name of an earlier layer; not counted"
            )
        elif above in below:
            report(f"{path}.parentTopologyLayer", f"{quoted(above)} already has a layer below it; not counted")
        else:
            below[above] = number, each
            names.add(each.topology_layer)
    layers: list[Layer] = []
    current = CLUSTER_LAYER
    while current in below:
        number, each = below.pop(current)
        current = each.topology_layer
        if current == NODE_LAYER:
            continue
        if len(layers) == _MOST_LAYERS:
            report(f"spec.networkTopologySpec[{number}]", f"only the {_MOST_LAYERS} layers above it count")
            return tuple(layers)
        if len(each.label_key) not in range(1, _MOST_KEYS + 1):
            report(f"spec.networkTopologySpec[{number}].labelKey", f"not 1 to {_MOST_KEYS} labels; others do not count")
        layers.append(Layer(current, each.label_key[:_MOST_KEYS]))
    for above, (number, _) in below.items():
        report(
            f"spec.networkTopologySpec[{number}].parentTopologyLayer", f"no chain of layers leads to {quoted(above)}"
        )
    return tuple(layers)


def topology_of_layers(layers: Sequence[Layer], facts: NodeFacts) -> Topology:
    """Return the domains of layers, with one domain for each node at tier 1, under a root that holds every node.

    Domains are named by the values of the labels on the way from the root, with slashes, and nodes by their names.
    """
    count = len(facts.nodes)
    labels = [_values(layer.keys, facts) for layer in layers]
    names = [node.name for node in facts.nodes]
    paths: list[list[str]] = []
    for column, name in enumerate(names):
        values = [each[column] for each in labels]
        if values and values[-1] is None:
            values[-1] = name
        paths.append([] if None in values else [value for value in values if value is not None])
    members: list[dict[tuple[str, ...], list[int]]] = [{} for _ in layers]
    for column, path in enumerate(paths):
        for depth in range(len(path)):
            members[depth].setdefault(tuple(path[: depth + 1]), []).append(column)
    return _tree(members, paths, names, count, _tiers(layers))


def _tree(
    members: Sequence[Mapping[tuple[str, ...], list[int]]],
    paths: Sequence[list[str]],
    names: Sequence[str],
    count: int,
    tiers: Mapping[str, int],
) -> Topology:
    """Number the domains by tier and name, and link them."""
    by_name = sorted(range(count), key=lambda column: names[column])
    ordered = [sorted(level) for level in reversed(members)]  # the lowest layer first
    numbers: dict[tuple[str, ...], int] = {}
    for level in ordered:
        for path in level:
            numbers[path] = count + len(numbers)
    root = count + len(numbers)
    numbers[()] = root
    children: dict[int, list[int]] = {number: [] for number in numbers.values()}
    domains: list[Domain] = []
    for number, column in enumerate(by_name):
        parent = numbers[tuple(paths[column])]
        children[parent].append(number)
        own: IntArray = np.array([column], dtype=np.int64)
        domains.append(Domain(name=names[column], tier=1, parent=parent, children=(), columns=own))
    for path, number in numbers.items():
        if path:
            children[numbers[path[:-1]]].append(number)
    for tier, level in enumerate(ordered, start=2):
        for path in level:
            own = np.array(members[len(path) - 1][path], dtype=np.int64)
            parent, inner = numbers[path[:-1]], tuple(sorted(children[numbers[path]]))
            domains.append(Domain(name="/".join(path), tier=tier, parent=parent, children=inner, columns=own))
    whole = np.arange(count, dtype=np.int64)
    domains.append(
        Domain(name=ROOT, tier=len(ordered) + 2, parent=NONE, children=tuple(sorted(children[root])), columns=whole)
    )
    return Topology(domains, nodes=count, tier_by_name=tiers, faults=())


def _tiers(layers: Sequence[Layer]) -> dict[str, int]:
    """Return the tier of each layer by its name."""
    tiers = {NODE_LAYER: 1, CLUSTER_LAYER: len(layers) + 2}
    for tier, layer in enumerate(reversed(layers), start=2):
        tiers.setdefault(layer.name, tier)
    return tiers


def _values(keys: Sequence[str], facts: NodeFacts) -> list[str | None]:
    """Return the value of the first label that each node has; None if it has none."""
    values: list[str | None] = [None] * len(facts.nodes)
    for key in reversed(keys):
        codes, by_value = facts.label_codes(key)
        texts = {code: value for value, code in by_value.items()}
        for column in np.flatnonzero(codes != ABSENT).tolist():
            values[column] = texts[int(codes[column])]
    return values
