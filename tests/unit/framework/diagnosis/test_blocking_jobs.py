"""Jobs whose end would let a job run: named exactly, or not at all."""

from typing import Any

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model.report import CycleReport
from pyroclast.testing import Outcome, Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.hypernodes import rack

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "nodeorder"))


def decided(scenario: Scenario, *plugins: Any, cycles: int = 1) -> Outcome:
    """Run a cycle without evictions."""
    return scenario.run("enqueue", "allocate", "backfill", plugins=plugins or PLUGINS, cycles=cycles)


def remedy(outcome: Outcome, job: str = "p") -> tuple[str, ...]:
    """Return whose end would let a job run."""
    return next((each.fits_when for each in outcome.refusals(job) if each.plugin == "gang"), ())


NODES = Scenario().node("n1", cpu=4).node("n2", cpu=4)


def test_the_oldest_of_those_that_are_enough_is_named() -> None:
    """The small one gives too little, each of the two large ones enough."""
    scenario = NODES.running("small", on=["n1"]).running("b", on=["n1"], cpu=3).running("a", on=["n2"], cpu=3)

    assert remedy(decided(scenario.job("p", cpu=4))) == ("default/a",)
    assert remedy(decided(scenario.job("p", cpu=3))) == ("default/b",)


def test_two_are_named_where_one_is_not_enough() -> None:
    """Two pods of 4 CPU apiece need both nodes empty."""
    scenario = NODES.running("a", on=["n1"], cpu=3).running("b", on=["n2"], cpu=3)
    outcome = decided(scenario.job("p", tasks=2, cpu=4))

    assert remedy(outcome) == ("default/a", "default/b")
    assert outcome.conditions("p")["Unschedulable"].message.endswith("; fits when default/a and default/b end")


def test_no_message_if_it_would_not_fit_anyway() -> None:
    """A pod without a job holds a node: the gang cannot run, whatever ends; nor can one larger than any node."""
    scenario = NODES.running("a", on=["n1"], cpu=3).pod("loose", node="n2", cpu=3)

    assert remedy(decided(scenario.job("p", tasks=2, cpu=4))) == ()
    assert remedy(decided(scenario.job("p", cpu=5))) == ()


