"""Binders and preparers from outside: they stack, are isolated, and none replaces another unnoticed."""

import asyncio
from dataclasses import dataclass, field

import pytest

from pyroclast.kube.writes.binding import Binder, BindExtensions, BindOutcome, PlanOutcome
from pyroclast.model.errors import ConfigError
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plan import Bind, Plan, Preparation


def bind_of(name: str) -> Bind:
    """Send a pod to a node."""
    return Bind(task=TaskId(name), job=JobId("default/j"), namespace="default", name=name, node=NodeName("n1"))


BINDS = (bind_of("a"), bind_of("b"))
PLAN = Plan(number=0, cycle=1, configuration=1, action="allocate", job=JobId("default/j"), queue=None, binds=BINDS)


class Innermost:
    """Binds everything."""

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Say so."""
        outcomes = tuple(BindOutcome(bind=bind, is_bound=True) for bind in plan.binds)
        return PlanOutcome(plan=plan, binds=outcomes, prepared_seconds=2.0)


@dataclass
class Noting:
    """Notes that it was asked, and hands on."""

    inner: Binder
    name: str
    log: list[str] = field(default_factory=list)

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Hand on."""
        self.log.append(self.name)
        return await self.inner.bind(plan)


class Raising:
    """Breaks."""

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Break."""
        raise RuntimeError(f"cannot bind {len(plan.binds)} pods")


class Forgetting:
    """Tells of the last pod alone, and of another node than the plan's."""

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Forget the others."""
        last = plan.binds[-1]
        moved = Bind(task=last.task, job=last.job, namespace=last.namespace, name=last.name, node=NodeName("n2"))
        return PlanOutcome(plan=plan, binds=(BindOutcome(bind=moved, is_bound=True),))


class Reserving:
    """A preparer."""

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Do nothing."""

    async def revert(self, bind: Bind, preparation: Preparation) -> None:
        """Do nothing."""


class Renting(Reserving):
    """Another one."""


async def test_without_outsiders_the_binder_is_the_one_given() -> None:
    """Nothing stands around it."""
    binder = Innermost()

    assert BindExtensions().around(binder) is binder


async def test_the_last_that_registers_is_asked_first() -> None:
    """Each is given the binder so far; what the innermost says comes out."""
    extensions, log = BindExtensions(), list[str]()
    for name in ("first", "second"):
        extensions.register_binder(lambda inner, name=name: Noting(inner, name, log))  # type: ignore[misc]  # the default binds the loop's name

    outcome = await extensions.around(Innermost()).bind(PLAN)

    assert log == ["second", "first"]
    assert outcome == await Innermost().bind(PLAN)


async def test_what_a_binder_raises_fails_its_binds() -> None:
    """All of them, with the binder's name and its words."""
    extensions = BindExtensions()
    extensions.register_binder(lambda _inner: Raising())

    outcome = await extensions.around(Innermost()).bind(PLAN)

    told = f"{__name__}.Raising: RuntimeError: cannot bind 2 pods"
    assert [(each.bind, each.reason, each.message) for each in outcome.failed] == [
        (bind, "BinderFailed", told) for bind in BINDS
    ]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_an_exception_that_ends_processes_fails_the_binds(error: BaseException) -> None:
    """The scheduler continues."""

    class Ending:
        async def bind(self, plan: Plan) -> PlanOutcome:  # noqa: ARG002  # it raises
            raise error

    extensions = BindExtensions()
    extensions.register_binder(lambda _inner: Ending())

    outcome = await extensions.around(Innermost()).bind(PLAN)

    assert len(outcome.failed) == 2
    assert type(error).__name__ in outcome.failed[0].message


async def test_a_broken_binder_inside_is_a_failure_to_the_one_outside() -> None:
    """Each is isolated, so that no other has to catch its exceptions."""
    extensions, log = BindExtensions(), list[str]()
    extensions.register_binder(lambda _inner: Raising())
    extensions.register_binder(lambda inner: Noting(inner, "outer", log))

    outcome = await extensions.around(Innermost()).bind(PLAN)

    assert log == ["outer"]
    assert len(outcome.failed) == 2


async def test_every_bind_of_a_plan_is_accounted_for() -> None:
    """Binds without a result have failed; binds with one stand with the plan's own bind."""
    extensions = BindExtensions()
    extensions.register_binder(lambda _inner: Forgetting())

    outcome = await extensions.around(Innermost()).bind(PLAN)

    assert [(each.bind, each.is_bound) for each in outcome.binds] == [(BINDS[0], False), (BINDS[1], True)]
    assert outcome.binds[0].message == f"{__name__}.Forgetting: no outcome was returned for this pod"


def test_a_binder_that_cannot_be_made_is_a_fault_of_the_start() -> None:
    """It is named by its module."""
    extensions = BindExtensions()

    def make(inner: Binder) -> Binder:
        raise LookupError(f"no service for {type(inner).__name__}")

    extensions.register_binder(make)

    with pytest.raises(ConfigError, match=f"binder from {__name__}: LookupError: no service for Innermost"):
        extensions.around(Innermost())


def test_a_kind_of_preparation_is_done_by_one() -> None:
    """A second preparer is a fault, unless it is of the same class: its module was loaded again."""
    extensions = BindExtensions()
    extensions.register_preparer("reserve", Reserving())
    again = Reserving()

    extensions.register_preparer("reserve", again)
    with pytest.raises(
        ConfigError, match=rf"preparation 'reserve' from {__name__}.Renting: {__name__}.Reserving already does"
    ):
        extensions.register_preparer("reserve", Renting())

    assert extensions.preparers == {"reserve": again}
