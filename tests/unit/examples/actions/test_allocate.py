"""The example of docs/actions/allocate.md."""

from pyroclast.testing import Scenario
from tests.unit.examples.page import assert_tells

CPU, FIRST, SECOND = 4, 3, 2


def test_the_page() -> None:
    """A gang that does not fit is undone, and the next job finds the room."""
    scenario = Scenario().node("n", cpu=CPU).job("a", tasks=FIRST).job("b", tasks=SECOND).job("c")
    outcome = scenario.run("enqueue", "allocate", plugins=("gang", "predicates"))
    bound = {name: [pod for pod in outcome.bindings if pod.startswith(name)] for name in ("a", "b", "c")}
    assert (len(bound["a"]), bound["b"]) == (FIRST, [])
    told = outcome.why_pod("b-1").partition(": ")[2]

    assert_tells(
        "actions/allocate",
        f"A node has {CPU} CPU, and each pod requests 1 CPU. The oldest gang `a` has {FIRST} and is placed;",
        f"`b` has {SECOND}, of which one would fit: it is undone, and its pod `b-1` has the reason `{told}`;",
        f"`{bound['c'][0]}`, the only pod of `c`, is placed on the capacity that `b` left.",
    )
