"""An idle cluster is used: no job waits for a share alone where room lies idle, and lending comes to rest.

Also with unlike pods, guarantees, and in trees of queues. What was lent is taken back first.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest

from pyroclast.model.ids import JobId
from pyroclast.model.jobs import Job
from pyroclast.model.plan import Eviction
from pyroclast.model.report import CycleReport
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task
from pyroclast.scheduler.simulation.rounds import SimulatedRound
from pyroclast.testing import Outcome, Scenario
from pyroclast.testing.objects import GPU
from tests.drawing import IS_DEEP, examples

SEEDS = examples(5, deep=400)
"""Clusters by configuration."""
FIRST_SEED = random.SystemRandom().randrange(1 << 40) if IS_DEEP else 0
CYCLES = 16
BETWEEN, LATER = 2, 4
"""Cycles before which further jobs come."""
QUIET = 3
"""Cycles at the end in which nothing is decided any more."""
PLUGINS: tuple[Any, ...] = (
    ("priority", "gang", "conformance"),
    ("overcommit", "drf", "predicates", "proportion", "nodeorder"),
)
SHARES_FIRST: tuple[Any, ...] = (("proportion",), ("gang", "priority", "drf", "predicates", "nodeorder"))
CONFIGURATIONS = [
    (PLUGINS, ()),
    (SHARES_FIRST, ()),
    (PLUGINS, ("preempt", "reclaim")),
    (SHARES_FIRST, ("reclaim",)),
    (SHARES_FIRST, ("preempt", "reclaim", "gangreclaim")),
]


TREE: tuple[Any, ...] = (
    ("priority", "gang", "conformance"),
    ("predicates", {"name": "capacity", "enableHierarchy": True}, "nodeorder"),
)
TREES = [(TREE, ()), (TREE, ("preempt", "reclaim"))]
MILLI = 1000

Request = dict[str, int]


@dataclass(frozen=True)
class Gang:
    """A job of pods that may differ."""

    queue: str
    minimum: int
    requests: tuple[Request, ...]
    """Amounts by pod."""


@dataclass
class Ground:
    """A cluster as it was drawn."""

    scenario: Scenario = field(default_factory=Scenario)
    later: dict[int, Scenario] = field(default_factory=dict)
    """Jobs before a cycle, by its number."""
    nodes: dict[str, Request] = field(default_factory=dict)
    """Room by node."""
    gangs: dict[str, Gang] = field(default_factory=dict)
    limits: dict[str, Request] = field(default_factory=dict)
    """Capability by queue, also by those that stand above others."""
    guarantees: dict[str, int] = field(default_factory=dict)
    """CPUs by queue that has some."""
    parents: dict[str, str] = field(default_factory=dict)

    def line(self, queue: str) -> list[str]:
        """Return a queue and those above it."""
        line = [queue]
        while line[-1] in self.parents:
            line.append(self.parents[line[-1]])
        return line


def crowd(seed: int, *, is_tree: bool = False) -> Ground:
    """Draw two to six queues on one to four nodes, each with jobs that together may want more than their share.

    In a third of the clusters without a tree some queues are guaranteed CPUs. Half of the jobs have unlike pods.
    """
    chance = random.Random(seed)
    ground = Ground()
    for number in range(chance.randint(1, 4)):
        node = {"cpu": chance.randint(3, 12), "gpu": chance.randint(0, 4)}
        ground.nodes[f"n{number}"] = node
        ground.scenario = ground.scenario.node(f"n{number}", cpu=node["cpu"], gpu=node["gpu"] or None)
    if is_tree:
        ground.scenario = ground.scenario.queue("root")
    for parent in ("left", "right") if is_tree else ():
        ground.limits[parent] = {"cpu": chance.randint(6, 20)}
        ground.scenario = ground.scenario.queue(parent, parent="root", capability=ground.limits[parent])
    for number in range(chance.randint(2, 6)):
        _add_queue(chance, ground, f"q{number}", parent=chance.choice(("left", "right")) if is_tree else "")
    if not is_tree and chance.random() < 0.33:
        _guarantee(chance, ground)
    queues = [queue for queue in ground.limits if queue.startswith("q")]
    for queue in queues:
        for number in range(chance.randint(0, 3)):
            ground.scenario = _with_gang(chance, ground, ground.scenario, queue, f"{queue}-{number}")
    grown = ground.scenario
    for queue in queues:
        if chance.random() < 0.5:
            grown = _with_gang(chance, ground, grown, queue, f"{queue}-late")
    ground.later = {LATER: grown}
    return ground


def _add_queue(chance: random.Random, ground: Ground, queue: str, *, parent: str) -> None:
    limit = {"cpu": chance.randint(2, 12)} if chance.random() < 0.25 else {}
    if parent:
        ground.parents[queue] = parent
        limit = {"cpu": min(limit["cpu"], ground.limits[parent]["cpu"])} if limit else {}
    ground.limits[queue] = limit
    ground.scenario = ground.scenario.queue(queue, weight=chance.randint(1, 4), capability=limit or None, parent=parent)


def _guarantee(chance: random.Random, ground: Ground) -> None:
    """Let some queues without a limit be guaranteed CPUs, together no more than half of the cluster."""
    left = sum(node["cpu"] for node in ground.nodes.values()) // 2
    objects: list[Mapping[str, Any]] = []
    for each in ground.scenario.objects:
        name = each["metadata"]["name"]
        if each["kind"] == "Queue" and left > 0 and not ground.limits[name] and chance.random() < 0.5:
            ground.guarantees[name] = chance.randint(1, left)
            left -= ground.guarantees[name]
            guarantee = {"resource": {"cpu": ground.guarantees[name]}}
            objects.append({**each, "spec": {**each["spec"], "guarantee": guarantee}})
        else:
            objects.append(each)
    ground.scenario = Scenario().add(*objects)


def _with_gang(chance: random.Random, ground: Ground, scenario: Scenario, queue: str, name: str) -> Scenario:
    tasks = chance.randint(1, 8)
    kinds = [{"cpu": chance.randint(1, 4), "gpu": chance.choice((0, 0, 1, 2))} for _ in range(2)]
    requests = tuple(chance.choice(kinds[: chance.randint(1, 2)]) for _ in range(tasks))
    minimum = chance.choice((1, tasks, tasks, chance.randint(1, tasks)))
    ground.gangs[name] = Gang(queue, minimum, requests)
    scenario = scenario.job(name, queue=queue, tasks=0, min_available=minimum)
    for number, request in enumerate(requests):
        scenario = scenario.pod(f"{name}-{number}", job=name, cpu=request["cpu"], gpu=request["gpu"] or None)
    return scenario


def lenders(seed: int) -> Ground:
    """Draw a queue that is lent what the gang of another cannot use, before smaller jobs come to that other queue.

    What runs on lent room is more important than what runs within the share.
    """
    chance = random.Random(seed)
    ground = Ground()
    for number in range(chance.randint(1, 3)):
        ground.nodes[f"n{number}"] = {"cpu": chance.randint(4, 12), "gpu": 0}
        ground.scenario = ground.scenario.node(f"n{number}", cpu=ground.nodes[f"n{number}"]["cpu"])
    total = sum(node["cpu"] for node in ground.nodes.values())
    scenario = ground.scenario.priority_class("low", 1).priority_class("high", 9)
    for queue in ("borrows", "lends"):
        ground.limits[queue] = {}
        scenario = scenario.queue(queue, weight=chance.randint(1, 2))
    ground.scenario = _with_equal_pods(ground, scenario, "lends-0", tasks=total, minimum=total)
    ground.scenario = _with_equal_pods(ground, ground.scenario, "borrows-0", tasks=max(total // 3, 1))
    # on lent room, and more important than what runs within the share
    ground.later = {BETWEEN: _with_equal_pods(ground, ground.scenario, "borrows-1", tasks=total, kind="high")}
    grown = ground.scenario
    for number in range(2):
        tasks = chance.randint(1, max(total // 6, 1))
        grown = _with_equal_pods(ground, grown, f"lends-late{number}", tasks=tasks, minimum=tasks)
    ground.later[LATER] = grown
    return ground


def _with_equal_pods(
    ground: Ground, scenario: Scenario, name: str, *, tasks: int, minimum: int = 1, kind: str = "low"
) -> Scenario:
    queue = name.partition("-")[0]
    ground.gangs[name] = Gang(queue, minimum, ({"cpu": 1, "gpu": 0},) * tasks)
    return scenario.job(
        name,
        queue=queue,
        tasks=tasks,
        min_available=minimum,
        cpu=1,
        priority_class=kind,
        priority={"low": 1, "high": 9}[kind],
    )


def run(ground: Ground, plugins: tuple[Any, ...], evicting: tuple[str, ...], cycles: int = CYCLES) -> Outcome:
    """Run until nothing should be decided any more, every victim made anew."""
    return ground.scenario.run(
        *("enqueue", "allocate", *evicting, "backfill"),
        plugins=plugins,
        cycles=cycles,
        recreate_evicted=True,
        later=ground.later,
    )


def bound(outcome: Outcome) -> dict[str, str]:
    """Return node by pod that is bound after the last cycle."""
    places: dict[str, str] = {}
    for each in outcome.rounds:
        for plan in each.plans:
            for eviction in plan.evictions:
                places.pop(eviction.name, None)
            for bind in plan.binds:
                places[bind.name] = bind.node
    return places


def idle_but_wanted(ground: Ground, places: dict[str, str]) -> list[str]:
    """Return the jobs that have places on idle room within the limits of their queue and wait all the same."""
    idle = {name: Counter(node) for name, node in ground.nodes.items()}
    used: dict[str, Counter[str]] = {queue: Counter() for queue in ground.limits}
    for pod, node in places.items():
        name, _, number = pod.rpartition("-")
        request = ground.gangs[name].requests[int(number)]
        idle[node].subtract(request)
        for queue in ground.line(ground.gangs[name].queue):
            used[queue].update(request)
    found = []
    for name, gang in ground.gangs.items():
        waits = [each for at, each in enumerate(gang.requests) if f"{name}-{at}" not in places]
        missing = max(gang.minimum - (len(gang.requests) - len(waits)), 1)
        chosen = {tuple(sorted(map(_key, each))): each for each in combinations(waits, missing)}
        if any(_is_within(ground, gang.queue, used, idle, each) and _fits(idle, each) for each in chosen.values()):
            found.append(name)
    return found


def _key(request: Request) -> tuple[int, int]:
    return request["cpu"], request["gpu"]


def _is_within(
    ground: Ground,
    queue: str,
    used: Mapping[str, Counter[str]],
    idle: Mapping[str, Counter[str]],
    requests: Sequence[Request],
) -> bool:
    """Whether requests keep to the limits along the line of a queue, and to what others are guaranteed."""
    total = {what: sum(each[what] for each in requests) for what in ("cpu", "gpu")}
    others = {name: least for name, least in ground.guarantees.items() if name != queue}
    free = sum(node["cpu"] for node in idle.values()) - total["cpu"]
    if free < sum(max(least - used[name]["cpu"], 0) for name, least in others.items()):
        return False
    most = sum(node["cpu"] for node in ground.nodes.values()) - sum(others.values())
    if used[queue]["cpu"] + total["cpu"] > most:
        return False
    return all(
        used[name][what] + total[what] <= limit
        for name in ground.line(queue)
        for what, limit in ground.limits[name].items()
    )


def _fits(idle: Mapping[str, Counter[str]], requests: Sequence[Request]) -> bool:
    """Whether nodes have room for all of some requests: every way is tried."""
    if not requests:
        return True
    first, *rest = sorted(requests, key=_key, reverse=True)
    tried = set()
    for node in idle.values():
        if _key(node) in tried or any(node[what] < amount for what, amount in first.items()):
            continue
        tried.add(_key(node))
        node.subtract(first)
        is_found = _fits(idle, rest)
        node.update(first)
        if is_found:
            return True
    return False


@pytest.mark.parametrize("at", range(len(CONFIGURATIONS)))
def test_an_idle_cluster_is_used(at: int) -> None:
    """The last cycles decide nothing, and no job waits that fits on idle nodes and in its queue's capability."""
    plugins, evicting = CONFIGURATIONS[at]
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        comes_to_rest_in_use(seed, crowd(seed), plugins, evicting)


