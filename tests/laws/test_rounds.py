"""Laws of evicting over rounds: queue trees of capacity, topology, and gangs that evict, every victim made anew."""

import os
import random
from collections import Counter
from typing import Any

import pytest

from pyroclast.scheduler.simulation.answer import answers_of
from pyroclast.testing import Outcome, Scenario
from tests.conformance.invariants import broken_invariants
from tests.drawing import examples
from tests.hypernodes import hyper_node
from tests.laws.test_cycles import as_case
from tests.laws.test_topology import hard

SEEDS = examples(8, deep=400)
"""Clusters by configuration: few by default, as many as one likes in a hunt."""
FIRST_SEED = int(os.environ.get("PYROCLAST_LAW_SEED", "0"))
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
EVICTING = [
    ("preempt",),
    ("reclaim",),
    ("preempt", "reclaim"),
    ("gangpreempt",),
    ("gangreclaim",),
    ("gangpreempt", "gangreclaim"),
]


def tree(seed: int) -> Scenario:
    """Make a tree of queues and four nodes in two racks that jobs fill, and jobs that wait."""
    chance = random.Random(seed)
    scenario = Scenario().priority_class("low", 1).priority_class("middle", 5).priority_class("high", 9)
    scenario = scenario.queue("root").queue("org-a", parent="root", deserved={"cpu": 8}).queue("org-b", parent="root")
    for leaf, limit in LEAVES.items():
        deserved = {"cpu": chance.randint(0, 4)}
        scenario = scenario.queue(leaf, parent=leaf[:5], deserved=deserved, capability={"cpu": limit})
    free = {name: chance.randint(1, 5) for rack in RACKS.values() for name in rack}
    for name, cpu in free.items():
        scenario = scenario.node(name, cpu=cpu)
    for name, members in RACKS.items():
        scenario = scenario.add(hyper_node(name, 1, "Node", members))
    scenario = scenario.add(hyper_node("row", 2, "HyperNode", list(RACKS)))
    room = dict(LEAVES)
    for number in range(8):
        scenario = _with_job(chance, scenario, f"r{number}", free, room)
    for number in range(chance.randint(1, 4)):
        scenario = _with_job(chance, scenario, f"w{number}", {}, room)
    return scenario


def _with_job(
    chance: random.Random, scenario: Scenario, name: str, free: dict[str, int], room: dict[str, int]
) -> Scenario:
    """Add a job that runs where there is room; where there is none it waits, if it was to wait anyway."""
    queue, cpu, tasks = chance.choice(sorted(LEAVES)), chance.randint(1, 2), chance.randint(1, 5)
    minimum, topology = chance.choice([1, tasks, chance.randint(1, tasks)]), chance.choice([None, None, 1])
    on: list[str] = []
    for node in RACKS[chance.choice(sorted(RACKS))] if topology and free else list(free):
        while len(on) < tasks and free[node] >= cpu * (1 + on.count(node)) and room[queue] >= cpu * (1 + len(on)):
            on.append(node)
    if free and len(on) < minimum:
        return scenario
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
        priority_class=chance.choice(["low", "low", "middle"] if free else ["low", "middle", "high"]),
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
    case = {**as_case(scenario), "recreateEvicted": True}
    # who is evicted, placed on what was left over, and evicted again for somebody else, has had bad luck twice
    assert [each for each in broken_invariants(case, answers_of(outcome.rounds)) if not each.endswith(" times")] == []
    causes = Counter((each.name, plan.job) for done in outcome.rounds for plan in done.plans for each in plan.evictions)
    assert {pair for pair, times in causes.items() if times > 1} == set()
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
    """Return whether a job must stay within a rack."""
    name = job.rpartition("/")[2]
    group = next(each for each in scenario.objects if each["kind"] == "PodGroup" and each["metadata"]["name"] == name)
    return "networkTopology" in group["spec"]


def evictions_over_seeds(evicting: tuple[str, ...], arguments: dict[str, Any] | None = None) -> int:
    """Check the laws on many clusters; returns how many pods were evicted in all of them."""
    evictions = 0
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        scenario = tree(seed)
        outcome = decide(scenario, evicting, arguments)
        assert_laws(scenario, outcome)
        evictions += len(outcome.evictions)
    return evictions


@pytest.mark.parametrize("evicting", EVICTING, ids="+".join)
def test_trees_of_queues(evicting: tuple[str, ...]) -> None:
    """No limit is broken on the way, the cluster comes to rest, and it was not for want of evictions."""
    # gangreclaim asks for the whole gang at once, and seldom may
    assert evictions_over_seeds(evicting) > 0


def test_preempting_by_topology() -> None:
    """The same where preemption looks for the node with the least harm."""
    arguments = {"preempt": {"enableTopologyAwarePreemption": True}}

    assert evictions_over_seeds(("preempt",), arguments) >= SEEDS // 4
