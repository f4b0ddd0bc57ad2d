"""A namespace with many refused jobs at admission delays itself alone, and keeps no other namespace out."""

from typing import Any, Final

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.framework.session.namespace_windows import SHARE_USED
from pyroclast.model.ids import JobId
from pyroclast.model.report import CycleReport
from pyroclast.testing import Outcome, Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

PLUGINS: Final[Any] = (("priority", "gang"), ("overcommit", "predicates", "proportion", "nodeorder"))
ACTIONS: Final = ("enqueue", "allocate", "backfill")
NOISY: Final = "noisy"


def cluster(nodes: int = 4) -> Scenario:
    """Return nodes of 8 CPUs with one free on each; 1.2 times the cluster is 38.4 CPUs, 28 of them in use."""
    scenario = Scenario()
    for number in range(nodes):
        name = f"n{number}"
        scenario = scenario.node(name, cpu=8).job(f"runs-{number}", cpu=7, running_on=[name])
    return scenario


def noisy(scenario: Scenario, jobs: int, *, alike: bool = False, millis: int = 2000) -> Scenario:
    """Add jobs of another namespace that no node has room for, and that ask for admission first."""
    for number in range(jobs):
        cpu = f"{millis + (0 if alike else number)}m"
        name = f"n{number:02}"
        scenario = scenario.job(name, namespace=NOISY, cpu=cpu, phase="Pending", min_resources={"cpu": cpu})
    return scenario


def small(scenario: Scenario, name: str = "small", *, namespace: str = "default", cpu: int = 1) -> Scenario:
    """Add a job that a node has room for, the youngest."""
    return scenario.job(name, namespace=namespace, cpu=cpu, phase="Pending", min_resources={"cpu": cpu})


def decided(scenario: Scenario, *, share: int = 0, cycles: int = 1) -> Outcome:
    """Run cycles with a share of refused jobs for each namespace."""
    arguments = {"enqueue": {"namespaceRefusals": share}}
    outcome = scenario.run(*ACTIONS, plugins=PLUGINS, arguments=arguments, cycles=cycles)
    assert not outcome.warnings
    return outcome


def reasons(report: CycleReport, jobs: int) -> list[str]:
    """Return the first reason of each job."""
    return [report.refusals[JobId(f"{NOISY}/n{number:02}")][0].reason for number in range(jobs)]


@pytest.mark.parametrize("alike", [False, True])
def test_jobs_that_fit_nowhere_keep_no_other_namespace_out(alike: bool) -> None:
    """They are admitted up to the limit of the cluster. Tried in vain, they do not count against other namespaces."""
    outcome = decided(small(noisy(cluster(), 12, alike=alike)), cycles=4)

    assert "default/small-0" in {name if "/" in name else f"default/{name}" for name in outcome.bindings}


@pytest.mark.parametrize("namespaces", [2, 6])
def test_jobs_of_several_namespaces_that_fit_nowhere_keep_no_other_namespace_out(namespaces: int) -> None:
    """No namespace requests more than the four idle CPUs; together they are admitted up to the limit of the cluster."""
    scenario = cluster()
    for number in range(6):
        namespace = f"{NOISY}-{number % namespaces}"
        cpu = "1900m" if namespaces == 6 else "1300m"
        scenario = scenario.job(f"n{number}", namespace=namespace, cpu=cpu, phase="Pending", min_resources={"cpu": cpu})
    outcome = decided(scenario.job("gang", tasks=3, cpu=1, phase="Pending", min_resources={"cpu": 3}), cycles=4)

    assert {name.rsplit("/")[-1] for name in outcome.bindings} == {"gang-0", "gang-1", "gang-2"}


def test_jobs_that_fill_their_queue_with_reservations_keep_no_other_namespace_out() -> None:
    """They wait in vain for 11.4 of the 12 CPUs of their queue, while four are idle in the cluster."""
    scenario = cluster().queue("ours", capability={"cpu": 12})
    details: dict[str, Any] = {"queue": "ours", "cpu": "1900m", "phase": "Pending", "min_resources": {"cpu": "1900m"}}
    for number in range(6):
        scenario = scenario.job(f"n{number}", namespace=f"{NOISY}-{number}", **details)
    scenario = scenario.job("late", **details | {"cpu": 1, "min_resources": {"cpu": 1}})
    outcome = decided(scenario, cycles=4)

    assert {name.rsplit("/")[-1] for name in outcome.bindings} == {"late-0"}


def test_a_job_beyond_the_idle_room_waits_behind_them() -> None:
    """Four CPUs are idle: a gang of five is not admitted before the jobs that wait."""
    scenario = noisy(cluster(), 12).job("gang", tasks=5, cpu=1, phase="Pending", min_resources={"cpu": 5})
    outcome = decided(scenario, cycles=4)

    assert [each.reason for each in outcome.report.refusals[JobId("default/gang")]][:1] == ["ClusterOverused"]


def test_they_keep_their_own_namespace_out() -> None:
    """What is promised to a namespace counts against its own jobs, as ever."""
    outcome = decided(small(noisy(cluster(), 12), "zz", namespace=NOISY), cycles=4)

    assert not outcome.bindings


def test_what_fits_beside_the_idle_room_stays_promised() -> None:
    """Three waiting jobs of a namespace ask for less than is idle: they count against others."""
    scenario = noisy(cluster(), 1, millis=3900).job(
        "wide", cpu=1, tasks=7, phase="Pending", min_resources={"cpu": 7}, namespace="third"
    )
    outcome = decided(scenario, cycles=4)

    told = outcome.report.refusals[JobId("third/wide")]
    assert [each.reason for each in told][:1] == ["ClusterOverused"]


