"""Reserve pods: the pod that stands for a Reservation in the queue and on its node (R13, R17).

It exists in the scheduler alone. While it waits it requests what its template requests. On a node it requests nothing:
the capacity that owners leave is held in the node's amounts, so that nothing is counted twice.
"""

from typing import Final

import msgspec

from pyroclast.model import wire
from pyroclast.model.api.names import PREEMPTABLE
from pyroclast.model.required_rules import RESERVATION_AFFINITY
from pyroclast.model.reservations.names import (
    ALLOCATED,
    EXACT_MATCH,
    IGNORED,
    OPERATING_MODE,
    PRIORITY_VALUE,
    RESERVATION_NAME,
    RESERVATION_NODE,
    RESERVE_POD,
)
from pyroclast.model.reservations.reading import PodTemplate, template_of

__all__ = ["reserve_pod"]

_HIGHEST_PRIORITY: Final = 2**31 - 1
_DEFAULT_SCHEDULER: Final = "default-scheduler"
"""Scheduler of a template that names none."""
_DEFAULT_NAMESPACE: Final = "default"
_OF_USERS: Final = frozenset({ALLOCATED, EXACT_MATCH, IGNORED, OPERATING_MODE, RESERVATION_AFFINITY})
"""Labels and annotations of pods that use Reservations. A template that is copied from such a pod has them, too."""


def reserve_pod(reservation: wire.Reservation) -> wire.Pod:
    """Return the pod that stands for a Reservation.

    Raises:
        ObjectError: The template cannot be parsed.
    """
    template, metadata = template_of(reservation), reservation.metadata
    is_available = reservation.status.phase == wire.ReservationPhase.AVAILABLE and bool(reservation.status.node_name)
    only_node = template.spec.node_name
    labels = {**template.metadata.labels, **metadata.labels}
    annotations = {**template.metadata.annotations, **metadata.annotations}
    marks = {RESERVE_POD: "true", RESERVATION_NAME: metadata.name, PREEMPTABLE: "false"}
    return wire.Pod(
        metadata=wire.ObjectMeta(
            name=metadata.uid,
            namespace=template.metadata.namespace or _DEFAULT_NAMESPACE,
            uid=metadata.uid,
            resource_version=metadata.resource_version,
            creation_timestamp=metadata.creation_timestamp,
            # one that is being deleted gets no node, and keeps the one that it has
            deletion_timestamp="" if is_available else metadata.deletion_timestamp,
            labels={key: text for key, text in labels.items() if key not in _OF_USERS},
            annotations={
                **{key: text for key, text in annotations.items() if key not in _OF_USERS},
                **marks,
                **({RESERVATION_NODE: only_node} if only_node else {}),
            },
        ),
        spec=msgspec.structs.replace(
            _placed(template.spec) if is_available else template.spec,
            node_name=reservation.status.node_name if is_available else "",
            priority=_priority(reservation, template),
            scheduler_name=template.spec.scheduler_name or _DEFAULT_SCHEDULER,
            scheduling_gates=(),
        ),
        status=wire.PodStatus(
            phase="Running" if is_available else "Pending",
            conditions=tuple(
                wire.Condition(
                    type="PodScheduled",
                    status=each.status,
                    reason=each.reason,
                    message=each.message,
                    last_transition_time=each.last_transition_time,
                )
                for each in reservation.status.conditions
                if each.type == "Scheduled"
            ),
        ),
    )


def _placed(spec: wire.PodSpec) -> wire.PodSpec:
    """Return a specification without requests and volumes; its ports stay."""
    ports = tuple(
        port
        for container in (*spec.containers, *spec.init_containers)
        for port in container.ports
        if port.host_port > 0
    )
    return msgspec.structs.replace(
        spec,
        containers=(wire.Container(name="reserved", ports=ports),),
        init_containers=(),
        overhead={},
        resources=None,
        volumes=(),
        resource_claims=(),
    )


def _priority(reservation: wire.Reservation, template: PodTemplate) -> int:
    if template.spec.priority is not None:
        return template.spec.priority
    text = {**template.metadata.labels, **reservation.metadata.labels}.get(PRIORITY_VALUE, "")
    try:
        return min(int(text[:12]), _HIGHEST_PRIORITY)
    except ValueError:
        return _HIGHEST_PRIORITY
