"""Gangs that lack only best-effort members: they are bound before any eviction for them."""

import pytest

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))
EVICTING = ["preempt", "reclaim", "gangpreempt", "gangreclaim"]


def cluster(*, pods: int) -> Scenario:
    """Return one node full but for 2 CPU, and a gang of three: one task of 2 CPU, two that ask for nothing."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9).queue("q1").queue("q2")
    scenario = scenario.node("n1", cpu=8, pods=pods)
    for queue in ("q1", "q2"):
        scenario = scenario.running(f"old-{queue}", on=["n1"] * 3, queue=queue, priority=1, priority_class="low")
    scenario = scenario.job(
        "g", tasks=0, min_available=3, queue="q1", priority_class="high", group={"minTaskMember": {}}
    )
    for number, cpu in enumerate((2, 2, None, None)):
        scenario = scenario.pod(f"g-{number}", job="g", cpu=cpu, priority=9)
    return scenario


@pytest.mark.parametrize("action", EVICTING)
def test_a_gang_that_allocate_placed_needs_no_victims(action: str) -> None:
    """It is bound with its light members in the same cycle, and only its second large task waits."""
    outcome = cluster(pods=20).run("enqueue", "allocate", action, "backfill", plugins=PLUGINS)

    assert outcome.evictions == []
    assert sorted(outcome.bindings) == ["g-0", "g-2", "g-3"]


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_one_whose_light_members_find_no_place_may_evict(action: str) -> None:
    """The node takes eight pods: two are free, so that its large tasks get places, and one light one."""
    outcome = cluster(pods=8).run(
        "enqueue", "allocate", action, "backfill", plugins=PLUGINS, cycles=10, recreate_evicted=True
    )

    assert outcome.evictions == ["old-q1-2", "old-q1-1"]
    assert {"g-0", "g-1", "g-2"} <= set(outcome.bindings)
