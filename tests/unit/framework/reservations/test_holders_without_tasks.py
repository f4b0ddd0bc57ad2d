"""Capacity held for a holder that is no job: amounts of nodes, from a beginning to an end."""

from typing import Any

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.held import CapacityHolder, HeldCapacity, HolderKind
from pyroclast.framework.session.memory import Memory
from pyroclast.model.ids import NodeName
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

SCENARIO = Scenario().queue("default").node("n1", cpu=4).job("a", tasks=2, min_available=1, cpu=2)
NOW = moment_after(SCENARIO.objects)


def decide(*held: HeldCapacity, now: float = NOW) -> tuple[Any, Memory]:
    """Decide once with held capacity in memory; return the report and the memory after it."""
    parsed, registry = configured(("enqueue", "allocate"), ("gang", "predicates"), {})
    snapshot = cluster_of(SCENARIO.objects, shard_mode="none", shard="volcano", warnings=[]).snapshot()
    return run_cycle(snapshot, parsed.configuration, registry=registry, now=now, memory=Memory(cycle=1, held=held))


def two_cpus(kind: HolderKind, begins: float, ends: float | None, node: str = "n1") -> HeldCapacity:
    """Hold half of the node."""
    return HeldCapacity(
        holder=CapacityHolder(kind, "r"),
        action="allocate",
        cycle=1,
        begins=begins,
        ends=ends,
        amounts={NodeName(node): {"cpu": 2000}},
    )


def bound(report: Any) -> int:
    """Count the bound pods."""
    return sum(len(plan.binds) for plan in report.plans)


@pytest.mark.parametrize("kind", [HolderKind.RESERVATION, HolderKind.PLANNED_START])
@pytest.mark.parametrize(
    ("begins", "ends", "expected"),
    [
        (NOW - 1, NOW + 1, 1),
        (NOW, None, 1),
        (NOW + 5, None, 2),
        (NOW - 9, NOW, 2),
    ],
)
def test_amounts_are_held_from_the_beginning_to_the_end(
    kind: HolderKind, begins: float, ends: float | None, expected: int
) -> None:
    """Other pods get what is left, and all of it before the beginning and after the end."""
    report, _ = decide(two_cpus(kind, begins, ends))

    assert bound(report) == expected


def test_what_is_held_stays_in_memory_until_its_end() -> None:
    """The record is dropped with its end."""
    held = two_cpus(HolderKind.PLANNED_START, NOW - 1, NOW + 10)

    assert decide(held)[1].held == (held,)
    assert decide(held, now=NOW + 10)[1].held == ()


def test_a_cycle_is_due_when_capacity_begins_to_be_held() -> None:
    """The cluster is quiet until then."""
    held = two_cpus(HolderKind.PLANNED_START, NOW + 7, NOW + 10)
    objects = Scenario().queue("default").node("n1", cpu=1).objects
    parsed, registry = configured(("allocate",), ("gang",), {})
    snapshot = cluster_of(objects, shard_mode="none", shard="volcano", warnings=[]).snapshot()
    configuration = parsed.configuration
    _, memory = run_cycle(snapshot, configuration, registry=registry, now=NOW, memory=Memory(held=(held,)))

    assert memory.quiet_until == NOW + 7


def test_a_node_that_is_gone_holds_nothing() -> None:
    """The other nodes are unaffected."""
    report, _ = decide(two_cpus(HolderKind.PLANNED_START, NOW, None, node="gone"))

    assert bound(report) == 2