@pytest.mark.parametrize("at", range(len(TREES)))
def test_an_idle_cluster_is_used_by_a_tree_of_queues(at: int) -> None:
    """The same under capacity, within the capabilities along the tree."""
    plugins, evicting = TREES[at]
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        comes_to_rest_in_use(seed, crowd(seed, is_tree=True), plugins, evicting)


def comes_to_rest_in_use(seed: int, ground: Ground, plugins: tuple[Any, ...], evicting: tuple[str, ...]) -> None:
    """Check one cluster."""
    outcome = run(ground, plugins, evicting)
    assert (seed, outcome.warnings) == (seed, ())
    assert (seed, [plan for each in outcome.rounds[-QUIET:] for plan in each.plans]) == (seed, [])
    assert (seed, idle_but_wanted(ground, bound(outcome))) == (seed, [])


@pytest.mark.parametrize("at", [at for at, (_, evicting) in enumerate(CONFIGURATIONS) if "reclaim" in evicting])
def test_what_was_lent_is_taken_back_first(at: int) -> None:
    """A pod within its queue's share is reclaimed only where the queue has too much even without its lent pods."""
    plugins, evicting = CONFIGURATIONS[at]
    taken_back = 0
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        for each in run(lenders(seed), plugins, evicting).rounds:
            deserved = shares_of(each.report)
            for victim, job in reclaimed(each):
                if job.tasks[victim.task].is_lent:
                    taken_back += 1
                    continue
                held = [
                    task for other in each.snapshot.jobs.values() if other.queue == job.queue for task in running(other)
                ]
                unlent = sum((request_of(task) for task in held if not task.is_lent), start=Counter[str]())
                most = deserved[job.queue]
                assert any(unlent[what] > most[what] for what in most), (seed, victim.name, unlent, most)
    assert taken_back


