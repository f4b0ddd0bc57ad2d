"""The example of docs/plugins/load-aware.md."""

import numpy as np

from pyroclast.model import wire
from pyroclast.plugins.load_aware.arithmetic import estimate, free, percent
from tests.nodemetrics import pod_metric
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.loads import metric, pod, refusals, world
from tests.unit.plugins.policies import World, node

FACTOR, THRESHOLD, CPUS, USED = 85, 65, 100, 60
NODE = node("n1", cpu=str(CPUS), memory="100Gi")


def asking(cpu: int) -> World:
    """A pod to be placed beside what is in use."""
    return world(
        NODE, metric("n1", str(USED)), pod("p", {"cpu": str(cpu)}, {"cpu": str(cpu)}), resourceWeights={"cpu": 1}
    )


def taken(cpu: int) -> int:
    """What such a pod is taken to use, thousandths of a CPU."""
    return estimate(cpu * 1000, cpu * 1000, FACTOR, otherwise=0)


def load(cpu: int) -> tuple[float, int]:
    """The load beside it, in percent, as it is and rounded."""
    used, capacity = np.array([[USED * 1000 + taken(cpu)]]), np.array([[CPUS * 1000]])
    return used.item() / CPUS / 10, percent(used, capacity).item()


def counts(cpu: int, measured: str, placed_ago: float) -> str:
    """With how many CPUs a pod counts beside its measured use: by how much less is left of ten, in tenths."""
    shown = [pod_metric("old", {"cpu": measured})] if measured else []
    old = pod("old", {"cpu": str(cpu)}, on="n1", placed_ago=placed_ago)
    small = node("n1", cpu="100", annotations={"node.koordinator.sh/raw-allocatable": '{"cpu": "10"}'})

    def left(*pods: wire.Pod) -> float:
        there = world(small, metric("n1", pods=shown), *pods, pod("p", {"cpu": "1m"}), resourceWeights={"cpu": 1})
        return there.scores("p")["n1"]

    return f"{(left() - left(old)) / 10:g}"


def test_the_page() -> None:
    """A node that refuses one pod and takes a smaller one, and pods that were placed before."""
    (exact, rounded), (smaller_exact, smaller) = load(8), load(5)
    assert set(refusals(asking(8))) == {"n1"}
    assert refusals(asking(5)) == {}
    left = free(np.array([[USED * 1000 + taken(5)]]), np.array([[CPUS * 1000]])).item()
    assert asking(5).scores("p") == {"n1": left}

    assert_tells(
        "plugins/load-aware",
        f"A node of {CPUS} CPUs, {USED} of them in use. A pod that requests {8}, with the same limit, is estimated "
        f"to use {taken(8) / 1000:g}: {exact:g} % rounds to {rounded}, which is above {THRESHOLD}, "
        "and the node is refused.",
        f"One that requests {5} is estimated to use {taken(5) / 1000:g}: {smaller_exact:g} % rounds to {smaller}, and "
        f"the node accepts it; {left} are left of CPU.",
        f"| 10 CPUs, an hour ago | 4 | {counts(10, '4', 3600)} |",
        f"| 10 CPUs, 30 seconds ago | 4 | {counts(10, '4', 30)} |",
        f"| 10 CPUs, 30 seconds ago | 9 | {counts(10, '9', 30)} |",
        f"| 10 CPUs, an hour ago | nothing | {counts(10, '', 3600)} |",
    )
