"""A gang whose minimum fits the free room starts, in whatever order its pods stand."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.framework.placement.gangs import search
from pyroclast.testing import Outcome, Scenario
from tests.hypernodes import rack

PLUGINS = (("priority", "gang"), ("drf", "predicates", "proportion", "nodeorder", "network-topology-aware"))
TWO_NODES = Scenario().node("na", cpu=53).node("nb", cpu=31)


def decided(scenario: Scenario, arguments: Mapping[str, Any] | None = None) -> Outcome:
    """Run one cycle."""
    return scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS, arguments={"allocate": arguments or {}})


def gang(scenario: Scenario, *cpus: int, minimum: int | None = None, **group: Any) -> Scenario:
    """Add a gang of pods that ask for so much CPU."""
    scenario = scenario.job("g", tasks=0, min_available=len(cpus) if minimum is None else minimum, group=group)
    for number, cpu in enumerate(cpus):
        scenario = scenario.pod(f"g-{number}", job="g", cpu=cpu)
    return scenario


def test_the_order_of_unlike_pods_does_not_matter() -> None:
    """The pod of 50 CPU fits one node alone, so the other one leaves it to that pod."""
    assert decided(gang(TWO_NODES, 30, 50)).bindings == {"g-0": "nb", "g-1": "na"}
    assert decided(gang(TWO_NODES, 50, 30)).bindings == {"g-0": "na", "g-1": "nb"}


def test_gang_search_can_be_switched_off() -> None:
    """Then tasks are placed in their order alone."""
    assert decided(gang(TWO_NODES, 30, 50), {"gangSearch": False}).bindings == {}


def test_scores_decide_where_there_is_a_choice() -> None:
    """Three nodes take the small pod once the large one is placed; the preferred one is used."""
    prefers = {"weight": 100, "preference": {"matchExpressions": [{"key": "fast", "operator": "Exists"}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [prefers]}}
    scenario = (
        TWO_NODES.node("nc", cpu=31).node("nd", cpu=31, labels={"fast": "yes"}).job("g", tasks=0, min_available=2)
    )
    scenario = scenario.pod("g-0", job="g", cpu=30, spec={"affinity": affinity}).pod("g-1", job="g", cpu=50)

    assert decided(scenario).bindings == {"g-0": "nd", "g-1": "na"}


def test_the_members_that_fit_are_chosen() -> None:
    """Two of three pods are needed; the first in order fits one node, and then no other pod has a place."""
    scenario = gang(Scenario().node("n1", cpu=10), 10, 5, 5, minimum=2)

    assert decided(scenario).bindings == {"g-1": "n1", "g-2": "n1"}


def test_the_members_that_the_queue_takes_are_chosen() -> None:
    """The queue takes 10 CPU."""
    scenario = Scenario().queue("q", capability={"cpu": 10}).node("n1", cpu=64)
    scenario = scenario.job("g", queue="q", tasks=0, min_available=2)
    for number, cpu in enumerate((8, 6, 4)):
        scenario = scenario.pod(f"g-{number}", job="g", cpu=cpu)

    assert decided(scenario).bindings == {"g-1": "n1", "g-2": "n1"}


def test_a_member_follows_the_one_it_needs() -> None:
    """The first pod must share a node with the second."""
    term = {"labelSelector": {"matchLabels": {"app": "server"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    scenario = Scenario().node("n1", cpu=4).node("n2", cpu=4).job("g", tasks=0, min_available=2)
    scenario = scenario.pod("g-0", job="g", spec={"affinity": affinity})
    scenario = scenario.pod("g-1", job="g", labels={"app": "server"})

    assert len(set(decided(scenario).bindings.values())) == 1


def test_a_domain_with_an_assignment_is_found() -> None:
    """Both racks have 8 CPU, and one of them takes pods of 3 and 5."""
    racks = Scenario().node("n1", cpu=4).node("n2", cpu=4).node("n3", cpu=5).node("n4", cpu=3)
    racks = racks.add(rack("r1", "n1", "n2"), rack("r2", "n3", "n4"))
    topology = {"mode": "hard", "highestTierAllowed": 1}

    assert decided(gang(racks, 3, 5, networkTopology=topology)).bindings == {"g-0": "n4", "g-1": "n3"}


def test_the_reason_is_true_of_the_cluster_as_it_stands() -> None:
    """Each pod fits a node of its own, both do not."""
    outcome = decided(gang(TWO_NODES, 40, 50))

    assert outcome.bindings == {}
    assert "no assignment of the 2 tasks that the gang needs to nodes exists" in outcome.why("g")
    assert "Insufficient cpu" in decided(gang(TWO_NODES, 40, 60)).why_pod("g-1")


def test_gangs_of_one_namespace_leave_steps_to_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Older gangs of a namespace, which have no places, take all steps of their namespace, and no more."""
    scenario = TWO_NODES
    for number in range(12):
        scenario = scenario.job(f"n{number}", tasks=0, min_available=6, namespace="noisy")
        for member, cpu in enumerate((10, 22, 11, 14, 11, 12)):
            scenario = scenario.pod(f"n{number}-{member}", job=f"n{number}", namespace="noisy", cpu=cpu)
    monkeypatch.setattr(search, "_EACH_CYCLE", 30)
    monkeypatch.setattr(search, "_EACH_NAMESPACE", 10, raising=False)

    assert decided(gang(scenario, 30, 50)).bindings == {"g-0": "nb", "g-1": "na"}
