"""Pods that have a node and do not run yet, for want of their image, hold room like others (Volcano issue 3207)."""

import pytest

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_a_pod_that_waits_for_its_image_is_evicted(action: str) -> None:
    """One of five, for a more important pod of the same queue."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 100).node("n1", cpu=5)
    scenario = scenario.job("low", tasks=0, min_available=1, priority_class="low", phase="Inqueue")
    for number in range(5):
        scenario = scenario.pod(f"low-{number}", job="low", node="n1", phase="Pending", priority=1)
    scenario = scenario.job("high", priority=100, priority_class="high")
    outcome = scenario.run("enqueue", "allocate", action, "backfill", plugins=PLUGINS, cycles=10, recreate_evicted=True)

    assert outcome.evictions == ["low-4"]
    assert outcome.bindings["high-0"] == "n1"
