"""Labels and annotations of Reservations, and of pods that use them."""

from typing import Final

__all__ = [
    "ALLOCATED",
    "CURRENT_OWNER",
    "EXACT_MATCH",
    "IGNORED",
    "KEPT_BACK",
    "OPERATING_MODE",
    "OPERATING_OWNERS",
    "ORDER",
    "PRE_ALLOCATION_REQUIRED",
    "PRIORITY_VALUE",
    "RESERVATION_NAME",
    "RESERVATION_NODE",
    "RESERVE_POD",
    "RESIZE_ALLOCATABLE",
    "RESTRICTED_OPTIONS",
]

_DOMAIN: Final = "scheduling.koordinator.sh"

EXACT_MATCH: Final = f"{_DOMAIN}/exact-match-reservation"
"""Annotation of a pod, JSON: `resourceNames` whose amounts must equal those of the Reservation."""
IGNORED: Final = f"{_DOMAIN}/reservation-ignored"
"""Label of a pod, `true`: it may use reserved capacity that is not in use, and becomes no owner."""
ALLOCATED: Final = f"{_DOMAIN}/reservation-allocated"
"""Annotation of a pod, JSON: name and UID of the Reservation that it uses. The scheduler writes it."""
ORDER: Final = f"{_DOMAIN}/reservation-order"
"""Label of a Reservation, an integer: the lowest that is not 0 is used first."""
RESTRICTED_OPTIONS: Final = f"{_DOMAIN}/reservation-restricted-options"
"""Annotation of a Reservation, JSON: `resources` that the policy Restricted restricts."""
PRE_ALLOCATION_REQUIRED: Final = f"{_DOMAIN}/pre-allocation-required"
"""Label of a Reservation, `true`: it must take over a running pod."""
RESIZE_ALLOCATABLE: Final = f"{_DOMAIN}/reservation-resize-allocatable"
"""Annotation of a Reservation, JSON: `resources` that replace amounts when it becomes Available."""
KEPT_BACK: Final = "node.koordinator.sh/reservation"
"""Annotation of a Reservation, JSON: `resources` that no pod may use."""
OPERATING_MODE: Final = f"{_DOMAIN}/operating-mode"
"""Label of a pod, `Reservation`: while it runs and is ready, its owners may use its capacity."""
OPERATING_OWNERS: Final = f"{_DOMAIN}/reservation-owners"
"""Annotation of such a pod, JSON: its owners, as in the spec of a Reservation."""
CURRENT_OWNER: Final = f"{_DOMAIN}/reservation-current-owner"
"""Annotation of a pod in operating mode, JSON: the pod that uses its capacity. The scheduler writes it."""
PRIORITY_VALUE: Final = "koordinator.sh/priority"
"""Label of a Reservation or its template: its priority where the template gives none."""
RESERVE_POD: Final = f"{_DOMAIN}/reserve-pod"
"""Annotation of the pod that stands for a Reservation, `true`. It exists in the scheduler alone."""
RESERVATION_NAME: Final = f"{_DOMAIN}/reservation-name"
"""Annotation of the pod that stands for a Reservation: the name of the Reservation."""
RESERVATION_NODE: Final = f"{_DOMAIN}/reservation-node"
"""Annotation of the pod that stands for a Reservation: the only node that its template permits."""
