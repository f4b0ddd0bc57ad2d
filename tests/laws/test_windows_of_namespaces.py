"""A namespace with too many unlike jobs delays itself alone: each has its turn, and keeps the words of its last one."""

import random
from typing import Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.framework.session.namespace_windows import SHARE_USED
from pyroclast.model.ids import JobId
from pyroclast.model.report import CycleReport
from pyroclast.testing import Outcome, Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.drawing import examples
from tests.laws.clusters import ACTIONS, PLUGINS
from tests.laws.test_settled import forgetting_changes_nothing

LAWS: Final = settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOISY: Final = "noisy"


def cluster(nodes: int, noisy: int, *, members: int = 1) -> Scenario:
    """Return full nodes and one with 4 CPU, which waiting jobs of a namespace, no two alike, cannot use."""
    scenario = Scenario().node("free", cpu=4)
    for value in range(3):
        scenario = scenario.priority_class(f"p{value}", value)
    for number in range(nodes):
        name = f"n{number}"
        scenario = scenario.node(name, cpu=8).job(f"runs-{number}", cpu=8, running_on=[name])
    for number in range(noisy):
        millis = 5000 + number
        scenario = scenario.job(
            f"n{number}",
            tasks=members,
            namespace=NOISY,
            cpu=f"{millis}m",
            phase="Inqueue",
            priority_class=f"p{number % 3}",
        )
    return scenario


def decided(scenario: Scenario, *, share: int, cycles: int = 1) -> Outcome:
    """Run cycles with a share of each namespace."""
    arguments = {"allocate": {"namespaceTemplates": share}}
    outcome = scenario.run(*ACTIONS, plugins=PLUGINS, arguments=arguments, cycles=cycles)
    assert not outcome.warnings
    return outcome


def reasons(report: CycleReport, jobs: int) -> list[str]:
    """Return the first reason of each job."""
    return [report.refusals[JobId(f"{NOISY}/n{number}")][0].reason for number in range(jobs)]


@LAWS
@given(st.integers(1, 3), st.integers(1, 12), st.integers(1, 6))
@example(2, 9, 2)
def test_others_are_placed_as_if_it_was_not_there(nodes: int, jobs: int, share: int) -> None:
    """Jobs of another namespace, also unlike ones, have the same places in the first cycle."""

    def others(scenario: Scenario) -> Scenario:
        for number in range(min(share, 3)):
            scenario = scenario.job(f"ok-{number}", cpu=f"{1000 + number}m", phase="Inqueue")
        return scenario

    alone = decided(others(cluster(nodes, 0)), share=share)
    beside = decided(others(cluster(nodes, jobs)), share=share)
    assert beside.bindings == alone.bindings != {}


@LAWS
@given(st.integers(1, 12), st.integers(1, 6), st.integers(1, 2))
@example(9, 2, 1)
def test_each_job_is_tried_within_a_round(jobs: int, share: int, members: int) -> None:
    """At least a job a cycle has its turn; a job that waits for its turn keeps the words of the last one."""
    outcome = decided(cluster(1, jobs, members=members), share=share, cycles=jobs + 2)

    tried: set[int] = set()
    for each in outcome.rounds:
        tried |= {number for number, reason in enumerate(reasons(each.report, jobs)) if reason != SHARE_USED}
    assert tried == set(range(jobs))
    for number in range(jobs):
        words = [
            condition.message
            for each in outcome.rounds
            for status in each.report.group_statuses
            if status.job == JobId(f"{NOISY}/n{number}")
            for condition in status.conditions
            if condition.type == "Unschedulable"
        ]
        assert len(words) <= 2
        assert all("used up its share" not in each for each in words[1:])


@LAWS
@given(st.integers(2, 12), st.integers(1, 6))
@example(9, 2)
def test_a_job_that_fits_is_bound_within_a_round(jobs: int, share: int) -> None:
    """One of many unlike jobs fits the free node: it waits for its turn, and no longer."""
    scenario = cluster(1, jobs).job("zz", namespace=NOISY, cpu=1, phase="Inqueue")
    outcome = decided(scenario, share=share, cycles=jobs + 2)

    assert outcome.bindings == {f"{NOISY}/zz-0": "free"}


