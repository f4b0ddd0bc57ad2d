"""Capacity that changes hands never returns to an earlier loser, on whatever terms."""

from typing import Final

import pytest

from pyroclast.testing import Outcome, Scenario

FREE_FOR_ALL: Final = (("conformance",), ("gang", "predicates"))
"""No plugin knows deserved amounts: any pod may evict any other."""
STANDING: Final = {"a": 1, "b": 2, "c": 3, "d": 5}
"""Queues by weight, or jobs by priority: the terms of no two pairs of them are the same."""


def scramble(action: str, *, count: int, rooms: int) -> Outcome:
    """Let jobs, of a queue each where queues reclaim, want a node that the first of them fills."""
    between_queues = action.endswith("reclaim")
    scenario = Scenario().node("n1", cpu=rooms).queue("all")
    for name, standing in list(STANDING.items())[:count]:
        scenario = scenario.queue(name, weight=standing).priority_class(name, standing)
        scenario = scenario.job(
            name,
            tasks=rooms,
            running_on=["n1"] * rooms if name == "a" else [],
            queue=name if between_queues else "all",
            priority_class="" if between_queues else name,
            cpu=1,
        )
    return scenario.run(
        "enqueue", "allocate", action, "backfill", plugins=FREE_FOR_ALL, cycles=24, recreate_evicted=True
    )


@pytest.mark.parametrize("rooms", [1, 3])
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
def test_each_loses_a_room_once(action: str, count: int, rooms: int) -> None:
    """It ends with one who never lost it: where the last of three took it the first might have come again."""
    outcome = scramble(action, count=count, rooms=rooms)

    assert len(outcome.evictions) == len(set(outcome.evictions)) > 0
    assert outcome.is_at_rest


@pytest.mark.parametrize("is_there", [True, False])
def test_pods_without_a_loss_may_take_contested_capacity(is_there: bool) -> None:  # a case
    """`a` lost the room to `b`, and its pod is made anew or not; `c`, which equals it, may take it all the same."""
    scenario = Scenario().node("n1", cpu=1).running("a", on=["n1"]).job("b")
    outcome = scenario.run(
        "enqueue",
        "allocate",
        "preempt",
        "backfill",
        plugins=FREE_FOR_ALL,
        cycles=8,
        recreate_evicted=is_there,
        later={4: scenario.job("c")},
    )

    assert outcome.evictions == ["a-0", "b-0"]
