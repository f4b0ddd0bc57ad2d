"""Shared cards and evictions: a plan needs enough cards of the victims, and reasons are true."""

from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.unit.plugins.cards import CORES, COUNT, IDS, SIZE, cards_of, one, with_cards

PLUGINS = (("priority", "conformance"), ("gang", "predicates", "deviceshare"))


def run(scenario: Scenario, *actions: str, cycles: int = 1, plugins: Any = PLUGINS, **arguments: Any) -> Outcome:
    """Decide with virtual cards."""
    named = {"deviceshare.VGPUEnable": True, **arguments}
    return scenario.run(*actions, plugins=plugins, arguments={"deviceshare": named}, cycles=cycles)


def holding(scenario: Scenario, name: str, node: str, card: int, memory: int, **more: Any) -> Scenario:
    """Add a running pod with memory of one card."""
    return scenario.running(
        name, on=[node], pod=one(number=1, memory=memory), annotations={IDS: f"GPU-{card},NVIDIA,{memory},0:"}, **more
    )


BASE = Scenario().priority_class("high", 100).queue("q")
HIGH: dict[str, Any] = {"queue": "q", "priority_class": "high", "priority": 100, "phase": "Inqueue"}


def test_the_victim_holds_the_requested_card() -> None:
    """Half of each of two cards is free, the node has memory enough, and yet only all of one card will do."""
    cluster = with_cards(BASE, "n", 1000, 1000)
    cluster = holding(cluster, "a", "n", 0, 500, queue="q")
    cluster = holding(cluster, "b", "n", 1, 500, queue="q")
    outcome = run(cluster.job("high", pod=one(number=1, memory=1000), **HIGH), "allocate", "preempt", cycles=3)

    assert len(outcome.evictions) == 1
    (victim,) = outcome.evictions
    card = {"a-0": "GPU-0", "b-0": "GPU-1"}[victim]
    assert cards_of(outcome) == {"high-0": [card]}
    assert outcome.is_at_rest


def test_no_pod_is_evicted_if_no_cards_would_fit() -> None:
    """The node has memory enough, but no card of it is large enough, were it empty."""
    cluster = holding(with_cards(BASE, "n", 1000, 1000), "a", "n", 0, 800, queue="q")
    outcome = run(cluster.job("high", pod=one(number=1, memory=1100), **HIGH), "allocate", "preempt", cycles=2)

    assert (outcome.evictions, outcome.pipelined) == ([], {})
    assert "1 not enough gpu fitted on this node, were it empty" in outcome.why_pod("high-0")


def test_no_pod_is_evicted_for_a_pod_that_requests_another_card() -> None:
    """It requests one by its UUID; the holder of the other stays."""
    cluster = holding(with_cards(BASE, "n", 1000, 1000), "a", "n", 0, 1000, queue="q")
    cluster = holding(cluster, "b", "n", 1, 1000, queue="q")
    wanted = {"volcano.sh/vgpu-use-gpuuuid": "GPU-1"}
    high = cluster.job("high", pod=one(number=1, memory=1000), annotations=wanted, **HIGH)
    outcome = run(high, "allocate", "preempt", cycles=3)

    assert outcome.evictions == ["b-0"]
    assert cards_of(outcome) == {"high-0": ["GPU-1"]}


def test_a_gang_is_reclaimed_as_a_whole_for_cards() -> None:
    """Two members of a gang hold a card each; a gang of two of another queue needs both."""
    cluster = BASE.queue("mine").queue("theirs")
    cluster = with_cards(with_cards(cluster, "n", 1000), "o", 1000)
    cluster = cluster.job(
        "old",
        tasks=2,
        queue="theirs",
        running_on=["n", "o"],
        pod=one(number=1, memory=1000),
        annotations={IDS: "GPU-0,NVIDIA,1000,0:"},
    )
    cluster = cluster.job(
        "new", tasks=2, queue="mine", priority_class="high", pod=one(number=1, memory=600), phase="Inqueue"
    )
    outcome = run(cluster, "allocate", "gangreclaim", cycles=3)

    assert sorted(outcome.evictions) == ["old-0", "old-1"]
    assert cards_of(outcome) == {"new-0": ["GPU-0"], "new-1": ["GPU-0"]}
    assert outcome.is_at_rest


@pytest.mark.parametrize("actions", [("allocate", "preempt"), ("allocate", "gangpreempt")])
def test_no_pod_is_evicted_for_a_gang_that_node_locks_separate(actions: tuple[str, ...]) -> None:
    """Two members on one node are never bound in one cycle, so its victims would go in vain; one alone has its own."""
    cluster = holding(with_cards(BASE, "n", 1000, 1000), "a", "n", 0, 1000, queue="q")
    cluster = holding(cluster, "b", "n", 1, 1000, queue="q")
    two = cluster.job("high", tasks=2, pod=one(number=1, memory=1000), **HIGH)
    single = cluster.job("high", pod=one(number=1, memory=1000), **HIGH)
    locked, free = {"deviceshare.NodeLockEnable": True}, {"deviceshare.NodeLockEnable": False}

    assert run(two, *actions, cycles=3, **locked).evictions == []
    assert len(run(two, *actions, cycles=3, **free).evictions) == 2
    assert len(run(single, *actions, cycles=3, **locked).evictions) == 1


