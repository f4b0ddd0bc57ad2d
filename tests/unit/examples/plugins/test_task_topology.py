"""The example of docs/plugins/task-topology.md."""

from pyroclast.model import wire
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import group, node, opened, pod


def member(name: str, role: str, on: str = "") -> wire.Pod:
    """A pod of a role."""
    return pod(name, on=on, annotations={"volcano.sh/task-spec": role})


def test_the_page() -> None:
    """A bucket of four, one of which runs."""
    option = {"name": "task-topology", "arguments": {"task-topology.weight": 10}}
    scores = opened(
        node("n1"),
        node("n2"),
        node("n3", cpu="2"),
        node("n4", cpu="0"),
        group("job", annotations={"volcano.sh/task-topology-affinity": "ps,worker"}),
        member("ps", "ps", on="n1"),
        *(member(f"w{number}", "worker") for number in range(3)),
        plugins=[option],
    ).scores("w0")
    by_hand = {"n1": (1 + 3) * 10 * 100 / 4, "n2": 3 * 10 * 100 / 4, "n3": (3 - 1) * 10 * 100 / 4, "n4": 0}
    assert scores == by_hand

    assert_tells(
        "plugins/task-topology",
        "Affinity `ps,worker`, weight 10; one ps runs on n1, three workers of 1 core wait. All are one bucket of 4:",
        f"| n1 | many | (1 + 3) * 10 * 100 / 4 = {scores['n1']:g} |",
        f"| n2 | many | 3 * 10 * 100 / 4 = {scores['n2']:g} |",
        f"| n3 | 2 | (3 - 1) * 10 * 100 / 4 = {scores['n3']:g} |",
        f"| n4 | 0 | {scores['n4']:g} |",
    )
