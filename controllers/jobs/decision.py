"""Decision: the next step of a Job, as a value.

The fields are executed in their order, with one exception: objects of plugins come first if they are removed, or if
pods have no place any more.

The status is written before the action that it records. If the process is killed in between, the next process sees
which action has started. All other steps may be repeated.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pyroclast.controllers.jobs.claims import ClaimPlan
from pyroclast.controllers.jobs.observed import PodPlace
from pyroclast.model.api.batch import JobStatus
from pyroclast.model.api.bus import Command
from pyroclast.model.api.scheduling import PodGroup
from pyroclast.model.wire import Pod

__all__ = ["Decision", "EventRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """An event on the Job."""

    reason: str
    message: str
    is_warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The next step of a Job."""

    is_forwarded: bool = False
    """The Job must be marked as one that other clusters may run; nothing else is done before."""
    status: JobStatus | None = None
    """The status to write; None when it stays."""
    events: tuple[EventRecord, ...] = ()
    kills: tuple[Pod, ...] = ()
    """Pods to give up: marked, then deleted."""
    deletes: tuple[Pod, ...] = ()
    """Pods that have no place any more."""
    group_delete: PodGroup | None = None
    claims: tuple[ClaimPlan, ...] = ()
    """Volume claims to make or to name."""
    group_create: Mapping[str, Any] | None = None
    group_change: Mapping[str, Any] | None = None
    """A merge patch of the pod group."""
    objects: Literal["there", "gone", "as they are"] = "as they are"
    """Desired state of the objects of plugins. `gone` is executed before the status drops them."""
    creates: tuple[PodPlace, ...] = ()
    """Pods to make."""
    command: Command | None = None
    """Command to delete: it was carried out, or can have no effect."""
    requeue_after: float | None = None
    """Seconds until something is due."""
