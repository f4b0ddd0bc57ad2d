"""A task that its queue may not take says so itself, with the queue and the resource."""

import pytest

from pyroclast.testing import Scenario


@pytest.mark.parametrize(("plugin", "limit"), [("proportion", "deserved amount"), ("capacity", "capability")])
def test_the_second_of_two(plugin: str, limit: str) -> None:
    """The queue has room for one pod of 1 CPU."""
    outcome = (
        Scenario()
        .node("n", cpu=8)
        .queue("small", capability={"cpu": 1})
        .job("j", tasks=2, min_available=1, queue="small")
        .run("enqueue", "allocate", plugins=("gang", plugin, "predicates"))
    )

    assert outcome.bindings == {"j-0": "n"}
    assert outcome.why_pod("j-1") == f"{plugin}: queue small would exceed its {limit} of cpu"
