"""An unexpected exception in one part of a plan does not affect the other parts."""

from typing import Any

import pytest

from pyroclast.cache.execution.plan_executor import execute_plan
from pyroclast.cache.execution.writers import ClusterWriters
from pyroclast.cache.state import ClusterState
from pyroclast.kube.writes.binding import BindOutcome, PlanOutcome
from pyroclast.kube.writes.evictor import EvictionOutcome
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Eviction, Plan
from tests.unit.cache.builders import bind_plan, filled, group, node, pod, queue


class Quiet:
    """A status writer or an event recorder without effect."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


class RaisingEvictor:
    """Raises for one pod, and evicts the others."""

    heeds_budgets = False

    def __init__(self, raises_at: str, *, in_dry_run: bool = False) -> None:
        self._raises_at, self._in_dry_run = raises_at, in_dry_run

    async def evict(self, eviction: Eviction) -> EvictionOutcome:
        """Evict."""
        if eviction.name == self._raises_at and not self._in_dry_run:
            raise RuntimeError("connection pool is gone")
        return EvictionOutcome(eviction=eviction, is_leaving=True)

    async def rehearse(self, eviction: Eviction) -> EvictionOutcome:
        """Evict in a dry run."""
        if eviction.name == self._raises_at and self._in_dry_run:
            raise RuntimeError("connection pool is gone")
        return EvictionOutcome(eviction=eviction, is_leaving=True)


class Binder:
    """Binds everything, or raises."""

    def __init__(self, *, raises: bool = False) -> None:
        self._raises = raises

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Bind."""
        if self._raises:
            raise RuntimeError("plugin is broken")
        return PlanOutcome(plan=plan, binds=tuple(BindOutcome(bind=each, is_bound=True) for each in plan.binds))


def writers(binder: Any = None, evictor: Any = None) -> ClusterWriters:
    """Return writers without effect."""
    quiet: Any = Quiet()
    evictor = RaisingEvictor("") if evictor is None else evictor
    return ClusterWriters(binder=binder or Binder(), evictor=evictor, statuses=quiet, events=quiet)


@pytest.fixture
def state() -> ClusterState:
    """Two running pods and a waiting pod."""
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
    """Return evictions of pods."""
    return tuple(
        Eviction(task=TaskId(name), job=None, namespace="ns", name=name, node=NodeName("n1"), reason="preempt")
        for name in names
    )


def plan(*victims: str, binds: bool = False) -> Plan:
    """Return a plan."""
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


async def test_an_eviction_that_raises_does_not_affect_the_others(state: ClusterState) -> None:
    """The other victim is terminating, and the assumption of the first victim ends immediately."""
    made = plan("a", "b")
    assert state.assume(made, 0.0) == []

    await execute_plan(made, state, writers(evictor=RaisingEvictor("a")))

    assert set(state.assumed()) == {"b"}


async def test_a_dry_run_that_raises_drops_the_plan(state: ClusterState) -> None:
    """The result for one victim is unknown, so no pod is evicted and nothing stays assumed."""
    made = plan("a", "b", binds=True)
    assert state.assume(made, 0.0) == []

    await execute_plan(made, state, writers(evictor=RaisingEvictor("a", in_dry_run=True)))

    assert state.assumed() == {}


async def test_a_binder_that_raises_leaves_nothing_assumed(state: ClusterState) -> None:
    """A later cycle places the pod again, and no pod is evicted for it."""
    made = plan("a", binds=True)
    assert state.assume(made, 0.0) == []

    await execute_plan(made, state, writers(binder=Binder(raises=True)))

    assert state.assumed() == {}
