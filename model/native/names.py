"""Names: conditions of native groups and their reasons."""

from typing import Final

__all__ = ["SCHEDULED", "UNSCHEDULABLE", "condition_type"]

SCHEDULED: Final = "Scheduled"
UNSCHEDULABLE: Final = "Unschedulable"
_INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"
_TYPES: Final = {"scheduling.k8s.io/v1alpha2": "PodGroupScheduled"}
"""Names of the condition in versions that have another one."""


def condition_type(api_version: str) -> str:
    """Return the type of the condition that shows whether a group was scheduled, in a version of the API."""
    return _TYPES.get(api_version, _INITIALLY_SCHEDULED)
