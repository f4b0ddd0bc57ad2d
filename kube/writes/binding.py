"""Interfaces of binding: binder and preparer, the outcomes of a plan, and registration of extensions.

An extension that registers a binder receives the current binder and returns another, which delegates to it. Several
binders stack; the last one that registers is called first. An extension that registers a preparer does one kind of
preparation that its plugin requests. Both are registered before the daemon starts: by a program, or by the module of a
plugin as it is loaded.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import structlog

from pyroclast.kube.api.concurrent_calls import is_cancelled_by
from pyroclast.model.errors import ConfigError, PyroclastError
from pyroclast.model.plan import Bind, Plan, Preparation
from pyroclast.model.texts import said_by

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
    """Outcome of one bind."""

    bind: Bind
    is_bound: bool
    reason: str = ""
    """Reason of a failure: `NotLeader`, `PreparationFailed`, `Gone`, `BoundElsewhere`, `BinderFailed`,
    `DelegateFailed`, or
    the reason that the server returned.
    """
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutcome:
    """Outcomes of a plan's binds, in the plan's order."""

    plan: Plan
    binds: tuple[BindOutcome, ...]
    prepared_seconds: float | None = None
    """Duration of the preparations; None if they failed, or if the plan had none."""

    @property
    def is_complete(self) -> bool:
        """Whether every pod is bound."""
        return all(outcome.is_bound for outcome in self.binds)

    @property
    def failed(self) -> tuple[BindOutcome, ...]:
        """Binds that did not happen."""
        return tuple(outcome for outcome in self.binds if not outcome.is_bound)


class Preparer(Protocol):
    """Does one kind of preparation."""

    async def prepare(self, bind: Bind, preparation: Preparation) -> None:
        """Do the preparation, or raise an exception whose text is shown to users. It must be idempotent."""
        ...

    async def revert(self, bind: Bind, preparation: Preparation) -> None:
        """Undo the preparation, also if it was done in part."""
        ...


class DelegateError(PyroclastError):
    """A delegate did not report that it bound the pod: read the pod."""


class Delegate(Protocol):
    """Binds single pods in place of the binder, if the plan requests it; preparations are done by the binder."""

    async def bind(self, bind: Bind) -> bool:
        """Bind a pod, or return False to leave it to the binder. It must be idempotent.

        Raises:
            DelegateError: The pod is not bound, or its state is unknown.
        """
        ...


class Binder(Protocol):
    """Carries out the binds of plans."""

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Bind all pods of a plan and return an outcome for each; a failed bind is not an exception."""
        ...


def refused(bind: Bind, reason: str, message: str) -> BindOutcome:
    """Return the outcome of a bind that did not happen."""
    return BindOutcome(bind=bind, is_bound=False, reason=reason, message=message)


@dataclass(slots=True)
class BindExtensions:
    """Registered binders and preparers; see the functions of the same names."""

    preparers: dict[str, Preparer] = field(default_factory=dict)
    """Preparer of each kind of preparation."""
    _binders: list[Callable[[Binder], Binder]] = field(default_factory=list)

    def register_binder(self, make: Callable[[Binder], Binder]) -> None:
        """Add a binder."""
        self._binders.append(make)

    def register_preparer(self, kind: str, preparer: Preparer) -> None:
        """Add a preparer. One of the same class replaces the other, as when a module is loaded twice."""
        known = _origin(type(self.preparers.get(kind, preparer)))
        if known != (origin := _origin(type(preparer))):
            raise ConfigError(f"preparation {kind!r} from {origin}: {known} already does this kind")
        self.preparers[kind] = preparer

    def around(self, binder: Binder) -> Binder:
        """Wrap a binder in the registered binders, each isolated from the failures of the others.

        Raises:
            ConfigError: One of them cannot be created.
        """
        for make in self._binders:
            try:
                binder = _Isolated(make(binder))
            except Exception as error:
                raise ConfigError(f"binder from {make.__module__}: {type(error).__name__}: {error}") from error
        return binder


BIND_EXTENSIONS: Final = BindExtensions()
"""Extensions that are registered in this process."""


def register_binder(make: Callable[[Binder], Binder]) -> None:
    """Register a binder for every scheduler of this process.

    Args:
        make: Receives the current binder, returns the one that replaces it.
    """
    BIND_EXTENSIONS.register_binder(make)


def register_preparer(kind: str, preparer: Preparer) -> None:
    """Register a preparer of one kind, for every scheduler of this process.

    Args:
        kind: The `kind` of the preparations that a plugin requests by `session.register_preparations`.
        preparer: Does these preparations.

    Raises:
        ConfigError: Another preparer of this kind is registered.
    """
    BIND_EXTENSIONS.register_preparer(kind, preparer)


class _Isolated:
    """A registered binder: binds for which it raises an exception or returns no outcome count as failed."""

    def __init__(self, binder: Binder) -> None:
        self._binder, self._name = binder, _origin(type(binder))

    async def bind(self, plan: Plan) -> PlanOutcome:
        """Bind, and return an outcome for each bind of the plan."""
        try:
            outcome = await self._binder.bind(plan)
            outcome_by_task = {each.bind.task: each for each in outcome.binds}
            prepared_seconds = outcome.prepared_seconds
        except GeneratorExit:
            raise
        except BaseException as error:  # it comes from outside, and a bug of it fails the plan alone
            if is_cancelled_by(error):
                raise
            _log.exception("binder_failed", binder=self._name)
            outcome_by_task, prepared_seconds = {}, None
            fault = f"{self._name}: {type(error).__name__}: {said_by(error)}"
        else:
            fault = f"{self._name}: no outcome was returned for this pod"
        # The plan's own binds, because the cache identifies binds by these objects: a binder may have replaced them.
        binds = tuple(
            replace(outcome_by_task[bind.task], bind=bind)
            if bind.task in outcome_by_task
            else refused(bind, "BinderFailed", fault)
            for bind in plan.binds
        )
        return PlanOutcome(plan=plan, binds=binds, prepared_seconds=prepared_seconds)


def _origin(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
