"""Locks: rules of node locks that the plugin deviceshare and the binder share.

A lock is a time, `2026-08-20T03:10:22Z`, or a time and the pod that it serves, `2026-08-20T03:10:22Z,ns,pod`.
"""

import re
from typing import Final, NamedTuple

from pyroclast.model.wire import unix_seconds

__all__ = ["LOCK_NODE", "LOCK_SECONDS", "NAMES_POD", "NodeLock", "is_held", "locked_by"]

LOCK_NODE: Final = "lock-node"
"""Kind of preparation: sets the annotation that its details name under `annotation`."""
NAMES_POD: Final = "names-pod"
"""Detail of the preparation that is there if the lock names the pod."""
LOCK_SECONDS: Final = 300.0
"""An older lock has expired. A lock from the future is held."""
_PARTS: Final = 3
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
"""Namespaces and pods. A node may write anything into its annotations."""


class NodeLock(NamedTuple):
    """Lock of nodes for one device plugin."""

    annotation: str
    names_pod: bool = False
    """Whether the lock names the pod. Another pod takes over a lock whose pod is gone."""


def is_held(text: str, now: float) -> bool:
    """Return whether a lock that was set at a time is still held, if its pod is not gone.

    Raises:
        ValueError: The text is not a time, with or without a pod. A lock without a time is held forever.
    """
    time, *pod = text.split(",")
    if not time or (pod and len(pod) != _PARTS - 1):
        raise ValueError("it is no time, or no time and pod")
    return now - unix_seconds(time) <= LOCK_SECONDS


def locked_by(text: str) -> tuple[str, str] | None:
    """Return namespace and name of the pod of a lock; None if the lock names none that can exist."""
    _, *pod = text.split(",")
    return (pod[0], pod[1]) if len(pod) == _PARTS - 1 and all(map(_NAME.fullmatch, pod)) else None