def test_many_namespaces_divide_four_shares() -> None:
    """Sixteen namespaces with four unlike jobs each: a quarter of a share for each, and each job has its turn."""
    scenario = cluster(1, 0)
    for number in range(64):
        namespace = f"noisy-{number % 16}"
        scenario = scenario.job(f"n{number}", namespace=namespace, cpu=f"{5000 + number}m", phase="Inqueue")
    outcome = decided(scenario, share=8, cycles=4)

    tried = [
        {job for job, told in each.report.refusals.items() if told[0].reason != SHARE_USED} for each in outcome.rounds
    ]
    assert [len(each) for each in tried[:2]] == [32, 32]
    assert len(set.union(*tried)) == 64


def test_refused_pods_with_rules_about_others_count_each() -> None:
    """Equal jobs are of one template; where spread or affinity refused their pods, four of them count like another."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"none": "such"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    scenario = cluster(1, 0)
    for number in range(40):
        scenario = scenario.job(f"n{number:02}", namespace=NOISY, cpu=1, phase="Inqueue", pod={"affinity": affinity})
    outcome = decided(scenario, share=6, cycles=4)

    tried = [
        {job for job, told in each.report.refusals.items() if told[0].reason != SHARE_USED} for each in outcome.rounds
    ]
    assert len(tried[0]) == 40  # nothing refused them before
    assert 0 < len(tried[1]) <= 6 * 4
    assert len(set.union(*tried[1:])) == 40


def test_new_jobs_get_messages_over_several_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limited number of jobs that wait for their first turn get a condition in a cycle; in the end all have one."""
    monkeypatch.setattr("pyroclast.framework.session.jobs._MOST_FIRST_EXPLAINED", 5)
    outcome = decided(cluster(1, 30), share=4, cycles=30)

    told = [
        {status.job for status in each.report.group_statuses if status.job.startswith(NOISY)} for each in outcome.rounds
    ]
    assert len(told[0]) == 1 + 5  # thirty jobs are more than four times the share, so that a quarter of it is left
    assert max(map(len, told)) <= 1 + 5
    assert len(set.union(*told)) == 30


def test_the_most_important_jobs_are_tried_in_every_cycle() -> None:
    """Half of the share is theirs; the others go round by name."""
    outcome = decided(cluster(1, 9), share=4, cycles=8)

    tried = [
        [number for number, reason in enumerate(reasons(each.report, 9)) if reason != SHARE_USED]
        for each in outcome.rounds
    ]
    assert tried == [
        [0, 1, 2, 5],
        [2, 3, 4, 5],
        [2, 5, 6, 7],
        [2, 5, 8],
        [0, 1, 2, 5],
        [2, 3, 4, 5],
        [2, 5, 6, 7],
        [2, 5, 8],
    ]


def test_a_whole_round_on_one_snapshot_is_followed_by_rest() -> None:
    """Until every job has been tried on the cluster as it is, another cycle is due; conditions show in the objects."""
    parsed, registry = configured(ACTIONS, PLUGINS, {"allocate": {"namespaceTemplates": 4}})
    simulated = cluster_of(cluster(1, 9).objects, shard_mode="none", shard="volcano", warnings=[])
    memory, settled, rests = Memory(), Settled(), []
    for cycle in range(20):
        snapshot, now = simulated.snapshot(), 2e9 + cycle
        report, memory = run_cycle(
            snapshot, parsed.configuration, registry=registry, now=now, memory=memory, settled=settled
        )
        simulated.settle(report.plans, report, now=now + 0.5, recreate_evicted=False)
        rests.append(memory.is_quiet(snapshot.generation, parsed.configuration.generation, now))

    first = rests.index(True)
    assert first >= 4
    assert all(rests[first:])
    for job in simulated.snapshot().jobs.values():
        if job.namespace == NOISY:
            (condition,) = [each for each in job.group.status.conditions if each.type == "Unschedulable"]
            assert "used up its share" not in condition.message


@LAWS
@given(st.integers(4, 12), st.integers(1, 4), st.integers(0, 2**32))
def test_forgetting_changes_no_decision(jobs: int, share: int, seed: int) -> None:
    """Turns are in what one cycle leaves to the next, not in caches."""
    arguments = {"allocate": {"namespaceTemplates": share}, "preempt": {"namespaceSteps": 1}}
    parsed, registry = configured((*ACTIONS, "preempt"), PLUGINS, arguments)
    scenario = cluster(2, jobs).job("zz", tasks=3, namespace=NOISY, cpu=1, phase="Inqueue")
    forgetting_changes_nothing(
        cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[]),
        parsed.configuration,
        registry,
        begin=2e9,
        cycles=jobs + 2,
        ends=0.3,
        chance=random.Random(seed),
    )
