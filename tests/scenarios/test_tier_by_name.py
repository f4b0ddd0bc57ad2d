"""A tier that a sub-group names is kept as one that it numbers (Volcano issue 5189)."""

import pytest

from pyroclast.testing import Scenario
from tests.hypernodes import hyper_node

PLUGINS = (("priority", "gang"), ("predicates", "nodeorder", "network-topology-aware"))


@pytest.mark.parametrize(("cpu", "bound"), [(2, 0), (1, 2)])
def test_two_pods_of_a_part_do_not_lie_in_two_domains(cpu: int, bound: int) -> None:
    """Three domains of one node of 2 CPU each: pods of 1 CPU share one, pods of 2 wait."""
    scenario = Scenario()
    for number in range(3):
        scenario = scenario.node(f"n{number}", cpu=2).add(
            hyper_node(f"h{number}", 1, "Node", [f"n{number}"], tier_name="volcano.sh/hypernode")
        )
    policy = {
        "name": "t0",
        "matchLabelKeys": ["part"],
        "subGroupSize": 2,
        "minSubGroups": 1,
        "networkTopology": {"mode": "hard", "highestTierName": "volcano.sh/hypernode"},
    }
    scenario = scenario.job("j", tasks=2, cpu=cpu, labels={"part": "0"}, group={"subGroupPolicy": [policy]})
    outcome = scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS, cycles=3)

    assert len(outcome.bindings) == bound
    assert len(set(outcome.bindings.values())) == min(bound, 1)
