"""Gang eviction under topologies: where victims are looked for."""

from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.hypernodes import rack

TIERS = (("gang", "priority"), ("predicates", "network-topology-aware"))


def racks(topology: dict[str, Any]) -> Scenario:
    """Two racks of two full nodes, in each one pod that matters less; a gang of two waits."""
    scenario = Scenario().priority_class("more", 5).priority_class("most", 9)
    for name in ("r1", "r2"):
        scenario = scenario.node(f"{name}-a", cpu=1).node(f"{name}-b", cpu=1).add(rack(name, f"{name}-a", f"{name}-b"))
    scenario = scenario.running("dear", on=["r1-a", "r2-b"], priority_class="more", min_available=0)
    scenario = scenario.running("cheap", on=["r1-b", "r2-a"], min_available=0)
    return scenario.job("gang", tasks=2, priority_class="most", phase="Inqueue", group={"networkTopology": topology})


def evict(scenario: Scenario) -> Outcome:
    """Run gangpreempt alone."""
    return scenario.run("gangpreempt", plugins=TIERS)


@pytest.mark.parametrize(
    ("topology", "victims"),
    [
        ({"mode": "soft"}, ["cheap-0", "cheap-1"]),
        ({"mode": "hard", "highestTierAllowed": 1}, ["cheap-0", "dear-0"]),
    ],
)
def test_a_soft_topology_evicts_the_least_important_a_hard_one_in_one_domain(
    topology: dict[str, Any], victims: list[str]
) -> None:
    """Soft: the least important pod in the whole cluster; hard: in one rack, the first of equals by name."""
    assert sorted(evict(racks(topology)).evictions) == victims
