"""Resources that nothing speaks of any more leave the books; those that anything speaks of stay, to the number."""

from collections.abc import Iterable
from typing import Any

from pyroclast.cache.files.audit import differences
from pyroclast.cache.state import ClusterState
from pyroclast.model.ids import NodeName
from tests.unit.cache.builders import bind_plan, filled, group, node, pod, queue, task


def odd(number: int) -> str:
    """A resource that somebody thought of."""
    return f"example.com/r{number:03}"


def amount(name: str, text: str) -> dict[str, Any]:
    """An amount, for the builders."""
    return {name: text}


def offering(numbers: Iterable[int]) -> list[Any]:
    """Return nodes that offer a resource each, with a pod that uses it."""
    return [
        each
        for number in numbers
        for each in (
            node(f"m{number}", pods="500", **amount(odd(number), "2")),
            pod(f"p{number}", group="g", node=f"m{number}", **amount(odd(number), "2")),
        )
    ]


def remove(state: ClusterState, numbers: Iterable[int]) -> None:
    """Take them away."""
    for number in numbers:
        state.remove("Pod", pod(f"p{number}"))
        state.remove("Node", node(f"m{number}"))


def test_rows_of_resources_that_are_gone_go() -> None:
    """Nodes with ever new names of resources must not fill the memory, and what is left counts as before."""
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
    assert len(state.snapshot().resources) > 300, "not at each turn: it costs a look at everything"
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


def test_a_resource_that_comes_back_is_there_again() -> None:
    """Also by a pod of a template that is remembered, and a plan is taken of it."""
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
