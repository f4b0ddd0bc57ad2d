"""Cycles with new work of other namespaces skip the turns of namespaces that have more work than their share."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.queues.skipped_turns import MOST_SKIPPED
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.framework.session.namespace_windows import SHARE_USED
from pyroclast.model.ids import JobId
from pyroclast.model.report import CycleReport
from pyroclast.model.tasks import TaskStatus
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.drawing import examples

LAWS: Final = settings(max_examples=examples(10), deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLUGINS: Final[Any] = (("priority", "gang", "conformance"), ("overcommit", "predicates", "proportion", "nodeorder"))
ACTIONS: Final = ("enqueue", "allocate", "backfill", "preempt")
NOISY: Final = "noisy"
SHARE: Final = 4


def full_nodes() -> Scenario:
    """Return one node with 64 idle CPUs, and two full ones with pods that no eviction may take."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9).node("free", cpu=64)
    for number in range(2):
        scenario = scenario.node(f"full-{number}", cpu=80).job(
            f"runs-{number}", namespace="kube-system", cpu=80, running_on=[f"full-{number}"], priority_class="low"
        )
    return scenario


def noisy(scenario: Scenario, jobs: int, *, phase: str = "Inqueue") -> Scenario:
    """Add jobs of a namespace of which no two are alike and that no node has room for."""
    for number in range(jobs):
        cpu = f"{70_000 + number}m"
        scenario = scenario.job(
            f"n{number:02}",
            namespace=NOISY,
            cpu=cpu,
            phase=phase,
            min_resources={"cpu": cpu},
            priority_class="high",
            priority=9,
        )
    return scenario


class Cluster:
    """A cluster over several cycles."""

    def __init__(self, scenario: Scenario, actions: tuple[str, ...] = ACTIONS, *, forgets: bool = False) -> None:
        self._scenario = scenario
        arguments = {
            "allocate": {"namespaceTemplates": SHARE},
            "enqueue": {"namespaceRefusals": SHARE},
            "preempt": {"namespaceSteps": 1},
        }
        self._parsed, self._registry = configured(
            actions, PLUGINS, {action: each for action, each in arguments.items() if action in actions}
        )
        self.simulated = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
        self.memory, self._settled, self._forgets = Memory(), Settled(), forgets

    def add(self, name: str, **details: Any) -> None:
        """Add a job of another namespace that the free node has room for, unless its details differ."""
        before = self._scenario
        spec: dict[str, Any] = {"cpu": 1, "phase": "Inqueue", **details}
        self._scenario = before.job(name, **spec)
        self.simulated.add([each for each in self._scenario.objects if each not in before.objects])

    def cycle(self) -> CycleReport:
        """Run a cycle, and let happen what it decided."""
        snapshot, now = self.simulated.snapshot(), 2e9 + self.memory.cycle
        report, self.memory = run_cycle(
            snapshot,
            self._parsed.configuration,
            registry=self._registry,
            now=now,
            memory=self.memory,
            settled=Settled() if self._forgets else self._settled,
        )
        for plan in report.plans:
            self.simulated.assume(plan, now)
        self.simulated.settle(report.plans, report, now=now + 0.5, recreate_evicted=False)
        return report


def tried(report: CycleReport) -> list[str]:
    """Return the jobs of the namespace in turns that a cycle tried."""
    return [
        job
        for job, refusals in report.refusals.items()
        if job.startswith(f"{NOISY}/") and refusals[0].reason != SHARE_USED
    ]


def bound(report: CycleReport) -> list[str]:
    """Return the pods that a cycle bound."""
    return [bind.name for plan in report.plans for bind in plan.binds]


def progress(memory: Memory) -> tuple[Mapping[str, Any], ...]:
    """Return what a cycle leaves of rounds and turns."""
    return memory.rounds, memory.admission_rounds, memory.turns


@pytest.mark.parametrize("phase", ["Inqueue", "Pending"])
def test_new_work_of_others_is_decided_without_the_turns(phase: str) -> None:
    """The cycle binds the new job and tries no other; the next one continues the rounds as if it had not been."""
    cluster = Cluster(noisy(full_nodes(), 20, phase=phase))
    for _ in range(4):
        assert tried(cluster.cycle())
    before = progress(cluster.memory)
    cluster.add("small", phase=phase)

    report = cluster.cycle()
    assert bound(report) == ["small-0"]
    assert tried(report) == []
    assert {status.job for status in report.group_statuses} == {"default/small"}
    assert progress(cluster.memory) == before
    assert cluster.memory.skipped_turns == 1
    assert not cluster.memory.is_quiet(cluster.simulated.snapshot().generation, 0, 2e9)
    assert tried(cluster.cycle())
    assert cluster.memory.skipped_turns == 0


