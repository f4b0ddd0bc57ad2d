"""After a gang was evicted whole in a plan, plugins that count victims count all of it before other victims."""

from typing import Any

import pytest

from pyroclast.testing import Scenario
from tests.hypernodes import rack

LABELS = {"app": "v"}
GANG_AND_ONE_MORE = ["gang-1", "gang-0", "one-0"]


def beside_a_gang(queue: str) -> Scenario:
    """Return a node that a pod shares with one of a gang of two; the other is on a node of another rack."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9)
    scenario = scenario.node("n1", cpu=2).node("n2", cpu=1).add(rack("r1", "n1"), rack("r2", "n2"))
    low: dict[str, Any] = {"priority": 1, "priority_class": "low", "labels": LABELS}
    scenario = scenario.running("one", on=["n1"], queue=queue, **low)
    return scenario.running("gang", on=["n1", "n2"], queue=queue, min_available=2, **low)


def waiting(scenario: Scenario, queue: str, *, for_gangs: bool) -> Scenario:
    """Add a more important job that needs both places of one node; actions for gangs look for them in each rack."""
    topology = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}} if for_gangs else {}
    return scenario.job("w", cpu=2, priority=9, priority_class="high", queue=queue, phase="Inqueue", group=topology)


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
@pytest.mark.parametrize(("allowed", "evicted"), [(2, []), (3, GANG_AND_ONE_MORE)])
def test_a_budget_is_asked_again(action: str, allowed: int, evicted: list[str]) -> None:
    """Room for two needs all three: one of the gang and the other pod are within a budget of two, all are not."""
    # to gangpreempt gang permits everybody, so there it must not stand behind those who spare
    first, second = ("gang",) * (action == "gangpreempt"), ("gang",) * (action == "preempt")
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "v"},
        "spec": {"selector": {"matchLabels": LABELS}},
        "status": {"disruptionsAllowed": allowed},
    }
    scenario = waiting(beside_a_gang("default").add(budget), "default", for_gangs=action == "gangpreempt")
    plugins = (("priority", "conformance", "pdb", *first), (*second, "predicates", "network-topology-aware"))

    assert scenario.run(action, plugins=plugins).evictions == evicted


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
@pytest.mark.parametrize(("kept", "evicted"), [(1, []), (0, GANG_AND_ONE_MORE)])
def test_what_a_queue_deserves_is_asked_again(action: str, kept: int, evicted: list[str]) -> None:
    """A queue that deserves one of three can lose two of them, not the gang and the other pod."""
    scenario = beside_a_gang("rich").queue("rich", deserved={"cpu": kept}).queue("poor", deserved={"cpu": 2})
    scenario = waiting(scenario, "poor", for_gangs=action == "gangreclaim")
    # to gangreclaim gang and priority permit everybody, so there capacity must not stand behind them
    first, second = ("capacity",) * (action == "gangreclaim"), ("capacity",) * (action == "reclaim")
    plugins = (("priority", "conformance", "gang", *first), (*second, "predicates", "network-topology-aware"))

    assert scenario.run(action, plugins=plugins).evictions == evicted