def shares_of(report: CycleReport) -> dict[str, dict[str, float]]:
    """What queues deserved in a cycle, in thousandths."""
    shares: dict[str, dict[str, float]] = {}
    names = {"queue_deserved_milli_cpu": "cpu", "queue_deserved_scalar_resources": "gpu"}
    for sample in report.samples:
        labels = dict(sample.labels)
        if sample.metric in names and labels.get("resource", GPU) == GPU:
            shares.setdefault(labels["queue_name"], {"cpu": 0, "gpu": 0})[names[sample.metric]] = sample.value
    return shares


def reclaimed(each: SimulatedRound) -> Iterator[tuple[Eviction, Job]]:
    """Return what a cycle took from other queues, with the job that lost it."""
    for plan in each.plans:
        if plan.action in {"reclaim", "gangreclaim"}:
            yield from ((victim, each.snapshot.jobs[JobId(str(victim.job))]) for victim in plan.evictions)


def running(job: Job) -> Iterator[Task]:
    """Return the pods that hold room."""
    return (task for task in job.tasks.values() if task.status in ALLOCATED_STATUSES)


def request_of(task: Task) -> Counter[str]:
    """Return what a pod asks for, in thousandths."""
    asked = task.template.spec.containers[0].resources.requests
    return Counter({what: int(asked.get(name, 0)) * MILLI for what, name in (("cpu", "cpu"), ("gpu", GPU))})