def test_refused_jobs_take_turns() -> None:
    """After the first cycle half of the share goes to the first jobs, and half rotates."""
    outcome = decided(noisy(cluster(1), 12, millis=5000), share=4, cycles=8)

    tried = [
        [number for number, reason in enumerate(reasons(each.report, 12)) if reason != SHARE_USED]
        for each in outcome.rounds
    ]
    assert tried[0] == [0, 1, 2, 3]
    assert all(0 < len(each) <= 4 for each in tried)
    assert set().union(*tried) == set(range(12))
    assert all({0, 1} <= set(each) for each in tried)
    samples = [each for each in outcome.report.samples if each.metric == "deferred_jobs_total"]
    assert [dict(each.labels) for each in samples] == [{"action": "enqueue", "namespace": NOISY}]


def test_jobs_that_are_admitted_take_no_share() -> None:
    """Thirty jobs that fit are admitted in one cycle."""
    scenario = Scenario().node("n1", cpu=64)
    for number in range(30):
        scenario = small(scenario, f"s{number}", namespace=NOISY)
    outcome = decided(scenario, share=2)

    assert len(outcome.bindings) == 30


def test_room_that_comes_is_used_within_a_round() -> None:
    """The last of many refused jobs would fit: it waits for its turn, and no longer."""
    scenario = small(noisy(cluster(1), 12, millis=5000), "zz", namespace=NOISY)
    outcome = decided(scenario, share=4, cycles=10)

    assert set(outcome.bindings) == {f"{NOISY}/zz-0"}


def test_a_whole_round_on_one_snapshot_is_followed_by_rest() -> None:
    """As long as one job has not seen the cluster as it is, another cycle is due."""
    parsed, registry = configured(ACTIONS, PLUGINS, {"enqueue": {"namespaceRefusals": 4}})
    simulated = cluster_of(noisy(cluster(1), 12, millis=5000).objects, shard_mode="none", shard="volcano", warnings=[])
    memory, settled, rests = Memory(), Settled(), []
    for cycle in range(30):
        snapshot, now = simulated.snapshot(), 2e9 + cycle
        report, memory = run_cycle(
            snapshot, parsed.configuration, registry=registry, now=now, memory=memory, settled=settled
        )
        simulated.settle(report.plans, report, now=now + 0.5, recreate_evicted=False)
        rests.append(memory.is_quiet(snapshot.generation, parsed.configuration.generation, now))

    first = rests.index(True)
    assert first >= 4
    assert all(rests[first:])


@pytest.mark.parametrize("share", [2, 0])
def test_others_are_tried_before_older_jobs_of_a_namespace_in_turns(share: int) -> None:
    """One place is free: the youngest job gets it if the older ones are of a namespace beyond its share."""
    scenario = cluster(1)
    for number in range(9):
        scenario = scenario.job(f"n{number}", namespace=NOISY, cpu=f"{900 + number}m", phase="Inqueue")
    scenario = scenario.job("young", cpu=1, phase="Inqueue")
    arguments = {"allocate": {"namespaceTemplates": share}}
    outcome = scenario.run("allocate", plugins=PLUGINS, arguments=arguments)

    assert set(outcome.bindings) == ({"young-0"} if share else {f"{NOISY}/n0-0"})


def test_the_sum_of_many_namespaces_is_bounded() -> None:
    """At most thirty-two of eighty namespaces beyond their share have a turn in a cycle; all have one in the end."""
    scenario = cluster(1)
    for number in range(160):
        namespace = f"many-{number % 80}"
        scenario = scenario.job(f"n{number}", namespace=namespace, cpu=f"{5000 + number}m", phase="Inqueue")
    arguments = {"allocate": {"namespaceTemplates": 8}}
    outcome = scenario.run("allocate", plugins=PLUGINS, arguments=arguments, cycles=12)

    tried = [
        {job for job, told in each.report.refusals.items() if told[0].reason != SHARE_USED} for each in outcome.rounds
    ]
    assert max(map(len, tried)) <= 32
    assert len(set().union(*tried)) == 160


def test_rounds_of_several_lengths_come_to_rest() -> None:
    """Namespaces whose rounds take two, three and five cycles need not end them in the same one."""
    scenario = cluster(1)
    for namespace, jobs in (("a", 5), ("b", 7), ("c", 11)):
        for number in range(jobs):
            scenario = scenario.job(f"n{number:02}", namespace=namespace, cpu=f"{5000 + number}m", phase="Inqueue")
    parsed, registry = configured(("allocate",), PLUGINS, {"allocate": {"namespaceTemplates": 4}})
    simulated = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    memory, settled, rests = Memory(), Settled(), []
    for cycle in range(24):
        snapshot, now = simulated.snapshot(), 2e9 + cycle
        report, memory = run_cycle(
            snapshot, parsed.configuration, registry=registry, now=now, memory=memory, settled=settled
        )
        simulated.settle(report.plans, report, now=now + 0.5, recreate_evicted=False)
        rests.append(memory.is_quiet(snapshot.generation, parsed.configuration.generation, now))

    assert rests[-1]


def test_refused_jobs_of_many_namespaces_take_turns() -> None:
    """Forty namespaces with twelve refused jobs each all have their turns, and no cycle tries them all again."""
    scenario = cluster(1)
    for number in range(480):
        cpu = f"{5000 + number}m"
        name = f"n{number:03}"
        scenario = scenario.job(
            name, namespace=f"many-{number % 40}", cpu=cpu, phase="Pending", min_resources={"cpu": cpu}
        )
    outcome = decided(scenario, share=8, cycles=30)

    tried = [
        {job for job, told in each.report.refusals.items() if told[0].reason != SHARE_USED} for each in outcome.rounds
    ]
    assert max(map(len, tried)) <= 40
    assert len(set().union(*tried)) == 480
