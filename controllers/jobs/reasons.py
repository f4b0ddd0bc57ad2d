"""Reasons of events of the Job controller.

Except for `INVALID`, which is also a reason of states, they are Volcano's.
"""

from typing import Final

from pyroclast.controllers.runtime.invalid_condition import INVALID

__all__ = [
    "COMMAND_ISSUED",
    "EXECUTE_ACTION",
    "FAILED_CREATE",
    "FAILED_DELETE",
    "INVALID",
    "JOB_STATUS_ERROR",
    "PLUGIN_ERROR",
    "POD_GROUP_ERROR",
    "POD_GROUP_PENDING",
    "PVC_ERROR",
]

COMMAND_ISSUED: Final = "CommandIssued"
EXECUTE_ACTION: Final = "ExecuteAction"
FAILED_CREATE: Final = "FailedCreate"
FAILED_DELETE: Final = "FailedDelete"
JOB_STATUS_ERROR: Final = "JobStatusError"
PLUGIN_ERROR: Final = "PluginError"
POD_GROUP_ERROR: Final = "PodGroupError"
POD_GROUP_PENDING: Final = "PodGroupPending"
PVC_ERROR: Final = "PVCError"