def test_rules_beyond_room_are_kept_to() -> None:
    """The gang's pods go apart: the end of a frees two places on one node, which is one place too few."""
    term = {"labelSelector": {"matchLabels": {"gang": "p"}}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    scenario = NODES.running("a", on=["n1"], cpu=4).running("b", on=["n2"], cpu=4)
    together = scenario.job("p", tasks=2, cpu=2, labels={"gang": "p"})

    assert remedy(decided(together)) == ("default/a",)
    assert remedy(decided(scenario.job("p", tasks=2, cpu=2, labels={"gang": "p"}, pod=apart))) == (
        "default/a",
        "default/b",
    )


def test_pods_on_nodes_that_are_not_there_are_left_out() -> None:
    """A node has gone, or belongs to another scheduler now: what runs on it frees nothing here."""
    gone = NODES.running("a", on=["elsewhere", "n1"], cpu=4).running("b", on=["elsewhere"], cpu=4).job("p", cpu=4)

    assert remedy(decided(gone.running("c", on=["n2"], cpu=1))) == ("default/a",)


def test_limits_of_queues_are_kept_to() -> None:
    """Room on nodes is there; the queue has none before its own job ends."""
    scenario = Scenario().queue("q", capability={"cpu": 2}).node("n1", cpu=8)
    scenario = scenario.running("theirs", on=["n1"], cpu=2).running("mine", on=["n1"], queue="q", cpu=2)
    plugins = (("priority", "gang"), ("predicates", "capacity"))

    assert remedy(decided(scenario.job("p", queue="q"), *plugins)) == ("default/mine",)


@pytest.mark.parametrize("cycles", [1, 3])
def test_what_was_tried_leaves_no_trace(cycles: int) -> None:
    """No pod is evicted, and reasons show the capacity as it is, not as in the trial."""
    scenario = NODES.running("a", on=["n1"], cpu=3).running("b", on=["n2"], cpu=3).job("p", cpu=4)
    outcome = decided(scenario, cycles=cycles)

    assert outcome.evictions == []
    assert outcome.pipelined == {}
    assert outcome.condition_message("p-0") == "0/2 nodes are unavailable: 2 Insufficient cpu."
    assert outcome.is_at_rest


def settled_cycles(scenario: Scenario, *steps: str, plugins: Any = PLUGINS) -> list[CycleReport]:
    """Run cycles with memory; before each but the first a pod ends, or none."""
    parsed, registry = configured(("enqueue", "allocate"), plugins, {})
    cluster = cluster_of(scenario.objects, shard_mode="none", shard="volcano", warnings=[])
    settled, memory, reports = Settled(), Memory(), []
    for now, step in enumerate(("", *steps)):
        if step:
            (ended,) = (task for task, name in cluster.pod_names().items() if name == f"default/{step}")
            cluster._delete(ended, now, recreate=False)
        report, memory = run_cycle(
            cluster.snapshot(), parsed.configuration, registry=registry, now=now, memory=memory, settled=settled
        )
        reports.append(report)
        cluster.settle(report.plans, report, now=now + 0.5, recreate_evicted=False)
    return reports


def test_messages_stay_while_they_are_true() -> None:
    """The job is not tried again while nothing changes, and takes the place when the one that was named is gone."""
    scenario = NODES.running("a", on=["n1", "n1"], min_available=0).running("b", on=["n2"], cpu=4)
    scenario = scenario.running("c", on=["n1"], cpu=2).job("p", cpu=4, phase="Inqueue")
    reports = settled_cycles(scenario, "", "", "b-0")
    told = [[each.fits_when for each in report.refusals.get("default/p", ())] for report in reports if report.refusals]  # type: ignore[call-overload]  # a plain string does

    assert told[0] == [("default/b",)]
    assert set(map(tuple, told)) == {(("default/b",),)}
    assert [bind.name for plan in reports[-1].plans for bind in plan.binds] == ["p-0"]


def test_outdated_blocking_jobs_are_not_reported() -> None:
    """When the pod beside goes, the end of the other job alone is enough."""
    scenario = Scenario().node("n1", cpu=4).running("a", on=["n1"], cpu=2).running("b", on=["n1"], cpu=2)
    scenario = scenario.job("p", cpu=4, phase="Inqueue")
    reports = settled_cycles(scenario, "", "", "b-0", "")
    told = [report.refusals["default/p"][0].fits_when for report in reports if report.refusals]  # type: ignore[index]  # a plain string does

    assert told[0] == ("default/a", "default/b")
    assert told[-1] == ("default/a",)


def test_no_job_blocks_itself() -> None:
    """Two equal broken gangs name each other."""
    scenario = Scenario().node("n1", cpu=1).node("n2", cpu=1)
    for name, node in (("p", "n1"), ("q", "n2")):
        scenario = scenario.job(name, tasks=2, running_on=[node])
    outcome = decided(scenario)

    assert (remedy(outcome, "p"), remedy(outcome, "q")) == (("default/q",), ("default/p",))


TOPOLOGY = (("priority", "gang"), ("predicates", "network-topology-aware"))
RACKS = NODES.node("n3", cpu=4).node("n4", cpu=4).add(rack("rack-1", "n1", "n2"), rack("rack-2", "n3", "n4"))
IN_ONE_RACK = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}


def test_domains_are_kept_to() -> None:
    """The end of either pair of jobs frees two nodes; those of one rack are enough."""
    scenario = RACKS.running("a", on=["n1", "n3"], cpu=4).running("b", on=["n2"], cpu=4).running("c", on=["n4"], cpu=4)
    needs = {"cpu": 8}

    outcome = decided(scenario.job("p", tasks=2, cpu=4, group=IN_ONE_RACK, min_resources=needs), *TOPOLOGY)
    assert remedy(outcome) == ("default/a", "default/b")
    assert remedy(decided(scenario.job("p", tasks=2, cpu=4), *TOPOLOGY)) == ("default/a",)


