"""One victim is enough: a pod that needs the room of one other pod costs one other pod."""

import pytest

from pyroclast.testing import Scenario

PLUGINS = (
    ("priority", "gang", "conformance"),
    ("overcommit", "drf", "predicates", "proportion", "nodeorder"),
)

FULL = (
    Scenario()
    .node("n1", cpu=11)
    .priority_class("low", 10)
    .priority_class("high", 100)
    .running("v", on=["n1"] * 11, min_available=1, priority=10, priority_class="low")
    .job("p", cpu=1, priority=100, priority_class="high")
)


@pytest.mark.parametrize("topology_aware", [False, True])
def test_one_pod_goes_and_ten_stay(topology_aware: bool) -> None:
    """Evicted is the last pod of the gang, once; the waiting pod gets its room, and everything rests."""
    outcome = FULL.run(
        "enqueue",
        "allocate",
        "preempt",
        "backfill",
        plugins=PLUGINS,
        cycles=20,
        recreate_evicted=True,
        arguments={"preempt": {"enableTopologyAwarePreemption": topology_aware}},
    )

    assert outcome.evictions == ["v-10"]
    assert outcome.bindings == {"p-0": "n1"}
    assert outcome.is_at_rest


def test_gangs_that_evict_take_one_pod_too() -> None:
    """Not all that the gang of victims could spare (Volcano issue 5984)."""
    outcome = FULL.run(
        "enqueue", "allocate", "gangpreempt", "backfill", plugins=PLUGINS, cycles=20, recreate_evicted=True
    )

    assert outcome.evictions == ["v-10"]
    assert outcome.bindings == {"p-0": "n1"}
    assert outcome.is_at_rest
