"""A gang goes whole only where those do not suffice who can be spared, wherever they stand in the order of victims."""

import pytest

from pyroclast.testing import Outcome, Scenario

EVERY = pytest.mark.parametrize("action", ["preempt", "reclaim", "gangpreempt", "gangreclaim"])
BY_NODE = pytest.mark.parametrize("action", ["preempt", "reclaim"])
BASE = Scenario().queue("own").queue("other").priority_class("low", 1).priority_class("high", 10)
PLUGINS = (("priority", "conformance"), ("gang", "predicates"))


def evict(scenario: Scenario, action: str, wanting: int = 1, **pod: object) -> Outcome:
    """Let a job of high class want places, of its own queue's or of another's."""
    return scenario.job("w", tasks=wanting, queue="own", priority_class="high", **pod).run(  # type: ignore[arg-type]  # as `job` takes it
        "enqueue", "allocate", action, plugins=PLUGINS
    )


def victims_queue(action: str) -> str:
    """The queue of those who go."""
    return "other" if action.endswith("reclaim") else "own"


@EVERY
def test_unhelpful_victims_use_no_surplus(action: str) -> None:
    """Three pods, of which two must stay; the one on the only node that serves is the last in the order."""
    there = BASE.node("n1", cpu=1, labels={"kind": "fast"}).node("n2", cpu=1).node("n3", cpu=1)
    there = there.job(
        "s",
        tasks=3,
        min_available=2,
        running_on=["n1", "n2", "n3"],
        queue=victims_queue(action),
        priority_class="low",
    )

    assert evict(there, action, pod={"nodeSelector": {"kind": "fast"}}).evictions == ["s-0"]


@EVERY
def test_two_that_make_room_together_go_together(action: str) -> None:
    """Four pods on two nodes by turns, of which two must stay; the place needs both pods of one node."""
    there = BASE.node("n1", cpu=2).node("n2", cpu=2)
    there = there.job(
        "s",
        tasks=4,
        min_available=2,
        running_on=["n1", "n2", "n1", "n2"],
        queue=victims_queue(action),
        priority_class="low",
    )

    assert sorted(evict(there, action, cpu=2).evictions) == ["s-0", "s-2"]


@EVERY
def test_helpful_victims_come_first(action: str) -> None:
    """A launcher with the requested device and three helpers without, two of which may be evicted."""
    there = BASE.node("n1", cpu=8, gpu=1)
    there = there.job("s", min_available=2, running_on=["n1"], gpu=1, queue=victims_queue(action), priority_class="low")
    for number in range(1, 4):
        there = there.pod(f"s-{number}", job="s", node="n1")

    assert evict(there, action, gpu=1).evictions == ["s-0"]


@BY_NODE
def test_a_plan_takes_no_more_gangs_than_it_must(action: str) -> None:
    """Two places: on two nodes gangs would go whole, on the third a pod that can be spared; one gang stays."""
    there = BASE
    for number in range(1, 8):
        there = there.node(f"n{number}", cpu=1, labels={"kind": "fast"} if number <= 3 else {})
    for name, nodes, least in (("a", ["n1", "n4"], 2), ("b", ["n2", "n5"], 2), ("s", ["n3", "n6", "n7"], 2)):
        there = there.running(name, on=nodes, min_available=least, queue=victims_queue(action), priority_class="low")

    assert sorted(evict(there, action, 2, pod={"nodeSelector": {"kind": "fast"}}).evictions) == ["a-0", "a-1", "s-0"]
