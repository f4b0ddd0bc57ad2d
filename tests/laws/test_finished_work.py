"""Finished work stays finished: gangs whose members end, and whose ended pods are deleted, in any order.

A gang that ran is never `Unknown` or broken because members end or are cleaned away, also after the scheduler began
anew. When all have ended it is `Completed` for good, and its queue is free for the next gang.
"""

import random
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model import wire
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured
from tests.drawing import IS_DEEP, examples
from tests.laws.living.cluster import LivingCluster

EXAMPLES = examples(30)
ACTIONS = ("enqueue", "allocate", "backfill", "preempt", "reclaim")
SHARES = ("capacity", "proportion")
START = 1_767_225_600.0
ENDED = ("Succeeded", "Failed")


SubGroup = tuple[dict[str, Any], str, int]
"""A policy, a name, and how many pods."""


def _sub_groups(chance: random.Random) -> list[SubGroup]:
    """Draw sub-groups of one or two policies, some of which may have pods beyond their minimum."""
    parts: list[SubGroup] = []
    for number in range(chance.randint(1, 2)):
        least, count = chance.randint(1, 2), chance.randint(1, 3)
        policy = {
            "name": f"policy{number}",
            "labelSelector": {"matchLabels": {"policy": f"policy{number}"}},
            "matchLabelKeys": ["part"],
            "subGroupSize": least,
            "minSubGroups": chance.randint(1, count),
        }
        parts += [(policy, f"p{number}-{part}", chance.randint(least, least + 1)) for part in range(count)]
    return parts


def _divided(parts: list[SubGroup]) -> dict[str, Any] | None:
    policies = {policy["name"]: policy for policy, _, _ in parts}
    return {"subGroupPolicy": list(policies.values())} if policies else None


class Life:
    """Gangs, some of sub-groups, that run in a queue of their size, and one that waits for all of it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.now = chance, START
        names = [f"g{number}" for number in range(chance.randint(1, 3))]
        parts = {name: _sub_groups(chance) if chance.random() < 0.4 else [] for name in names}
        """Sub-groups by gang; none where nothing divides it."""
        self.sizes = {name: sum(size for _, _, size in parts[name]) or chance.randint(1, 5) for name in names}
        self.minimums = {name: chance.randint(1, size) for name, size in self.sizes.items()}
        room = sum(self.sizes.values())
        scenario = Scenario().node("n1", cpu=room + 4).node("n2", cpu=room + 4)
        scenario = scenario.queue("narrow", capability={"cpu": room}, deserved={"cpu": room})
        for name, size in self.sizes.items():
            minimum = self.minimums[name]
            scenario = scenario.job(
                name,
                queue="narrow",
                tasks=0 if parts[name] else size,
                min_available=minimum,
                cpu=1,
                min_resources={"cpu": minimum},
                group=_divided(parts[name]),
            )
            for policy, part, count in parts[name]:
                for number in range(count):
                    labels = {"policy": policy["name"], "part": part}
                    scenario = scenario.pod(f"{name}-{part}-{number}", job=name, cpu=1, labels=labels)
        self.room, self.completed = room, set[str]()
        self.cluster = LivingCluster(scenario.objects)
        plugins = ("gang", "priority", "predicates", chance.choice(SHARES), *chance.choice(((), ("overcommit",))))
        parsed, self.registry = configured(ACTIONS, plugins, {})
        self.configuration = parsed.configuration
        self.memory: Memory | None = None
        self.settled = Settled()

    def cycle(self) -> None:
        """Decide, and let it happen."""
        report, self.memory = run_cycle(
            self.cluster.snapshot(),
            self.configuration,
            registry=self.registry,
            now=self.now,
            memory=self.memory,
            settled=self.settled,
        )
        for plan in report.plans:
            assert self.cluster.assume(plan, self.now) == []
        self.cluster.settle(report.plans, report, now=self.now + 0.5, recreate_evicted=False)
        self.now += 1.0

    def pods(self, *phases: str, job: str = "") -> list[wire.Pod]:
        """Return the pods in some phases."""
        return [
            pod
            for pod in self.cluster.pods()
            if pod.status.phase in phases and pod.metadata.name.startswith(f"{job}-" if job else "")
        ]

    def group(self, name: str) -> wire.PodGroup:
        """Return a PodGroup."""
        found: wire.PodGroup = self.cluster.one("PodGroup", f"default/{name}")
        return found

    def step(self) -> None:
        """Let members end, ended pods be deleted, and now and then the scheduler begin anew."""
        for _ in range(self.chance.randint(1, 3)):
            running, ended = self.pods("Running"), self.pods(*ENDED)
            if running and (not ended or self.chance.random() < 0.5):
                self.cluster.end(self.chance.choice(running), self.chance.choice(("Succeeded", "Succeeded", "Failed")))
            elif ended:
                self.cluster.delete_pod(self.chance.choice(ended), self.now, made_anew=False)
        if self.chance.random() < 0.15:
            self.cycle()  # what a status does not say yet is lost with the process
            self.cluster.restart()
            self.memory, self.settled = None, Settled()
        if self.chance.random() < 0.8:
            self.cycle()

    def look(self) -> None:
        """Check what must hold."""
        for name in self.sizes:
            status = self.group(name).status
            told = [each.message for each in status.conditions if each.status == "True"]
            assert status.phase in {"Running", "Completed"}, (name, status)
            assert not any("broken" in each or "unschedulable" in each for each in told), (name, told)
            if status.phase == "Completed":
                self.completed.add(name)
            assert (status.phase == "Completed") is (name in self.completed), (name, status)


@settings(
    max_examples=EXAMPLES,
    derandomize=not IS_DEEP,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**32))
def test_gangs_that_end_one_by_one_stay_finished(seed: int) -> None:
    """Whatever is cleaned away when, no gang queues up again, and the next one gets the whole queue."""
    life = Life(random.Random(seed))
    for _ in range(3):
        life.cycle()
    assert not life.pods("Pending")
    while life.pods("Running"):
        life.step()
        life.cycle()
        life.look()
    for pod in life.pods(*ENDED):
        life.cluster.delete_pod(pod, life.now, made_anew=False)
        life.cycle()
        life.look()
    assert life.completed == set(life.sizes)
    later = Scenario().job(
        "next", queue="narrow", tasks=life.room, min_available=life.room, cpu=1, min_resources={"cpu": life.room}
    )
    life.cluster.put(later.objects)
    for _ in range(3):
        life.cycle()
    assert life.group("next").status.phase == "Running"
    life.look()
