"""Environment variables that Volcano's processes read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["SOCKET_FOLDER", "Environment", "read_environment", "socket_folder"]

SOCKET_FOLDER: Final = "/tmp/klog-socks"  # noqa: S108 - Volcano's default, kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Settings from environment variables."""

    ring_member: str = ""
    """`SCHEDULER_POD_NAME` if several schedulers share the cluster by hash; otherwise empty."""
    ring_size: int = 1
    """`SCHEDULER_NUM`: the number of these schedulers."""
    debug_socket_folder: str = SOCKET_FOLDER
    """`DEBUG_SOCKET_DIR`: folder of the socket that changes the log verbosity."""


def socket_folder(variables: Mapping[str, str]) -> str:
    """Return the folder of the socket that changes the log verbosity."""
    return variables.get("DEBUG_SOCKET_DIR", "") or SOCKET_FOLDER


def read_environment(variables: Mapping[str, str]) -> tuple[Environment, list[str], list[str]]:
    """Read the variables of the scheduler.

    Returns:
        The settings, warnings, and faults.
    """
    warnings = [
        f"{name}: without effect: {reason}"
        for name, reason in (
            ("PANIC_ON_ERROR", "the cluster state is audited, and never ends the process"),
            ("BATCH_BIND_NUM", "the members of a gang are bound concurrently"),
        )
        if name in variables
    ]
    folder = socket_folder(variables)
    if variables.get("MULTI_SCHEDULER_ENABLE") != "true":
        return Environment(debug_socket_folder=folder), warnings, []
    member, faults = variables.get("SCHEDULER_POD_NAME", ""), []
    if "-" not in member:
        faults.append(f"SCHEDULER_POD_NAME: got {member!r}, expected the pod's name, which ends with -<number>")
    size = variables.get("SCHEDULER_NUM", "")
    if not size.isdecimal() or int(size) < 1:
        warnings.append(f"SCHEDULER_NUM: got {size!r}, expected a number of at least 1; taken as 1")
        size = "1"
    return Environment(ring_member=member, ring_size=int(size), debug_socket_folder=folder), warnings, faults
