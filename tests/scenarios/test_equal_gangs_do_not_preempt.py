"""Gangs of equal priority do not drive each other out: who came first runs, who finds no room waits."""

import pytest

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))


@pytest.mark.parametrize("gangs", [2, 3, 4])
@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_only_less_important_work_goes(gangs: int, action: str) -> None:
    """Two gangs of two take the room of four pods of lower priority, once; further gangs wait."""
    scenario = Scenario().priority_class("low", 10).priority_class("high", 100).node("n1", cpu=4)
    scenario = scenario.running("v", on=["n1"] * 4, min_available=0, priority=10, priority_class="low")
    for number in range(gangs):
        scenario = scenario.job(f"p{number}", tasks=2, priority=100, priority_class="high")
    outcome = scenario.run("enqueue", "allocate", action, "backfill", plugins=PLUGINS, cycles=10, recreate_evicted=True)

    assert outcome.evictions == ["v-3", "v-2", "v-1", "v-0"]
    assert set(outcome.bindings) == {"p0-0", "p0-1", "p1-0", "p1-1"}
    assert outcome.is_at_rest
