"""What is remembered between cycles saves work and changes nothing."""

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension.registry import Registry
from pyroclast.framework.session.memory import Settled
from pyroclast.model.plan import Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.tasks import TaskStatus
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.scheduler.simulation.cluster import SimulatedCluster
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.drawing import examples
from tests.laws.clusters import ACTIONS, PLUGINS, clusters

CYCLES = 5


class Taking:
    """An observer that assumes plans, as the daemon does."""

    def __init__(self, cluster: SimulatedCluster, now: float) -> None:
        self._cluster, self._now = cluster, now

    def committed(self, plan: Plan) -> None:
        """Assume a plan."""
        assert self._cluster.assume(plan, self._now) == []

    def phase(self, name: str, begin: bool) -> None:
        """Take no notice."""


def end_one_pod(cluster: SimulatedCluster, now: float, chance: random.Random) -> None:
    """Delete a pod that runs, so that room comes free between two cycles."""
    running = [
        task.id
        for job in cluster.snapshot().jobs.values()
        for task in job.tasks.values()
        if task.status is TaskStatus.RUNNING
    ]
    if running:
        cluster._delete(chance.choice(sorted(running)), now, recreate=False)


def decided(report: CycleReport) -> tuple[object, object]:
    """Return the decisions of a cycle; earlier reasons may stay, with the counts of the last try."""
    return (report.plans, report.pipelined)


def forgetting_changes_nothing(
    cluster: SimulatedCluster,
    configuration: Configuration,
    registry: Registry,
    *,
    begin: float,
    cycles: int,
    ends: float,
    chance: random.Random,
) -> None:
    """Assert that cycles that remember decide what ones that have just begun do; between two, so often, a pod ends."""
    kept, memory = Settled(), None
    for cycle in range(cycles):
        now, snapshot = begin + cycle, cluster.snapshot()
        fresh, _ = run_cycle(snapshot, configuration, registry=registry, now=now, memory=memory, settled=Settled())
        report, memory = run_cycle(
            snapshot,
            configuration,
            registry=registry,
            now=now,
            memory=memory,
            settled=kept,
            observer=Taking(cluster, now),
        )

        assert decided(report) == decided(fresh)
        cluster.settle(report.plans, report, now=now + 0.5, recreate_evicted=False)
        if chance.random() < ends:
            end_one_pod(cluster, now + 0.6, chance)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters(), st.integers(0, 2**32))
def test_forgetting_changes_no_decision(scenario: Scenario, seed: int) -> None:
    """A cycle that remembers decides what one that has just begun decides, while pods come to their end."""
    parsed, registry = configured(ACTIONS, PLUGINS, {})
    cluster = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    forgetting_changes_nothing(
        cluster,
        parsed.configuration,
        registry,
        begin=moment_after(scenario.objects),
        cycles=CYCLES,
        ends=0.7,
        chance=random.Random(seed),
    )