def test_each_node_is_counted_under_its_first_reason() -> None:
    """Five nodes, five reasons, one each."""
    cluster = with_cards(Scenario(), "few", 1000)
    cluster = with_cards(cluster, "small", 900, 900)
    cluster = with_cards(cluster, "mode", 1000, 1000, annotations={})
    cluster = holding(with_cards(cluster, "used", 1000, 1000), "a", "used", 0, 500)
    cluster = with_cards(cluster, "broken", 1000, 1000, annotations={"volcano.sh/node-vgpu-register": "GPU-0,1:"})
    cluster = with_cards(cluster, "other", 1000, 1000, model="AMD")
    plenty = [_roomy(each) for each in cluster.objects]
    wants = {"volcano.sh/vgpu-nouse-gpuuuid": "GPU-9"}
    outcome = run(
        Scenario(tuple(plenty)).job("p", tasks=2, pod=one(number=2, memory=1000), annotations=wants), "allocate"
    )
    (refusal,) = outcome.refusals_of_pod("p-1")

    assert dict(refusal.counts) == {
        "no enough gpu cards on node": 1,
        "not enough gpu fitted on this node": 2,
        "not enough gpu fitted on this node, were it empty": 2,
        "the node's registered cards cannot be read": 1,
    }
    assert sum(refusal.counts.values()) == 6


def _roomy(each: Any) -> Any:
    if each["kind"] != "Node":
        return each
    status = each["status"]
    offered = {**status["allocatable"], COUNT: 1000, SIZE: 10**6, CORES: 10**4}
    return {**each, "status": {**status, "allocatable": offered}}


def test_what_would_make_it_run_is_true_of_cards() -> None:
    """Amounts say that either job would do; it is the one whose end leaves a whole card."""
    cluster = with_cards(BASE, "n", 1000, 1000).running(
        "both",
        on=["n"],
        queue="q",
        pod=one(number=2, memory=250),
        annotations={IDS: "GPU-0,NVIDIA,250,0:GPU-1,NVIDIA,250,0:"},
    )
    cluster = holding(cluster, "parts", "n", 0, 500, queue="q")
    outcome = run(cluster.job("p", pod=one(number=2, memory=750), queue="q"), "allocate")
    told = [each.fits_when for each in outcome.refusals("p") if each.fits_when]

    assert "not enough gpu fitted on this node" in outcome.why_pod("p-0")
    assert told == [("default/parts",)]


def test_pipelined_pods_hold_cards() -> None:
    """The room of one that leaves is for one alone: the second waits for another card, not for the same."""
    cluster = holding(with_cards(BASE, "n", 1000), "a", "n", 0, 1000, queue="q")
    leaving = [
        {**each, "metadata": {**each["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
        if each["kind"] == "Pod"
        else each
        for each in map(_roomy, cluster.objects)
    ]
    there = Scenario(tuple(leaving))
    outcome = run(
        there.job("p", queue="q", pod=one(number=1, memory=600)).job("r", queue="q", pod=one(number=1, memory=600)),
        "allocate",
    )

    assert cards_of(outcome) == {"p-0": ["GPU-0"]}
    assert "1 not enough gpu fitted on this node" in outcome.why_pod("r-0")


def test_queues_hold_what_cards_hold() -> None:
    """Two cards of 3000 each are 6000 of the queue, where the container asks for 3000 once; the root has the same."""
    cluster = with_cards(Scenario().queue("root").queue("q", parent="root"), "n", 4000, 4000)
    outcome = run(cluster.job("p", queue="q", pod=one(number=2, memory=3000, cores=10)), "allocate", cycles=2)
    statuses = {str(each.queue): each.allocated for done in outcome.rounds for each in done.report.queue_statuses}

    assert statuses["q"][SIZE] == statuses["root"][SIZE] == 6_000_000
    assert statuses["q"][CORES] == 20_000
    assert statuses["q"][COUNT] == 2_000
    assert outcome.rounds[-1].report.queue_statuses == ()


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_no_pod_is_evicted_for_tasks_that_conflict_over_cards(action: str) -> None:
    """With both victims gone the first would be given the card that only the second can use."""
    cluster = with_cards(BASE, "n", 1000, 1000)
    cluster = holding(cluster, "a", "n", 0, 1000, queue="q")
    cluster = holding(cluster, "b", "n", 1, 1000, queue="q", priority=1)
    want = one(number=1, memory=1000)
    base = Scenario(tuple(map(_roomy, cluster.objects))).job("high", tasks=0, min_available=2, **HIGH)
    first = base.pod("high-x-0", job="high", priority=100, spec=want)
    second = first.pod(
        "high-x-1", job="high", priority=100, spec=want, annotations={"volcano.sh/vgpu-use-gpuuuid": "GPU-1"}
    )
    both = first.pod("high-x-1", job="high", priority=100, spec=want)

    refused = run(second, "allocate", action, cycles=2)
    assert (refused.evictions, refused.failed_plugins) == ([], [])
    assert "its tasks conflict with each other" in refused.why("high")
    served = run(both, "allocate", action, cycles=3)
    assert sorted(served.evictions) == ["a-0", "b-0"]
    assert sorted(cards_of(served).values()) == [["GPU-0"], ["GPU-1"]]
