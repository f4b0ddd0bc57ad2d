"""Evictions for unlike pods: an assignment is searched for within a budget, and the reason says how it ended."""

from typing import Any

from pyroclast.actions.preempt import Preempt
from pyroclast.framework.placement.gangs.refusals import SEARCH_ENDED
from pyroclast.framework.preemption.harm import EFFORT, Effort
from pyroclast.model.ids import JobId
from pyroclast.model.refusals import NO_PLAN, Refusal
from pyroclast.testing import Scenario, open_session

GANG = {"name": "gang", "enablePreemptable": False, "enableReclaimable": False}
TIERS: Any = (("priority", GANG, "conformance"), ("predicates", "capacity", "nodeorder"))
FULL = (
    Scenario()
    .queue("ours")
    .queue("theirs")
    .priority_class("low", 1)
    .priority_class("high", 9)
    .node("n0", cpu=10)
    .node("n1", cpu=10)
)


def with_gang(scenario: Scenario, *cpus: int, minimum: int | None = None) -> Scenario:
    """Add a gang of pods that ask for these CPUs."""
    scenario = scenario.job(
        "wait",
        queue="ours",
        tasks=0,
        min_available=minimum or len(cpus),
        priority_class="high",
        priority=9,
        phase="Inqueue",
    )
    for number, cpu in enumerate(cpus):
        scenario = scenario.pod(f"wait-{number}", job="wait", cpu=cpu, priority=9)
    return scenario


def victims(scenario: Scenario, queue: str) -> Scenario:
    """Fill both nodes with single pods of two CPUs."""
    for number in range(10):
        scenario = scenario.running(
            f"low-{number}", on=[f"n{number % 2}"], queue=queue, cpu=2, priority_class="low", priority=1
        )
    return scenario


EXACT = (3, 2, 3, 3, 2, 3, 2, 2)
"""Two of 3 and two of 2 fill a node of 10; three of 3, as largest first places them, leave 1 free."""


def refusal_of(scenario: Scenario, effort: Effort) -> Refusal | None:
    """Return what preempt says of the gang, with some effort left."""
    session = open_session(scenario, plugins=TIERS)
    session.scratch[EFFORT] = {"default": effort}
    session.action = "preempt"
    job = session.jobs.get(JobId("default/wait"))
    assert job is not None
    Preempt().execute(session)
    return job.reasons.eviction_refusals.get("preempt")


def test_an_assignment_is_found_where_no_order_finds_one() -> None:
    """Each of the ten victims goes, and all eight pods have places."""
    outcome = with_gang(victims(FULL, "ours"), *EXACT).run("enqueue", "allocate", "preempt", plugins=TIERS)

    assert len(outcome.pipelined) == len(EXACT)
    assert len(outcome.evictions) == 10


def test_no_plan_exists() -> None:
    """Pods of 7, 7, 4 and 2 ask for all of two nodes of 10, but 7 and 4 are too much for one of them."""
    refusal = refusal_of(with_gang(victims(FULL, "ours"), 7, 7, 4, 2), Effort())

    assert refusal is not None
    assert refusal.reason == NO_PLAN


def test_a_search_that_gave_up_says_so() -> None:
    """With no eviction on trial left a plan may exist: the reason is another one."""
    refusal = refusal_of(with_gang(victims(FULL, "ours"), *EXACT), Effort(on_trial=0))

    assert refusal is not None
    assert refusal.reason == SEARCH_ENDED
    assert "ended without a result" in refusal.message


def test_surplus_does_not_keep_gangreclaim_from_serving_the_minimum() -> None:
    """The third pod is larger than the cluster; the queue may take room back for the two that the gang needs."""
    scenario = with_gang(victims(FULL, "theirs"), 8, 100, 4, minimum=2)
    scenario = scenario.queue("ours", deserved={"cpu": 20})
    outcome = scenario.run("enqueue", "allocate", "gangreclaim", plugins=TIERS)

    assert sorted(outcome.pipelined) == ["wait-0", "wait-2"]


def test_members_that_can_run_nowhere_do_not_keep_gangreclaim_from_serving_the_others() -> None:
    """Two of four pods are for a node that does not exist; whichever order counts, one of them comes first."""
    nodes = Scenario().node("n0", cpu=10, memory="100Gi").node("n1", cpu=10, memory="100Gi").queue("theirs")
    scenario = victims(nodes.priority_class("low", 1).priority_class("high", 9), "theirs")
    limit: dict[str, int | str | float] = {"cpu": 12, "memory": "12Gi"}
    scenario = scenario.queue("ours", capability=limit, deserved=limit)
    scenario = with_gang(scenario, minimum=2)
    elsewhere = {"nodeSelector": {"where": "elsewhere"}}
    for number, (cpu, memory, spec) in enumerate([(1, 15, elsewhere), (11, 1, elsewhere), (4, 4, {}), (8, 8, {})]):
        scenario = scenario.pod(f"wait-{number}", job="wait", cpu=cpu, memory=f"{memory}Gi", priority=9, spec=spec)

    outcome = scenario.run("enqueue", "allocate", "gangreclaim", plugins=TIERS)

    assert sorted(outcome.pipelined) == ["wait-2", "wait-3"]
