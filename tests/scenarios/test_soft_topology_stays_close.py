"""A soft topology looks at domains before nodes, also for the first pod (Volcano issue 5205)."""

from pyroclast.testing import Scenario
from tests.hypernodes import rack

PLUGINS = (("priority", "gang"), ("predicates", "nodeorder", "network-topology-aware"))


def test_two_pods_apart_share_the_one_domain_that_has_two_free_nodes() -> None:
    """One node is free in each of the others."""
    scenario = Scenario()
    for number in range(1, 7):
        scenario = scenario.node(f"node{number}", cpu=4)
    for number in range(3):
        scenario = scenario.add(rack(f"hn{number + 1}", f"node{2 * number + 1}", f"node{2 * number + 2}"))
    scenario = scenario.running("busy", on=["node4", "node6"], cpu=4)
    term = {"labelSelector": {"matchLabels": {"gang": "g"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    soft = {"networkTopology": {"mode": "soft"}}
    scenario = scenario.job("g", tasks=2, labels={"gang": "g"}, pod=apart, group=soft)
    outcome = scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS)

    assert sorted(outcome.bindings.values()) == ["node1", "node2"]
