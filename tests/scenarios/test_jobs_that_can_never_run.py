"""Admitted jobs that can never run, lack pods, or exceed their queue's capability keep no other job out."""

from typing import Any

import pytest

from pyroclast.testing import Scenario

FIRST = ("priority", "gang", "conformance")
SHARING = pytest.mark.parametrize("sharing", ["proportion", "capacity", {"name": "capacity", "enableHierarchy": True}])
CLUSTER = Scenario().queue("root").queue("q", capability={"cpu": 8}).node("n1", cpu=8).node("n2", cpu=8)
LATE: dict[str, Any] = {"tasks": 4, "queue": "q", "min_resources": {"cpu": 4}}


def ends(scenario: Scenario, sharing: Any, *, cycles: int = 4, **arguments: Any) -> dict[str, Any]:
    """Return the bindings after some cycles."""
    plugins = (FIRST, ("overcommit", "predicates", sharing, "nodeorder"))
    outcome = scenario.run(
        "enqueue", "allocate", "backfill", plugins=plugins, cycles=cycles, arguments={"enqueue": arguments}
    )
    return dict(outcome.bindings)


@SHARING
@pytest.mark.parametrize(
    "never",
    [
        {"cpu": 9, "tasks": 1, "min_resources": {"cpu": 8}},
        {"cpu": 1, "tasks": 8, "pod": {"nodeSelector": {"gone": "yes"}}, "min_resources": {"cpu": 8}},
        {"cpu": 1, "tasks": 1, "resources": {"example.com/card": 1}, "min_resources": {"cpu": 8}},
        {"cpu": 5, "tasks": 3, "min_resources": {"cpu": 8}},
        {"cpu": 1, "tasks": 9, "min_resources": {"cpu": 6}},
    ],
    ids=["too large", "no such label", "no such device", "no places for the gang", "pods beyond"],
)
def test_a_job_that_can_never_run_changes_nothing_for_others(sharing: Any, never: dict[str, Any]) -> None:
    """The decisions about the other job are those without it, from the first cycle on."""
    without = CLUSTER.job("late", **LATE)
    beside = CLUSTER.job("never", queue="q", **never).job("late", **LATE)

    assert ends(beside, sharing, cycles=1) == ends(without, sharing, cycles=1)
    assert len(ends(beside, sharing)) == 4


@SHARING
def test_a_job_without_pods_reserves_for_the_grace_period(sharing: Any) -> None:
    """It was admitted in the first cycle; its pods are never made."""
    scenario = CLUSTER.job("ghost", tasks=0, min_available=2, queue="q", min_resources={"cpu": 8}).job("late", **LATE)

    assert ends(scenario, sharing, cycles=3, podsGracePeriod="5s") == {}
    assert len(ends(scenario, sharing, cycles=9, podsGracePeriod="5s")) == 4
    assert ends(scenario, sharing, cycles=9) == {}


@SHARING
def test_a_job_that_lacked_pods_before_the_scheduler_began(sharing: Any) -> None:
    """Nothing is remembered of it: its age decides."""
    scenario = CLUSTER.job("ghost", tasks=0, min_available=2, queue="q", min_resources={"cpu": 8}, phase="Inqueue").job(
        "late", **LATE
    )

    assert len(ends(scenario, sharing)) == 4


@SHARING
def test_a_job_that_may_still_run_keeps_its_reservation(sharing: Any) -> None:
    """Its pods wait for one node, which is full; the queue has room for it."""
    scenario = CLUSTER.running("other", on=["n1"] * 2, cpu=4, queue="r")
    pinned = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}
    scenario = scenario.job("short", tasks=6, queue="q", pod=pinned, min_resources={"cpu": 6}).job("late", **LATE)

    assert ends(scenario, sharing, cycles=6) == {}


def test_less_important_jobs_keep_no_more_important_one_out() -> None:
    """The admitted job of low priority waits for a node that is full."""
    scenario = CLUSTER.priority_class("low", 1).priority_class("high", 9)
    scenario = scenario.running("other", on=["n1"] * 2, cpu=4, queue="r")
    pinned = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}
    short: dict[str, Any] = {"tasks": 6, "queue": "q", "pod": pinned, "min_resources": {"cpu": 6}, "phase": "Inqueue"}
    scenario = scenario.job("short", priority_class="low", **short)

    assert ends(scenario.job("late", priority_class="low", **LATE), "capacity") == {}
    assert len(ends(scenario.job("late", priority_class="high", **LATE), "capacity")) == 4
    assert ends(scenario.job("late", priority_class="high", **LATE), "capacity", countEvictions=False) == {}


