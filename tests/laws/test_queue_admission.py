"""Queue admission never disables eviction, and jobs that can never run keep no other job out.

Full clusters are generated twice: with `minResources`, so that admission is asked, and without. Each job that is served
without is served with them. Beside a job that can never run, all other decisions are as if it did not exist.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model.plan import Plan
from pyroclast.scheduler.simulation.case import moment_after
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.drawing import examples
from tests.laws.test_settled import Taking

LAWS = settings(
    max_examples=examples(4, deep=500),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
FIRST: Final = ("priority", {"name": "gang", "enablePreemptable": False}, "conformance")
SHARING: Final[Mapping[str, tuple[Any, ...]]] = {
    "proportion": ("proportion",),
    "capacity": ("capacity",),
    "tree": ({"name": "capacity", "enableHierarchy": True},),
    "overcommit": ("overcommit", "proportion"),
    "overcommit and tree": ("overcommit", {"name": "capacity", "enableHierarchy": True}),
}
ACTIONS: Final = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
PRIORITIES: Final = {"low": 1, "mid": 5, "high": 9}
BRANCHES: Final = {"red": "warm", "green": "cold", "blue": "cold"}
CYCLES: Final = 8


@dataclass(frozen=True)
class Waiting:
    """A job that waits for admission."""

    name: str
    queue: str
    priority: str
    tasks: int
    cpu: int

    def on(self, scenario: Scenario, *, asks_admission: bool) -> Scenario:
        """Add the job; only with a minimum of resources admission is asked."""
        minimum = {"cpu": self.tasks * self.cpu} if asks_admission else None
        return scenario.job(
            self.name,
            tasks=self.tasks,
            cpu=self.cpu,
            queue=self.queue,
            priority_class=self.priority,
            priority=PRIORITIES[self.priority],
            min_resources=minimum,
        )


@dataclass(frozen=True)
class Cluster:
    """A full cluster, and jobs that wait."""

    full: Scenario
    waiting: tuple[Waiting, ...]

    def scenario(self, *, asks_admission: bool) -> Scenario:
        """Return it with or without minimums of resources."""
        scenario = self.full
        for each in self.waiting:
            scenario = each.on(scenario, asks_admission=asks_admission)
        return scenario


@st.composite
def clusters(draw: st.DrawFn, *, is_tree: bool, waiting: int) -> Cluster:
    """Draw queues, nodes full of jobs, and at most so many jobs that wait."""
    sizes = draw(st.lists(st.integers(3, 8), min_size=1, max_size=3))
    scenario = draw(_queues(sum(sizes), is_tree=is_tree))
    free = {f"n{number}": size for number, size in enumerate(sizes)}
    for name, cpu in free.items():
        scenario = scenario.node(name, cpu=cpu)
    number = 0
    while any(free.values()):
        number += 1
        scenario = draw(_running(scenario, f"run{number}", free))
    jobs = tuple(draw(_waiting(f"new{number}")) for number in range(draw(st.integers(1, waiting))))
    return Cluster(scenario, jobs)


@st.composite
def _queues(draw: st.DrawFn, total: int, *, is_tree: bool) -> Scenario:
    scenario = Scenario()
    for name, value in PRIORITIES.items():
        scenario = scenario.priority_class(name, value)
    limits = st.sampled_from([None, None, {"cpu": total}, {"cpu": max(total // 2, 2)}])
    deserved = st.integers(0, max(total // 2, 1)).map(lambda cpu: {"cpu": cpu} if cpu else None)
    if is_tree:
        scenario = scenario.queue("root", capability=draw(st.sampled_from([None, {"cpu": total}])))
        for branch in sorted(set(BRANCHES.values())):
            scenario = scenario.queue(branch, parent="root", capability=draw(limits))
    for name, branch in BRANCHES.items():
        scenario = scenario.queue(
            name,
            weight=draw(st.integers(1, 3)),
            parent=branch if is_tree else "",
            capability=draw(limits),
            deserved=draw(deserved),
        )
    return scenario


@st.composite
def _running(draw: st.DrawFn, scenario: Scenario, name: str, free: dict[str, int]) -> Scenario:
    """Draw a job that runs on one node; the last one of a node fills it."""
    node = draw(st.sampled_from([each for each, cpu in free.items() if cpu]))
    cpu = draw(st.integers(1, min(3, free[node])))
    tasks = draw(st.integers(1, free[node] // cpu))
    free[node] -= cpu * tasks
    least = draw(st.integers(1, tasks))
    priority = draw(st.sampled_from(["low", "low", "mid"]))
    return scenario.running(
        name,
        on=[node] * tasks,
        min_available=least,
        cpu=cpu,
        queue=draw(st.sampled_from(sorted(BRANCHES))),
        priority_class=priority,
        priority=PRIORITIES[priority],
        min_resources=draw(st.sampled_from([{"cpu": least * cpu}, {"cpu": tasks * cpu}, None])),
    )


@st.composite
def _waiting(draw: st.DrawFn, name: str) -> Waiting:
    return Waiting(
        name=name,
        queue=draw(st.sampled_from(sorted(BRANCHES))),
        priority=draw(st.sampled_from(sorted(PRIORITIES))),
        tasks=draw(st.integers(1, 4)),
        cpu=draw(st.integers(1, 3)),
    )


@dataclass(frozen=True)
class Decisions:
    """Decisions of some cycles."""

    bindings: Mapping[str, str]
    """Node of each bound pod."""
    evictions: Sequence[str]


def run(scenario: Scenario, sharing: str, *actions: str, cycles: int = CYCLES) -> Decisions:
    """Run some cycles with the memory of the daemon, so that cycles at rest cost nothing."""
    plugins = (FIRST, ("predicates", *SHARING[sharing], "nodeorder"))
    parsed, registry = configured(("enqueue", "allocate", *actions, "backfill"), plugins, {})
    warnings: list[str] = []
    cluster = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=warnings)
    memory, settled, begin = Memory(), Settled(), moment_after(scenario.objects)
    plans: list[Plan] = []
    for now in (begin + cycle for cycle in range(cycles)):
        report, memory = run_cycle(
            cluster.snapshot(),
            parsed.configuration,
            registry=registry,
            now=now,
            memory=memory,
            settled=settled,
            observer=Taking(cluster, now),
        )
        assert report.failures == {}
        plans += report.plans
        cluster.settle(report.plans, report, now=now + 1, recreate_evicted=False)
    assert warnings == []
    return Decisions(
        bindings={bind.name: bind.node for plan in plans for bind in plan.binds},
        evictions=[eviction.name for plan in plans for eviction in plan.evictions],
    )


def served(outcome: Decisions, waiting: tuple[Waiting, ...]) -> set[str]:
    """Return the jobs whose pods are all bound."""
    return {each.name for each in waiting if all(f"{each.name}-{n}" in outcome.bindings for n in range(each.tasks))}


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("sharing", SHARING)
def test_a_job_that_evictions_would_serve_is_admitted(sharing: str, action: str) -> None:
    """A job alone is served with `minResources` if it is without."""

    @LAWS
    @given(clusters(is_tree="tree" in sharing, waiting=1))
    def law(cluster: Cluster) -> None:
        free = run(cluster.scenario(asks_admission=False), sharing, action)
        if not served(free, cluster.waiting):
            return  # admission cannot take anything away
        admitted = run(cluster.scenario(asks_admission=True), sharing, action)

        assert served(free, cluster.waiting) <= served(admitted, cluster.waiting)
        assert free.evictions == admitted.evictions

    law()


@st.composite
def never(draw: st.DrawFn) -> Mapping[str, Any]:
    """Draw what keeps a job from ever running: its size, a label or a device that no node has, too many pods."""
    return draw(
        st.sampled_from(
            [
                {"tasks": 1, "cpu": 9},
                {"tasks": 2, "cpu": 1, "pod": {"nodeSelector": {"gone": "yes"}}},
                {"tasks": 1, "cpu": 1, "resources": {"example.com/card": 1}},
                {"tasks": 25, "cpu": 1},
            ]
        )
    )


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("sharing", SHARING)
def test_a_job_that_can_never_run_changes_nothing(sharing: str, action: str) -> None:
    """Beside it all bindings and evictions are as without it."""

    @LAWS
    @given(
        clusters(is_tree="tree" in sharing, waiting=2), never(), st.integers(1, 4), st.sampled_from(sorted(BRANCHES))
    )
    def law(cluster: Cluster, never: Mapping[str, Any], least: int, queue: str) -> None:
        alone = cluster.scenario(asks_admission=True)
        beside = alone.job("never", queue=queue, min_resources={"cpu": least}, phase="Inqueue", **never)
        outcomes = [run(scenario, sharing, action, cycles=4) for scenario in (alone, beside)]

        assert outcomes[0].bindings == outcomes[1].bindings
        assert outcomes[0].evictions == outcomes[1].evictions

    law()
