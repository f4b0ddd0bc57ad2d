"""Pods with the preemption policy Never: no pod is evicted for them, and their gang still gets its other pods."""

import pytest

from pyroclast.testing import Outcome, Scenario

NEVER = {"preemptionPolicy": "Never"}
PLUGINS = (("priority", "conformance"), ("gang", "predicates", "proportion", "nodeorder"))


def gang_of_two(action: str, *, idle: int) -> Outcome:
    """A gang of two of which one pod never preempts, beside less important pods of 1 CPU that fill the rest."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9).queue("q").queue("other").node("n1", cpu=4)
    victims = "q" if action == "preempt" else "other"
    scenario = scenario.running(
        "v", on=["n1"] * (4 - idle), queue=victims, min_available=1, priority_class="low", cpu=1
    )
    scenario = scenario.job("g", tasks=1, min_available=2, queue="q", priority=9, priority_class="high", cpu=1)
    scenario = scenario.pod("g-1", job="g", priority=9, spec=NEVER)
    return scenario.run("enqueue", "allocate", action, plugins=PLUGINS, cycles=3)


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_such_a_pod_uses_idle_capacity_beside_victims_of_the_others(action: str) -> None:
    """One CPU is idle: one pod is evicted, for the other member."""
    outcome = gang_of_two(action, idle=1)

    assert len(outcome.evictions) == 1
    assert outcome.bindings.keys() >= {"g-0", "g-1"}


@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_no_pod_is_evicted_for_such_a_pod(action: str) -> None:
    """Nothing is idle: the other member alone is no gang."""
    outcome = gang_of_two(action, idle=0)

    assert outcome.evictions == []
    assert outcome.bindings == {}
