"""Many sub-groups and few domains: a gang that fits is placed, and the search ends where it does not fit."""

import pytest

from pyroclast.framework.placement.gangs import search as gang_search
from pyroclast.framework.placement.gangs.search import GangSearch
from pyroclast.testing import Scenario, open_session
from tests.hypernodes import hyper_node

PLUGINS = (("gang",), ("predicates", "network-topology-aware"))
WITHIN_RACK = {"mode": "hard", "highestTierAllowed": 1}
WITHIN_ROW = {"mode": "hard", "highestTierAllowed": 2}


def racks(count: int, *, nodes: int, cpu: int = 1) -> Scenario:
    """Return racks of equal nodes in one row."""
    names = {f"r{rack}": [f"r{rack}-n{number}" for number in range(nodes)] for rack in range(count)}
    scenario = Scenario()
    for members in names.values():
        for name in members:
            scenario = scenario.node(name, cpu=cpu)
    scenario = scenario.add(*(hyper_node(rack, 1, "Node", members) for rack, members in names.items()))
    return scenario.add(hyper_node("row", 2, "HyperNode", list(names)))


def sub_groups(scenario: Scenario, sizes: list[tuple[int, int]]) -> Scenario:
    """Add a gang of sub-groups; of each the number of pods, and the CPU of a pod."""
    policy = {
        "name": "part",
        "matchLabelKeys": ["part"],
        "subGroupSize": min(size for size, _ in sizes),
        "minSubGroups": len(sizes),
        "networkTopology": WITHIN_RACK,
    }
    group = {"subGroupPolicy": [policy], "networkTopology": WITHIN_ROW}
    scenario = scenario.job("j", tasks=0, min_available=sum(size for size, _ in sizes), group=group)
    for part, (size, cpu) in enumerate(sizes):
        for number in range(size):
            scenario = scenario.pod(f"j-{part}-{number}", job="j", labels={"part": f"p{part}"}, cpu=cpu)
    return scenario


def steps_of(scenario: Scenario) -> int:
    """Search for a gang; return the steps that this took."""
    session = open_session(scenario, plugins=PLUGINS)
    (job,) = session.jobs.all()
    search = GangSearch(session, job, session.jobs.pending_tasks(job), root=session.topology.domains.topology.root)
    assert search.run(on_idle=True) == []
    return session.search_steps


def test_equal_sub_groups_that_are_too_many_take_no_steps() -> None:
    """Each of eight racks holds one sub-group of two, and there are nine: counting tells that."""
    assert steps_of(sub_groups(racks(8, nodes=3), [(2, 1)] * 9)) == 0


def test_a_node_may_hold_several_sub_groups() -> None:
    """Two racks of one node hold three sub-groups of two each."""
    outcome = sub_groups(racks(2, nodes=1, cpu=6), [(2, 1)] * 6).run("allocate", plugins=PLUGINS)
    assert len(outcome.bindings) == 12


@pytest.mark.parametrize("count", [7, 14])
def test_unlike_sub_groups_that_are_too_many_take_no_steps(count: int) -> None:
    """No two sub-groups fit a rack, since even the smallest pods need a node each, and there is one more than racks."""
    unlike = [(2, 22 + cpu) for cpu in range(count + 1)]
    assert steps_of(sub_groups(racks(count, nodes=3, cpu=40), unlike)) == 0


def test_large_sub_groups_are_counted_apart() -> None:
    """The sub-group of small pods fits beside others, and the large ones are one more than there are racks."""
    unlike = [(2, 1), *((2, cpu) for cpu in range(13, 21))]
    assert steps_of(sub_groups(racks(7, nodes=3, cpu=20), unlike)) == 0


def test_sub_groups_that_ask_for_too_much_together_take_no_steps() -> None:
    """Two sub-groups would need 42 CPU of the 40 of a rack."""
    assert steps_of(sub_groups(racks(2, nodes=4, cpu=10), [(7, 3), (3, 7), (3, 7)])) == 0


def test_the_search_for_domains_of_unlike_sub_groups_ends_within_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting does not tell that three pods of 7 CPU do not fit beside three large ones, each on a node of its own."""
    monkeypatch.setattr(gang_search, "_IN_REGIONS", 500)
    unlike = [(3, 7), *((3, cpu) for cpu in range(14, 21))]
    assert 500 <= steps_of(sub_groups(racks(7, nodes=4, cpu=20), unlike)) < 2_000


def test_the_order_of_equal_sub_groups_does_not_matter() -> None:
    """Combinations of domains are tried in one order only, and one that fits is found."""
    scenario = sub_groups(racks(5, nodes=2, cpu=3), [(2, 1), (2, 2), (2, 2), (2, 1), (2, 3), (2, 3), (2, 3)])
    assert len(scenario.run("allocate", plugins=PLUGINS).bindings) == 14
