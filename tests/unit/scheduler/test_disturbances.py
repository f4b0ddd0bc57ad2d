"""What happens to the daemon amid its work: clocks jump, files are edited, and work that is over piles up."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from pyroclast.cache.state import ClusterState
from pyroclast.framework.configuration import Configuration
from pyroclast.framework.cycle import Silent, run_cycle
from pyroclast.framework.session.memory import Memory, Settled
from pyroclast.model import wire
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Plan
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.registry import load_registry
from tests.unit.cache.builders import group, node, pod, queue

NOW = 1_800_000_000.0
REGISTRY = load_registry("")
PLACING = "actions: enqueue, allocate\ntiers:\n- plugins: [{name: priority}, {name: gang}]\n"
SPREADING = f"{PLACING}- plugins: [{{name: predicates}}, {{name: proportion}}, {{name: nodeorder}}]\n"
EVICTING = SPREADING.replace("allocate", "allocate, preempt")


def configuration(text: str, generation: int = 1) -> Configuration:
    """Read a text as a daemon does."""
    return read_configuration(text, REGISTRY, generation=generation).configuration


@dataclass
class Running(Silent):
    """Books, and what a daemon keeps from one cycle to the next."""

    state: ClusterState = field(default_factory=ClusterState)
    memory: Memory = field(default_factory=Memory)
    settled: Settled = field(default_factory=Settled)
    plans: list[Plan] = field(default_factory=list)
    bound: list[TaskId] = field(default_factory=list)
    evicted: list[TaskId] = field(default_factory=list)

    def take(self, *objects: Any) -> None:
        """Take objects over."""
        for each in objects:
            self.state.apply(type(each).__name__, each)

    def committed(self, plan: Plan) -> None:
        """Note a plan."""
        self.plans.append(plan)

    def cycle(self, settings: Configuration, now: float) -> None:
        """Decide once, and assume what was decided."""
        _, self.memory = run_cycle(
            self.state.snapshot(),
            settings,
            registry=REGISTRY,
            seed=0,
            now=now,
            memory=self.memory,
            observer=self,
            settled=self.settled,
        )
        for plan in self.plans:
            assert self.state.assume(plan, 0.0) == []
            self.bound += [bind.task for bind in plan.binds]
            self.evicted += [eviction.task for eviction in plan.evictions]
        self.plans.clear()


@pytest.mark.parametrize("ahead", [3600.0, -3600.0])
def test_a_clock_that_jumps_while_victims_leave_costs_no_others(ahead: float) -> None:
    """An hour either way: chosen victims leave, no others do, and the gang takes their capacity."""
    there, settings = Running(), configuration(EVICTING)
    there.take(
        wire.PriorityClass(metadata=wire.ObjectMeta(name="high", uid="high"), value=1000),
        *(queue(), node(), group("low", minimum=1, phase="Running")),
        group("high", minimum=2, phase="Inqueue", priority_class_name="high"),
    )
    running = [pod(f"low-{number}", group="low", node="n1", phase="Running", cpu="1") for number in range(4)]
    there.take(*running, *(pod(f"high-{number}", group="high", cpu="1") for number in range(2)))
    there.cycle(settings, NOW)
    assert len(there.evicted) == 2

    for second in (1, 2):
        there.cycle(settings, NOW + ahead + second)
    leaving = set(there.evicted)
    for each in running:
        if each.metadata.uid in leaving:
            there.state.remove("Pod", each)
    there.cycle(settings, NOW + ahead + 3)

    assert len(there.evicted) == 2
    assert sorted(there.bound) == ["high-0", "high-1"]


def test_reloads_amid_arrivals_place_each_gang_once() -> None:
    """Another configuration in every cycle, while gangs come in: each is bound whole, once."""
    there = Running()
    there.take(queue(), *(node(f"n{number}", cpu="8", memory="8Gi", pods="50") for number in range(4)))
    texts = (PLACING, SPREADING, EVICTING)
    for second in range(15):
        name = f"g{second}"
        there.take(group(name, minimum=2), *(pod(f"{name}-{member}", group=name, cpu="1") for member in range(2)))
        there.cycle(configuration(texts[second % 3], generation=second + 1), NOW + second)

    assert sorted(there.bound) == sorted(f"g{second}-{member}" for second in range(15) for member in range(2))
    assert there.evicted == []


def ended(namespaces: int) -> Iterator[wire.Pod]:
    """Pods that have ended, ten in each namespace, half of them without a group."""
    for number in range(namespaces):
        for member in range(10):
            made = pod(
                f"old-{number}-{member}",
                group="gone" if member % 2 else "",
                node="n1",
                phase="Failed" if member % 3 else "Succeeded",
                cpu="1",
            )
            yield msgspec.structs.replace(
                made, metadata=msgspec.structs.replace(made.metadata, namespace=f"team-{number}")
            )


def test_pods_that_ended_in_many_namespaces_take_no_room() -> None:
    """Two thousand in two hundred namespaces: nothing of a node is theirs, and a gang beside them starts."""
    there = Running()
    there.take(queue(), node(), *ended(200), group("g", minimum=4))
    there.take(*(pod(f"g-{member}", group="g", cpu="1") for member in range(4)))
    there.cycle(configuration(SPREADING), NOW)

    assert sorted(there.bound) == [f"g-{member}" for member in range(4)]
    for each in ended(200):
        there.state.remove("Pod", each)
    assert list(there.state.snapshot().jobs) == ["ns/g"]
    assert there.state.stored("Pod").keys() == {f"g-{member}" for member in range(4)}
