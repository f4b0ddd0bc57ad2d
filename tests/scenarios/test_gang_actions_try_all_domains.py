"""Gang actions also search domains without victims, on capacity that no job waits for, and for the minimum."""

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.hypernodes import rack

TIERS = (("gang", "priority"), ("predicates", "network-topology-aware"))


def evict(scenario: Scenario) -> Outcome:
    """Run gangpreempt alone."""
    return scenario.run("gangpreempt", plugins=TIERS)


BASE = Scenario().priority_class("high", 9)


@pytest.mark.parametrize(("full", "empty"), [("a1", "b1"), ("b1", "a1")])
def test_a_domain_without_victims_counts(full: str, empty: str) -> None:
    """One rack is empty: the gang goes there, also where all that can be evicted runs in the rack that comes first."""
    scenario = BASE.node("a1", cpu=2).node("b1", cpu=2).add(rack("a", "a1"), rack("b", "b1"))
    scenario = scenario.running("low", on=[full, full], min_available=0)
    topology = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    outcome = evict(scenario.job("gang", tasks=2, priority_class="high", phase="Inqueue", group=topology))

    assert outcome.evictions == []
    assert outcome.pipelined == {"gang-0": empty, "gang-1": empty}


def test_room_that_others_wait_for_is_not_given_out_twice() -> None:
    """Two gangs of two, two CPU being released: the first waits for them, the second needs victims of its own."""
    scenario = BASE.node("n", cpu=4).running("low", on=["n"] * 4, min_available=0)
    for name in ("first", "second"):
        scenario = scenario.job(name, tasks=2, priority_class="high", phase="Inqueue")
    outcome = evict(scenario)

    assert sorted(outcome.evictions) == ["low-0", "low-1", "low-2", "low-3"]
    assert len(outcome.pipelined) == 4


def test_members_above_the_minimum_cause_no_evictions() -> None:
    """Two of four pods are needed: two victims."""
    scenario = BASE.node("n", cpu=4).running("low", on=["n"] * 4, min_available=0)
    outcome = evict(scenario.job("gang", tasks=4, min_available=2, priority_class="high", phase="Inqueue"))

    assert outcome.evictions == ["low-3", "low-2"]
