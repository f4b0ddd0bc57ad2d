"""An idle cluster is used: no job waits for a share alone where room lies idle, and lending comes to rest."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.drawing import IS_DEEP, examples

SEEDS = examples(8, deep=400)
"""Clusters by configuration."""
FIRST_SEED = random.SystemRandom().randrange(1 << 40) if IS_DEEP else 0
CYCLES = 12
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


@dataclass(frozen=True)
class Gang:
    """A job of equal pods."""

    queue: str
    tasks: int
    minimum: int
    request: dict[str, int]


@dataclass
class Ground:
    """A cluster as it was drawn."""

    scenario: Scenario = field(default_factory=Scenario)
    nodes: dict[str, dict[str, int]] = field(default_factory=dict)
    """Room by node."""
    gangs: dict[str, Gang] = field(default_factory=dict)
    limits: dict[str, dict[str, int]] = field(default_factory=dict)
    """Capability by queue."""


def crowd(seed: int) -> Ground:
    """Draw two to six queues on one to four nodes, each with jobs that together may want more than their share."""
    chance = random.Random(seed)
    ground = Ground()
    for number in range(chance.randint(2, 6)):
        limit = {"cpu": chance.randint(2, 12)} if chance.random() < 0.25 else {}
        ground.limits[f"q{number}"] = limit
        ground.scenario = ground.scenario.queue(f"q{number}", weight=chance.randint(1, 4), capability=limit or None)
    for number in range(chance.randint(1, 4)):
        node = {"cpu": chance.randint(3, 12), "gpu": chance.randint(0, 4)}
        ground.nodes[f"n{number}"] = node
        ground.scenario = ground.scenario.node(f"n{number}", cpu=node["cpu"], gpu=node["gpu"] or None)
    for queue in ground.limits:
        for number in range(chance.randint(0, 3)):
            _add_gang(chance, ground, queue, f"{queue}-{number}")
    return ground


def _add_gang(chance: random.Random, ground: Ground, queue: str, name: str) -> None:
    tasks = chance.randint(1, 8)
    request = {"cpu": chance.randint(1, 4), "gpu": chance.choice((0, 0, 1, 2))}
    minimum = chance.choice((1, tasks, tasks, chance.randint(1, tasks)))
    ground.gangs[name] = Gang(queue, tasks, minimum, request)
    ground.scenario = ground.scenario.job(
        name, queue=queue, tasks=tasks, min_available=minimum, cpu=request["cpu"], gpu=request["gpu"] or None
    )


def run(ground: Ground, plugins: tuple[Any, ...], evicting: tuple[str, ...], cycles: int = CYCLES) -> Outcome:
    """Run until nothing should be decided any more, every victim made anew."""
    return ground.scenario.run(
        "enqueue", "allocate", *evicting, "backfill", plugins=plugins, cycles=cycles, recreate_evicted=True
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
    """Return the jobs that have places on idle room within their queue's capability and wait all the same."""
    idle = {name: Counter(node) for name, node in ground.nodes.items()}
    placed: Counter[str] = Counter()
    used: dict[str, Counter[str]] = {queue: Counter() for queue in ground.limits}
    for pod, node in places.items():
        name = pod.rpartition("-")[0]
        gang = ground.gangs[name]
        idle[node].subtract(gang.request)
        used[gang.queue].update(gang.request)
        placed[name] += 1
    found = []
    for name, gang in ground.gangs.items():
        missing = max(gang.minimum - placed[name], 1)
        rooms = (min(room[each] // need for each, need in gang.request.items() if need) for room in idle.values())
        total = {each: used[gang.queue][each] + missing * need for each, need in gang.request.items()}
        is_within = all(total[each] <= most for each, most in ground.limits[gang.queue].items())
        if placed[name] < gang.tasks and is_within and sum(rooms) >= missing:
            found.append(name)
    return found


@pytest.mark.parametrize("at", range(len(CONFIGURATIONS)))
def test_an_idle_cluster_is_used(at: int) -> None:
    """The last cycles decide nothing, and no job waits that fits on idle nodes and in its queue's capability."""
    plugins, evicting = CONFIGURATIONS[at]
    for seed in range(FIRST_SEED, FIRST_SEED + SEEDS):
        ground = crowd(seed)
        outcome = run(ground, plugins, evicting)
        assert (seed, outcome.warnings) == (seed, ())
        assert (seed, [plan for each in outcome.rounds[-QUIET:] for plan in each.plans]) == (seed, [])
        assert (seed, idle_but_wanted(ground, bound(outcome))) == (seed, [])
