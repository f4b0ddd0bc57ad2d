"""Reclaim: jobs with a network topology are looked for in one domain after the other."""

import pytest

from pyroclast.testing import Scenario
from tests.hypernodes import rack

# without its node order no plugin cares about more than a task's node, so that equal tasks are searched for once
PLUGINS = (
    ("conformance", "gang"),
    ("proportion", "predicates", {"name": "network-topology-aware", "enableNodeOrder": False}),
)
SPARED = {"volcano.sh/preemptable": "false"}
HARD = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}


def two_full_racks(spared: str) -> Scenario:
    """Two racks of two nodes that one queue fills; the pods of one rack may not be evicted."""
    scenario = Scenario().queue("q1").queue("q2").add(rack("r1", "n1", "n2"), rack("r2", "n3", "n4"))
    for name in ("n1", "n2", "n3", "n4"):
        scenario = scenario.node(name, cpu=1)
    for name, nodes in (("r1", ["n1", "n2"]), ("r2", ["n3", "n4"])):
        scenario = scenario.running(name, on=nodes, queue="q1", annotations=SPARED if name == spared else {})
    return scenario


@pytest.mark.parametrize(("spared", "evicted"), [("r1", ["r2-0", "r2-1"]), ("r2", ["r1-0", "r1-1"])])
def test_a_rack_without_victims_does_not_speak_for_the_others(spared: str, evicted: list[str]) -> None:
    """The gang gets the rack in which room can be made, whichever is looked at first."""
    scenario = two_full_racks(spared).job("w", tasks=2, queue="q2", phase="Inqueue", group=HARD)

    assert sorted(scenario.run("reclaim", plugins=PLUGINS).evictions) == evicted


def test_a_gang_that_may_lie_in_one_rack_does_not_speak_for_one_that_may_lie_anywhere() -> None:
    """The first finds no rack for three; the second, its equal but for the topology, needs no rack."""
    scenario = two_full_racks("r1").job("strict", tasks=3, queue="q2", phase="Inqueue", group=HARD)
    scenario = scenario.job("free", tasks=2, queue="q2", phase="Inqueue")

    assert sorted(scenario.run("reclaim", plugins=PLUGINS).evictions) == ["r2-0", "r2-1"]


@pytest.mark.parametrize(("full", "empty"), [("n1", "n3"), ("n3", "n1")])
def test_no_pod_is_evicted_if_another_rack_has_space(full: str, empty: str) -> None:
    """Also where the rack with victims is looked at first."""
    scenario = Scenario().queue("q1").queue("q2").add(rack("r1", "n1"), rack("r2", "n3"))
    scenario = scenario.node("n1", cpu=2).node("n3", cpu=2).running("r", on=[full] * 2, queue="q1", min_available=0)
    scenario = scenario.job("w", tasks=2, queue="q2", phase="Inqueue", group=HARD)
    outcome = scenario.run("reclaim", plugins=PLUGINS)

    assert outcome.evictions == []
    assert outcome.pipelined == {"w-0": empty, "w-1": empty}
