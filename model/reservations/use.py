"""Use: which Reservations a task may use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyroclast.model.ids import NodeName, TaskId

__all__ = ["NO_USE", "ReservationUse", "Takeover"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """The running pods that a Reservation may take over when it is placed, so that it reserves what they use (R33)."""

    candidates: Mapping[NodeName, tuple[TaskId, ...]]
    """Pods by node, the preferred ones first."""
    takes_several: bool = False
    """Whether more than one pod may be taken over."""
    is_required: bool = False
    """Whether at least one pod must be taken over."""
    prefers_none: bool = False
    """Whether no pod is taken over where the free capacity of a node is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationUse:
    """The Reservations that tasks of one template may use."""

    usable: tuple[TaskId, ...] = ()
    """UIDs of the Reservations."""
    is_required: bool = False
    """Whether the tasks may be placed on these alone."""
    takes_any: bool = False
    """Whether the tasks use whatever is reserved and not in use, without becoming owners."""
    unrestricted: frozenset[str] = frozenset()
    """Resources that the policy Restricted does not restrict."""
    takeover: Takeover | None = None
    """Pods that a Reservation may take over; None for pods, and for Reservations that take over none."""


NO_USE: Final = ReservationUse()
