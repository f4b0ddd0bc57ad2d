"""A plan that the server refuses changes nothing: whose pod it would have evicted keeps the room that it won before."""

from typing import Any, Final

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.held import HeldCapacity, job_holder, loser_of, terms
from pyroclast.framework.session.memory import Memory
from pyroclast.model.ids import JobId, NodeName
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

CYCLE_OF_WINNING: Final = 5
RECLAIMING: Final = (("enqueue", "allocate", "reclaim"), (("gang",), ("capacity", "predicates")))
PREEMPTING: Final = (("enqueue", "allocate", "preempt"), (("priority",), ("predicates",)))
GANG_RECLAIMING: Final = (("enqueue", "allocate", "gangreclaim"), RECLAIMING[1])
GANG_PREEMPTING: Final = (("enqueue", "allocate", "gangpreempt"), (("gang", "priority"), ("predicates",)))
BETWEEN_QUEUES: Final = (
    Scenario()
    .node("n1", cpu=2)
    .queue("red", deserved={"cpu": 1})
    .queue("blue", deserved={"cpu": 2})
    .queue("green", deserved={"cpu": 2})
    .running("winner", on=["n1"], queue="red", cpu=2)
)
"""Red is above its deserved amount by the pod that took capacity from blue: blue and green both request it."""
BETWEEN_JOBS: Final = (
    Scenario()
    .node("n1", cpu=2)
    .priority_class("low", 1)
    .priority_class("high", 9)
    .running("winner", on=["n1"], cpu=2, priority_class="low")
)


def snapshot_with(base: Scenario, job: str, **fields: Any) -> tuple[Snapshot, float]:
    """Return the cluster with one more job that waits, and its moment."""
    scenario = base.job(job, cpu=2, **fields)
    return cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[]).snapshot(), moment_after(
        scenario.objects
    )


def decide(snapshot: Snapshot, way: Any, now: float, memory: Memory) -> tuple[CycleReport, Memory]:
    """Run one cycle."""
    actions, plugins = way
    parsed, registry = configured(actions, plugins, {})
    return run_cycle(snapshot, parsed.configuration, registry=registry, now=now, memory=memory)


def promised(snapshot: Snapshot, loser: str, *, between_queues: bool) -> HeldCapacity:
    """Return the record by which the winner has its room, won from a job or its queue."""
    winner, losing = snapshot.jobs[JobId("default/winner")], snapshot.jobs[JobId(f"default/{loser}")]
    name = loser_of(losing, between_queues=between_queues)
    agreed = terms(name, winner, snapshot.jobs, snapshot.queues)
    assert agreed is not None
    return HeldCapacity(
        holder=job_holder(winner.id),
        action="reclaim" if between_queues else "preempt",
        cycle=CYCLE_OF_WINNING,
        begins=0.0,
        places=dict.fromkeys(winner.tasks, NodeName("n1")),
        losers={name: agreed},
    )


@pytest.mark.parametrize(
    ("base", "way", "first", "third"),
    [
        (BETWEEN_QUEUES, RECLAIMING, {"queue": "blue"}, {"queue": "green"}),
        (BETWEEN_QUEUES, GANG_RECLAIMING, {"queue": "blue"}, {"queue": "green"}),
        (BETWEEN_JOBS, PREEMPTING, {"priority_class": "high"}, {"priority_class": "high"}),
        (BETWEEN_JOBS, GANG_PREEMPTING, {"priority_class": "high"}, {"priority_class": "high"}),
    ],
    ids=["reclaim", "gangreclaim", "preempt", "gangpreempt"],
)
def test_restored_pods_keep_their_gains(base: Scenario, way: Any, first: dict[str, str], third: dict[str, str]) -> None:
    """A third one's plan evicts the winner, the server keeps it: who lost the room before cannot have it for that."""
    before, now = snapshot_with(base, "first", **first)
    record = promised(before, "first", between_queues=base is BETWEEN_QUEUES)
    between, _ = snapshot_with(base, "third", **third)

    planned, memory = decide(between, way, now, Memory(cycle=CYCLE_OF_WINNING, held=(record,)))
    assert [each.name for plan in planned.plans for each in plan.evictions] == ["winner-0"]
    kept, memory = decide(before, way, now + 1.0, memory)
    assert [plan for plan in kept.plans if plan.evictions] == []
    assert memory.held is not None
    assert [each.losers for each in memory.held if each.job == "default/winner"] == [record.losers]

    # it is the record that spares it: were it forgotten, the winner would go
    forgot, _ = decide(before, way, now + 1.0, Memory(cycle=memory.cycle, held=()))
    assert [each.name for plan in forgot.plans for each in plan.evictions] == ["winner-0"]
