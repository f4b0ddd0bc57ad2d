"""Queue admission never disables eviction: a job that preempt, reclaim or a gang action would serve is admitted."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.testing import Scenario

TREE = {"name": "capacity", "enableHierarchy": True}
GANG = {"name": "gang", "enablePreemptable": False}
FIRST = ("priority", GANG, "conformance")
FULL = (
    Scenario().queue("root").priority_class("low", 10).priority_class("high", 100).node("n1", cpu=4).node("n2", cpu=4)
)
HALF: Mapping[str, Any] = {"deserved": {"cpu": 4}}
HIGH: dict[str, Any] = {"priority_class": "high", "priority": 100}


def pods_of(group: str, pods: Any) -> list[str]:
    """Return the pods of a group among some."""
    return sorted(pod for pod in pods if pod.startswith(f"{group}-"))


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
@pytest.mark.parametrize("sharing", ["proportion", "capacity", TREE])
@pytest.mark.parametrize("bounding", [("overcommit",), ()])
def test_a_full_queue_admits_more_important_work(action: str, sharing: Any, bounding: tuple[str, ...]) -> None:
    """Eight CPU run at low priority; four of them go for a gang of high priority."""
    scenario = FULL.queue("q", capability={"cpu": 8})
    for name, node in (("a", "n1"), ("b", "n2")):
        scenario = scenario.running(name, on=[node] * 4, queue="q", priority_class="low", min_resources={"cpu": 4})
    scenario = scenario.job("hi", tasks=4, queue="q", min_resources={"cpu": 4}, **HIGH)
    plugins = (FIRST, (*bounding, "predicates", sharing, "nodeorder"))
    outcome = scenario.run("enqueue", "allocate", action, "backfill", plugins=plugins, cycles=6, recreate_evicted=True)

    assert pods_of("hi", outcome.bindings) == ["hi-0", "hi-1", "hi-2", "hi-3"]
    assert len(outcome.evictions) == 4


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
@pytest.mark.parametrize("sharing", ["proportion", "capacity", TREE])
@pytest.mark.parametrize("bounding", [("overcommit",), ()])
def test_a_full_cluster_admits_what_a_queue_deserves(action: str, sharing: Any, bounding: tuple[str, ...]) -> None:
    """Queue a holds all eight CPU and deserves four; a gang of queue b gets the other four."""
    scenario = FULL.queue("a", **HALF).queue("b", **HALF)
    for name, node in (("a1", "n1"), ("a2", "n2")):
        scenario = scenario.running(name, on=[node] * 4, queue="a", min_resources={"cpu": 4})
    scenario = scenario.job("new", tasks=4, queue="b", min_resources={"cpu": 4})
    plugins = (FIRST, (*bounding, "predicates", sharing, "nodeorder"))
    outcome = scenario.run("enqueue", "allocate", action, "backfill", plugins=plugins, cycles=6, recreate_evicted=True)

    assert pods_of("new", outcome.bindings) == ["new-0", "new-1", "new-2", "new-3"]
    assert len(outcome.evictions) == 4


@pytest.mark.parametrize("sharing", ["proportion", "capacity"])
def test_admission_still_bounds_what_waits(sharing: str) -> None:
    """One of ten jobs of equal priority takes the place of less important work, and the others create no pods."""
    scenario = FULL.queue("q", capability={"cpu": 4})
    scenario = scenario.running("low", on=["n1"] * 4, queue="q", priority_class="low", min_resources={"cpu": 4})
    for number in range(10):
        scenario = scenario.job(f"hi{number}", tasks=4, queue="q", min_resources={"cpu": 4}, **HIGH)
    plugins = (FIRST, ("predicates", sharing, "nodeorder"))
    outcome = scenario.run("enqueue", "allocate", "preempt", plugins=plugins, cycles=8)

    assert pods_of("hi0", outcome.bindings) == ["hi0-0", "hi0-1", "hi0-2", "hi0-3"]
    assert {outcome.phases[f"hi{number}"] for number in range(1, 10)} == {"Pending"}


@pytest.mark.parametrize("sharing", ["proportion", "capacity"])
def test_few_jobs_are_admitted_where_evictions_are_refused(sharing: str) -> None:
    """What runs is of low priority, and spared because it belongs to the system."""
    system: dict[str, Any] = {"namespace": "kube-system", "priority_class": "low", "min_resources": {"cpu": 4}}
    scenario = FULL.queue("q", capability={"cpu": 4}).running("low", on=["n1"] * 4, queue="q", **system)
    for number in range(10):
        scenario = scenario.job(f"hi{number}", tasks=4, queue="q", min_resources={"cpu": 4}, **HIGH)
    plugins = (FIRST, ("predicates", sharing, "nodeorder"))
    outcome = scenario.run("enqueue", "allocate", "preempt", plugins=plugins, cycles=8)

    assert outcome.evictions == []
    assert sorted(name for name, phase in outcome.phases.items() if phase == "Inqueue") == ["hi0", "hi1"]


def test_volcanos_rule_can_be_had() -> None:
    """`countEvictions: false` counts all that runs against a job."""
    scenario = FULL.queue("q", capability={"cpu": 4})
    scenario = scenario.running("low", on=["n1"] * 4, queue="q", priority_class="low", min_resources={"cpu": 4})
    scenario = scenario.job("hi", tasks=4, queue="q", min_resources={"cpu": 4}, **HIGH)
    plugins = (FIRST, ("predicates", "capacity", "nodeorder"))
    arguments = {"enqueue": {"countEvictions": False}}
    outcome = scenario.run("enqueue", "allocate", "preempt", plugins=plugins, cycles=3, arguments=arguments)

    assert outcome.phases["hi"] == "Pending"
    assert outcome.evictions == []
