"""A gang of the queue that deserves everything gets everything, to the last device (Volcano issue 4808)."""

import pytest

from pyroclast.testing import Scenario

GPU = "nvidia.com/gpu"
PLUGINS = (("capacity", "priority", "conformance"), ("gang", "predicates", "nodeorder", "binpack"))


@pytest.mark.parametrize("minimum", [1, 4])
def test_four_pods_go_for_four(minimum: int) -> None:
    """Whether the victims are a gang or not."""
    scenario = Scenario().queue("mine", priority=500, deserved={GPU: 4}, capability={GPU: 4})
    scenario = scenario.queue("lent", priority=100, capability={GPU: 4}).node("n1", cpu=32, gpu=4)
    scenario = scenario.running("low", on=["n1"] * 4, queue="lent", gpu=1, min_available=minimum)
    scenario = scenario.job("high", tasks=4, queue="mine", gpu=1)
    outcome = scenario.run(
        "enqueue", "allocate", "backfill", "reclaim", plugins=PLUGINS, cycles=20, recreate_evicted=True
    )

    assert sorted(outcome.evictions) == ["low-0", "low-1", "low-2", "low-3"]
    assert sorted(outcome.bindings) == ["high-0", "high-1", "high-2", "high-3"]
    assert outcome.is_at_rest
