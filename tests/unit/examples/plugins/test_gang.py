"""The example of docs/plugins/gang.md."""

from typing import Any

from pyroclast.framework.extension import contract
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import World, acted, bound, group, node, opened, pod


def world(*objects: Any) -> World:
    """A session with gang alone, and a pod of another job that needs capacity."""
    return opened(*objects, group("other"), pod("wants", job="other"), plugins=["gang"])


def worker(name: str, role: str = "worker", on: str = "n") -> Any:
    """A pod of a role."""
    return pod(name, on=on, annotations={"volcano.sh/task-spec": role})


def spared(there: World, *names: str) -> list[str]:
    """Possible victims."""
    chosen, _ = there.function(contract.PREEMPTABLE).function(there.task("wants"), there.tasks(*names))
    return [task.name for task in chosen]


def test_the_page() -> None:
    """What can be spared, what fits in part, and roles."""
    five = world(node("n"), group("job", minimum=3), *(pod(name, on="n") for name in "abcde"))
    assert spared(five, "a", "b", "c") == ["a", "b"]

    large = acted(world(node("n1"), node("n2"), group("job", minimum=3), *(pod(f"p{i}", cpu="6") for i in range(3))))
    large.close()
    (condition,) = large.session.report.conditions[large.job("job").id]
    assert set(bound(large)) == {"wants"}

    roles = {"ps": 1, "worker": 1}
    mixed = world(
        node("n"),
        group("job", minimum=2, min_task_member=roles),
        worker("ps", "ps"),
        *(worker(name) for name in ("w1", "w2", "w3")),
    )
    gone = spared(mixed, "ps", "w1", "w2", "w3")

    wanted = {"ps": 1, "worker": 3}
    workers = [worker(f"w{number}", on="") for number in range(3)]
    three = world(node("n"), group("job", minimum=3, min_task_member=wanted), *workers)
    assert three.function(contract.JOB_VALID).function(three.job("job")) is None

    assert_tells(
        "plugins/gang",
        "Three tasks of 6 CPU on two nodes of 8 CPU with `minMember: 3`: two would fit, none is bound,",
        f"and the condition says `{condition.message.partition(':')[0]}`.",
        "A ps and three workers run with `minMember: 2` and one of each role as minimum: "
        f"of the candidates ps, w1, w2, w3 the workers {' and '.join(gone)} may be evicted.",
        f"`minMember: 3` with roles `ps: 1, worker: 3`: the roles sum to {sum(wanted.values())}, "
        "so three workers alone are valid.",
    )
