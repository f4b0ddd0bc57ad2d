"""Idle room goes to jobs that only the share of their queue keeps from it, and comes back first."""

from typing import Any

import pytest

from pyroclast.model.api.names import LENT
from pyroclast.testing import Outcome, Scenario

PLUGINS: tuple[Any, ...] = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))
VOLCANO: tuple[Any, ...] = (("gang", {"name": "proportion", "arguments": {"lendIdle": False}}), ("predicates",))
ALLOCATING = ("enqueue", "allocate", "backfill")
RECLAIMING = ("enqueue", "allocate", "reclaim", "backfill")
TEN = Scenario().queue("a").queue("b").node("n", cpu=10)


def lent(outcome: Outcome) -> set[str]:
    """Return the pods that were bound on lent room."""
    binds = (bind for each in outcome.rounds for plan in each.plans for bind in plan.binds)
    return {bind.name for bind in binds if bind.annotations.get(LENT) == "true"}


def gang(scenario: Scenario, name: str, queue: str, tasks: int, **more: Any) -> Scenario:
    """Add a gang that needs all of its pods, each of 1 CPU."""
    return scenario.job(name, queue=queue, tasks=tasks, min_available=tasks, cpu=1, **more)


TWO_GANGS = gang(gang(TEN, "first", "a", 6), "second", "b", 6)


def test_one_of_two_gangs_beyond_their_shares_runs() -> None:
    """Two queues share 10 CPU; each has a gang of 6. One runs as a whole, the other waits for its queue."""
    outcome = TWO_GANGS.run(*ALLOCATING, plugins=PLUGINS, cycles=3)

    assert sorted(outcome.bindings) == [f"first-{index}" for index in range(6)]
    assert lent(outcome) == set(outcome.bindings)
    assert outcome.is_at_rest


def test_without_lending_both_gangs_wait() -> None:
    """With `lendIdle: false` neither gang has a place, as in Volcano."""
    assert TWO_GANGS.run(*ALLOCATING, plugins=VOLCANO, cycles=3).bindings == {}


def test_a_gang_within_its_share_goes_first() -> None:
    """An older gang beyond its share does not get room that a gang within its share can use."""
    outcome = gang(gang(TEN, "large", "a", 6), "small", "b", 5).run(*ALLOCATING, plugins=PLUGINS, cycles=3)

    assert sorted(outcome.bindings) == [f"small-{index}" for index in range(5)]
    assert lent(outcome) == set()


def test_a_capability_is_not_lent_across() -> None:
    """A queue with a capability of 5 CPU is lent nothing for a gang of 6; the other queue's gang runs."""
    limited = Scenario().queue("a", capability={"cpu": 5}).queue("b").node("n", cpu=10)
    outcome = gang(gang(limited, "first", "a", 6), "second", "b", 6).run(*ALLOCATING, plugins=PLUGINS, cycles=3)

    assert {pod[:-2] for pod in outcome.bindings} == {"second"}


@pytest.mark.parametrize(("guarantee", "gangs"), [(None, 2), ({"cpu": 3}, 1)])
def test_unused_guarantees_are_not_lent(guarantee: dict[str, int] | None, gangs: int) -> None:
    """Three queues have a gang of 4 each and share 10 CPU. Two run; one where 3 are guaranteed to a fourth queue."""
    scenario = TEN.queue("c").queue("kept", guarantee=guarantee)
    for queue in "abc":
        scenario = gang(scenario, f"of-{queue}", queue, 4)

    assert len(scenario.run(*ALLOCATING, plugins=PLUGINS, cycles=4).bindings) == 4 * gangs


def test_a_closed_queue_is_lent_nothing() -> None:
    """A closed queue takes nothing new, also where room is idle."""
    closed = Scenario().queue("a", state="Closed").queue("b").node("n", cpu=10)
    outcome = gang(gang(closed, "first", "a", 6), "second", "b", 6).run(*ALLOCATING, plugins=PLUGINS, cycles=3)

    assert {pod[:-2] for pod in outcome.bindings} == {"second"}


@pytest.mark.parametrize("equal", [True, False], ids=["gang of equal pods", "single pods"])
def test_all_that_is_idle_is_lent(equal: bool) -> None:
    """A job of the only other queue that asks for more than its share gets what is idle, queues in turn."""
    scenario = TEN.job("owner", queue="a", tasks=2, min_available=2, cpu=3)
    scenario = gang(scenario, "guest", "b", 4) if equal else scenario.job("guest", queue="b", tasks=4, cpu=1)
    outcome = scenario.run(*ALLOCATING, plugins=PLUGINS, cycles=4)

    assert len(outcome.bindings) == 6