def test_volcanos_rule_can_be_had() -> None:
    """`freeUnusablePromises: false` lets every admitted job reserve."""
    never: dict[str, Any] = {"cpu": 9, "tasks": 1, "min_resources": {"cpu": 8}}
    scenario = CLUSTER.job("never", queue="q", **never).job("late", **LATE)

    assert ends(scenario, "capacity", freeUnusablePromises=False) == {}


def test_a_capability_that_no_plugin_enforces_frees_nothing() -> None:
    """Without proportion and capacity the job runs beyond its queue's capability, so it keeps its reservation."""
    scenario = Scenario().queue("q", capability={"cpu": 2}).node("n", cpu=8)
    scenario = scenario.job("big", queue="q", tasks=4, min_resources={"cpu": 4}, phase="Inqueue")
    scenario = scenario.job("other", tasks=8, min_resources={"cpu": 8})
    outcome = scenario.run("enqueue", "allocate", plugins=(("gang",), ("overcommit", "predicates")))

    assert {pod[:-2] for pod in outcome.bindings} == {"big"}
    assert "overused cpu" in outcome.why("other")


def test_the_capability_of_a_queue_above_counts() -> None:
    """In a tree a job that asks for more than an ancestor may have never runs, and keeps no other job out."""
    tree = Scenario().queue("root").queue("above", capability={"cpu": 4}).queue("q", parent="above").node("n", cpu=8)
    scenario = tree.job("never", queue="q", tasks=5, min_resources={"cpu": 4}).job(
        "late", queue="q", tasks=4, min_resources={"cpu": 4}
    )

    assert len(ends(scenario, {"name": "capacity", "enableHierarchy": True})) == 4


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
@pytest.mark.parametrize(
    "never",
    [
        {"cpu": 17, "tasks": 1},
        {"cpu": 1, "tasks": 25},
        {"cpu": 8, "tasks": 1, "pod": {"nodeSelector": {"gone": "yes"}}},
    ],
    ids=["too large", "too many pods", "no such label"],
)
def test_a_job_that_can_never_run_takes_no_share_from_other_queues(action: str, never: dict[str, Any]) -> None:
    """Beside it a queue deserves what it deserves alone, and may exchange its jobs."""
    alone = Scenario().priority_class("low", 1).priority_class("high", 9).queue("q").queue("r").node("n1", cpu=16)
    alone = alone.running("old", on=["n1"] * 4, cpu=4, queue="q", priority_class="low", priority=1)
    alone = alone.job("new", cpu=4, queue="q", priority_class="high", priority=9, min_resources={"cpu": 4})
    beside = alone.job("never", queue="r", min_resources={"cpu": 2}, phase="Inqueue", **never)

    def evictions(scenario: Scenario, **arguments: Any) -> list[str]:
        plugins = (("priority", {"name": "gang", "enablePreemptable": False}), ("proportion", "predicates"))
        more = {"proportion": {"lendIdle": False, **arguments}}
        return scenario.run("enqueue", "allocate", action, plugins=plugins, cycles=4, arguments=more).evictions

    assert evictions(alone) == evictions(beside) == ["old-3"]
    assert len(evictions(beside, countUnusableRequests=True)) > 1


def test_a_job_that_can_never_run_says_so_where_its_queue_deserves_nothing() -> None:
    """Its requests do not count in the share; the reason is the nodes, not the share."""
    scenario = Scenario().queue("q").queue("r").node("n1", cpu=8).running("old", on=["n1"] * 8, queue="q")
    scenario = scenario.job("never", queue="r", phase="Inqueue", cpu=9)

    outcome = scenario.run("enqueue", "allocate", plugins=(("gang",), ("proportion", "predicates")), cycles=2)

    assert "Insufficient cpu" in outcome.why("never")
    assert "deserves" not in outcome.why("never")
