"""Koordinator's own configuration schedules gangs, quotas, devices and Reservations, and preempts."""

import json
from typing import Any

import pytest

from pyroclast.scheduler.registry import load_registry
from pyroclast.scheduler.simulation.batch import Simulation, simulate
from pyroclast.scheduler.simulation.case import read_case
from pyroclast.testing import Scenario
from tests.koordinatorconfiguration import SHIPPED, file_of

NAME = "koord-scheduler"
GANG = {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "3"}
QUOTA: dict[str, Any] = {
    "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
    "kind": "ElasticQuota",
    "metadata": {"name": "team", "namespace": "default"},
    "spec": {"min": {"cpu": 1}, "max": {"cpu": 2}},
}


def run(scenario: Scenario, config: dict[str, Any] = SHIPPED, rounds: int = 1) -> Simulation:
    """Simulate with a configuration; no plugin may fail."""
    case = {
        "config": json.dumps(config),
        "objects": [*scenario.queue("default").objects],
        "schedulerNames": [NAME],
        "rounds": rounds,
    }
    done = simulate(read_case(case), load_registry(), default_config="")
    assert not [each for each in done.warnings if "failed" in each], done.warnings
    return done


def bound(done: Simulation) -> list[str]:
    """Return the names of the pods that are bound."""
    return sorted(bind.name for each in done.rounds for plan in each.plans for bind in plan.binds)


def job(scenario: Scenario, name: str, **more: Any) -> Scenario:
    """Add a job of this scheduler, with one pod."""
    return scenario.job(name, pod={"schedulerName": NAME}, **more)


def test_a_gang_starts_as_a_whole() -> None:
    """It waits while there is capacity for two of its three pods."""
    for cpu, expected in ((2, []), (3, ["p0", "p1", "p2"])):
        scenario = Scenario().node("n1", cpu=cpu)
        for number in range(3):
            scenario = scenario.pod(f"p{number}", scheduler=NAME, annotations=GANG)

        assert bound(run(scenario)) == expected


def test_a_quota_limits_its_pods() -> None:
    """At its maximum."""
    scenario = Scenario().node("n1", cpu=8).add(QUOTA)
    for number in range(3):
        scenario = job(scenario, f"p{number}", labels={"quota.scheduling.koordinator.sh/name": "team"})

    assert len(bound(run(scenario))) == 2


@pytest.mark.parametrize(("post_filter", "evicts"), [({}, True), ({"disabled": [{"name": "*"}]}, False)])
def test_a_pod_of_higher_priority_preempts_where_the_file_enables_it(post_filter: dict[str, Any], evicts: bool) -> None:
    """DefaultPreemption is enabled by default."""
    scenario = Scenario().priority_class("high", 100).node("n1", cpu=1)
    scenario = job(scenario, "low", running_on=("n1",))
    scenario = job(scenario, "high", priority_class="high", priority=100)
    done = run(scenario, file_of(schedulerName=NAME, plugins={"postFilter": post_filter}), rounds=2)
    evicted = [each.name for one in done.rounds for plan in one.plans for each in plan.evictions]

    assert evicted == (["low-0"] if evicts else [])


def test_a_disabled_filter_is_not_applied() -> None:
    """A taint refuses no pod then."""
    tainted = Scenario().node("n1", cpu=1, taints=[{"key": "a", "effect": "NoSchedule"}])
    scenario = job(tainted, "p")
    without = file_of(schedulerName=NAME, plugins={"filter": {"disabled": [{"name": "TaintToleration"}]}})

    assert bound(run(scenario, file_of(schedulerName=NAME))) == []
    assert bound(run(scenario, without)) == ["p-0"]


def test_batch_resources_spread_pods_as_the_strategy_says() -> None:
    """The shipped strategy prefers the node with more free batch-cpu."""
    amounts = {"kubernetes.io/batch-cpu": 4000}
    scenario = Scenario().node("a", cpu=8, resources=amounts).node("b", cpu=8, resources=amounts)
    scenario = job(scenario, "old", running_on=("a",), resources={"kubernetes.io/batch-cpu": 3000})
    done = run(job(scenario, "new", resources={"kubernetes.io/batch-cpu": 1000}))
    (node,) = [bind.node for each in done.rounds for plan in each.plans for bind in plan.binds]

    assert node == "b"