LENT_OUT = (
    Scenario()
    .queue("a")
    .queue("b")
    .node("n", cpu=10)
    .running("own", on=["n"] * 5, queue="a", min_available=5, cpu=1)
    .running("guest", on=["n"] * 5, queue="a", cpu=1, annotations={LENT: "true"})
)
"""Queue a runs a gang of 5 within its share and 5 pods on lent room."""


def test_lent_room_comes_back_first() -> None:
    """A gang of 4 of another queue evicts 4 pods on lent room, and none of the gang within the share."""
    outcome = gang(LENT_OUT, "late", "b", 4).run(*RECLAIMING, plugins=PLUGINS, cycles=4, recreate_evicted=True)

    assert {pod.rpartition("-")[0] for pod in outcome.evictions} == {"guest"}
    assert len(outcome.evictions) == 4
    assert {pod[:-2] for pod in outcome.bindings} == {"late"}
    assert not outcome.rounds[-1].plans


def test_a_share_is_not_reclaimed_for_what_was_lent() -> None:
    """Lent pods are on another node than the newcomer needs: nothing within their queue's share goes."""
    scenario = (
        Scenario()
        .queue("a")
        .queue("b")
        .node("home", cpu=5, labels={"disk": "fast"})
        .node("away", cpu=5)
        .running("own", on=["home"] * 5, queue="a", cpu=1)
        .running("guest", on=["away"] * 5, queue="a", cpu=1, annotations={LENT: "true"})
        .job("late", queue="b", cpu=2, pod={"nodeSelector": {"disk": "fast"}})
    )
    assert scenario.run(*RECLAIMING, plugins=PLUGINS, cycles=3).evictions == []


def test_a_lent_gang_that_was_reclaimed_does_not_come_back_in_turns() -> None:
    """The owner's gang evicts a lent gang, which waits from then on; the last cycles decide nothing."""
    scenario = TEN.running("guest", on=["n"] * 8, queue="a", min_available=8, cpu=1)
    outcome = gang(scenario, "owner", "b", 5).run(*RECLAIMING, plugins=PLUGINS, cycles=8, recreate_evicted=True)

    assert len(outcome.evictions) == 8
    assert {pod[:-2] for pod in outcome.bindings} == {"owner"}
    assert [plan for each in outcome.rounds[-4:] for plan in each.plans] == []


def test_a_job_that_was_refused_before_is_offered_room_again() -> None:
    """A gang waits for its share while too little is idle; it is lent room of a lent gang that was reclaimed."""
    scenario = TEN.queue("c").running("guest", on=["n"] * 8, queue="a", min_available=8, cpu=1)
    scenario = gang(gang(scenario, "owner", "b", 3), "waits", "a", 4)
    outcome = scenario.run(*RECLAIMING, plugins=PLUGINS, cycles=6, recreate_evicted=True)

    assert {pod[:-2] for pod in outcome.bindings} >= {"owner", "waits"}
    assert not outcome.rounds[-1].plans


def test_lent_room_goes_to_a_more_important_job_of_its_queue() -> None:
    """A gang of a higher priority takes the places of lent pods of its own queue, which has no more than before."""
    scenario = (
        Scenario()
        .priority_class("low", 1)
        .priority_class("high", 9)
        .queue("a")
        .queue("b")
        .node("n", cpu=10)
        .running("own", on=["n"] * 5, queue="a", min_available=5, cpu=1, priority_class="low")
        .job("guest", tasks=3, running_on=["n"] * 3, queue="a", min_available=0, annotations={LENT: "true"}, priority=1)
        .running("other", on=["n"] * 2, queue="b", cpu=1, priority_class="low")
    )
    scenario = gang(gang(scenario, "waits", "b", 4), "vip", "a", 3, priority_class="high")
    outcome = scenario.run("enqueue", "allocate", "preempt", plugins=PLUGINS, cycles=4)

    assert sorted(outcome.evictions) == ["guest-0", "guest-1", "guest-2"]
    assert {pod[:-2] for pod in lent(outcome)} == {"vip"}
    assert not outcome.rounds[-1].plans
