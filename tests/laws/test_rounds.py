"""Laws of evicting over rounds: queue trees of capacity, topology, and gangs that evict, every victim made anew."""

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.testing import Outcome, Scenario
from scheduler.simulate.answer import told
from tests.conformance.invariants import broken_invariants
from tests.laws.test_cycles import as_case
from tests.laws.test_topology import hard, hyper_node

EXAMPLES = int(os.environ.get("PYROCLAST_LAW_EXAMPLES", "4"))
"""Clusters by law and configuration: few by default, as many as one likes in a hunt."""
LAWS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CYCLES = 12
QUIET = 3
"""Cycles at the end in which nothing is decided any more."""
RACKS = {"r0": ["n0", "n1"], "r1": ["n2", "n3"]}
LEAVES = {"org-a-x": 4, "org-a-y": 8, "org-b-z": 6}
"""Capability of CPU by leaf."""
TREE: tuple[Any, ...] = (
    ("priority", "gang", "conformance"),
    (
        "drf",
        "predicates",
        {"name": "capacity", "enableHierarchy": True},
        "nodeorder",
        "network-topology-aware",
    ),
)
EVICTING = [("preempt",), ("reclaim",), ("preempt", "reclaim"), ("gangpreempt",), ("gangpreempt", "gangreclaim")]


@st.composite
def trees(draw: st.DrawFn) -> Scenario:
    """Draw a tree of queues, four nodes in two racks, jobs that run in part or whole, and jobs that wait."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9)
    scenario = scenario.queue("root").queue("org-a", parent="root", deserved={"cpu": 8}).queue("org-b", parent="root")
    for leaf, limit in LEAVES.items():
        deserved = draw(st.integers(0, 4))
        scenario = scenario.queue(leaf, parent=leaf[:5], deserved={"cpu": deserved}, capability={"cpu": limit})
    free = {name: draw(st.integers(1, 4)) for rack in RACKS.values() for name in rack}
    for name, cpu in free.items():
        scenario = scenario.node(name, cpu=cpu)
    for name, members in RACKS.items():
        scenario = scenario.add(hyper_node(name, 1, "Node", members))
    scenario = scenario.add(hyper_node("row", 2, "HyperNode", list(RACKS)))
    room = dict(LEAVES)
    for number in range(draw(st.integers(2, 6))):
        scenario = draw(_with_job(scenario, f"j{number}", free, room))
    return scenario


@st.composite
def _with_job(draw: st.DrawFn, scenario: Scenario, name: str, free: dict[str, int], room: dict[str, int]) -> Scenario:
    queue, cpu, tasks = draw(st.sampled_from(sorted(LEAVES))), draw(st.integers(1, 2)), draw(st.integers(1, 4))
    minimum, topology = draw(st.integers(1, tasks)), draw(st.sampled_from([None, None, 1]))
    on: list[str] = []
    if draw(st.integers(0, 2)):
        for node in RACKS[draw(st.sampled_from(sorted(RACKS)))] if topology else list(free):
            while len(on) < tasks and free[node] >= cpu * (1 + on.count(node)) and room[queue] >= cpu * (1 + len(on)):
                on.append(node)
    if len(on) < minimum:
        on = []
    for node in on:
        free[node] -= cpu
        room[queue] -= cpu
    return scenario.job(
        name,
        tasks=tasks,
        min_available=minimum,
        queue=queue,
        cpu=cpu,
        running_on=on,
        priority_class=draw(st.sampled_from(["low", "high"])),
        group=hard(topology) if topology else None,
    )


def decide(scenario: Scenario, evicting: tuple[str, ...], arguments: dict[str, Any] | None = None) -> Outcome:
    """Run to rest."""
    actions = ("enqueue", "allocate", *evicting, "backfill")
    return scenario.run(*actions, plugins=TREE, cycles=CYCLES, recreate_evicted=True, arguments=arguments or {})


def assert_laws(scenario: Scenario, outcome: Outcome) -> None:
    """Nodes, gangs, beneficiaries, queues and topologies, round by round; and rest at the end."""
    assert outcome.warnings == ()
    assert outcome.failed_plugins == []
    assert list(broken_invariants({**as_case(scenario), "recreateEvicted": True}, [*told(outcome.rounds)])) == []
    for each in outcome.rounds:
        used: Counter[str] = Counter()
        for job in each.snapshot.jobs.values():
            running = [task for task in job.tasks.values() if task.node is not None]
            used[job.queue] += len(running) * cpu_of(scenario, job.id)
            if is_hard(scenario, job.id):
                assert len({rack for rack, members in RACKS.items() for t in running if t.node in members}) <= 1
        assert all(used[leaf] <= limit for leaf, limit in LEAVES.items())
    assert [plan for each in outcome.rounds[-QUIET:] for plan in each.plans] == []


def cpu_of(scenario: Scenario, job: str) -> int:
    """Return what each pod of a job asks for."""
    first = f"{job.rpartition('/')[2]}-0"
    pod = next(each for each in scenario.objects if each["kind"] == "Pod" and each["metadata"]["name"] == first)
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def is_hard(scenario: Scenario, job: str) -> bool:
    """Tell whether a job must stay within a rack."""
    name = job.rpartition("/")[2]
    group = next(each for each in scenario.objects if each["kind"] == "PodGroup" and each["metadata"]["name"] == name)
    return "networkTopology" in group["spec"]


@pytest.mark.parametrize("evicting", EVICTING, ids="+".join)
@LAWS
@given(scenario=trees())
def test_trees_of_queues(scenario: Scenario, evicting: tuple[str, ...]) -> None:
    """No limit is broken on the way, and the cluster comes to rest."""
    assert_laws(scenario, decide(scenario, evicting))


@LAWS
@given(scenario=trees())
def test_preempting_by_topology(scenario: Scenario) -> None:
    """The same where preemption looks for the node with the least harm."""
    arguments = {"preempt": {"enableTopologyAwarePreemption": True}}

    assert_laws(scenario, decide(scenario, ("preempt",), arguments))
