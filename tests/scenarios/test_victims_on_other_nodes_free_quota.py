"""Victims on other nodes free the queue's limit where the beneficiary has room already."""

from typing import Any

import pytest

from pyroclast.actions.preempt import Preempt
from pyroclast.framework.placement.gangs.refusals import SEARCH_ENDED
from pyroclast.framework.preemption.harm import effort_of
from pyroclast.model.ids import JobId
from pyroclast.testing import Scenario, open_session

TIERS: Any = (("priority", {"name": "gang", "enablePreemptable": False}), ("predicates", "capacity", "nodeorder"))
TWO_NODES = (
    Scenario()
    .queue("ours", capability={"cpu": 4})
    .priority_class("low", 1)
    .priority_class("high", 9)
    .node("n0", cpu=8, labels={"disk": "ssd"})
    .node("n1", cpu=8)
)
ON_SSD = {"nodeSelector": {"disk": "ssd"}}


def full_queue(scenario: Scenario) -> Scenario:
    """Use up the queue's limit on the second node, which has room left."""
    for number in range(4):
        scenario = scenario.running(f"low-{number}", on=["n1"], queue="ours", cpu=1, priority_class="low", priority=1)
    return scenario


def waits(scenario: Scenario, *cpus: int) -> Scenario:
    """Add a gang that must go to the first node."""
    scenario = scenario.job(
        "high",
        queue="ours",
        tasks=0,
        min_available=len(cpus),
        priority_class="high",
        priority=9,
        phase="Inqueue",
    )
    for number, cpu in enumerate(cpus):
        scenario = scenario.pod(f"high-{number}", job="high", cpu=cpu, priority=9, spec=ON_SSD)
    return scenario


def test_pods_elsewhere_leave_for_the_limit_alone() -> None:
    """The first node is idle; of the queue's four pods two go, so that the new one may have 2 CPU."""
    outcome = waits(full_queue(TWO_NODES), 2).run("enqueue", "allocate", "preempt", plugins=TIERS)

    assert outcome.pipelined == {"high-0": "n0"}
    assert len(outcome.evictions) == 2


def test_a_gang_gets_the_limit_that_it_needs() -> None:
    """Three pods of 1 CPU each."""
    outcome = waits(full_queue(TWO_NODES), 1, 1, 1).run("enqueue", "allocate", "preempt", plugins=TIERS)

    assert set(outcome.pipelined.values()) == {"n0"}
    assert len(outcome.evictions) == 3


def other_work(scenario: Scenario, cpu: int) -> Scenario:
    """Let pods of another queue and a pod of 1 CPU of this one run on the first node."""
    scenario = scenario.running("other", on=["n0"], queue="theirs", cpu=cpu, priority_class="low", priority=1)
    return scenario.running("beside", on=["n0"], queue="ours", cpu=1, priority_class="low", priority=1)


ROOM_AND_LIMIT = other_work(full_queue(TWO_NODES.queue("ours", capability={"cpu": 5}).queue("theirs")), 4)
"""The first node has 3 CPU left, and the queue uses all of its 5 CPU on both nodes."""


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_one_pod_gets_room_here_and_the_limit_elsewhere(action: str) -> None:
    """A pod of 4 CPU needs the victim on its node, and three of the queue's pods on the other."""
    outcome = waits(ROOM_AND_LIMIT, 4).run("enqueue", "allocate", action, plugins=TIERS)

    assert outcome.pipelined == {"high-0": "n0"}
    assert "beside-0" in outcome.evictions
    assert len(outcome.evictions) == 4


def test_no_pod_leaves_for_room_that_its_owner_may_not_use() -> None:
    """The queue may never have 6 CPU, so neither the pod on the node nor those elsewhere are evicted."""
    outcome = waits(ROOM_AND_LIMIT, 6).run("enqueue", "allocate", "preempt", plugins=TIERS)

    assert outcome.evictions == []


TIGHT = (
    Scenario()
    .queue("ours", capability={"cpu": 20})
    .priority_class("low", 1)
    .priority_class("high", 9)
    .node("n0", cpu=10, labels={"disk": "ssd"})
    .node("n1", cpu=20)
    .node("n2", cpu=10, labels={"disk": "ssd"})
)
"""Two nodes that the gang fills to the last CPU, one that it cannot use."""


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
@pytest.mark.parametrize("used", [20, 8])
def test_an_unlike_gang_that_fits_in_one_way_gets_the_limit(action: str, used: int) -> None:
    """5 and 5 CPU on one node, 4, 3 and 3 on the other; pods of the queue on the third use its limit, or part of it."""
    scenario = TIGHT
    for number in range(used):
        scenario = scenario.running(f"low-{number}", on=["n1"], queue="ours", cpu=1, priority_class="low", priority=1)
    outcome = waits(scenario, 5, 5, 4, 3, 3).run("enqueue", "allocate", action, plugins=TIERS)

    assert len(outcome.pipelined) == 5
    assert len(outcome.evictions) == used


def test_two_large_pods_leave_where_three_small_ones_would_do() -> None:
    """The limit lacks 3 CPU: a pod of 2 and one of 1 free it, as three pods of 1 would, which would be placed last."""
    scenario = TWO_NODES.queue("ours", capability={"cpu": 6})
    for number, cpu in enumerate((2, 1, 1, 1, 1)):
        scenario = scenario.running(f"low-{number}", on=["n1"], queue="ours", cpu=cpu, priority_class="low", priority=1)
    outcome = waits(scenario, 3).run("enqueue", "allocate", "preempt", plugins=TIERS)

    assert outcome.pipelined == {"high-0": "n0"}
    assert "low-0-0" in outcome.evictions
    assert len(outcome.evictions) == 2


def test_no_pod_is_evicted_if_the_limit_is_too_small_for_the_gang() -> None:
    """The pod asks for more than the queue may ever have."""
    outcome = waits(full_queue(TWO_NODES), 5).run("enqueue", "allocate", "preempt", plugins=TIERS)

    assert outcome.evictions == []


def test_a_search_that_gave_up_says_so() -> None:
    """With no eviction on trial left a plan may exist."""
    session = open_session(waits(full_queue(TWO_NODES), 2), plugins=TIERS)
    effort_of(session.scratch, "default").on_trial = 0
    session.action = "preempt"
    job = session.jobs.get(JobId("default/high"))
    assert job is not None

    Preempt().execute(session)

    assert job.reasons.eviction_refusals["preempt"].reason == SEARCH_ENDED
