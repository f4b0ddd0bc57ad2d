"""Sub-groups with network topologies of their own get an assignment of domains from the actions that evict."""

from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.hypernodes import hyper_node

GANG = {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}
TIERS: Any = (("priority", GANG, "conformance"), ("predicates", "capacity", "nodeorder", "network-topology-aware"))


def full_racks(*cpus: int, queue: str) -> Scenario:
    """Racks of one node each, in one row, full of single pods of 1 CPU."""
    scenario = Scenario().queue("ours", deserved={"cpu": 1000}).queue("theirs", deserved=None)
    scenario = scenario.priority_class("low", 1).priority_class("high", 9)
    names = [f"r{number}" for number in range(len(cpus))]
    for name, cpu in zip(names, cpus, strict=True):
        scenario = scenario.node(f"{name}-n", cpu=cpu).add(hyper_node(name, 1, "Node", [f"{name}-n"]))
        for number in range(cpu):
            scenario = scenario.running(
                f"low-{name}-{number}", on=[f"{name}-n"], queue=queue, cpu=1, priority_class="low", priority=1
            )
    return scenario.add(hyper_node("row", 2, "HyperNode", names))


def with_sub_groups(scenario: Scenario, *parts: tuple[int, ...]) -> Scenario:
    """Add a gang of sub-groups, each of which must lie in one rack; of each the CPUs of its pods."""
    policy = {
        "name": "part",
        "matchLabelKeys": ["part"],
        "subGroupSize": min(map(len, parts)),
        "minSubGroups": len(parts),
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    scenario = scenario.job(
        "g",
        tasks=0,
        min_available=sum(map(len, parts)),
        queue="ours",
        group={"subGroupPolicy": [policy]},
        priority_class="high",
        priority=9,
        phase="Inqueue",
    )
    for number, cpus in enumerate(parts):
        for at, cpu in enumerate(cpus):
            labels = {"part": f"p{number}"}
            scenario = scenario.pod(f"g-{number}-{at}", job="g", labels=labels, cpu=cpu, priority=9)
    return scenario


def racks_of(outcome: Outcome) -> dict[str, set[str]]:
    """Return where the pods of each sub-group wait."""
    racks: dict[str, set[str]] = {}
    for pod, node in outcome.pipelined.items():
        racks.setdefault(pod.rsplit("-", 1)[0], set()).add(node)
    return racks


@pytest.mark.parametrize(("action", "victims"), [("gangpreempt", "ours"), ("gangreclaim", "theirs")])
def test_the_first_sub_group_leaves_the_large_rack_to_the_second(action: str, victims: str) -> None:
    """Both racks hold the first sub-group, and the first rack alone the second one."""
    scenario = with_sub_groups(full_racks(6, 4, queue=victims), (2, 2), (3, 3))

    outcome = scenario.run("enqueue", "allocate", action, plugins=TIERS)

    assert racks_of(outcome) == {"g-0": {"r1-n"}, "g-1": {"r0-n"}}


@pytest.mark.parametrize(("action", "victims"), [("gangpreempt", "ours"), ("gangreclaim", "theirs")])
def test_sub_groups_share_racks_where_no_order_finds_room(action: str, victims: str) -> None:
    """Racks of 10 hold sub-groups of 6 and 4, of 7 and 3, and of 5 and 5; largest first would put 7 beside 3 alone."""
    scenario = with_sub_groups(full_racks(10, 10, 10, queue=victims), (2, 1), (2, 2), (3, 2), (2, 3), (3, 3), (3, 4))

    outcome = scenario.run("enqueue", "allocate", action, plugins=TIERS)

    assert len(outcome.pipelined) == 12
    assert all(len(racks) == 1 for racks in racks_of(outcome).values())


@pytest.mark.parametrize(("action", "victims"), [("gangpreempt", "ours"), ("gangreclaim", "theirs")])
def test_equal_pods_in_unlike_sub_groups(action: str, victims: str) -> None:
    """Sub-groups of two and three equal pods; the racks hold three and two."""
    scenario = with_sub_groups(full_racks(3, 2, queue=victims), (1, 1), (1, 1, 1))

    outcome = scenario.run("enqueue", "allocate", action, plugins=TIERS)

    assert len(outcome.pipelined) == 5
