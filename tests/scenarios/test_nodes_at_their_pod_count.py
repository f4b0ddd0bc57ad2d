"""A node that is full of pods, not of CPU, is full, too: a pod is evicted (Volcano issue 3079)."""

import pytest

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("overcommit", "drf", "predicates", "proportion", "nodeorder"))


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_one_of_many_small_pods_makes_place(action: str) -> None:
    """The node takes five pods, all run, and CPU is plenty."""
    scenario = Scenario().priority_class("low", 10).priority_class("high", 50).node("n1", cpu=8, pods=5)
    scenario = scenario.running("low", on=["n1"] * 5, cpu="20m", priority=10, priority_class="low")
    scenario = scenario.job("high", cpu="20m", priority=50, priority_class="high")
    outcome = scenario.run("enqueue", "allocate", action, "backfill", plugins=PLUGINS, cycles=20, recreate_evicted=True)

    assert outcome.evictions == ["low-4"]
    assert outcome.bindings == {"high-0": "n1"}
    assert outcome.is_at_rest
