"""A guarantee that exceeds the cluster does not stop other queues, and its queue has a condition."""

from typing import Any

import pytest

from pyroclast.testing import Scenario

SHARES = ["proportion", "capacity"]


def cluster(guarantee: int | str) -> Scenario:
    """Ten CPUs, a queue with a guarantee, and another whose job of six asks for all of them but four."""
    return (
        Scenario()
        .queue("promised", guarantee={"cpu": guarantee})
        .queue("other", deserved={"cpu": 10})
        .node("n1", cpu=10)
        .job("o", queue="other", cpu=1, tasks=6)
    )


def run(share: str, scenario: Scenario) -> Any:
    """Run one cycle with a plugin that divides the cluster."""
    return scenario.run("enqueue", "allocate", plugins=(("gang",), (share, "predicates", "nodeorder")))


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("guarantee", [11, 4_000_000, "9e18"])
def test_other_queues_run_while_nothing_asks_for_it(share: str, guarantee: int | str) -> None:
    """An event on the queue says what its guarantee comes to."""
    outcome = run(share, cluster(guarantee))
    told = [event for event in outcome.events if event.reason == "GuaranteeBeyondCluster"]

    assert len(outcome.bindings) == 6
    assert [(event.kind, event.name) for event in told] == [("Queue", "promised")]
    assert "the guarantee of cpu is more than all nodes have together" in told[0].message


@pytest.mark.parametrize("share", SHARES)
def test_what_its_own_jobs_ask_for_is_kept(share: str) -> None:
    """Seven of ten are asked for, so six for the other queue are too many, though it comes first by name."""
    outcome = run(share, cluster(4_000_000).job("p", queue="promised", cpu=1, tasks=7))

    assert sorted({task.rpartition("-")[0] for task in outcome.bindings}) == ["p"]


@pytest.mark.parametrize("share", SHARES)
def test_guarantees_that_are_too_much_together_are_bounded_too(share: str) -> None:
    """Guarantees of six and seven of ten: without requests; both queues have a condition."""
    outcome = run(share, cluster(6).queue("second", guarantee={"cpu": 7}))
    told = [event for event in outcome.events if event.reason == "GuaranteeBeyondCluster"]

    assert len(outcome.bindings) == 6
    assert sorted(event.name for event in told) == ["promised", "second"]
    assert all("the guarantees of cpu of all queues are more than all nodes have" in event.message for event in told)


@pytest.mark.parametrize("share", SHARES)
def test_a_guarantee_that_is_too_much_takes_nothing_from_a_sound_one(share: str) -> None:
    """Five are kept for the sound one all the same, so six for the other queue are too many."""
    outcome = run(share, cluster(4_000_000).queue("second", guarantee={"cpu": 5}))

    assert list(outcome.bindings) == []
    assert [event.name for event in outcome.events if event.reason == "GuaranteeBeyondCluster"] == ["promised"]


@pytest.mark.parametrize("share", SHARES)
def test_a_guarantee_that_the_cluster_has_is_kept_whole(share: str) -> None:
    """Without requests it is free when needed; there is no condition."""
    outcome = run(share, cluster(5))

    assert list(outcome.bindings) == []
    assert [event for event in outcome.events if event.reason == "GuaranteeBeyondCluster"] == []


@pytest.mark.parametrize("share", SHARES)
def test_a_guarantee_above_the_capability_withholds_the_capability(share: str) -> None:
    """Nine of ten CPUs can be used by another queue, and an event reports the faulty guarantee."""
    scenario = (
        Scenario().queue("promised", guarantee={"cpu": 4}, capability={"cpu": 1}).queue("other").node("n1", cpu=10)
    )
    outcome = run(share, scenario.job("o", queue="other", cpu=1, tasks=9))

    assert len(outcome.bindings) == 9
    (event,) = [event for event in outcome.events if event.reason == "GuaranteeAboveCapability"]
    assert event.message == "the guarantee of cpu is more than the capability, which limits it"
