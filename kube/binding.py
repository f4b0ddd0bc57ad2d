"""Binding, as others see it: what a binder and a preparer are, what comes of a plan, and how extensions take part.

A binder from outside is given the one so far and returns another, which hands on what it does not do itself; so several
stack, and the last that registers is asked first. A preparer from outside does one kind of preparation that its plugin
asks for. Both are registered before the daemon starts: by a program, or by the module of a plugin as it is loaded.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import structlog

from pyroclast.model.errors import ConfigError, PyroclastError
from pyroclast.model.plan import Bind, Plan, Preparation

__all__ = [
    "BIND_EXTENSIONS",
    "BindExtensions",
    "BindOutcome",
    "Binder",
    "Delegate",
    "DelegateError",
    "PlanOutcome",
    "Preparer",
    "refused",
    "register_binder",
    "register_preparer",
]

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BindOutcome:
    """What became of one bind."""

    bind: Bind
    is_bound: bool
    reason: str = ""
    """Why not: `NotLeader`, `PreparationFailed`, `Gone`, `BoundElsewhere`, `BinderFailed`, `DelegateFailed`, or the
    server's word."""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutcome:
    """What became of a plan's binds, in the plan's order."""

    plan: Plan
    binds: tuple[BindOutcome, ...]
    prepared_seconds: float | None = None
    """How long the preparations took; None where they failed, or where the plan had none."""

    @property
    def is_complete(self) -> bool:
        """Every pod is bound."""
        return all(outcome.is_bound for outcome in self.binds)

    @property
    def failed(self) -> tuple[BindOutcome, ...]:
        """Binds that did not happen."""
        return tuple(outcome for outcome in self.binds if not outcome.is_bound)


class Preparer(Protocol):
    """Does one kind of preparation."""

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Do it, or raise an exception, whose text people read; doing it twice must be harmless."""
        ...

    async def revert(self, bind: Bind, preparation: Preparation) -> None:
        """Undo it, also where it was done in part."""
        ...


class DelegateError(PyroclastError):
    """Who should bind a pod in our place did not say that he has: look at the pod."""


class Delegate(Protocol):
    """Binds single pods in our place, where the plan says so; preparations are ours all the same."""

    async def bind(self, bind: Bind) -> bool:
        """Bind a pod, or return False and leave it to us; being asked twice about the same bind must be harmless.

        Raises:
            DelegateError: It is not bound, or nobody knows.
        """
        ...


class Binder(Protocol):
    """Carries out the binds of plans."""

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Bind all pods of a plan, and tell what became of each; it is no exception when one cannot be bound."""
        ...


def refused(bind: Bind, reason: str, message: str) -> BindOutcome:
    """Make the outcome of a bind that did not happen."""
    return BindOutcome(bind=bind, is_bound=False, reason=reason, message=message)


@dataclass(slots=True)
class BindExtensions:
    """Binders and preparers from outside; the functions of the same names say more."""

    preparers: dict[str, Preparer] = field(default_factory=dict)
    """Who does which kind of preparation."""
    _binders: list[Callable[[Binder], Binder]] = field(default_factory=list)

    def register_binder(self, make: Callable[[Binder], Binder]) -> None:
        """Add a binder."""
        self._binders.append(make)

    def register_preparer(self, kind: str, preparer: Preparer) -> None:
        """Add a preparer; one of the same class takes the other's place, as when a module is loaded twice."""
        known = _origin(type(self.preparers.get(kind, preparer)))
        if known != (origin := _origin(type(preparer))):
            raise ConfigError(f"preparation {kind!r} from {origin}: {known} does this kind already")
        self.preparers[kind] = preparer

    def around(self, binder: Binder) -> Binder:
        """Put the binders from outside around one, each behind a fence.

        Raises:
            ConfigError: One of them cannot be made.
        """
        for make in self._binders:
            try:
                binder = _Fenced(make(binder))
            except Exception as error:
                raise ConfigError(f"binder from {make.__module__}: {type(error).__name__}: {error}") from error
        return binder


BIND_EXTENSIONS: Final = BindExtensions()
"""What is registered in this process."""


def register_binder(make: Callable[[Binder], Binder]) -> None:
    """Have every scheduler of this process bind by another binder.

    Args:
        make: Given the binder so far, returns the one to use in its place.
    """
    BIND_EXTENSIONS.register_binder(make)


def register_preparer(kind: str, preparer: Preparer) -> None:
    """Have the preparations of a kind done, in every scheduler of this process.

    Args:
        kind: The `kind` of the preparations that a plugin asks for by `session.register_preparations`.
        preparer: Who does them.

    Raises:
        ConfigError: Somebody else does this kind.
    """
    BIND_EXTENSIONS.register_preparer(kind, preparer)


class _Fenced:
    """A binder from outside: what it raises, and what it says nothing about, are binds that failed."""

    def __init__(self, binder: Binder) -> None:
        self._binder, self._name = binder, _origin(type(binder))

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Bind, and account for each bind of the plan."""
        try:
            outcome = await self._binder.bind(plan)
            told = {each.bind.task: each for each in outcome.binds}
            prepared_seconds = outcome.prepared_seconds
        except Exception as error:  # noqa: BLE001  it comes from outside, and a bug of it fails the plan alone
            _log.exception("binder_failed", binder=self._name)
            told, prepared_seconds = {}, None
            fault = f"{self._name}: {type(error).__name__}: {error}"
        else:
            fault = f"{self._name}: nothing was told of this pod"
        # The plan's own binds, for the books are kept by them: one that was sent on may have been changed on its way.
        binds = tuple(
            replace(told[bind.task], bind=bind) if bind.task in told else refused(bind, "BinderFailed", fault)
            for bind in plan.binds
        )
        return PlanOutcome(plan=plan, binds=binds, prepared_seconds=prepared_seconds)


def _origin(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