def test_work_that_still_waits_is_not_new() -> None:
    """A job of another namespace that found no room skips the turns of the first cycle alone."""
    cluster = Cluster(noisy(full_nodes(), 20))
    for _ in range(2):
        cluster.cycle()
    cluster.add("large", cpu=100)

    assert [bool(tried(cluster.cycle())) for _ in range(3)] == [False, True, True]


def test_searches_for_evictions_are_skipped_and_go_on() -> None:
    """A new job of another namespace is searched for; those of the namespace in turns keep their progress."""
    cluster = Cluster(noisy(full_nodes(), 20))
    for _ in range(4):
        cluster.cycle()
    before = progress(cluster.memory)
    assert before[-1]["preempt"]
    cluster.add("large", cpu=75, priority_class="high", priority=9)

    report = cluster.cycle()
    assert [each.action for each in report.refusals[JobId("default/large")]][-1] == "preempt"
    after = progress(cluster.memory)
    assert {job: turn for job, turn in after[-1]["preempt"].items() if job.startswith(NOISY)} == before[-1]["preempt"]


def test_turns_are_skipped_for_a_limited_number_of_cycles() -> None:
    """With new work in every cycle one cycle in seventeen tries the jobs in turns, and binds the new work too."""
    cluster = Cluster(noisy(full_nodes(), 20))
    for _ in range(2):
        cluster.cycle()
    has_turns = []
    for number in range(MOST_SKIPPED + 2):
        cluster.add(f"small-{number}")
        report = cluster.cycle()
        assert bound(report) == [f"small-{number}-0"]
        has_turns.append(bool(tried(report)))

    assert has_turns == [False] * MOST_SKIPPED + [True, False]


def test_jobs_of_the_same_namespace_are_no_new_work() -> None:
    """A further job of the namespace in turns waits for its turn, and the turns continue."""
    cluster = Cluster(noisy(full_nodes(), 20))
    for _ in range(2):
        cluster.cycle()
    cluster.add("more", namespace=NOISY)

    assert tried(cluster.cycle())


def test_nothing_is_skipped_while_no_namespace_takes_turns() -> None:
    """Namespaces within their share are tried in each cycle, and nothing is remembered about them."""
    cluster = Cluster(noisy(full_nodes(), SHARE))
    for number in range(3):
        cluster.add(f"small-{number}")
        assert len(tried(cluster.cycle())) == SHARE
        assert (cluster.memory.skipped_turns, cluster.memory.waiting_beside_turns) == (0, 0)


def test_without_enqueue_skipped_jobs_stay_as_they_are() -> None:
    """The action allocate admits all jobs itself; those whose turns are skipped get no phase in that cycle."""
    cluster = Cluster(noisy(full_nodes(), 20, phase="Pending"), ("allocate", "backfill"))
    for _ in range(2):
        cluster.cycle()
    cluster.add("small")
    for number in range(20, 30):
        cluster.add(f"n{number}", namespace=NOISY, cpu=f"{70_000 + number}m", phase="Pending")

    assert {status.job for status in cluster.cycle().group_statuses} == {"default/small"}
    assert cluster.memory.rounds.keys() == {NOISY}
    waiting = cluster.simulated.snapshot().job_table.counts[TaskStatus.PENDING]
    assert waiting.sum() == 30


@LAWS
@given(st.integers(6, 14), st.lists(st.booleans(), min_size=4, max_size=10), st.sampled_from(["Inqueue", "Pending"]))
@example(9, [False, False, True, True, False, True], "Inqueue")
def test_forgetting_changes_no_report(jobs: int, arrivals: list[bool], phase: str) -> None:
    """Reasons of jobs that wait for their turn are the same, byte for byte, whether they are computed again or not."""

    def reports(*, forgets: bool) -> Iterator[tuple[Any, ...]]:
        cluster = Cluster(noisy(full_nodes(), jobs, phase=phase), forgets=forgets)
        for number, arrives in enumerate(arrivals):
            if arrives:
                cluster.add(f"small-{number}")
            report = cluster.cycle()
            yield report.plans, cluster.memory.rounds, msgspec.json.encode([*map(str, report.refusals)])

    assert list(reports(forgets=False)) == list(reports(forgets=True))
