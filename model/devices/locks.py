"""Locks: rules of node locks that the plugin deviceshare and the binder share."""

from typing import Final

from pyroclast.model.wire import unix_seconds

__all__ = ["LOCK_NODE", "LOCK_SECONDS", "is_held"]

LOCK_NODE: Final = "lock-node"
"""Kind of preparation: sets the annotation that its details name under `annotation`."""
LOCK_SECONDS: Final = 300.0
"""An older lock has expired. A lock from the future is held."""


def is_held(text: str, now: float) -> bool:
    """Return whether a lock that was set at a time is still held.

    Raises:
        ValueError: The text is not a time. A lock without a time is held forever.
    """
    if not text:
        raise ValueError("an empty text is no time")
    return now - unix_seconds(text) <= LOCK_SECONDS
