"""Use: which Reservations a task may use."""

from dataclasses import dataclass
from typing import Final

from pyroclast.model.ids import TaskId

__all__ = ["NO_USE", "ReservationUse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationUse:
    """The Reservations that tasks of one template may use."""

    usable: tuple[TaskId, ...] = ()
    """UIDs of the Reservations."""
    is_required: bool = False
    """Whether the tasks may be placed on these alone."""
    takes_any: bool = False
    """Whether the tasks use whatever is reserved and not in use, without becoming owners."""


NO_USE: Final = ReservationUse()