def in_parts(scenario: Scenario, *sizes: int, group: Any = None) -> Scenario:
    """Add a job of sub-groups, all of which are needed, of so many pods of 2 CPU, two of which are its minimum."""
    policy = {"name": "s", "matchLabelKeys": ["part"], "subGroupSize": 2, "minSubGroups": len(sizes), **(group or {})}
    scenario = scenario.job("p", tasks=0, min_available=2 * len(sizes), group={"subGroupPolicy": [policy]})
    for part, size in enumerate(sizes):
        for number in range(size):
            scenario = scenario.pod(f"p-{part}-{number}", job="p", cpu=2, labels={"part": str(part)})
    return scenario


def test_sub_groups_are_kept_to() -> None:
    """Two sub-groups fit where c runs; one that needs more than a rack has waits for no job."""
    scenario = RACKS.running("a", on=["n1"], cpu=4).running("b", on=["n2"], cpu=4).running("c", on=["n3", "n4"], cpu=3)

    assert remedy(decided(in_parts(scenario, 2, 2, group=IN_ONE_RACK), *TOPOLOGY)) == ("default/c",)
    assert remedy(decided(in_parts(scenario, 2, 5, group=IN_ONE_RACK), *TOPOLOGY)) == ()
    assert remedy(decided(in_parts(scenario, 2, 5))) == ("default/c",)


def test_many_are_named_where_all_are_needed() -> None:
    """Five nodes, a job on each, and one job that frees nothing of use; the message names three of the five."""
    scenario = Scenario().queue("default").node("n0", cpu=4)
    scenario = scenario.running("small", on=["n0"], cpu=1)
    for number in range(1, 6):
        scenario = scenario.node(f"n{number}", cpu=4).running(f"r{number}", on=[f"n{number}"], cpu=3)
    outcome = decided(scenario.job("p", tasks=5, cpu=4).pod("loose", node="n0", cpu=3))

    assert remedy(outcome) == tuple(f"default/r{number}" for number in range(1, 6))
    told = outcome.conditions("p")["Unschedulable"].message
    assert told.endswith("; fits when default/r1, default/r2, default/r3 and 2 more end")


def test_as_many_of_a_queue_are_named_as_its_limit_asks_for() -> None:
    """Nodes have room for all, the queue for none before two of its jobs have ended."""
    scenario = Scenario().queue("q", capability={"cpu": 4}).node("n1", cpu=32).running("old", on=["n1"], cpu=4)
    for number in range(4):
        scenario = scenario.running(f"r{number}", on=["n1"], queue="q", cpu=1)
    plugins = (("priority", "gang"), ("predicates", "capacity"))

    assert remedy(decided(scenario.job("p", queue="q", tasks=2), *plugins)) == ("default/r0", "default/r1")


def test_messages_about_domains_stay_while_they_are_true() -> None:
    """A job with a topology is tried each time, and has the same reason until the named job is gone."""
    scenario = RACKS.running("a", on=["n1", "n2"], cpu=4).running("b", on=["n3"], cpu=4).pod("loose", node="n4", cpu=4)
    scenario = scenario.job("p", tasks=2, cpu=4, group=IN_ONE_RACK, phase="Inqueue")
    reports = settled_cycles(scenario, "", "", "b-0", "a-0", "a-1", plugins=TOPOLOGY)
    told = [[each.fits_when for each in report.refusals.get("default/p", ())] for report in reports if report.refusals]  # type: ignore[call-overload]  # a plain string does

    assert {each[-1] for each in told} == {("default/a",)}
    assert {bind.name for plan in reports[-1].plans for bind in plan.binds} == {"p-0", "p-1"}
