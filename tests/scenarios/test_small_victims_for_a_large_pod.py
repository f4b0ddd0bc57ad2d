"""Several small pods make room for a large one, each smaller than it is (Volcano issue 4151)."""

import pytest

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "capacity", "nodeorder"))


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_as_many_go_as_it_takes(action: str) -> None:
    """Three of six pods of 1 CPU for a pod of 3; memory is plenty."""
    scenario = Scenario().queue("q1", deserved={"cpu": 3, "memory": "16Gi"})
    scenario = scenario.queue("q2", deserved={"cpu": 3, "memory": "16Gi"}).node("n1", cpu=6, memory="32Gi")
    scenario = scenario.running("small", on=["n1"] * 6, queue="q2", memory="1Gi")
    scenario = scenario.job("large", queue="q1", cpu=3, memory="2Gi")
    outcome = scenario.run("enqueue", "allocate", action, "backfill", plugins=PLUGINS, cycles=20, recreate_evicted=True)

    assert outcome.evictions == ["small-5", "small-4", "small-3"]
    assert outcome.bindings == {"large-0": "n1"}
    assert outcome.is_at_rest
