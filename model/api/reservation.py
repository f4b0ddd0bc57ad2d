"""Reservations: capacity of a node that is kept for the pods of its owners, as Koordinator defines them."""

from enum import StrEnum
from typing import Annotated, ClassVar

import msgspec

from pyroclast.model.api import names
from pyroclast.model.api.definitions import Definition, KubernetesObject, PrinterColumn
from pyroclast.model.api.meta import EMPTY, LabelSelector, ObjectReference, ResourceList, Wire
from pyroclast.model.api.rules import (
    DEFAULTED,
    KEPT_AS_WRITTEN,
    REQUIRED,
    Duration,
    FieldRules,
    Json,
    Time,
)

__all__ = [
    "AllocatePolicy",
    "PreAllocationMode",
    "Reservation",
    "ReservationCondition",
    "ReservationControllerReference",
    "ReservationOwner",
    "ReservationPhase",
    "ReservationPreAllocationPolicy",
    "ReservationSpec",
    "ReservationStatus",
    "ReservationTaint",
]


class ReservationPhase(StrEnum):
    """Phase of a Reservation."""

    PENDING = "Pending"
    AVAILABLE = "Available"
    SUCCEEDED = "Succeeded"
    WAITING = "Waiting"
    FAILED = "Failed"


class AllocatePolicy(StrEnum):
    """How pods of the owners use the reserved capacity."""

    ALIGNED = "Aligned"
    RESTRICTED = "Restricted"


class PreAllocationMode(StrEnum):
    """Which running pods a Reservation may take over."""

    DEFAULT = "Default"
    CLUSTER = "Cluster"


class ReservationControllerReference(Wire, frozen=True, kw_only=True):
    """Controller of pods. Fields that are not set match every value."""

    is_atomic: ClassVar[bool] = True
    api_version: Annotated[str, REQUIRED] = ""
    """API version of the controller."""
    kind: Annotated[str, REQUIRED] = ""
    """Kind of the controller."""
    name: Annotated[str, REQUIRED] = ""
    """Name of the controller."""
    uid: Annotated[str, REQUIRED] = ""
    """UID of the controller."""
    controller: bool | None = None
    """Whether the reference of the pod must, or must not, be that of its controller."""
    block_owner_deletion: bool | None = None
    """Not compared."""
    namespace: str = ""
    """Namespace of the pods."""


class ReservationOwner(Wire, frozen=True, kw_only=True):
    """Pods that may use the capacity. All fields that are set must match."""

    object: ObjectReference | None = None
    """One pod. Its UID, name, namespace and API version are compared where they are set."""
    controller: ReservationControllerReference | None = None
    """Controller of pods."""
    label_selector: LabelSelector | None = None
    """Labels of pods."""


class ReservationPreAllocationPolicy(Wire, frozen=True, kw_only=True):
    """Which running pods the Reservation may take over, and how many."""

    mode: Annotated[str, DEFAULTED, FieldRules(enum=PreAllocationMode)] = PreAllocationMode.DEFAULT.value
    """Default: pods that match the owners. Cluster: pods with the label that the scheduler is configured for."""
    enable_multiple: Annotated[bool, DEFAULTED] = False
    """Whether several pods may be taken over."""


class ReservationTaint(Wire, frozen=True, kw_only=True):
    """Taint of the Reservation: pods that do not tolerate it cannot use the capacity."""

    key: Annotated[str, REQUIRED] = ""
    """Key of the taint."""
    value: str = ""
    """Value of the taint."""
    effect: Annotated[str, REQUIRED] = ""
    """NoSchedule or NoExecute. PreferNoSchedule has no effect."""
    time_added: Time = ""
    """Time at which the taint was added."""


def _no_template() -> Json:
    """Return the template of a Reservation without one; unlike `dict` it is not left out when it is sent."""
    return {}


class ReservationSpec(Wire, frozen=True, kw_only=True):
    """What is reserved, for which pods, and how long."""

    template: Annotated[Json, REQUIRED, KEPT_AS_WRITTEN] = msgspec.field(default_factory=_no_template)
    """Pod template. The Reservation is scheduled as a pod of this template would be."""
    owners: Annotated[tuple[ReservationOwner, ...], REQUIRED, FieldRules(min_items=1)] = ()
    """Pods that may use the capacity. A pod must match one entry."""
    ttl: Annotated[Duration, DEFAULTED] = "24h"
    """Life of the Reservation from its creation on; 0 means no end."""
    expires: Time = ""
    """Time at which the Reservation ends."""
    allocate_once: Annotated[bool, DEFAULTED] = True
    """Whether the first pod that uses the capacity ends the Reservation."""
    allocate_policy: Annotated[str, FieldRules(enum=AllocatePolicy)] = ""
    """Aligned: pods take what is lacking from the free capacity of the node. Restricted: pods use reserved capacity
    alone."""
    pre_allocation: bool = False
    """Whether capacity that running pods use may be reserved."""
    pre_allocation_policy: ReservationPreAllocationPolicy | None = None
    """Which running pods may be taken over."""
    unschedulable: bool = False
    """Whether further pods are refused."""
    taints: tuple[ReservationTaint, ...] = ()
    """Taints that pods must tolerate."""


class ReservationCondition(Wire, frozen=True, kw_only=True):
    """One condition."""

    type: str = ""
    """Scheduled, Ready, or Valid if the ttl or the end cannot be parsed."""
    status: str = ""
    """True, False or Unknown."""
    reason: str = ""
    """Cause in one word."""
    message: str = ""
    """Details of the cause."""
    last_probe_time: Time = ""
    """Time of the last check."""
    last_transition_time: Time = ""
    """Time of the last change."""


class ReservationStatus(Wire, frozen=True, kw_only=True):
    """State of the Reservation."""

    phase: Annotated[str, DEFAULTED] = ReservationPhase.PENDING.value
    """Pending, Available, Succeeded, Waiting or Failed."""
    conditions: tuple[ReservationCondition, ...] = ()
    """Conditions of the types Scheduled, Ready and Valid."""
    current_owners: tuple[ObjectReference, ...] = ()
    """Pods that use the capacity."""
    node_name: str = ""
    """Node of the reserved capacity."""
    allocatable: ResourceList = EMPTY
    """Reserved amounts, by resource name."""
    allocated: ResourceList = EMPTY
    """Requests of the pods that use the capacity, by reserved resource name."""


class Reservation(KubernetesObject, frozen=True, kw_only=True, eq=False):
    """Reservation keeps capacity of a node for pods of its owners."""

    definition: ClassVar[Definition] = Definition(
        api_version=names.RESERVATIONS,
        kind="Reservation",
        plural="reservations",
        is_namespaced=False,
        columns=(
            PrinterColumn(name="Phase", path=".status.phase"),
            PrinterColumn(name="Age", path=".metadata.creationTimestamp", type="date"),
            PrinterColumn(name="Node", path=".status.nodeName"),
            PrinterColumn(name="TTL", path=".spec.ttl"),
            PrinterColumn(name="Expires", path=".spec.expires", type="date"),
        ),
    )
    spec: ReservationSpec = ReservationSpec()
    """What is reserved, for which pods, and how long."""
    status: ReservationStatus = ReservationStatus()
    """State of the Reservation. The scheduler and its controller write it."""
