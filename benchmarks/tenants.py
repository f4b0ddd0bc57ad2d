"""Tenants: how long a small job of one namespace waits while another namespace has thousands of unlike jobs waiting."""

import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from benchmarks import clusters
from benchmarks.clusters import Object, gang
from benchmarks.cycles import DEFAULT, built_in, collector_off, configuration
from benchmarks.evictions import EVICTING
from benchmarks.inputs import NOW, Input
from benchmarks.results import Result, below
from pyroclast.cache.options import StateOptions
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model.errors import ObjectError
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.scheduler.simulation.cluster import SimulatedCluster

__all__ = ["BENCHMARKS", "INPUTS", "Lives", "unlike_job", "unlike_jobs"]

_SETTLING_CYCLES = 5
"""Cycles before the first that counts."""


def unlike_jobs(nodes: int = 5000, jobs: int = 12_000, namespaces: int = 1) -> Iterator[Object]:
    """Nodes with two CPUs free beside pods of two queues, and jobs of one pod that ask for more, no two alike."""
    yield from clusters.queues(2)
    yield from clusters.nodes(nodes)
    for number in range(nodes):
        on = [f"node-{number:05d}"] * 2
        queue = f"queue-{1 + number % 2}"
        yield from gang(f"runs-{number}", queue, members=2, second=0, cpu=15, phase="Running", nodes_of=on)
    for number in range(jobs):
        yield from unlike_job(number, namespaces)


def unlike_job(number: int, namespaces: int = 1) -> Iterator[Object]:
    """A job of one pod that asks for more than is free and for amounts of its own, in one of some namespaces."""
    amounts = {"cpu": f"{3000 + number}m", "memory": f"{1000 + number}Mi"}
    group, pod = gang(f"unlike-{number}", "queue-1", members=1, second=60 + number % 3600, phase="Inqueue")
    for each in (group, pod):
        each["metadata"] |= {"namespace": f"other-{number % namespaces}", "uid": f"other-{each['metadata']['name']}"}
    group["spec"]["minResources"] = amounts
    pod["spec"]["containers"][0]["resources"]["requests"] = amounts
    yield group
    yield pod


def small_job(number: int) -> Iterator[Object]:
    """A job of one CPU in the namespace of what runs, the youngest of its queue."""
    return gang(f"small-{number}", "queue-1", members=1, second=90_000 + number, phase="Inqueue")


@dataclass
class Moments:
    """An observer that notes when the first plan was committed, and the time of phases; CPU time, in seconds."""

    first_plan: float | None = None
    phases: dict[str, float] = field(default_factory=dict)

    def committed(self, plan: Plan) -> None:  # noqa: ARG002  # the first one counts, whatever it says
        """Note the moment."""
        if self.first_plan is None:
            self.first_plan = time.process_time()

    def phase(self, name: str, begin: bool) -> None:
        """Start or stop the watch of a phase."""
        moment = time.process_time()
        self.phases[name] = moment if begin else moment - self.phases[name]


@dataclass(frozen=True)
class Cycle:
    """What one cycle took, with its snapshot; CPU time, in seconds."""

    seconds: float
    until_bound: float | None
    """Until the first plan was committed; None where none was."""
    phases: dict[str, float]
    report: CycleReport


class Lives:
    """A cluster with its memory: each cycle sees what the one before made of the objects."""

    def __init__(self, objects: Iterable[Object], text: str) -> None:
        self._registry = built_in()
        self._configuration = configuration(self._registry, text)
        self.cluster = SimulatedCluster(objects, StateOptions(), report=_raise, note=lambda _: None)
        self._memory, self._settled, self._now = Memory(), Settled(), NOW

    def cycle(self) -> Cycle:
        """Run one cycle, and let happen what it decided."""
        moments, begun = Moments(), time.process_time()
        report, self._memory = run_cycle(
            self.cluster.snapshot(),
            self._configuration,
            registry=self._registry,
            now=self._now,
            memory=self._memory,
            observer=moments,
            settled=self._settled,
        )
        ended = time.process_time()
        for plan in report.plans:
            self.cluster.assume(plan, self._now)
        self.cluster.settle(report.plans, report, now=self._now, recreate_evicted=False)
        self._now += 1
        until_bound = None if moments.first_plan is None else moments.first_plan - begun
        return Cycle(ended - begun, until_bound, moments.phases, report)


def tenants(runs: int, seed: int) -> Iterator[Result]:
    """Yield how long the small job waits at most, without and with actions that evict."""
    for name, beside, most in (("tenants", "", 600), ("tenants-evicting", ", preempt and reclaim on", 1200)):
        given = INPUTS[name]
        lives = Lives(given.objects(seed), given.config)
        with collector_off():
            first = lives.cycle().seconds
            for _ in range(_SETTLING_CYCLES):
                lives.cycle()
            measured = []
            for number in range(runs):
                lives.cluster.add(small_job(number))
                measured.append(lives.cycle())
        bound = [each.until_bound for each in measured if each.until_bound is not None]
        cycle, until_bound = statistics.median(each.seconds for each in measured), statistics.median(bound or [0.0])
        yield Result(
            name=name,
            work=f"12,000 unlike jobs of another namespace fit nowhere on 5,000 nodes{beside}; CPU time until a small "
            "job has its plan, one cycle under way included",
            budget=below(most, "ms"),
            figure=(cycle + until_bound) * 1000,
            fault="" if len(bound) == runs else f"{len(bound)} of {runs} small jobs bound",
            note=f"a cycle {cycle * 1000:.0f} ms, the first one {first:.1f} s; bound after {until_bound * 1000:.0f} ms",
        )


def _raise(error: ObjectError) -> None:
    raise error


BENCHMARKS = {"tenants": tenants}
INPUTS = {
    "tenants": Input(make=unlike_jobs, config=DEFAULT, small={"nodes": 40, "jobs": 40}),
    "tenants-evicting": Input(make=unlike_jobs, config=EVICTING, small={"nodes": 40, "jobs": 40}),
}
