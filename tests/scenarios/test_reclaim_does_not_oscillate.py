"""Reclaim does not see-saw: a queue that lost room to its rightful owner does not take it back, nor give it twice."""

from typing import Any, Final

import pytest

from pyroclast.testing import Outcome, Scenario

PLUGINS: Final = (
    ("priority", "gang", "conformance"),
    ("drf", "predicates", "capacity", "nodeorder"),
)


def rounds(scenario: Scenario, *plugins: Any) -> Outcome:
    """Run twenty cycles in which evicted pods are made anew."""
    return scenario.run(
        "enqueue", "allocate", "reclaim", "backfill", plugins=plugins or PLUGINS, cycles=20, recreate_evicted=True
    )


TWO_QUEUES = (
    Scenario()
    .node("n1", cpu=11)
    .queue("a", deserved={"cpu": 5}, capability={"cpu": 10})
    .queue("b", deserved={"cpu": 5}, capability={"cpu": 10})
    .running("a", on=["n1"] * 5, queue="a", min_available=2, cpu=2)
    .job("b", tasks=5, queue="b", min_available=2, cpu=2)
)


def test_two_pods_go_once() -> None:
    """Queue b gets its gang's minimum, 4 of the 5 CPU that it deserves; queue a keeps three pods; then all rest."""
    outcome = rounds(TWO_QUEUES)

    assert outcome.evictions == ["a-4", "a-3"]
    assert outcome.bindings == {"b-0": "n1", "b-1": "n1"}
    assert outcome.is_at_rest


@pytest.mark.parametrize(("job", "pods", "would"), [("a", ("a-3", "a-4"), 8000), ("b", ("b-2", "b-3", "b-4"), 6000)])
def test_the_refusal_names_what_the_node_lacks_and_why_the_queue_may_not_reclaim(
    job: str, pods: tuple[str, ...], would: int
) -> None:
    """1 CPU is idle and 2 are asked for; with one pod more the queue would be over the 5 CPU that it deserves."""
    outcome = rounds(TWO_QUEUES)
    (refusal,) = outcome.refusals(job)

    assert (refusal.action, refusal.plugin, refusal.reason) == ("reclaim", "capacity", "QueueOverDeserved")
    assert refusal.amounts == {"cpu": (would, 5000)}
    for pod in pods:
        (of_pod,) = outcome.refusals_of_pod(pod)
        assert (of_pod.counts, of_pod.amounts) == ({"Insufficient cpu": 1}, {"cpu": (2000, 1000)})
        assert outcome.condition_message(pod) == (
            "0/1 nodes are unavailable: 1 Insufficient cpu. "
            f"reclaim: queue {job} would exceed its deserved amount of every requested resource (cpu 5)"
        )


def test_a_victim_larger_than_what_is_left_stays_pending() -> None:
    """The victim needs 4 CPU and 3 are left: it was evicted once, waits, and evicts no pod."""
    scenario = (
        Scenario()
        .node("n1", cpu=8)
        .queue("q1", deserved={"cpu": 3})
        .queue("q2", deserved={"cpu": 5})
        .running("p1", on=["n1"], queue="q1", cpu=4)
        .running("p2", on=["n1"], queue="q2", cpu=1)
        .job("p3", queue="q2", cpu=4)
    )
    outcome = rounds(scenario)

    assert outcome.evictions == ["p1-0"]
    assert outcome.bindings == {"p3-0": "n1"}
    assert outcome.is_at_rest
