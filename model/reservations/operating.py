"""Operating mode: a running pod whose capacity its owners may use while it is ready (R37)."""

from typing import Final

from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.ids import TaskId
from pyroclast.model.requests import resource_list
from pyroclast.model.reservations.names import OPERATING_MODE, OPERATING_OWNERS
from pyroclast.model.resources import PODS
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["is_operating", "reservation_of"]

_MODE: Final = "Reservation"
_LONGEST_TEXT: Final = 65536
"""Characters of the annotation with owners that are parsed."""


def is_operating(task: Task) -> bool:
    """Return whether a pod acts as a Reservation: it has the label, runs, and is ready."""
    if task.pod.metadata.labels.get(OPERATING_MODE) != _MODE or task.status is not TaskStatus.RUNNING:
        return False
    return any(each.type == "Ready" and each.status == "True" for each in task.pod.status.conditions)


def reservation_of(task: Task) -> wire.Reservation:
    """Return the Reservation as which a pod acts: for one owner of its namespace, policy Aligned, without an end.

    Raises:
        ValueError: Its owners cannot be parsed.
    """
    metadata = task.pod.metadata
    request = {name: amount for name, amount in task.template.request.items() if name != PODS}
    return wire.Reservation(
        metadata=wire.ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            uid=TaskId(metadata.uid),
            creation_timestamp=metadata.creation_timestamp,
            labels=metadata.labels,
            annotations=metadata.annotations,
        ),
        spec=wire.ReservationSpec(
            template={"spec": {}},
            owners=_owners(metadata.annotations.get(OPERATING_OWNERS, "")),
            ttl="0",
            allocate_once=True,
            allocate_policy=wire.AllocatePolicy.ALIGNED,
        ),
        status=wire.ReservationStatus(
            phase=wire.ReservationPhase.AVAILABLE,
            node_name=task.node or "",
            allocatable=resource_list(request),
        ),
    )


def _owners(text: str) -> tuple[wire.ReservationOwner, ...]:
    if not text:
        raise ValueError(f"annotation {OPERATING_OWNERS}: a list of owners is required")
    try:
        return read_json(text, tuple[wire.ReservationOwner, ...], longest=_LONGEST_TEXT)
    except ValueError as error:
        raise ValueError(f"annotation {OPERATING_OWNERS}: {error}") from None
