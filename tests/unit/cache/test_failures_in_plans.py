"""One part of a plan that fails in an unforeseen way takes no other part with it."""

from typing import Any

import pytest

from pyroclast.cache.execution.plan_executor import execute_plan
from pyroclast.cache.execution.writers import ClusterWriters
from pyroclast.cache.state import ClusterState
from pyroclast.kube.binding import BindOutcome, PlanOutcome
from pyroclast.kube.evictor import EvictionOutcome
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Eviction, Plan
from tests.unit.cache.builders import bind_plan, filled, group, node, pod, queue


class Quiet:
    """A status writer or an event recorder that takes everything."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class BreakingEvictor:
    """Breaks at one pod; the others leave."""

    heeds_budgets = False

    def __init__(self, breaks_at: str, *, in_rehearsal: bool = False) -> None:
        self._breaks_at, self._in_rehearsal = breaks_at, in_rehearsal

    async def evict(self, eviction: Eviction) -> EvictionOutcome:
        """Evict."""
        if eviction.name == self._breaks_at and not self._in_rehearsal:
            raise RuntimeError("connection pool is gone")
        return EvictionOutcome(eviction=eviction, is_leaving=True)

    async def rehearse(self, eviction: Eviction) -> EvictionOutcome:
        """Ask."""
        if eviction.name == self._breaks_at and self._in_rehearsal:
            raise RuntimeError("connection pool is gone")
        return EvictionOutcome(eviction=eviction, is_leaving=True)


class Binder:
    """Binds everything, or breaks."""

    def __init__(self, *, breaks: bool = False) -> None:
        self._breaks = breaks

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Bind."""
        if self._breaks:
            raise RuntimeError("plugin is broken")
        return PlanOutcome(plan=plan, binds=tuple(BindOutcome(bind=each, is_bound=True) for each in plan.binds))


def writers(binder: Any = None, evictor: Any = None) -> ClusterWriters:
    """Make hands that write nothing."""
    quiet: Any = Quiet()
    evictor = BreakingEvictor("") if evictor is None else evictor
    return ClusterWriters(binder=binder or Binder(), evictor=evictor, statuses=quiet, events=quiet)


@pytest.fixture
def state() -> ClusterState:
    """Two running pods, and one that waits."""
    return filled(
        ClusterState(),
        queue(),
        node(),
        group("g", minimum=1),
        pod("a", group="g", node="n1", phase="Running", cpu="1"),
        pod("b", group="g", node="n1", phase="Running", cpu="1"),
        pod("c", group="g", cpu="1"),
    )


def evictions(*names: str) -> tuple[Eviction, ...]:
    """Evict pods."""
    return tuple(
        Eviction(task=TaskId(name), job=None, namespace="ns", name=name, node=NodeName("n1"), reason="preempt")
        for name in names
    )


def plan(*victims: str, binds: bool = False) -> Plan:
    """Make a plan."""
    made = bind_plan(("c", "n1")) if binds else bind_plan()
    return Plan(
        number=0,
        cycle=1,
        configuration=1,
        action="preempt",
        job=None,
        queue=None,
        binds=made.binds,
        evictions=evictions(*victims),
    )


async def test_an_eviction_that_breaks_leaves_the_others_settled(state: ClusterState) -> None:
    """The other victim is leaving; the assumption about the first is dropped at once."""
    made = plan("a", "b")
    assert state.assume(made, 0.0) == []

    await execute_plan(made, state, writers(evictor=BreakingEvictor("a")))

    assert set(state.assumed()) == {"b"}


async def test_a_rehearsal_that_breaks_drops_the_plan(state: ClusterState) -> None:
    """Nothing is known of one victim, so nobody leaves, and nothing stays assumed."""
    made = plan("a", "b", binds=True)
    assert state.assume(made, 0.0) == []

    await execute_plan(made, state, writers(evictor=BreakingEvictor("a", in_rehearsal=True)))

    assert state.assumed() == {}


async def test_a_binder_that_breaks_leaves_nothing_assumed(state: ClusterState) -> None:
    """A binder from outside; the pod is placed anew in a later cycle, and nobody is evicted for it."""
    made = plan("a", binds=True)
    assert state.assume(made, 0.0) == []

    await execute_plan(made, state, writers(binder=Binder(breaks=True)))

    assert state.assumed() == {}
