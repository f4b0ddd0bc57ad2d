"""A gang that fits once others are gone gets a plan: the actions that evict find an assignment wherever one exists."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from pyroclast.testing import Scenario
from pyroclast.testing.objects import GPU
from tests.drawing import examples
from tests.laws.fitting_gangs import fitting_gang, minimum_of

EXAMPLES = examples(4)
ACTIONS = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
GANG = {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}
TIERS: Any = (("priority", GANG, "conformance"), ("predicates", "capacity", "nodeorder", "network-topology-aware"))
VICTIMS = "low"


def crowded(chance: Random, *, of_same_queue: bool) -> Scenario:
    """Make a gang that fits idle nodes, and fill these nodes with single pods of a lower priority."""
    scenario = fitting_gang(chance)
    nodes = [each for each in scenario.objects if each["kind"] == "Node"]
    objects = [{**each, "spec": _at_high_priority(each)} for each in scenario.objects]
    crowd = Scenario().add(*objects).queue("others", deserved=None).priority_class("low", 1).priority_class("high", 9)
    for node in nodes:
        offers, name = node["status"]["allocatable"], node["metadata"]["name"]
        victims = chance.randint(1, 4)
        cpu, memory = int(offers["cpu"]), int(offers["memory"].removesuffix("Gi"))
        for number in range(min(victims, cpu)):
            crowd = crowd.running(
                f"{VICTIMS}-{name}-{number}",
                on=[name],
                queue="research" if of_same_queue else "others",
                cpu=_piece(cpu, min(victims, cpu), number),
                memory=f"{_piece(memory, min(victims, cpu), number)}Gi",
                gpu=_piece(int(offers.get(GPU, 0)), min(victims, cpu), number) or None,
                priority_class="low",
                priority=1,
            )
    return crowd


def _piece(total: int, parts: int, number: int) -> int:
    return total // parts + (number < total % parts)


def _at_high_priority(each: Any) -> Any:
    spec = each.get("spec")
    if each["kind"] == "PodGroup":
        return {**spec, "priorityClassName": "high"}
    if each["kind"] == "Queue" and each["metadata"]["name"] == "research":
        deserved = {"cpu": 1000, "memory": "10000Gi", GPU: 1000}
        return {**spec, "capability": None, "deserved": deserved}
    return {**spec, "priority": 9} if each["kind"] == "Pod" else spec


@pytest.mark.parametrize("action", ACTIONS)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1 << 32))
@example(seed=2208667676)  # a gang of 17 that must lie in one rack
@example(seed=3564247119)  # a gang with a member that no node could hold
@example(seed=3630873213)  # a gang of 24 that is spread over five unlike hosts
@example(seed=6151)  # the second way finds a plan as good as that of the first, and commits it
def test_a_gang_that_fits_after_evictions_gets_a_plan(seed: int, action: str) -> None:
    """Members have places, at least as many as the minimum, in the first cycle."""
    scenario = crowded(Random(seed), of_same_queue=action.endswith("preempt"))
    assume(action != "preempt" or not has_topology(scenario))  # it leaves such gangs to gangpreempt

    outcome = scenario.run("enqueue", "allocate", action, plugins=TIERS)

    assert outcome.warnings == ()
    assert len(outcome.pipelined) >= minimum_of_gang(scenario), outcome.why("gang")


def has_topology(scenario: Scenario) -> bool:
    """Return whether the gang must lie in one domain."""
    return any("networkTopology" in (each.get("spec") or {}) for each in scenario.objects)


def minimum_of_gang(scenario: Scenario) -> int:
    """Return how many members the gang needs."""
    groups = [each for each in scenario.objects if each["metadata"]["name"] == "gang"]
    return minimum_of(Scenario().add(*groups))
