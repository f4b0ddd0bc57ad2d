"""The example of docs/plugins/numa-aware.md."""

import pytest

from pyroclast.framework.extension import contract
from pyroclast.model.cpusets import as_text, read_cpu_set
from pyroclast.model.ids import NodeName
from pyroclast.model.numa import NumaNode
from pyroclast.plugins.numa_aware.affinity import best_affinity
from pyroclast.plugins.numa_aware.alignment import aligned
from pyroclast.testing import Scenario, open_session
from tests.numatopologies import guaranteed, numatopology
from tests.unit.examples.page import assert_tells

WIDE = guaranteed(4, policy="best-effort")


def machine() -> NumaNode:
    """The node of the page, as the scheduler reads it."""
    topology = numatopology("n1", policy="best-effort")
    node = open_session(Scenario().node("n1").add(topology)).snapshot.numa[NodeName("n1")]
    assert node is not None
    return node


def ranges(text: str) -> str:
    """A list of CPUs as the page prints it."""
    return text.replace("-", "\N{EN DASH}")


def row(asked: int, free: str) -> str:
    """What the plugin makes of a container, as a row of the table."""
    node, available = machine(), read_cpu_set(free)
    best = best_affinity(node.layout, available, asked)
    numa = ", ".join(str(number) for number, cpus in node.layout.numa if cpus & best.cpus)
    cpus = as_text(aligned(node.layout, node.policy, node.reserved, available, (asked,)).cpus)
    return f"| {asked} | {ranges(free)} | {numa} | {'yes' if best.is_preferred else 'no'} | {ranges(cpus)} |"


@pytest.fixture
def scores() -> list[float]:
    """Verdicts of a node where the pod needs one NUMA node, and of one where it needs two."""
    topologies = (numatopology("n1", policy="best-effort"), numatopology("n2", policy="best-effort", free="2-5"))
    cluster = Scenario().node("n1").node("n2").job("j", **WIDE).add(*topologies)
    session = open_session(cluster, plugins=("numa-aware",), arguments={"numa-aware": {"weight": 10}})
    (each,) = session.extensions.functions(contract.NODE_ORDER)
    task = next(task for job in session.jobs.all() for task in job.tasks.values())
    assert each.normalise is not None
    return [float(score) for score in each.normalise(each.function(task, session.nodes.columns()))]


def test_the_page(scores: list[float]) -> None:
    """Hints, CPUs and scores."""
    node = machine()
    numa = [ranges(as_text(cpus)) for _, cpus in node.layout.numa]
    assert [as_text(core) for cores in node.layout.cores for core in cores] == ["0-1", "2-3", "4-5", "6-7"]
    assert [node.layout.sockets[number] for number, _ in node.layout.numa] == [cpus for _, cpus in node.layout.numa]

    assert_tells(
        "plugins/numa-aware",
        f"A machine of {node.layout.cpus.bit_count()} CPUs: {numa[0]} are socket 0 and NUMA node 0",
        f"{numa[1]} the others",
        row(4, "0-7"),
        row(4, "1-7"),
        row(5, "1-7"),
        row(4, "2-5"),
        f"With weight 10, a node on which a pod needs one NUMA node scores {scores[0]:g}, one on which it needs two "
        f"{scores[1]:g}.",
    )
