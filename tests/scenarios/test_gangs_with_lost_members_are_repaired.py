"""Gangs that lose members, their pod group, their scheduler or a node for a while, as users reported them."""

import pytest
from msgspec.structs import replace

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model import wire
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured
from tests.laws.living.cluster import LivingCluster

START = 1_767_225_600.0
PARSED, REGISTRY = configured(("enqueue", "allocate", "backfill"), ("gang", "predicates", "proportion"), {})
QUEUE = Scenario().node("n1", cpu=4).queue("exact", capability={"cpu": 3})
GANG = Scenario().job("trio", queue="exact", tasks=3, min_available=3, cpu=1, min_resources={"cpu": 3})


class Life:
    """A gang of three in a queue of its size."""

    def __init__(self) -> None:
        self.now, self.memory, self.settled = START, Memory(), Settled()
        self.cluster = LivingCluster([*QUEUE.objects, *GANG.objects])
        self.cycles(3)
        assert self.running == 3

    def cycles(self, number: int) -> None:
        """Decide so often, and let it happen."""
        for _ in range(number):
            report, self.memory = run_cycle(
                self.cluster.snapshot(),
                PARSED.configuration,
                registry=REGISTRY,
                now=self.now,
                memory=self.memory,
                settled=self.settled,
            )
            for plan in report.plans:
                assert self.cluster.assume(plan, self.now) == []
            self.cluster.settle(report.plans, report, now=self.now + 0.5, recreate_evicted=False)
            self.now += 1.0

    def restart(self) -> None:
        """Begin a new scheduler."""
        self.cluster.restart()
        self.memory, self.settled = Memory(), Settled()

    @property
    def running(self) -> int:
        """Count the pods that run."""
        return sum(pod.status.phase == "Running" for pod in self.cluster.pods())

    @property
    def phase(self) -> str:
        """Phase of the group."""
        group: wire.PodGroup = self.cluster.one("PodGroup", "default/trio")
        return group.status.phase


def test_an_evicted_member_comes_back_into_a_full_queue() -> None:
    """volcano#3705: the queue has exactly the room of the gang."""
    life = Life()
    life.cluster.delete_pod(life.cluster.pods()[0], life.now, made_anew=True)
    life.cycles(3)

    assert (life.running, life.phase) == (3, "Running")


def test_a_gang_runs_on_while_its_node_is_cordoned_and_the_scheduler_begins_anew() -> None:
    """volcano#2377."""
    life = Life()
    node = life.cluster.one("Node", "n1")
    life.cluster.change("Node", replace(node, spec=replace(node.spec, unschedulable=True)))
    life.cycles(1)
    life.restart()
    life.cycles(2)
    life.cluster.change("Node", node)
    life.cycles(1)

    assert (life.running, life.phase) == (3, "Running")


def test_a_gang_that_is_suspended_runs_again_when_its_operator_makes_it_again() -> None:
    """kubeflow/trainer#1859: pods and group go, and both come again under their names."""
    life = Life()
    for pod in life.cluster.pods():
        life.cluster.delete_pod(pod, life.now, made_anew=False)
    life.cluster.drop("PodGroup", "default/trio")
    life.cycles(2)
    life.cluster.put(GANG.objects)
    life.cycles(3)

    assert (life.running, life.phase) == (3, "Running")


@pytest.mark.parametrize(("first", "running"), [("Succeeded", 2), ("Failed", 0), ("Running", 0)])
def test_a_gang_that_is_evicted_whole_needs_those_that_have_not_succeeded(first: str, running: int) -> None:
    """Two of three pods are made again: that is enough where the third was done."""
    life = Life()
    life.cluster.end(life.cluster.pods()[0], first)
    for pod in life.cluster.pods():
        life.cluster.delete_pod(pod, life.now, made_anew=False)
    life.cycles(1)
    life.cluster.put([each for each in GANG.objects if each["kind"] == "Pod"][1:])
    life.cycles(3)

    assert life.running == running


def test_a_completed_gang_starts_again_with_all_of_its_minimum() -> None:
    """Pods that join a completed group begin anew; who succeeded before is not counted."""
    life = Life()
    for pod in life.cluster.pods():
        life.cluster.end(pod, "Succeeded")
    life.cycles(2)
    assert life.phase == "Completed"
    for pod in life.cluster.pods():
        life.cluster.delete_pod(pod, life.now, made_anew=False)
    life.cycles(2)
    assert life.phase == "Completed"
    again = [each for each in GANG.objects if each["kind"] == "Pod"]
    life.cluster.put(again[:2])
    life.cycles(3)
    assert life.running == 0
    life.cluster.put(again[2:])
    life.cycles(3)

    assert (life.running, life.phase) == (3, "Running")
