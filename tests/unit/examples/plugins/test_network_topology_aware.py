"""The example of docs/plugins/network-topology-aware.md."""

import numpy as np

from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.plugins.network_topology_aware.closeness import Closeness, Distances
from pyroclast.plugins.network_topology_aware.fullness import fullness
from pyroclast.plugins.network_topology_aware.packing import Chains, Packing
from tests.unit.examples.page import assert_tells
from tests.unit.model.test_topology_tree import exact, facts, tree

ROOMS = {"s3": (2, 4), "s4": (4, 4), "s5": (2, 8), "s6": (4, 8)}
"""CPUs and GiB of each of the two nodes of a rack."""
NODES = facts(*(f"{rack}-n{number}" for rack in ROOMS for number in (1, 2)))
TREE = tree(
    NODES,
    **{rack: (1, exact("Node", f"{rack}-n1", f"{rack}-n2")) for rack in ROOMS},
    s1=(2, exact("HyperNode", "s3", "s4")),
    s2=(2, exact("HyperNode", "s5", "s6")),
    s0=(3, exact("HyperNode", "s1", "s2")),
)
OFFERED: IntArray = np.array([[room[row] for room in ROOMS.values() for _ in range(2)] for row in (0, 1)])
SUMS = TREE.sums(OFFERED)


def shown(score: float) -> str:
    """A score as the page has it."""
    return f"{score:.1f}".removesuffix(".0")


def of_racks(scores: FloatArray) -> dict[str, str]:
    """The score of the first node of each rack."""
    return {rack: shown(float(score)) for rack, score in zip(ROOMS, scores[::2], strict=True)}


def test_the_page() -> None:
    """Domains for a job, nodes beside a task that is placed, nodes for a task without a topology."""
    full = 100 * fullness(np.array([8, 8]), np.zeros_like(SUMS), SUMS, (1, 1))
    domains = {domain.name: float(score) for domain, score in zip(TREE.domains, full, strict=True)}
    names = ("s0", "s1", "s2", "s3", "s4", "s5", "s6")

    close = Closeness(Distances(TREE), placed=np.array([0]), size=4, factor=100.0)
    near = of_racks(close.scores(np.bincount(close.groups, minlength=close.group_count))[close.groups])
    assert float(near["s3"]) > 100

    packed = Packing(
        Chains(TREE, 0.8),
        request=np.array([2, 4]),
        used=np.zeros_like(SUMS),
        allocatable=SUMS,
        weights=(1, 1),
        factor=100.0,
    )
    others = of_racks(packed.scores(np.zeros(0, dtype=np.int64))[packed.groups])

    rooms = ", ".join(
        f"{rack}: {cpu} CPU / {gib} GiB" if rack == "s3" else f"{rack}: {cpu} / {gib}"
        for rack, (cpu, gib) in ROOMS.items()
    )
    assert_tells(
        "plugins/network-topology-aware",
        f"Racks s3 to s6 of two nodes; {rooms}.",
        "Rows s1 = {s3, s4}, s2 = {s5, s6}, hall s0 = {s1, s2}. Two tasks of 4 CPU / 4 GiB:",
        f"| domain | {' | '.join(names)} |",
        f"| score | {' | '.join(shown(domains[name]) for name in names)} |",
        f"With a task on s3, a node of s3 has 100 (and more by its share), of s4 {near['s4']}, of s5 {near['s5']}.",
        "A task of 2 CPU / 4 GiB without a topology scores "
        f"{', '.join(f'{score} on {rack}' for rack, score in others.items())}.",
    )
