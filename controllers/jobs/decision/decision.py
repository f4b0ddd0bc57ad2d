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
from pyroclast.controllers.jobs.decision.observed import PodPlace
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
    """Mark the Job as one that other clusters may run. This is the first step."""
    status: JobStatus | None = None
    """The status to write. None: unchanged."""
    events: tuple[EventRecord, ...] = ()
    kills: tuple[Pod, ...] = ()
    """Pods to mark as restarted and then delete."""
    deletes: tuple[Pod, ...] = ()
    """Surplus pods to delete."""
    group_delete: PodGroup | None = None
    claims: tuple[ClaimPlan, ...] = ()
    """Volume claims to create or to name."""
    group_create: Mapping[str, Any] | None = None
    group_change: Mapping[str, Any] | None = None
    """A merge patch of the pod group."""
    objects: Literal["there", "gone", "as they are"] = "as they are"
    """Desired state of the objects of plugins. `gone` is executed before the status drops them."""
    creates: tuple[PodPlace, ...] = ()
    """Pods to create."""
    command: Command | None = None
    """Command to delete, because it was executed or has no effect."""
    requeue_after: float | None = None
    """Seconds until the next decision if no object changes."""
