"""The least harmful plan for a job is taken, over all nodes, queues and gangs."""

from typing import Any

import pytest

from pyroclast.testing import Scenario

GANG = {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}
TIERS: Any = (("priority", GANG, "conformance", "capacity"), ("predicates", "nodeorder"))
CLASSES = Scenario().priority_class("low", 1).priority_class("mid", 5).priority_class("high", 9)


def evicted(scenario: Scenario, action: str, *, least: bool = True) -> list[str]:
    """Run one cycle."""
    outcome = scenario.run("allocate", action, plugins=TIERS, arguments={action: {"leastHarm": least}})
    return sorted(outcome.evictions)


def running(scenario: Scenario, name: str, nodes: list[str], kind: str, **more: Any) -> Scenario:
    """Add a job that runs."""
    more = {"queue": "default", "min_available": 1, **more}
    return scenario.job(name, tasks=len(nodes), running_on=nodes, priority_class=kind, priority=PRIORITY[kind], **more)


PRIORITY = {"low": 1, "mid": 5, "high": 9}


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_reclaim_takes_the_least_important_job_of_all_queues(action: str) -> None:
    """Three queues have more than they deserve; the job of the lowest priority goes, wherever it runs."""
    scenario = CLASSES.queue("d", deserved={"cpu": 6})
    for queue, node, kind in (("a", "n1", "high"), ("b", "n2", "mid"), ("c", "n3", "low")):
        scenario = scenario.queue(queue, deserved={"cpu": 2}).node(node, cpu=4)
        scenario = running(scenario, queue, [node], kind, queue=queue, cpu=4)
    scenario = scenario.job("w", queue="d", cpu=2, priority_class="low", priority=1, phase="Inqueue")

    assert evicted(scenario, action) == ["c-0"]
    assert evicted(scenario, action, least=False) == (["a-0"] if action == "reclaim" else ["c-0"])


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_three_victims_rather_than_five(action: str) -> None:
    """Two nodes of equal work: on one of them fewer pods make the room."""
    scenario = running(CLASSES.node("n1", cpu=6).node("n2", cpu=6), "small", ["n1"] * 6, "low", cpu=1)
    scenario = running(scenario, "large", ["n2"] * 3, "low", cpu=2)
    scenario = scenario.job("w", cpu=5, priority_class="high", priority=9, phase="Inqueue")

    assert evicted(scenario, action) == ["large-0", "large-1", "large-2"][-3:]


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_a_gang_is_not_broken_where_single_pods_make_room(action: str) -> None:
    """Two single pods go rather than a gang of two, though the gang runs on the first node."""
    scenario = running(CLASSES.node("n1", cpu=2).node("n2", cpu=2), "gang", ["n1"] * 2, "low", min_available=2)
    scenario = running(scenario, "one", ["n2"], "low")
    scenario = running(scenario, "two", ["n2"], "low")
    scenario = scenario.job("w", cpu=2, priority_class="high", priority=9, phase="Inqueue")

    assert evicted(scenario, action) == ["one-0", "two-0"]


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
@pytest.mark.parametrize("sizes", [(4, 8), (8, 4)])
def test_the_larger_pod_of_a_gang_gets_the_larger_node(action: str, sizes: tuple[int, int]) -> None:
    """In whatever order the pods come, all low pods go and both pods have a place."""
    scenario = running(CLASSES.node("n1", cpu=8).node("n2", cpu=4), "a", ["n1"], "low", cpu=8)
    scenario = running(scenario, "b", ["n2"], "low", cpu=4)
    scenario = scenario.job("w", tasks=0, min_available=2, priority_class="high", phase="Inqueue")
    for number, cpu in enumerate(sizes):
        scenario = scenario.pod(f"w-{number}", job="w", cpu=cpu, priority=9)

    assert evicted(scenario, action) == ["a-0", "b-0"]


@pytest.mark.parametrize(("cpus", "victims"), [((1,) * 8, 8), ((1, 2, 3, 2), 8)], ids=["equal", "unlike"])
def test_a_plan_with_the_fewest_victims_that_are_possible_is_searched_for_once(
    cpus: tuple[int, ...], victims: int
) -> None:
    """One victim frees 1 CPU, and 8 are needed: no further search protects a victim."""
    scenario = Scenario().priority_class("high", 9)
    for number in range(12):
        scenario = scenario.node(f"n{number}", cpu=4)
        for kind in ("a", "b"):
            scenario = scenario.running(f"{kind}{number}", on=[f"n{number}"] * 2)
    scenario = scenario.job("w", tasks=0, min_available=len(cpus), priority_class="high", phase="Inqueue")
    for number, cpu in enumerate(cpus):
        scenario = scenario.pod(f"w-{number}", job="w", cpu=cpu, priority=9)
    outcome = scenario.run("preempt", plugins=(("priority",), ("predicates",)))

    assert len(outcome.evictions) == victims
    (looks,) = (each.value for each in outcome.report.samples if each.metric == "total_preemption_attempts")
    assert looks < 300
