"""Rows of unused resources are dropped, and all other amounts stay exact."""

from collections.abc import Iterable
from typing import Any

from pyroclast.cache.files.audit import differences
from pyroclast.cache.state import ClusterState
from pyroclast.model.ids import NodeName
from tests.unit.cache.builders import bind_plan, filled, group, node, pod, queue, task


def odd(number: int) -> str:
    """Return an invented resource name."""
    return f"example.com/r{number:03}"


def amount(name: str, text: str) -> dict[str, Any]:
    """Return an amount for the builders."""
    return {name: text}


def offering(numbers: Iterable[int]) -> list[Any]:
    """Return nodes that offer one resource each, and a pod on each node that uses it."""
    return [
        each
        for number in numbers
        for each in (
            node(f"m{number}", pods="500", **amount(odd(number), "2")),
            pod(f"p{number}", group="g", node=f"m{number}", **amount(odd(number), "2")),
        )
    ]


def remove(state: ClusterState, numbers: Iterable[int]) -> None:
    """Remove these nodes and pods."""
    for number in numbers:
        state.remove("Pod", pod(f"p{number}"))
        state.remove("Node", node(f"m{number}"))


def test_rows_of_unused_resources_are_dropped() -> None:
    """New resource names must not fill the memory, and the other amounts stay correct."""
    state = filled(
        ClusterState(),
        queue("q", capability={"cpu": "8", "q.example.com/x": "3"}),
        group("g", min_resources={"g.example.com/x": "1500m"}),
        node("n1", cpu="4", pods="500", **amount("n.example.com/x", "2500m")),
        pod("stays", group="g", node="n1", phase="Running", cpu="1", **amount("p.example.com/x", "500m")),
        *offering(range(300)),
    )
    assert len(state.snapshot().resources) > 300
    remove(state, range(300))
    assert len(state.snapshot().resources) > 300, "rows are not dropped each time, because this reads the whole state"
    filled(state, *offering(range(1000, 1400)))
    remove(state, range(1000, 1400))

    snapshot = state.snapshot()

    assert set(snapshot.resources.names) == {
        "cpu", "memory", "pods", "q.example.com/x", "g.example.com/x", "n.example.com/x", "p.example.com/x",
    }  # fmt: skip
    assert differences(snapshot, state.rebuild().snapshot()) == []
    used = snapshot.resources.amounts(
        snapshot.nodes.state[snapshot.nodes.rows.used, snapshot.nodes.names.index(NodeName("n1"))]
    )
    assert used == {"cpu": 1000, "pods": 1000, "p.example.com/x": 500}


def test_a_resource_that_is_used_again_has_a_row_again() -> None:
    """A pod of a known template requests it, and a plan with this pod is assumed."""
    state = filled(ClusterState(), queue("q"), group("g"), node("n1", cpu="4", pods="500", **amount(odd(0), "2")))
    names = [odd(number) for number in range(300)]
    filled(state, *(pod(name.rpartition("/")[2], group="g", **amount(name, "1")) for name in names))
    state.snapshot()
    for name in names:
        state.remove("Pod", pod(name.rpartition("/")[2]))
    state._rows._limit = 0
    assert len(state.snapshot().resources) == 4

    filled(state, pod("again", group="g", **amount(odd(7), "1")), pod("fits", group="g", **amount(odd(0), "2")))

    assert task(state, "again").template.request[odd(7)] == 1000
    assert differences(state.snapshot(), state.rebuild().snapshot()) == []
    assert "insufficient" in state.assume(bind_plan(("again", "n1")), 1.0)[0]
    assert state.assume(bind_plan(("fits", "n1")), 1.0) == []
