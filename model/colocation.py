"""Colocation: Koordinator's priority classes, its quality of service, and its annotations.

Pods of the classes koord-batch and koord-mid request resources of their own: CPU and memory that other pods leave
unused.
"""

from collections.abc import Mapping
from typing import Final

from pyroclast.model import wire
from pyroclast.model.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, quality_of
from pyroclast.model.resources import CPU, MEMORY

__all__ = [
    "BATCH",
    "FREE",
    "LOAD_SCALING_FACTORS",
    "LOAD_SECONDS_AFTER_INITIALIZED",
    "LOAD_SECONDS_AFTER_SCHEDULED",
    "MID",
    "PRIORITY_CLASS",
    "PROD",
    "QOS_CLASS",
    "RAW_ALLOCATABLE",
    "USAGE_THRESHOLDS",
    "class_marks",
    "is_of_daemon_set",
    "priority_class_of",
    "resource_of",
]

PRIORITY_CLASS: Final = "koordinator.sh/priority-class"
"""Label of a pod: its class."""
QOS_CLASS: Final = "koordinator.sh/qosClass"
"""Label of a pod: its quality of service. It gives the class of pods without a label or priority of a class."""

LOAD_SCALING_FACTORS: Final = "scheduling.koordinator.sh/load-estimated-scaling-factors"
"""Annotation of a pod, percent by resource: estimated usage as a part of the request."""
LOAD_SECONDS_AFTER_SCHEDULED: Final = "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled"
LOAD_SECONDS_AFTER_INITIALIZED: Final = "scheduling.koordinator.sh/load-estimated-seconds-after-initialized"
"""Annotations of a pod: time during which its estimate counts instead of its measured usage."""
USAGE_THRESHOLDS: Final = "scheduling.koordinator.sh/usage-thresholds"
"""Annotation of a node: the loads above which it accepts no more pods."""
RAW_ALLOCATABLE: Final = "node.koordinator.sh/raw-allocatable"
"""Annotation of a node: its allocatable amounts before amplification."""

PROD: Final = "koord-prod"
MID: Final = "koord-mid"
BATCH: Final = "koord-batch"
FREE: Final = "koord-free"

_BY_THOUSANDS: Final = {9: PROD, 7: MID, 5: BATCH, 3: FREE}
"""Class by priority: 9000 to 9999 is koord-prod."""
_CLASSES: Final = frozenset(_BY_THOUSANDS.values())
_THOUSAND: Final = 1000
_BY_QOS: Final = {"LSE": PROD, "LSR": PROD, "LS": PROD, "SYSTEM": PROD, "BE": BATCH}
_BY_QUALITY: Final = {GUARANTEED: PROD, BURSTABLE: PROD, BEST_EFFORT: BATCH}
_RESOURCES: Final[Mapping[str, Mapping[str, str]]] = {
    BATCH: {CPU: "kubernetes.io/batch-cpu", MEMORY: "kubernetes.io/batch-memory"},
    MID: {CPU: "kubernetes.io/mid-cpu", MEMORY: "kubernetes.io/mid-memory"},
    FREE: {},
}


def class_marks(pod: wire.Pod) -> tuple[str | None, str | None, str]:
    """Return the labels and the priority that decide the class of a pod, beside its containers."""
    labels = pod.metadata.labels
    return labels.get(PRIORITY_CLASS), labels.get(QOS_CLASS), _by_priority(pod.spec.priority)


def priority_class_of(pod: wire.Pod) -> str:
    """Return the class of a pod: by its label, else its priority, else its quality of service."""
    label, qos, by_priority = class_marks(pod)
    known = by_priority if label is None else label
    if known in _CLASSES:
        return known
    return _BY_QOS.get(qos or "") or _BY_QUALITY[quality_of(pod.spec)]


def is_of_daemon_set(pod: wire.Pod) -> bool:
    """Return whether a DaemonSet owns a pod."""
    owners = pod.metadata.owner_references
    return bool(owners) and any(owner.kind == "DaemonSet" for owner in owners)


def resource_of(priority_class: str, name: str) -> str | None:
    """Return the name under which pods of a class request a resource; None if they cannot."""
    translated = _RESOURCES.get(priority_class)
    return name if translated is None else translated.get(name)


def _by_priority(priority: int | None) -> str:
    return "" if priority is None else _BY_THOUSANDS.get(priority // _THOUSAND, "")
