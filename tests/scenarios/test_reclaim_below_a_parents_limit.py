"""Reclaim frees the limit of a common parent queue: victims on any node serve, those of other branches do not."""

from typing import Any

import pytest

from pyroclast.testing import Scenario

CAPACITY = {"name": "capacity", "enableHierarchy": True}
GANG = {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}
TIERS: Any = (("priority", GANG, "conformance"), ("predicates", CAPACITY, "nodeorder"))
TREE = (
    Scenario()
    .queue("root", capability={"cpu": 32})
    .queue("research", parent="root", deserved={"cpu": 8}, capability={"cpu": 8})
    .queue("vision", parent="research", deserved={"cpu": 4}, capability={"cpu": 8})
    .queue("speech", parent="research", deserved={"cpu": 4}, capability={"cpu": 8})
    .queue("lab", parent="root", deserved={"cpu": 1}, capability={"cpu": 24})
    .node("n0", cpu=8, labels={"disk": "ssd"})
    .node("n1", cpu=16)
)
ON_SSD = {"nodeSelector": {"disk": "ssd"}}


def crowded(idle: int) -> Scenario:
    """Let speech use all that research may have, and lab the rest of the second node, both beyond what they deserve."""
    scenario = TREE.running("other", on=["n0"], queue="lab", cpu=8 - idle) if idle < 8 else TREE
    for number in range(8):
        scenario = scenario.running(f"lab-{number}", on=["n1"], queue="lab", cpu=1)
    for number in range(8):
        scenario = scenario.running(f"speech-{number}", on=["n1"], queue="speech", cpu=1)
    return scenario


def waits(scenario: Scenario, *cpus: int) -> Scenario:
    """Add a gang of vision that must go to the first node."""
    scenario = scenario.job("new", queue="vision", tasks=0, min_available=len(cpus), phase="Inqueue")
    for number, cpu in enumerate(cpus):
        scenario = scenario.pod(f"new-{number}", job="new", cpu=cpu, spec=ON_SSD)
    return scenario


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
@pytest.mark.parametrize("cpus", [(2,), (1, 1, 1), (2, 1)])
def test_the_sibling_queue_frees_the_limit(action: str, cpus: tuple[int, ...]) -> None:
    """The first node is idle: as many pods of the sibling are evicted on the second as the gang has CPU."""
    outcome = waits(crowded(idle=8), *cpus).run("enqueue", "allocate", action, plugins=TIERS)

    assert set(outcome.pipelined.values()) == {"n0"}
    assert [name.partition("-")[0] for name in outcome.evictions] == ["speech"] * sum(cpus)


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_room_from_one_branch_and_the_limit_from_another(action: str) -> None:
    """The node's room comes from lab's pod there, the limit from speech's pods on the other node."""
    outcome = waits(crowded(idle=0), 2).run("enqueue", "allocate", action, plugins=TIERS)

    assert outcome.pipelined == {"new-0": "n0"}
    assert sorted(name.partition("-")[0] for name in outcome.evictions) == ["other", "speech", "speech"]


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_no_pod_is_evicted_where_siblings_have_no_more_than_they_deserve(action: str) -> None:
    """Speech deserves 4 CPU: it gives 4 of its 8, and no 5."""
    outcome = waits(crowded(idle=8), 2, 2, 1).run("enqueue", "allocate", action, plugins=TIERS)

    assert outcome.evictions == []


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_small_pods_are_evicted_before_the_one_that_leaves_a_sibling_what_it_deserves(action: str) -> None:
    """Room needs the pod of 3 CPU, after which speech loses no more; its limit of memory needs two small pods first."""
    scenario = (
        Scenario()
        .queue("root")
        .queue("research", parent="root", deserved={"cpu": 7}, capability={"cpu": 7, "memory": "4Gi"})
        .queue("vision", parent="research", deserved={"cpu": 4})
        .queue("speech", parent="research", deserved={"cpu": 3})
        .node("n0", cpu=3, labels={"disk": "ssd"}, memory="16Gi")
        .node("n1", cpu=8, memory="16Gi")
        .running("large", on=["n0"], queue="speech", cpu=3)
    )
    for number in range(3):
        scenario = scenario.running(f"small-{number}", on=["n1"], queue="speech", cpu=1, memory="1Gi")
    scenario = scenario.job("new", queue="vision", tasks=0, min_available=1, phase="Inqueue")
    scenario = scenario.pod("new-0", job="new", cpu=2, memory="3Gi", spec=ON_SSD)
    outcome = scenario.run("enqueue", "allocate", action, plugins=TIERS)

    assert outcome.pipelined == {"new-0": "n0"}
    assert sorted(name.partition("-")[0] for name in outcome.evictions) == ["large", "small", "small"]
