"""Best-effort members of a gang get places of best-effort pods, also beside members that need places too."""

from typing import Any

import pytest

from pyroclast.testing import Scenario

GANG = {"name": "gang", "enablePreemptable": False}
ALL_STARVE: Any = (("priority", GANG, "conformance"), ("predicates", "nodeorder"))
GANGS_STARVE: Any = (
    ({"name": "priority", "enableJobStarving": False}, GANG, "conformance"),
    ("predicates", "nodeorder"),
)
NODE = Scenario().priority_class("low", 1).priority_class("high", 9).node("n1", cpu=8, pods=3)


def full(*cpus: int | None) -> Scenario:
    """Run less important pods on the node, in this order; None requests nothing."""
    scenario = NODE
    for number, cpu in enumerate(cpus):
        scenario = scenario.running(f"low-{number}", on=["n1"], cpu=cpu, priority_class="low", priority=1)
    return scenario


def waits(scenario: Scenario, *cpus: int | None) -> Scenario:
    """Add an important gang of such members."""
    scenario = scenario.job(
        "high", tasks=0, min_available=len(cpus), priority_class="high", priority=9, phase="Inqueue"
    )
    for number, cpu in enumerate(cpus):
        scenario = scenario.pod(f"high-{number}", job="high", cpu=cpu, priority=9)
    return scenario


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
@pytest.mark.parametrize("tiers", [ALL_STARVE, GANGS_STARVE], ids=["all-starve", "gangs-starve"])
def test_a_light_pod_is_left_for_the_light_member(action: str, tiers: Any) -> None:
    """The node takes no pod more: the member of 1 CPU gets the place of a pod of 1 CPU, the other that of its like."""
    outcome = waits(full(1, 1, None), 1, None).run("enqueue", "allocate", action, "backfill", plugins=tiers)

    assert sorted(outcome.pipelined) == ["high-0", "high-1"]
    assert "low-2-0" in outcome.evictions
    assert len(outcome.evictions) == 2


@pytest.mark.parametrize("tiers", [ALL_STARVE, GANGS_STARVE], ids=["all-starve", "gangs-starve"])
def test_no_pod_is_evicted_where_the_light_member_has_no_place(tiers: Any) -> None:
    """Best-effort pods preempt no pods that request resources, so the gang would not start."""
    outcome = waits(full(1, 1, 1), 1, None).run("enqueue", "allocate", "preempt", "backfill", plugins=tiers)

    assert outcome.evictions == []
