"""Reconciler: the interface of a controller, and the changes that it watches."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pyroclast.controllers.runtime.store import Key
from pyroclast.kube.api.resources import Resource

__all__ = ["Reconciler", "Watch"]

T = TypeVar("T")


class Reconciler(Protocol):
    """Brings the actual state to the desired state of one object. It reads the state, not the events that led to it."""

    name: ClassVar[str]
    """Name of the controller, for metrics and logs."""

    async def reconcile(self, key: Key) -> float | None:
        """Take the next step for a key.

        Calls for one key do not overlap. The object may be gone. Each step may have been taken already by a process
        that was killed right after it.

        Returns:
            Seconds until the next call even if nothing happens, or None.

        Raises:
            Exception: The step failed. The next call follows after a wait that grows with each failure in a row.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch(Generic[T]):
    """Changes of a kind that a reconciler depends on."""

    resource: Resource[T]
    keys: Callable[[T | None, T | None], Iterable[Key]]
    """Returns the keys to reconcile for the old and the new object. None: created, or deleted."""

    def added(self, new: T) -> Iterable[Key]:
        """Return the keys of an existing object."""
        return self.keys(None, new)


AnyWatch = Watch[Any]
