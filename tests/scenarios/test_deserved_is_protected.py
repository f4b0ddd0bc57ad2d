"""Reclaim takes nothing from a queue that has no more than it deserves, in whichever tier the share plugin stands."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.testing import Scenario

SHARES = (
    Scenario()
    .queue("poor", deserved={"cpu": 4})
    .queue("rich", deserved={"cpu": 4})
    .queue("asking", deserved={"cpu": 4})
)
CLUSTER = (
    SHARES.node("n1", cpu=4)
    .node("n2", cpu=8)
    .job("p", queue="poor", cpu=1, tasks=3, min_available=1, running_on=["n1"] * 3)
    .job("r", queue="rich", cpu=1, tasks=9, min_available=1, running_on=["n1"] + ["n2"] * 8)
)
"""Twelve CPUs, of which the poor queue has 3 and the rich one 9; each deserves 4."""
HERE = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}
LATE = [
    pytest.param((("priority", "gang", "conformance"), (share, "predicates", "nodeorder")), id=f"{share} second")
    for share in ("proportion", "capacity")
]
FIRST = [
    pytest.param((("priority", share), ("gang", "conformance", "predicates", "nodeorder")), id=f"{share} first")
    for share in ("proportion", "capacity")
]
NONE: Mapping[str, Any] = {}


def evicted(scenario: Scenario, action: str, tiers: Any, arguments: Mapping[str, Any] = NONE) -> list[str]:
    """Run one cycle."""
    return list(scenario.run("allocate", action, plugins=tiers, arguments=arguments).evictions)


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
@pytest.mark.parametrize("tiers", [*LATE, *FIRST])
def test_a_tier_without_shares_takes_nothing_from_a_poor_queue(action: str, tiers: Any) -> None:
    """On n1 one pod of the rich queue goes; a second one finds pods of the poor queue alone."""
    one = CLUSTER.job("a", queue="asking", cpu=1, pod=HERE)
    two = CLUSTER.job("a", queue="asking", cpu=1, tasks=2, pod=HERE)

    assert evicted(one, action, tiers) == ["r-0"]
    assert evicted(two, action, tiers) == []


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
@pytest.mark.parametrize("tiers", LATE)
def test_an_argument_restores_the_rule_of_tiers(action: str, tiers: Any) -> None:
    """With `protectDeserved` off gang and conformance decide alone, as in Volcano."""
    two = CLUSTER.job("a", queue="asking", cpu=1, tasks=2, pod=HERE)

    assert len(evicted(two, action, tiers, {action: {"protectDeserved": False}})) == 2


def test_flags_of_the_share_plugin_do_not_lift_the_protection() -> None:
    """Without `enableReclaimable` proportion names no victims; it still protects what queues deserve."""
    tiers = (
        ("priority", "gang", "conformance"),
        ({"name": "proportion", "enableReclaimable": False}, "predicates", "nodeorder"),
    )
    two = CLUSTER.job("a", queue="asking", cpu=1, tasks=2, pod=HERE)

    assert evicted(two, "reclaim", tiers) == []
