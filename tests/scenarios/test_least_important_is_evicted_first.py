"""The least important pod is evicted, in one step: no chain of evictions through the middle (Volcano issue 2622)."""

import pytest

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("overcommit", "drf", "predicates", "proportion", "nodeorder"))


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_the_high_job_takes_the_place_of_the_low_one(action: str) -> None:
    """The middle one, on the same node and younger, is left alone."""
    scenario = Scenario().node("n1", cpu=4)
    for name, value in (("low", 10), ("middle", 50), ("high", 100)):
        scenario = scenario.priority_class(name, value)
    for name, value in (("low", 10), ("middle", 50)):
        scenario = scenario.running(name, on=["n1"] * 2, priority=value, priority_class=name)
    scenario = scenario.job("high", priority=100, priority_class="high")
    outcome = scenario.run("enqueue", "allocate", action, "backfill", plugins=PLUGINS, cycles=20, recreate_evicted=True)

    assert outcome.evictions == ["low-1"]
    assert outcome.bindings == {"high-0": "n1"}
    assert outcome.is_at_rest
