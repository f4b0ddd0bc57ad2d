"""Refusals by queues and at admission name the queue, its limit, and used, reserved and requested amounts."""

from collections.abc import Sequence
from typing import Any

import pytest

from pyroclast.model.refusals import without_amounts
from pyroclast.testing import Outcome, Scenario

TREE = {"name": "capacity", "enableHierarchy": True}
FIRST = ("priority", "gang", "conformance")
QUEUE = Scenario().queue("root").queue("research", capability={"cpu": 8}).node("n1", cpu=8).node("n2", cpu=8)
PINNED = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}


def run(scenario: Scenario, *sharing: Any, cycles: int = 2, **more: Any) -> Outcome:
    """Run cycles without evictions."""
    plugins = (FIRST, ("predicates", *sharing, "nodeorder"))
    return scenario.run("enqueue", "allocate", plugins=plugins, cycles=cycles, **more)


def told(outcome: Outcome, job: str) -> str:
    """Return the first reason why a job waits, with its amounts."""
    return outcome.refusals(job)[0].text


def waiting(scenario: Scenario, names: Sequence[str], *, cpu: int) -> Scenario:
    """Add admitted jobs of one pod whose node is full."""
    scenario = scenario.running("other", on=["n1"], cpu=8, queue="root2")
    for name in names:
        scenario = scenario.job(
            name, cpu=cpu, queue="research", pod=PINNED, min_resources={"cpu": cpu}, phase="Inqueue", namespace="vision"
        )
    return scenario


@pytest.mark.parametrize("sharing", ["proportion", "capacity", TREE])
def test_the_holder_of_reserved_room_is_named(sharing: Any) -> None:
    """Four CPU are used, three are promised to an admitted job, and two are asked for."""
    scenario = QUEUE.running("r", on=["n2"] * 4, queue="research", min_resources={"cpu": 4})
    scenario = waiting(scenario, ["short"], cpu=3).job("late", tasks=2, queue="research", min_resources={"cpu": 2})

    assert told(run(scenario, sharing), "late").endswith(
        "queue resource quota insufficient: insufficient cpu. "
        "research: 4 of 8 cpu used, 3 reserved for vision/short; requested 2"
    )


def test_few_of_many_holders_are_named() -> None:
    """Five jobs hold what the sixth asks for."""
    scenario = waiting(QUEUE, [f"s{number}" for number in range(5)], cpu=1)
    scenario = scenario.job("late", tasks=4, queue="research", min_resources={"cpu": 4})

    assert "5 reserved for vision/s0, vision/s1, vision/s2 and 2 more; requested 4" in told(
        run(scenario, "capacity"), "late"
    )


def test_the_queue_above_is_named() -> None:
    """The branch may have eight CPU, the queue itself has no limit."""
    scenario = QUEUE.queue("leaf", parent="research").queue("twig", parent="research")
    scenario = scenario.running("r", on=["n1"] * 6, queue="leaf", min_resources={"cpu": 6})
    scenario = scenario.job("late", tasks=3, queue="twig", min_resources={"cpu": 3})

    assert told(run(scenario, TREE), "late").endswith("research: 6 of 8 cpu used; requested 3")


def test_the_cluster_is_named() -> None:
    """Overcommit promises 19.2 of 16 CPU."""
    scenario = QUEUE.running("r", on=["n1"] * 8, queue="a").running("s", on=["n2"] * 8, queue="b")
    scenario = scenario.job("late", tasks=4, queue="c", min_resources={"cpu": 4})

    assert told(run(scenario, "overcommit"), "late").endswith(
        "overused cpu. the cluster times 1.2: 16 of 19200m cpu used; requested 4"
    )


@pytest.mark.parametrize("sharing", ["proportion", "capacity"])
def test_a_minimum_beyond_the_limit_says_so(sharing: str) -> None:
    """No end of other jobs would help."""
    scenario = QUEUE.job("huge", tasks=9, queue="research", min_resources={"cpu": 9})

    assert told(run(scenario, sharing), "huge").endswith("the job can never run: its minimum exceeds the limit")


def test_a_gang_that_empty_nodes_cannot_hold_says_so_at_admission() -> None:
    """The queue is full, and of three pods of five CPU empty nodes hold two."""
    scenario = QUEUE.running("r", on=["n1"] * 8, queue="research", min_resources={"cpu": 8})
    scenario = scenario.job("gang", tasks=3, cpu=5, queue="research", min_resources={"cpu": 5})

    assert told(run(scenario, "capacity"), "gang").endswith(
        "8 of 8 cpu used; requested 5; the job can never run: even empty nodes fit only 2 of its 3 pending pods"
    )


@pytest.mark.parametrize("sharing", ["proportion", "capacity"])
def test_other_amounts_are_no_news(sharing: str) -> None:
    """More is used from cycle to cycle; the condition is written once, and the report has the amounts of now."""
    scenario = QUEUE.running("r0", on=["n1"], queue="research", min_resources={"cpu": 1})
    scenario = scenario.job("late", tasks=0, min_available=8, queue="research", min_resources={"cpu": 8})
    first = scenario.running("r4", on=["n1"], queue="research", min_resources={"cpu": 1})
    later = {4: first, 5: first.running("r5", on=["n1"], queue="research", min_resources={"cpu": 1})}
    outcome = run(scenario, sharing, cycles=6, later=later)
    statuses = [status for each in outcome.rounds for status in each.report.group_statuses]
    (written,) = [status for status in statuses if status.job.endswith("/late")]

    assert written.conditions[0].message.endswith("insufficient cpu. research: 1 of 8 cpu used; requested 8")
    assert told(outcome, "late").endswith("research: 3 of 8 cpu used; requested 8")


def test_texts_are_compared_without_amounts() -> None:
    """What is used, promised and asked may differ, what is full may not."""
    now = (
        "insufficient cpu. research: 480 of 500 cpu used, 20 reserved for vision/short; requested 60; fits when x ends"
    )
    before = "insufficient cpu. research: 500 of 500 cpu used; requested 60; fits when x ends"

    assert without_amounts(now) == without_amounts(before)
    assert without_amounts(now) != without_amounts(now.replace("cpu used", "memory used"))
    assert without_amounts(now) != without_amounts(now.replace("when x", "when y"))


@pytest.mark.parametrize("sharing", ["proportion", "capacity", TREE])
def test_the_end_of_few_jobs_would_admit_another(sharing: Any) -> None:
    """The smaller of two would not be enough."""
    scenario = QUEUE.running("large", on=["n1"] * 5, queue="research", min_resources={"cpu": 5})
    scenario = scenario.running("small", on=["n2"] * 3, queue="research", min_resources={"cpu": 3})
    scenario = scenario.job("late", tasks=4, queue="research", min_resources={"cpu": 4})
    outcome = run(scenario, sharing)

    assert [each.fits_when for each in outcome.refusals("late") if each.fits_when] == [("default/large",)]
    assert outcome.conditions("late")["Unschedulable"].message.endswith("; fits when default/large ends")
