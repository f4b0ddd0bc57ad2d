"""The cases of docs/explain/evictions.md."""

from typing import Any

from pyroclast.testing import Outcome, Scenario

PLUGINS = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion"))


def cluster(minimum: int, *, running: int = 8, **more: Any) -> Scenario:
    """A node of 8 CPU on which `batch` runs."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 100).node("n1", cpu=8)
    return scenario.running("batch", on=["n1"] * running, min_available=minimum, priority_class="low", **more)


def urgent(scenario: Scenario, tasks: int = 3, **more: Any) -> Outcome:
    """What happens when an important gang comes in."""
    arrived = scenario.job("urgent", tasks=tasks, priority_class="high", **more)
    return arrived.run("enqueue", "allocate", "preempt", "backfill", plugins=PLUGINS)


def test_the_last_ones_go() -> None:
    """Three of four that can be spared."""
    assert urgent(cluster(4)).evictions == ["batch-7", "batch-6", "batch-5"]


def test_what_cannot_be_spared_is_not_taken_in_part() -> None:
    """Five are needed, four can be spared, and drf protects the fifth: no pod is evicted, and the job says why."""
    outcome = urgent(cluster(4), tasks=5)

    assert outcome.evictions == []
    assert "preempt" in outcome.why("urgent")
    assert outcome.vetoes("batch-0")


def test_a_gang_without_spare_members_is_evicted_whole() -> None:
    """All eight for three."""
    assert len(urgent(cluster(8)).evictions) == 8


def test_a_gang_with_a_protected_pod_does_not_go() -> None:
    """One pod of eight may not be evicted."""
    scenario = cluster(8, running=7).pod(
        "batch-7", job="batch", node="n1", annotations={"volcano.sh/preemptable": "false"}
    )

    assert urgent(scenario).evictions == []


def test_free_room_counts() -> None:
    """Two CPU are free: one victim."""
    assert urgent(cluster(4, running=6)).evictions == ["batch-5"]


def test_the_room_is_kept() -> None:
    """A small job of equal priority that comes later does not get the room of three victims."""
    arrived = (
        cluster(4)
        .job("urgent", tasks=3, priority_class="high")
        .job("small", tasks=1, priority_class="high")
        .run("enqueue", "allocate", "preempt", "backfill", plugins=PLUGINS, cycles=4, recreate_evicted=True)
    )

    assert {"urgent-0", "urgent-1", "urgent-2"} <= set(arrived.bindings)
    assert len(arrived.evictions) == 4
    assert arrived.is_at_rest
