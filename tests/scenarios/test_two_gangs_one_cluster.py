"""S4: of two gangs that each need the whole cluster one gets it, and nobody a part (Volcano issue 3373)."""

from collections.abc import Mapping
from typing import Any

from pyroclast.testing import Scenario

ACTIONS = ("enqueue", "allocate", "backfill")
PLUGINS = (("priority", "gang", "conformance"), ("overcommit", "drf", "predicates", "proportion", "nodeorder"))


def apart(name: str) -> dict[str, Any]:
    """Return an anti-affinity by host against pods of the same gang."""
    term = {"labelSelector": {"matchLabels": {"gang": name}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def cluster(pods_by_gang: Mapping[str, int]) -> Scenario:
    """Return four nodes that take a pod each, and gangs of four, of which so many pods are there."""
    scenario = Scenario()
    for number in range(4):
        scenario = scenario.node(f"n{number}", cpu=1)
    for name, count in pods_by_gang.items():
        scenario = scenario.job(name, tasks=count, min_available=4, labels={"gang": name}, pod=apart(name))
    return scenario


def test_nothing_is_bound_while_no_gang_is_complete() -> None:
    """Two pods of each are there: neither gang can run."""
    outcome = cluster({"g1": 2, "g2": 2}).run(*ACTIONS, plugins=PLUGINS, cycles=2)

    assert outcome.bindings == {}
    assert "valid: 2, min: 4" in outcome.why("g2")


def test_the_earlier_gang_gets_all_nodes() -> None:
    """None goes to the other, which says what it lacks."""
    outcome = cluster({"g1": 4, "g2": 4}).run(*ACTIONS, plugins=PLUGINS, cycles=4)

    assert sorted(outcome.bindings) == [f"g1-{number}" for number in range(4)]
    assert sorted(outcome.bindings.values()) == [f"n{number}" for number in range(4)]
    assert outcome.is_at_rest
    assert "4/4 tasks in gang unschedulable" in outcome.conditions("g2")["Unschedulable"].message
    assert "cpu" in outcome.why_pod("g2-0")
