"""An equal plan that leaves each job a pod comes first: elastic jobs shrink before one stops."""

from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario

GANG = {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}
TIERS: Any = (("priority", GANG, "conformance", "proportion"), ("predicates", "nodeorder"))


def outcome_for(action: str, scenario: Scenario) -> Outcome:
    """Run an action that evicts for the job `wait`."""
    return scenario.run("enqueue", "allocate", action, plugins=TIERS)


def full(action: str, *jobs: int, order: int = 1) -> Scenario:
    """Draw a full cluster of nodes with one CPU: elastic jobs of so many pods with a minimum of one."""
    queue = "theirs" if action.endswith("reclaim") else "ours"
    scenario = Scenario().queue("ours").queue("theirs").priority_class("low", 1).priority_class("high", 9)
    names = [f"n{number}" for number in range(sum(jobs))][::order]
    for name in sorted(names):
        scenario = scenario.node(name, cpu=1)
    for number, pods in enumerate(jobs):
        on, names = names[:pods], names[pods:]
        scenario = scenario.running(f"elastic-{number}", on=on, queue=queue, priority_class="low", priority=1)
    return scenario


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("action", ["preempt", "gangpreempt", "reclaim", "gangreclaim"])
def test_each_elastic_job_keeps_a_pod(action: str, order: int) -> None:
    """Two jobs of two pods give one each; neither of them stops."""
    scenario = full(action, 2, 2, order=order)
    outcome = outcome_for(action, scenario.job("wait", tasks=2, queue="ours", priority_class="high", priority=9))

    assert sorted(each.rpartition("-")[0] for each in outcome.evictions) == ["elastic-0", "elastic-1"]


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_many_elastic_jobs_give_their_surplus(action: str) -> None:
    """Six pods come from four jobs of three pods each, and no job stops."""
    scenario = full(action, 3, 3, 3, 3)
    outcome = outcome_for(action, scenario.job("wait", tasks=6, queue="ours", priority_class="high", priority=9))

    lost = [each.rpartition("-")[0] for each in outcome.evictions]
    assert len(lost) == 6
    assert max(map(lost.count, lost)) <= 2


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_a_last_pod_goes_where_no_surplus_is_left(action: str) -> None:
    """Three of four pods are needed: one of the two jobs stops."""
    scenario = full(action, 2, 2)
    outcome = outcome_for(action, scenario.job("wait", tasks=3, queue="ours", priority_class="high", priority=9))

    assert len(outcome.evictions) == 3


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_a_job_of_one_pod_counts_as_before(action: str) -> None:
    """A single pod of lower priority goes before the surplus of a more important job."""
    scenario = full(action, 2).priority_class("least", 0).node("s", cpu=1)
    scenario = scenario.running("single", on=["s"], queue="ours", priority_class="least", priority=0)
    outcome = outcome_for(action, scenario.job("wait", queue="ours", priority_class="high", priority=9))

    assert outcome.evictions == ["single-0"]
