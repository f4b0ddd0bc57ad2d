"""Evictions: B3, and what pending jobs that nothing helps cost a cycle in which nothing changed."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import clusters
from benchmarks.clusters import Object, gang
from benchmarks.cycles import DEFAULT, Bench, collector_off
from benchmarks.inputs import NOW, Input
from benchmarks.results import Result, below
from pyroclast.cache.files.objects import state_from_objects
from pyroclast.cache.options import StateOptions
from pyroclast.model.errors import ObjectError
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.scheduler.simulation.cluster import SimulatedCluster

__all__ = ["BENCHMARKS", "EVICTING", "INPUTS"]

EVICTING = DEFAULT.replace("enqueue, allocate, backfill", "enqueue, allocate, backfill, preempt, reclaim")
GANG_EVICTING = DEFAULT.replace("backfill", "backfill, gangreclaim")

_BY_WEIGHT = (1, 2, 2, 3, 3, 3, 4, 4, 4, 4)
"""Queues in shares of their weights."""


def one_queue_has_all(nodes: int = 500) -> Iterator[Object]:
    """B3: a queue runs gangs of 8 on all GPUs, another of equal weight has as many waiting."""
    for each in clusters.queues(2):
        each["spec"]["weight"] = 1
        yield each
    yield from clusters.nodes(nodes, gpus=8)
    how: dict[str, Any] = {"members": 8, "gpus": 1}
    for number in range(nodes):
        on = [f"node-{number:05d}"] * 8
        yield from gang(f"runs-{number}", "queue-1", second=number, phase="Running", nodes_of=on, **how)
    for number in range(nodes):
        yield from gang(f"waits-{number}", "queue-2", second=3600 + number, phase="Inqueue", **how)


def one_queue_has_too_much(nodes: int = 5000) -> Iterator[Object]:
    """Gangs of four of one queue run on all nodes, far more than it deserves; large gangs of the others wait."""
    yield from clusters.queues()
    yield from clusters.nodes(nodes)
    for number in range(nodes):
        on = [f"node-{number:05d}"] * 4
        yield from gang(f"runs-{number}", "queue-1", members=4, second=0, cpu=8, phase="Running", nodes_of=on)
    for number in range(nodes // 250):
        queue = f"queue-{number % 3 + 2}"
        yield from gang(f"large-{number}", queue, members=10, second=number, cpu=32, phase="Inqueue")


def many_impossible(nodes: int = 5000, jobs: int = 5000) -> Iterator[Object]:
    """Jobs of one pod, past the gate, that ask for more than any node has, beside nodes half in use by all queues."""
    yield from clusters.queues()
    yield from clusters.nodes(nodes)
    for number in range(nodes):
        on = [f"node-{number:05d}"] * 2
        queue = f"queue-{_BY_WEIGHT[number % 10]}"
        yield from gang(f"runs-{number}", queue, members=2, second=0, cpu=8, phase="Running", nodes_of=on)
    for number in range(jobs):
        queue = f"queue-{number % 4 + 1}"
        yield from gang(f"never-{number}", queue, members=1, second=number, cpu=64, phase="Inqueue")


def full_queues(nodes: int = 5000, jobs: int = 5000) -> Iterator[Object]:
    """Jobs of one pod whose queues have all CPU that they deserve, on nodes without any left."""
    yield from clusters.queues()
    yield from clusters.nodes(nodes)
    for number in range(nodes):
        on = [f"node-{number:05d}"] * 2
        queue = f"queue-{_BY_WEIGHT[number % 10]}"
        yield from gang(f"runs-{number}", queue, members=2, second=0, cpu=16, phase="Running", nodes_of=on)
    for number in range(jobs):
        yield from gang(f"waits-{number}", f"queue-{number % 4 + 1}", members=1, second=number, phase="Inqueue")


def b3(runs: int, seed: int) -> Iterator[Result]:
    """Time of a cycle that takes half of a cluster back for the queue that lacks it."""
    bench = Bench(state_from_objects(INPUTS["b3"].objects(seed)), EVICTING)
    with collector_off():
        measured = [bench.cycle() for _ in range(runs + 1)][1:]
    plans = measured[0].report.plans
    yield Result(
        name="B3",
        work="reclaim: 500 nodes of 8 GPUs, 4,000 one-GPU pods in gangs of 8 run, as many wait in another queue; a "
        "cycle",
        budget=below(2, "s", digits=2),
        figure=statistics.median(each.seconds for each in measured),
        fault=_evicted_but(plans, 2000),
        note=f"{_evicted(plans)} evicted by {len(plans)} plans",
    )


def gangs_reclaim(runs: int, seed: int) -> Iterator[Result]:
    """Time of the action gangreclaim where 20 gangs of ten get plans among 20,000 pods of one queue."""
    bench = Bench(state_from_objects(INPUTS["gangs"].objects(seed)), GANG_EVICTING)
    with collector_off():
        measured = [bench.cycle() for _ in range(runs + 1)][1:]
    plans = [plan for plan in measured[0].report.plans if plan.evictions]
    yield Result(
        name="gangs",
        work="gangreclaim: 20 gangs of 10 get plans, 5,000 nodes, 20,000 pods run in gangs of four; the action",
        budget=below(1, "s", digits=2),
        figure=statistics.median(each.phases["action/gangreclaim"] for each in measured),
        fault="" if len(plans) == 20 else f"{len(plans)} of 20 gangs got plans",
        note=f"{_evicted(plans)} evicted",
    )


def kept_by_queues(runs: int, seed: int) -> Iterator[Result]:
    """Time of a cycle with jobs whose queues have all that they deserve and did not change."""
    seconds, report, first = _second_cycle("full", runs, seed)
    yield Result(
        name="full",
        work="5,000 pending jobs whose queues have all CPU that they deserve, 5,000 nodes; a cycle",
        budget=below(200, "ms"),
        figure=seconds * 1000,
        fault=f"{len(report.plans)} plans, not none" if report.plans else "",
        note=f"first cycle {first:.2f} s",
    )


def at_rest(runs: int, seed: int) -> Iterator[Result]:
    """Time of a cycle with jobs that can never run and did not change, with actions that evict."""
    seconds, report, first = _second_cycle("rest", runs, seed)
    yield Result(
        name="rest",
        work="5,000 pending jobs that can never run, 5,000 nodes half in use, preempt and reclaim on; a cycle",
        budget=below(200, "ms"),
        figure=seconds * 1000,
        fault=_evicted_but(report.plans, 0),
        note=f"first cycle {first:.2f} s",
    )


def _second_cycle(name: str, runs: int, seed: int) -> tuple[float, CycleReport, float]:
    """Return the time of a cycle after which nothing changed, what the first one decided, and its time."""
    given = INPUTS[name]
    cluster = SimulatedCluster(given.objects(seed), StateOptions(), report=_raise, note=lambda _: None)
    first = Bench(cluster, given.config).cycle()
    cluster.settle([], first.report, now=NOW, recreate_evicted=False)  # the first cycle's status is in the objects
    bench = Bench(cluster, given.config)
    bench.cycle()
    with collector_off():
        measured = [bench.cycle() for _ in range(runs)]
    return statistics.median(each.seconds for each in measured), first.report, first.seconds


def _evicted(plans: Sequence[Plan]) -> int:
    return sum(len(plan.evictions) for plan in plans)


def _evicted_but(plans: Sequence[Plan], expected: int) -> str:
    """Return a fault if the number of evictions is not the expected one, else an empty text."""
    return "" if _evicted(plans) == expected else f"{_evicted(plans)} evicted, not {expected}"


def _raise(error: ObjectError) -> None:
    raise error


BENCHMARKS = {
    "b3": b3,
    "gangs": gangs_reclaim,
    "rest": at_rest,
    "full": kept_by_queues,
}
INPUTS = {
    "b3": Input(make=one_queue_has_all, config=EVICTING, small={"nodes": 10}),
    "gangs": Input(make=one_queue_has_too_much, config=GANG_EVICTING, small={"nodes": 250}),
    "rest": Input(make=many_impossible, config=EVICTING, small={"nodes": 40, "jobs": 40}),
    "full": Input(make=full_queues, config=DEFAULT, small={"nodes": 40, "jobs": 40}),
}
