"""Topology-aware preemption compares what victims are really worth, and asks the queue's limit again in the end."""

from typing import Any

from pyroclast.testing import Outcome, Scenario


def preempt(scenario: Scenario, **high: Any) -> Outcome:
    """Run preempt in that mode for a pod of 2 CPU."""
    scenario = scenario.job("high", cpu=2, queue="q", priority_class="high", phase="Inqueue", **high)
    arguments = {"preempt": {"enableTopologyAwarePreemption": True}}
    plugins = (("priority", "conformance"), ("predicates", "proportion"))
    return scenario.run("preempt", plugins=plugins, arguments=arguments)


def cluster(**queue: Any) -> Scenario:
    """Two nodes of 2 CPU."""
    return Scenario().priority_class("high", 100).queue("q", **queue).node("n1", cpu=2).node("n2", cpu=2)


def test_the_most_important_victim_counts_wherever_it_stands() -> None:
    """On n1 pods of priority 1 and 9 would go, on n2 two of 5: n2, though n1's first victim is worth less."""
    scenario = cluster().running("a", on=["n1"], queue="q", priority=9).running("b", on=["n1"], queue="q", priority=1)
    outcome = preempt(scenario.running("c", on=["n2", "n2"], queue="q", priority=5))

    assert outcome.pipelined == {"high-0": "n2"}
    assert sorted(outcome.evictions) == ["c-0", "c-1"]


def test_a_limit_that_no_eviction_can_meet_evicts_no_pod() -> None:
    """The queue may have one CPU, the pod needs two."""
    outcome = preempt(cluster(capability={"cpu": 1}).running("a", on=["n1"], queue="q"))

    assert (outcome.evictions, outcome.pipelined) == ([], {})
